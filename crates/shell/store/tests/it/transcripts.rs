//! Searching real transcripts, where they are at hand.

use dormouse_store::{FoundLog, SearchLimits, TranscriptHistory, discover, read_history};
use dormouse_system::RealFiles;
use dormouse_testkit::material::{material, sample};
use pretty_assertions::assert_eq;
use std::sync::atomic::AtomicBool;

/// All transcripts: the samples, then those of the material.
fn logs() -> Vec<FoundLog> {
    let folders = std::iter::once(sample("transcripts")).chain(material("transcripts"));
    folders
        .flat_map(|folder| discover(&RealFiles, &folder).unwrap().logs)
        .collect()
}

fn read(logs: &[FoundLog], question: &str, limits: &SearchLimits) -> TranscriptHistory {
    let stop = AtomicBool::new(false);
    read_history(&RealFiles, logs, Some(question), limits, &stop)
}

#[test]
fn transcripts_of_every_tool_are_searched() {
    let logs = logs();
    let has_material = material("transcripts").is_some();
    let known = [
        ("north wall degrees", "nest-box"),
        ("summarize hello.py prints", "/pi/"),
        ("list files", "/codex/"),
        ("compaction", "pi-mono-mit"),
        ("phantom reads", "phantom-reads-mit"),
    ];
    for (question, folder) in known.into_iter().take(if has_material { 5 } else { 1 }) {
        let own: Vec<FoundLog> = logs
            .iter()
            .filter(|log| log.path.to_string_lossy().contains(folder))
            .cloned()
            .collect();
        let read = read(&own, question, &SearchLimits::default());
        let found = read.find(question, 7_000, usize::MAX, |_, _| true);
        let best = &found[0];
        assert_eq!(best.words, read.words(question), "{folder}: {best:?}");
        assert!(best.passage.time.is_some(), "{best:?}");
        let lower = best.lines.join(" ").to_lowercase();
        let mut words = question.split(' ');
        assert!(words.any(|word| lower.contains(word)), "{best:?}");
        let bytes: usize = found
            .iter()
            .flat_map(|one| &one.lines)
            .map(String::len)
            .sum();
        assert!(bytes <= 7_000, "{bytes}");
    }
}

#[test]
fn threads_and_repetition_change_nothing() {
    let logs = logs();
    let question = "error test file";
    let one = SearchLimits {
        threads: 1,
        ..SearchLimits::default()
    };
    let first = read(&logs, question, &one);
    let second = read(&logs, question, &SearchLimits::default());
    let found =
        |history: &TranscriptHistory| history.find(question, 7_000, usize::MAX, |_, _| true);
    assert_eq!(found(&first), found(&second));
    assert_eq!(first.bytes, second.bytes);
    let bytes: u64 = logs.iter().map(|log| log.bytes).sum();
    // Long results beside some of them are read as well.
    assert!(first.bytes >= bytes, "{} of {bytes}", first.bytes);
    assert_eq!(first.files, logs.len());
}
