//! Boundaries of a long session: their size, and the cost and the result of resuming from one.

use dormouse_context::conversation::Conversation;
use dormouse_context::policy::Classic;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, LineContext, encode};
use dormouse_replay::{PolicyRun, RunOptions, Scenario, run_policy};
use dormouse_store::LogFile;
use dormouse_system::{Clock, MemoryFiles, MemorySystem};
use std::sync::Arc;

/// Steps between two compactions: a few turns of the user, and some ten kilobytes of output.
const EVERY: usize = 40;

/// A session of 600 requests with fifteen boundaries.
fn session() -> PolicyRun {
    let scenario = Scenario {
        steps: 15 * EVERY,
        tool_bytes: 15 * EVERY * 2_000,
        steps_per_turn: 5,
        prefix_bytes: 4_000,
        ..Scenario::default()
    };
    let models = Arc::new(ModelTable::builtin().clone());
    let options = RunOptions {
        compact_after: (1..=15).map(|nth| nth * EVERY).collect(),
        ..RunOptions::new(Arc::new(Classic))
    };
    let clock: Arc<dyn Clock> = MemorySystem::new().system().clock;
    run_policy(&scenario.script(), &options, &models, &clock).unwrap()
}

/// The chronicle of this session grows to some 150 kB, and its sections and restored files make some
/// 60 kB of every new prompt; both were repeated in each boundary.
#[test]
fn a_boundary_names_what_is_written_already() {
    let run = session();
    assert!(run.finished(), "{:?}", run.lost);
    let mut log = Vec::new();
    let mut manifests = Vec::new();
    let mut lines = Vec::new();
    let mut pages = 0;
    for record in &run.records {
        let line = encode(record, &LineContext::default()).unwrap();
        match &record.body {
            Body::Chronicle(_) => pages += line.len(),
            Body::Boundary(boundary) => {
                manifests.push(serde_json::to_vec(&boundary.manifest).unwrap().len());
                lines.push(line.len());
            }
            _ => {}
        }
        assert_eq!(record.offset, log.len() as u64);
        log.extend(line);
    }
    assert!(manifests.len() >= 12, "{manifests:?}");
    assert!(
        manifests.iter().all(|bytes| *bytes <= 40_000),
        "{manifests:?}"
    );
    // Whole lines, once the sections have their full length.
    assert!(lines.iter().all(|bytes| *bytes <= 40_000), "{lines:?}");
    // With the pages between them: the entries are written about twice, however many boundaries
    // there are.
    let average = (manifests.iter().sum::<usize>() + pages) / manifests.len();
    assert!(average <= 45_000, "{average} bytes a boundary");

    // The resumed session is the one that was never closed, and little of the log was read for it.
    let files = MemoryFiles::default();
    files.put("/s.jsonl", &log);
    let file = LogFile::open(&files, "/s.jsonl".as_ref()).unwrap();
    let resumed = file.resume(&|_| None).unwrap();
    assert_eq!(resumed.issues.total(), 0);
    assert!(
        // The texts of some six boundaries are among them.
        resumed.bytes_read * 5 < 2 * log.len() as u64,
        "{} of {} bytes were read",
        resumed.bytes_read,
        log.len()
    );
    let unbroken = run.driver.conversation();
    let kept = resumed.kept.iter();
    let again = Conversation::resumed(
        resumed.carrier.as_ref(),
        kept.map(|(session, record)| (session.as_ref(), record)),
        &resumed.tail,
        unbroken.view().target().clone(),
    );
    assert_eq!(again.state(), unbroken.state());
    assert_eq!(again.view().extent(), unbroken.view().extent());
    let chronicle = &again.state().chronicle;
    assert_eq!(chronicle.user.count(), 15 * EVERY as u64 / 5);
}
