//! Layer 3: session notes, written by forks that ride on the conversation's cache.

use crate::kit::{Kit, NOTES, prompt, prose, turn};
use crate::provider::Answer;
use dormouse_context::notes::{Notes, Template};
use dormouse_core::block::Block;
use dormouse_core::record::{self, Body};
use dormouse_core::units::Tokens;
use dormouse_engine::{Notice, Purpose, Session};
use dormouse_system::{Fault, Operation};
use dormouse_testkit::blocks::call;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::Notify;

/// A kit with notes, and a window in which nothing else happens.
pub(crate) fn kit() -> Kit {
    let mut kit = Kit::new();
    kit.set(&[]);
    kit.config.window = None;
    kit
}

fn updated(notice: &Notice) -> bool {
    matches!(notice, Notice::NotesUpdated { .. })
}

fn failed(notice: &Notice) -> bool {
    matches!(notice, Notice::NotesFailed { .. })
}

/// An answer that gives a section a new body.
pub(crate) fn section(title: &str, body: &str) -> Answer {
    Answer::text(&format!("<section title=\"{title}\">\n{body}\n</section>"))
}

pub(crate) async fn records(session: &Session) -> Vec<record::Notes> {
    let records = session.records().await.unwrap().into_iter();
    let notes = records.filter_map(|record| match record.body {
        Body::Notes(notes) => Some(notes),
        _ => None,
    });
    notes.collect()
}

