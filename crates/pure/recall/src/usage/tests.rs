//! Tests of the book and of detection.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

const MEMORY: &str = "---\nname: database tests\ndescription: tests use the real database\ntype: feedback\n---\nIntegration tests talk to a Postgres container started with `scripts/testdb.sh`, because mocked migrations hid a broken rollback.\n";

fn check(query: &str, answer: &str, calls: &[&str], expected: Option<Event>) {
    let calls: Vec<String> = calls.iter().map(|call| (*call).to_owned()).collect();
    let after = Aftermath {
        query,
        answer,
        calls: &calls,
        ..Aftermath::default()
    };
    assert_eq!(
        detect(&path("feedback_db.md"), MEMORY, &after),
        expected,
        "{answer}"
    );
}

#[test]
fn naming_a_memory_cites_it() {
    check(
        "add a test",
        "As feedback_db.md says, no mocks.",
        &[],
        Some(Event::Cited),
    );
    check(
        "add a test",
        "By the Database Tests rule …",
        &[],
        Some(Event::Cited),
    );
    check(
        "add a test",
        "ok",
        &["Read {\"file_path\":\"/m/feedback_db.md\"}"],
        Some(Event::Cited),
    );
}

#[test]
fn its_own_words_show_that_it_was_used() {
    check(
        "add a test for the login",
        "I start a Postgres container, because mocked migrations are dangerous here.",
        &[],
        Some(Event::Used),
    );
    check(
        "add a test",
        "Done, I added a test for the login.",
        &[],
        None,
    );
    // Words that the user said are no sign.
    check(
        "start a Postgres container because mocked migrations hide things",
        "I started the Postgres container; mocked migrations are gone.",
        &[],
        None,
    );
    check("add a test", "", &[], None);
}

#[test]
fn counts_make_a_weak_prior() {
    let mut counts = Counts::default();
    assert!((counts.prior() - 0.5).abs() < 1e-9);
    counts.surfaced = 6;
    let never = counts.prior();
    counts.used = 6;
    let always = counts.prior();
    assert!(never < 0.5 && always > 0.5 && never > 0.1 && always < 0.9);
}

#[test]
fn what_never_helped_may_be_forgotten() {
    let mut book = Book::new();
    for at in 0..6 {
        for name in ["useless.md", "useful.md", "rule.md"] {
            book.note(&path(name), Event::Surfaced, Millis(at));
        }
    }
    book.note(&path("useful.md"), Event::Used, Millis(9));
    book.note(&path("new.md"), Event::Surfaced, Millis(9));
    let keep = |path: &SafePath| path.as_str() == "rule.md";
    assert_eq!(book.forgettable(keep), [path("useless.md")]);
}

#[test]
fn broken_lines_cost_themselves_alone() {
    let line = encode_event(&path("a.md"), Event::Surfaced, Millis(5));
    assert_eq!(
        line,
        "{\"path\":\"a.md\",\"event\":\"surfaced\",\"at\":5}\n"
    );
    let text =
        format!("{line}{{\"path\":\"../x\",\"event\":\"used\"}}\nnonsense\n{{}}\n{line}{{\"pa");
    let book = Book::decode(&text);
    assert_eq!(book.iter().count(), 1);
    assert_eq!(book.counts(&path("a.md")).surfaced, 2);
    assert_eq!(book.encode(|_| false), "");
}

proptest! {
    #[test]
    fn a_book_written_anew_says_the_same(
        events in prop::collection::vec((0_usize..4, 0_u8..3, 0_i64..99), 0..40),
        rewrite in 0_usize..40,
    ) {
        let mut book = Book::new();
        let mut text = String::new();
        for (number, (name, event, at)) in events.into_iter().enumerate() {
            let path = path(&format!("m{name}.md"));
            let event = [Event::Surfaced, Event::Used, Event::Cited][usize::from(event)];
            book.note(&path, event, Millis(at));
            text.push_str(&encode_event(&path, event, Millis(at)));
            if number == rewrite {
                text = Book::decode(&text).encode(|_| true);
            }
            let prior = book.counts(&path).prior();
            prop_assert!((0.0..=1.0).contains(&prior));
        }
        prop_assert_eq!(Book::decode(&text), book);
    }
}
