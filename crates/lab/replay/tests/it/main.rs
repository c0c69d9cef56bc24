//! Replays of real sessions, read by path and skipped where they are absent; and the ledger and the
//! layers against the simulator.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(test)]
mod boundaries;
mod cost;
mod distilling;
#[cfg(test)]
mod fidelity;
mod fitting;
mod layers;
mod ledger;
mod rounds;
mod small_windows;
mod used;

use bytes::Bytes;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Record;
use dormouse_replay::{Recording, RecordingError, Replay, replay};
use dormouse_testkit::material::{material, sample};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[expect(clippy::disallowed_methods, reason = "a test reads material by path")]
fn read(file: &Path) -> Vec<Record> {
    let text = Bytes::from(std::fs::read(file).unwrap());
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
    records
}

fn replayed(file: &Path) -> Replay {
    let records = read(file);
    let models = Arc::new(ModelTable::builtin().clone());
    let recording = Recording::new(&records, &models).unwrap();
    replay(&recording, &models, &|| Duration::ZERO).unwrap()
}

/// The promise: nine in ten ordinary hits within five per cent, every break reproduced.
fn check(session: &str, fewest_hits: usize, unexplained: &[usize]) {
    let Some(file) = material(&format!("transcripts/spotter-mit/{session}")) else {
        return;
    };
    let replay = replayed(&file);
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

/// The sample's figures are made up, so its hits need not match; the simulator takes every view.
#[test]
fn the_sample_is_replayed() {
    let session = "transcripts/nest-box/0b7d1c52-4f0e-4c7e-9a39-6d2f0c5e8a11.jsonl";
    let replay = replayed(&sample(session));
    assert_eq!(replay.simulated.rejected, 0);
    assert!(
        replay.comparison.score.hits >= 8,
        "{:?}",
        replay.comparison.score
    );
}

#[test]
fn a_transcript_without_figures_is_refused() {
    let models = Arc::new(ModelTable::builtin().clone());
    let error = Recording::new(&[], &models).unwrap_err();
    assert_eq!(error, RecordingError::NothingMeasured);
}