fn file(kit: &Kit) -> Option<String> {
    let bytes = kit.machine.files.content(NOTES)?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

/// One turn with an answer of about so many tokens.
async fn say(kit: &Kit, session: &mut Session, tokens: usize) {
    kit.provider
        .next(Purpose::Turn, Answer::text(&prose(tokens, tokens * 4)));
    turn(session, "Go on.").await;
    session.settle_notes().await.unwrap();
}

#[tokio::test]
async fn they_are_first_written_at_ten_thousand_tokens_and_then_by_growth() {
    let kit = kit();
    let mut session = kit.open().await;
    say(&kit, &mut session, 8_000).await;
    assert_eq!((kit.provider.count(Purpose::Notes), file(&kit)), (0, None));
    say(&kit, &mut session, 3_000).await;
    assert_eq!(
        (kit.provider.count(Purpose::Notes), kit.told(updated)),
        (1, 1),
        "{:?}",
        kit.notices()
    );
    Notes::parse(&file(&kit).unwrap(), &Template::builtin()).unwrap();
    say(&kit, &mut session, 3_000).await;
    assert_eq!(
        kit.provider.count(Purpose::Notes),
        1,
        "grown by 3,000 of 5,000"
    );
    say(&kit, &mut session, 3_000).await;
    assert_eq!(kit.provider.count(Purpose::Notes), 2);
    let records = records(&session).await;
    assert_eq!(records.len(), 2);
    assert!(records[0].last_summarised < records[1].last_summarised);
}

/// Within a loop of tools it takes three calls besides: not at every result.
#[tokio::test]
async fn a_long_loop_of_calls_has_notes_before_it_ends() {
    let kit = kit();
    kit.tools.returns("Bash", prose(1, 24_000));
    let mut session = kit.open().await;
    say(&kit, &mut session, 11_000).await;
    assert_eq!(kit.provider.count(Purpose::Notes), 1);
    kit.work(&mut session, &["Bash"; 8]).await;
    session.settle_notes().await.unwrap();
    let notes = kit.provider.count(Purpose::Notes);
    assert!(
        (3..=4).contains(&notes),
        "after the third and the sixth call: {notes}"
    );
    // They were asked for while the turn was going on.
    let sent = kit.provider.sent();
    let last_turn = sent
        .iter()
        .rposition(|sent| sent.purpose == Purpose::Turn)
        .unwrap();
    assert!(
        sent[..last_turn]
            .iter()
            .filter(|sent| sent.purpose == Purpose::Notes)
            .count()
            >= 2
    );
}

/// The fork is the parent's request block by block, and the directive behind it.
#[tokio::test]
async fn the_fork_begins_with_the_bytes_of_the_parents_request() {
    let kit = kit();
    kit.tools.returns("Bash", prose(1, 24_000));
    let mut session = kit.open().await;
    say(&kit, &mut session, 11_000).await;
    kit.work(&mut session, &["Bash"; 4]).await;
    session.settle_notes().await.unwrap();
    let sent = kit.provider.sent();
    let mut compared = 0;
    for (at, fork) in sent
        .iter()
        .enumerate()
        .filter(|(_, sent)| sent.purpose == Purpose::Notes)
    {
        let parent = sent[..at]
            .iter()
            .rfind(|sent| sent.purpose == Purpose::Turn)
            .unwrap();
        let (mine, theirs) = (fork.messages(), parent.messages());
        let directive = fork.last_text();
        assert!(directive.contains("bring the notes of this session up to date"));
        for member in ["model", "system", "tools", "max_tokens"] {
            assert_eq!(fork.json()[member], parent.json()[member]);
        }
        // In mid-turn the directive is one block more in the last message, else a message more.
        let whole = theirs.len() - 1;
        assert_eq!(mine[..whole], theirs[..whole]);
        let last = theirs[whole]["content"].as_array().unwrap();
        assert_eq!(
            &mine[whole]["content"].as_array().unwrap()[..last.len()],
            &last[..]
        );
        // So all of it is read from the cache; only the directive is new.
        let (read, prompt) = (fork.usage.cache_read.get(), parent.usage.prompt().get());
        let cached_at_all = prompt > 2_000;
        assert!(
            !cached_at_all || read * 20 > prompt * 19,
            "{read} of {prompt}"
        );
        compared += 1;
    }
    assert!(compared >= 2);
}

#[tokio::test]
async fn one_update_at_a_time() {
    let kit = kit();
    let word = Arc::new(Notify::new());
    kit.provider
        .next(Purpose::Notes, section("Worklog", "first").held(&word));
    let mut session = kit.open().await;
    for round in 0..4 {
        kit.provider
            .next(Purpose::Turn, Answer::text(&prose(round, 44_000)));
        turn(&mut session, "Go on.").await;
    }
    assert_eq!(
        kit.provider.count(Purpose::Notes),
        1,
        "it is still under way"
    );
    word.notify_one();
    session.settle_notes().await.unwrap();
    assert_eq!(kit.told(updated), 1);
    kit.provider
        .next(Purpose::Notes, section("Worklog", "second"));
    say(&kit, &mut session, 1_000).await;
    assert_eq!(
        kit.provider.count(Purpose::Notes),
        2,
        "what grew meanwhile calls for the next"
    );
    assert!(file(&kit).unwrap().contains("second"));
}

#[tokio::test]
async fn answers_that_fail_or_do_harm_change_nothing() {
    let heading = Template::builtin().sections()[0].heading().to_owned();
    let edit = |path: &str| {
        call(
            "call_1",
            "Edit",
            &json!({
        "file_path": path, "old_string": "# Worklog", "new_string": "# Log"}),
        )
    };
    let answers = [
        Answer::overloaded(),
        Answer::cut_in_the_middle(),
        Answer::text("I have nothing to add."),
        section("No such section", "x"),
        section("Worklog", &format!("x\n{heading}\ny")),
        Answer::text("<section title=\"Worklog\">\nnot closed"),
        Answer::Blocks(vec![edit(NOTES)]),
        Answer::Blocks(vec![edit("/etc/passwd")]),
        Answer::call("call_1", "Bash", &json!({"x": "rm -rf /"})),
        Answer::call(
            "call_1",
            "Write",
            &json!({"file_path": NOTES, "content": "# Mine"}),
        ),
    ];
    let kit = kit();
    let mut session = kit.open().await;
    kit.provider
        .next(Purpose::Notes, section("Worklog", "the good notes"));
    say(&kit, &mut session, 11_000).await;
    let (good, known) = (file(&kit).unwrap(), records(&session).await);
    assert!(good.contains("the good notes"));
    for (at, answer) in answers.into_iter().enumerate() {
        kit.provider.next(Purpose::Notes, answer);
        say(&kit, &mut session, 6_000).await;
        assert_eq!(kit.provider.count(Purpose::Notes), at + 2);
        assert_eq!(kit.told(failed), at + 1, "{:?}", kit.notices().last());
        assert_eq!(file(&kit).unwrap(), good, "case {at}");
        assert_eq!(records(&session).await, known, "case {at}");
    }
    assert_eq!(kit.machine.files.content("/etc/passwd"), None);
}

/// A call of the editing tools on the notes is read as the edit it asks for; nothing is run.
#[tokio::test]
async fn an_edit_may_come_as_a_call() {
    let kit = kit();
    let mut session = kit.open().await;
    kit.provider
        .next(Purpose::Notes, section("Worklog", "first line"));
    say(&kit, &mut session, 11_000).await;
    let edit = json!({"file_path": NOTES, "old_string": "first line", "new_string": "other line"});
    kit.provider
        .next(Purpose::Notes, Answer::call("call_1", "Edit", &edit));
    say(&kit, &mut session, 6_000).await;
    assert!(
        file(&kit).unwrap().contains("other line"),
        "{:?}",
        kit.notices()
    );
}

#[tokio::test]
async fn on_a_full_disk_the_notes_stay_and_the_session_goes_on() {
    for place in [
        "/home/dormouse/projects/p/s/session-memory",
        "/home/dormouse/projects/p/s/blobs",
    ] {
        let kit = kit();
        let mut session = kit.open().await;
        kit.provider
            .next(Purpose::Notes, section("Worklog", "first"));
        say(&kit, &mut session, 11_000).await;
        let full = Fault::fail(std::io::ErrorKind::StorageFull).on(Operation::Write);
        kit.machine.files.inject(full.at(place).lasting());
        kit.provider
            .next(Purpose::Notes, section("Worklog", "second"));
        say(&kit, &mut session, 6_000).await;
        assert_eq!(kit.told(failed), 1, "{place}: {:?}", kit.notices());
        assert!(file(&kit).unwrap().contains("first"), "{place}");
        assert_eq!(records(&session).await.len(), 1);
        say(&kit, &mut session, 100).await;
    }
}

#[tokio::test]
async fn template_and_prompt_may_be_the_users_own() {
    let kit = kit();
    let config = "/home/dormouse/session-memory/config";
    let template = "# Goal\n_What it is about_\n\n# Ports\n_Every port that was named_\n";
    kit.machine
        .files
        .put(format!("{config}/template.md"), template);
    kit.machine.files.put(
        format!("{config}/prompt.md"),
        "MY PROMPT for {{notesPath}}. {{unknown}}",
    );
    let mut session = kit.open().await;
    kit.provider.next(
        Purpose::Notes,
        section("Ports", "8080 is the proxy; {{notesPath}} stays"),
    );
    say(&kit, &mut session, 11_000).await;
    let directive = kit.provider.sent_for(Purpose::Notes)[0].last_text();
    assert!(
        directive.contains(&format!("MY PROMPT for {NOTES}. {{{{unknown}}}}")),
        "{directive}"
    );
    assert!(directive.contains("# Ports") && directive.contains("<section title="));
    assert!(
        file(&kit)
            .unwrap()
            .starts_with("# Goal\n_What it is about_")
    );
    assert!(
        file(&kit)
            .unwrap()
            .contains("8080 is the proxy; {{notesPath}} stays")
    );
    // A template that is none is said and not used.
    kit.machine
        .files
        .put(format!("{config}/template.md"), "no headings at all");
    say(&kit, &mut session, 6_000).await;
    let said = |n: &Notice| matches!(n, Notice::NotesFailed { why } if why.contains("template"));
    assert!(kit.told(said) >= 1, "{:?}", kit.notices());
}

/// A section that has grown too long is named to the next update.
#[tokio::test]
async fn the_next_update_is_told_what_to_shorten() {
    let kit = kit();
    let mut session = kit.open().await;
    kit.provider
        .next(Purpose::Notes, section("Worklog", &prose(1, 12_000)));
    say(&kit, &mut session, 11_000).await;
    say(&kit, &mut session, 6_000).await;
    let directive = kit.provider.sent_for(Purpose::Notes)[1].last_text();
    assert!(
        directive.contains("These sections have grown too long"),
        "{directive}"
    );
    assert!(directive.contains("- Worklog: "));
}

/// Nothing of an update is in the conversation.
#[tokio::test]
async fn the_parent_does_not_see_its_fork() {
    let kit = kit();
    let mut session = kit.open().await;
    say(&kit, &mut session, 11_000).await;
    assert_eq!(kit.told(updated), 1);
    assert_eq!(prompt(&session).len(), 2);
    assert_eq!(
        session
            .conversation()
            .state()
            .last_usage
            .as_ref()
            .unwrap()
            .usage
            .prompt(),
        kit_prompt(&session).await
    );
    session.turn(vec![Block::text("Go on.")]).await.unwrap();
    assert!(
        !kit.provider
            .sent()
            .pop()
            .unwrap()
            .contains("bring the notes")
    );
}

/// Prompt tokens that the last turn's own response reported.
async fn kit_prompt(session: &Session) -> Tokens {
    let records = session.records().await.unwrap().into_iter();
    let usages = records.filter_map(|record| match record.body {
        Body::Usage(report) if report.purpose.is_turn() => Some(report.usage.prompt()),
        _ => None,
    });
    usages.last().unwrap()
}

#[tokio::test]
async fn a_credential_does_not_get_into_the_notes() {
    let kit = kit();
    let mut session = kit.open().await;
    let key = ["AKIA", "IOSFODNN7EXAMPLX"].concat();
    let body = format!("The bucket is read with {key} from the build.");
    kit.provider.next(Purpose::Notes, section("Worklog", &body));
    say(&kit, &mut session, 12_000).await;
    let written = file(&kit).unwrap();
    assert!(
        written.contains("read with [secret: aws-access-key-id] from the build"),
        "{written}"
    );
    assert!(!written.contains(&key));
}
