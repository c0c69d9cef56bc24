//! Lessons that a session leaves behind, and requests that keep its cache warm.

use crate::broken_summaries::summary;
use crate::kit::{Kit, NOTES, check, turn};
use crate::provider::Answer;
use dormouse_context::policy::Economic;
use dormouse_engine::{CompactWish, Notice, Purpose};
use dormouse_system::{Fault, Files as _, Operation};
use std::time::Duration;

/// The economic policy does not begin from nothing in every session of a project.
#[tokio::test]
async fn a_session_teaches_the_next_one_of_its_project() {
    let mut kit = Kit::new();
    kit.config.policy = Some(std::sync::Arc::new(Economic));
    let mut session = kit.open().await;
    let untaught = *session.conversation().economy();
    kit.talk_until(&mut session, 20_000).await;
    let learnt = *session.conversation().economy();
    assert_ne!(learnt.growth, untaught.growth);
    session.close().await.unwrap();
    kit.machine
        .files
        .remove_file(crate::kit::LOG.as_ref())
        .unwrap();
    let next = kit.open().await;
    let begins = next.conversation().economy();
    assert_eq!(begins.growth.tokens(), learnt.growth.tokens());
    assert_eq!(begins.requests(), 0);
    check(&next);
    // It is in the log: opening the session again begins from the same figures.
    let begins = *begins;
    drop(next);
    assert_eq!(*kit.open().await.conversation().economy(), begins);
}

/// Killed sessions and sessions that run at once teach too: each has an entry of its own, written
/// while it goes on.
#[tokio::test]
async fn a_session_that_never_closes_has_taught_what_it_wrote_last() {
    let mut kit = Kit::new();
    kit.config.policy = Some(std::sync::Arc::new(Economic));
    let mut session = kit.open().await;
    for _ in 0..6 {
        turn(&mut session, "Go on.").await;
    }
    // Dropped without its end, as by a signal.
    drop(session);
    let file = "/home/dormouse/projects/p/economy.json";
    let text = || {
        let bytes = kit.machine.files.read(file.as_ref(), u64::MAX).unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let entries = || text().matches("\"requests\":").count();
    let killed = entries();
    assert!(killed > 0, "{}", text());
    // Another session of the project ends in order: the first one's entry stays beside it.
    let home = "/home/dormouse".as_ref();
    let mut next = kit.open_as(kit.machine.system(), home, "another").await;
    turn(&mut next, "Say something.").await;
    next.close().await.unwrap();
    assert_eq!(entries(), 2 * killed);
}

/// The folder that the lessons go to may be gone, or lie where none can be made.
#[tokio::test]
async fn a_session_closes_where_its_folder_cannot_be_made() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, "Say something.").await;
    let gone =
        Fault::fail(std::io::ErrorKind::NotFound).at("/home/dormouse/projects/p/economy.json");
    let gone = gone.on(Operation::CreateFile).lasting();
    kit.machine.files.inject(gone);
    session.close().await.unwrap();
    let told = kit.notices();
    let unsaved = |notice: &Notice| matches!(notice, Notice::LessonsNotSaved { .. });
    assert!(told.iter().any(unsaved), "{told:?}");
    // The log is complete: what was said is there, and the checkpoint behind it.
    check(&kit.open().await);
}

/// Off by default; where it is on, a request is sent only if the session's pauses say it pays.
#[tokio::test]
async fn the_cache_is_kept_warm_where_that_pays() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 12_000).await;
    assert!(!session.keep_alive().await.unwrap(), "it is off");
    kit.set(&["notes=off", "cache.keep_alive=on", "cache.ttl.messages=5m"]);
    turn(&mut session, "Go on.").await;
    assert!(
        !session.keep_alive().await.unwrap(),
        "no pause was ever long"
    );
    for _ in 0..2 {
        kit.wait(Duration::from_mins(9));
        turn(&mut session, "Back again.").await;
    }
    kit.wait(Duration::from_mins(4));
    assert!(session.keep_alive().await.unwrap());
    let sent = kit.provider.sent_for(Purpose::KeepAlive).pop().unwrap();
    assert_eq!(sent.json()["max_tokens"], 1);
    // Four minutes later the prompt is still in the cache.
    kit.wait(Duration::from_mins(4));
    turn(&mut session, "And on.").await;
    let last = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    let prompt = last.usage.prompt().get();
    assert!(last.usage.cache_read.get() * 10 > prompt * 9);
}

/// Under a policy without notes a person finds the file all the same, and nothing was asked for it.
#[tokio::test]
async fn a_compacted_session_leaves_notes_for_people() {
    let mut kit = Kit::new();
    kit.config.policy = Some(std::sync::Arc::new(Economic));
    let read = |kit: &Kit| {
        let bytes = kit.machine.files.read(NOTES.as_ref(), u64::MAX).ok()?;
        String::from_utf8(bytes.to_vec()).ok()
    };
    // Nothing was compacted, so the log tells it all.
    let mut session = kit.open().await;
    turn(&mut session, "Say something.").await;
    session.close().await.unwrap();
    assert_eq!(read(&kit), None);
    // Two compactions with a resumption between them: both summaries are there.
    for told in ["the ports are 4711 and 4712", "the ports were changed"] {
        kit.set(&["notes=off"]);
        let mut session = kit.open().await;
        kit.talk_until(&mut session, 12_000).await;
        let text = summary(80).replace("</summary>", &format!("{told}\n</summary>"));
        kit.provider.next(Purpose::Compaction, Answer::text(&text));
        session.compact(CompactWish::default()).await.unwrap();
        let sent = kit.provider.sent().len();
        // Switched on at the end, so that the file is not one that a fork wrote.
        kit.set(&["notes=on"]);
        session.close().await.unwrap();
        assert_eq!(kit.provider.sent().len(), sent);
    }
    let text = read(&kit).unwrap();
    for part in ["4711 and 4712", "the ports were changed", "# Evidence"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    check(&kit.open().await);
}
