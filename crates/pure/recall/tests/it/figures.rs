//! The figures that `docs/recall.md` states.

use crate::material;
use dormouse_recall::evaluation::{Group, Tally};
use dormouse_testkit::material::notes;
use std::time::Duration;

#[test]
fn titles_find_their_notes() {
    let (entries, titles) = material::notes(&notes());
    let mut group = Group::new(&entries).unwrap();
    let mut tally = Tally::default();
    for (place, title) in titles.iter().enumerate() {
        let answer = group.ask(title, || Duration::ZERO);
        tally.add(&answer.ranked, &[place]);
    }
    let [first, _, fifth, _] = tally.recall();
    assert!(first >= 0.83, "R@1 {first}");
    assert!(fifth >= 0.965, "R@5 {fifth}");
}

/// Queries that avoid the words of the title. `--nocapture` shows the misses after a change of the
/// ranker.
#[test]
fn paraphrases_find_their_notes() {
    // The queries were written for the real notes.
    let folder = notes();
    if !folder.is_material() {
        return;
    }
    let (entries, _) = material::notes(&folder);
    let mut group = Group::new(&entries).unwrap();
    let mut tally = Tally::default();
    for line in include_str!("../data/paraphrases.tsv").lines() {
        let (id, query) = line.split_once('\t').unwrap();
        let place = entries.iter().position(|entry| entry.id == id).unwrap();
        let answer = group.ask(query, || Duration::ZERO);
        tally.add(&answer.ranked, &[place]);
        let rank = answer.ranked.iter().position(|found| *found == place);
        if rank.is_none_or(|rank| rank >= 5) {
            let first = answer
                .ranked
                .first()
                .map_or("-", |first| &entries[*first].id);
            println!(
                "| {query} | {id} | {} | {first} |",
                rank.map_or("–".to_owned(), |rank| (rank + 1).to_string())
            );
        }
    }
    println!(
        "R@1/3/5/10 {:.3?} MRR {:.3}",
        tally.recall(),
        tally.reciprocal_rank()
    );
    assert!(tally.recall()[3] >= 0.5, "{:?}", tally.recall());
}

#[test]
fn small_talk_finds_nothing_to_be_sure_of() {
    let (entries, titles) = material::notes(&notes());
    let mut group = Group::new(&entries).unwrap();
    let talk = [
        "ok",
        "thanks, that was great",
        "continue",
        "what is the weather like in Lisbon tomorrow",
        "my cat refuses to eat dry food",
        "who painted the ceiling of the Sistine chapel",
        "COBOL copybook alignment on z/OS",
        "",
    ];
    for query in talk {
        let answer = group.ask(query, || Duration::ZERO);
        assert!(
            answer.confidence < dormouse_recall::CONFIDENT,
            "{query}: {}",
            answer.confidence
        );
    }
    let sure = titles.iter().step_by(20).filter(|title| {
        group.ask(title, || Duration::ZERO).confidence >= dormouse_recall::CONFIDENT
    });
    let sure = sure.count();
    // Every twentieth of a dozen is one, which says nothing.
    assert!(
        sure * 20 * 10 >= titles.len() * 6 || titles.len() < 100,
        "six in ten titles: {sure}"
    );
}
