//! Defects of the engine before the driver, each with the test that would have shown it.

mod answers;
mod counted;
mod interrupted;
mod resumed;
mod stored;
mod unnoticed;

use dormouse_core::block::Block;
use dormouse_core::record::{Attempt, Body, Record, StateChange};
use dormouse_engine::Session;
use tokio::sync::Notify;

/// Starts a turn and drops its future when the word is given.
async fn interrupt(session: &mut Session, text: &str, word: &Notify) {
    tokio::select! {
        biased;
        ended = session.turn(vec![Block::text(text)]) => panic!("the turn has ended: {ended:?}"),
        () = word.notified() => {}
    }
}

/// True if the record is a message with these words.
fn says(record: &Record, words: &str) -> bool {
    let Body::Message(message) = &record.body else {
        return false;
    };
    let mut blocks = message.content.iter();
    blocks.any(|block| String::from_utf8_lossy(block.bytes()).contains(words))
}

/// Records that the log has by now.
async fn records(session: &Session) -> Vec<Record> {
    session.records().await.unwrap()
}

/// Failed attempts at requests, as recorded.
async fn attempts(session: &Session) -> Vec<Attempt> {
    let records = records(session).await.into_iter();
    let attempts = records.filter_map(|record| match record.body {
        Body::State(StateChange::Attempt(attempt)) => Some(attempt),
        _ => None,
    });
    attempts.collect()
}
