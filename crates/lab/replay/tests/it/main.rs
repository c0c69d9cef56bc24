//! Replays of real sessions, read by path and skipped where they are absent; and the ledger and the
//! layers against the simulator.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(test)]
mod fidelity;
mod layers;
mod ledger;

use bytes::Bytes;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Record;
use dormouse_replay::{Recording, RecordingError, Replay, replay};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test reads material by path and says what it skips"
)]
fn read(session: &str) -> Option<Vec<Record>> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/material/transcripts");
    let file = folder.join("spotter-mit").join(session);
    let Ok(text) = std::fs::read(&file) else {
        println!("skipped: no material at {}", file.display());
        return None;
    };
    let text = Bytes::from(text);
    let mut records = Vec::new();
    let mut offset = 0;
    for line in text.split(|byte| *byte == b'\n') {
        records.extend(
            Record::parse(&text.slice_ref(line), offset)
                .ok()
                .map(|read| read.record),
        );
        offset += line.len() as u64 + 1;
    }
    Some(records)
}

fn replayed(session: &str) -> Option<Replay> {
    let records = read(session)?;
    let models = Arc::new(ModelTable::builtin().clone());
    let recording = Recording::new(&records, &models).unwrap();
    Some(replay(&recording, &models, &|| Duration::ZERO).unwrap())
}

/// The promise: nine in ten ordinary hits within five per cent, every break reproduced.
fn check(session: &str, fewest_hits: usize, unexplained: &[usize]) {
    let Some(replay) = replayed(session) else {
        return;
    };
    let score = replay.comparison.score;
    assert!(score.hits >= fewest_hits, "{score:?}");
    assert!(score.matched * 10 >= score.hits * 9, "{score:?}");
    assert!(
        score.breaks >= 1 && score.reproduced == score.breaks,
        "{score:?}"
    );
    assert_eq!(
        replay.simulated.rejected, 0,
        "the simulator accepts every view of the engine"
    );
    // Breaks that the client caused and did not log: known, and not more than these.
    let client: Vec<usize> = replay
        .comparison
        .differences
        .iter()
        .filter(|difference| difference.why.contains("did not log"))
        .map(|difference| difference.turn)
        .collect();
    assert_eq!(client, unexplained);
}

#[test]
fn the_session_with_an_automatic_compaction() {
    check(
        "258c7280-ae70-4798-800f-63464d01a85d.jsonl",
        100,
        &[32, 150],
    );
}

#[test]
fn the_session_with_a_manual_compaction_and_two_models() {
    check("ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl", 150, &[]);
}

#[test]
fn a_transcript_without_figures_is_refused() {
    let models = Arc::new(ModelTable::builtin().clone());
    let error = Recording::new(&[], &models).unwrap_err();
    assert_eq!(error, RecordingError::NothingMeasured);
}
