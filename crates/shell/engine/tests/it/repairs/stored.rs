//! The log as the only truth: other writers, full disks, slow stores.

use super::{records, says};
use crate::kit::{Kit, LOG, prompt, prompt_text, turn};
use crate::provider::Answer;
use bytes::Bytes;
use dormouse_core::block::Block;
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{Batch, Body, Message, Record, StateChange};
use dormouse_drive::Command;
use dormouse_engine::{BlockingLog, CompactWish, EngineError, LogStore, Notice, Purpose};
use dormouse_store::MemoryLog;
use dormouse_system::{Fault, Operation};
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

fn stopped(notice: &Notice) -> bool {
    matches!(notice, Notice::Stopped { .. })
}

/// Another process appends a message.
async fn meddle(log: &dyn LogStore) {
    let last = log.read().await.unwrap().pop().unwrap();
    let words = Block::text("Said by another process.");
    let record = Record {
        seq: last.seq.next(),
        id: RecordId::new("00000000-0000-8000-a000-000000000001"),
        parent: Some(last.id.clone()),
        body: Body::Message(Message::user(vec![words])),
        ..last.clone()
    };
    let batch = Batch {
        expected: Some(last.id),
        records: vec![record],
        sync: false,
        offset: last.offset,
        lines: Bytes::new(),
    };
    log.append(batch).await.unwrap();
}

#[tokio::test]
async fn a_session_whose_log_moved_on_is_read_only_and_sends_nothing() {
    let mut kit = Kit::new();
    let log: Arc<dyn LogStore> = Arc::new(BlockingLog::new(MemoryLog::new(SessionId::new("s"))));
    kit.log = Some(Arc::clone(&log));
    let mut session = kit.open().await;
    turn(&mut session, "The first question.").await;
    let before = records(&session).await.len();
    meddle(&*log).await;
    for _ in 0..2 {
        let failed = session
            .turn(vec![Block::text("The second question.")])
            .await;
        assert!(matches!(failed, Err(EngineError::Append(_))), "{failed:?}");
    }
    assert_eq!(kit.provider.sent().len(), 1, "nothing more is sent");
    assert_eq!(kit.told(stopped), 1, "told once");
    assert!(session.snapshot().stopped.is_some());
    assert!(
        prompt_text(&session).contains("The second question."),
        "still shown"
    );
    let after = records(&session).await;
    assert_eq!(after.len(), before + 1, "the log is the other writer's");
    assert!(says(after.last().unwrap(), "another process"));
    // Opened anew, it goes on behind the other writer.
    let mut session = kit.open().await;
    turn(&mut session, "The third question.").await;
    let text = prompt_text(&session);
    assert!(text.contains("another process") && text.contains("The third question."));
}

#[tokio::test]
async fn a_failing_append_stops_requests() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    turn(&mut session, "The first question.").await;
    let full = Fault::fail(ErrorKind::StorageFull)
        .on(Operation::Write)
        .at(LOG);
    kit.machine.files.inject(full.lasting());
    let failed = session
        .turn(vec![Block::text("The second question.")])
        .await;
    assert!(matches!(failed, Err(EngineError::Append(_))), "{failed:?}");
    assert_eq!((kit.provider.sent().len(), kit.told(stopped)), (1, 1));
    kit.machine.files.clear_faults();
    let failed = session.turn(vec![Block::text("The third question.")]).await;
    assert!(
        failed.is_err(),
        "the conversation in memory is ahead of the log"
    );
    let (mut session, _) = kit.killed().await;
    turn(&mut session, "The fourth question.").await;
}

#[tokio::test]
async fn a_failing_append_stops_tools() {
    let kit = Kit::new();
    let mut session = kit.open().await;
    let word = Arc::default();
    let call = Answer::call("call_1", "Bash", &json!({"x": "1"}));
    kit.provider.next(Purpose::Turn, call.held(&word));
    let work = session.turn(vec![Block::text("Do it.")]);
    let breaks = async {
        kit.provider.waits().await;
        let full = Fault::fail(ErrorKind::StorageFull)
            .on(Operation::Write)
            .at(LOG);
        kit.machine.files.inject(full.lasting());
        word.notify_one();
    };
    let (failed, ()) = tokio::join!(work, breaks);
    assert!(matches!(failed, Err(EngineError::Append(_))), "{failed:?}");
    assert_eq!(kit.tools.runs.started(), Vec::<String>::new());
    assert_eq!((kit.provider.sent().len(), kit.told(stopped)), (1, 1));
}

fn is_boundary(record: &Record) -> bool {
    matches!(record.body, Body::Boundary(_))
}

#[tokio::test]
async fn a_boundary_that_was_not_written_is_not_taken_as_committed() {
    let mut kit = Kit::new();
    let log = kit.watch_log();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 9_000).await;
    let before = prompt(&session);
    log.refuse(is_boundary);
    let failed = session.compact(CompactWish::default()).await;
    assert!(matches!(failed, Err(EngineError::Append(_))), "{failed:?}");
    let compacted = kit.told(|it| matches!(it, Notice::Compacted { .. }));
    assert_eq!((compacted, kit.told(stopped)), (0, 1));
    drop(session);
    kit.log = None;
    let (session, after) = kit.killed().await;
    assert!(after == before, "the old view stands");
    assert!(!records(&session).await.iter().any(is_boundary));
}

/// Syncs of the log so far.
fn syncs(kit: &Kit) -> usize {
    let performed = kit.machine.files.performed();
    let of_log = performed
        .iter()
        .filter(|it| it.operation == Operation::SyncData && it.path == Path::new(LOG));
    of_log.count()
}

#[tokio::test]
async fn a_slow_store_gets_few_batches_with_one_sync_each() {
    let mut kit = Kit::new();
    let log = kit.watch_log();
    let mut session = kit.open().await;
    let (before, synced) = (log.batches().len(), syncs(&kit));
    let gate = log.hold();
    let engine = session.engine();
    let mut last = None;
    for number in 0..60 {
        let change = StateChange::Fact {
            name: format!("fact-{number}"),
            value: json!(number),
        };
        last = Some(engine.command(Command::Note(change)));
    }
    gate.add_permits(100);
    engine.reply(last.unwrap()).await.unwrap().unwrap();
    let batches = log.batches().split_off(before);
    let sizes: Vec<usize> = batches.iter().map(|(records, _)| records.len()).collect();
    assert_eq!(
        sizes,
        [1, 59],
        "while the first is written the second fills"
    );
    let wanted = batches.iter().filter(|(_, sync)| *sync).count();
    assert_eq!((wanted, syncs(&kit) - synced), (2, 2));
}
