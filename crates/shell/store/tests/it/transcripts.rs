//! Searching real transcripts, where they are at hand.

use dormouse_store::{
    FoundLog, SearchLimits, TermQuery, TranscriptSearch, discover, search_transcripts,
};
use dormouse_system::RealFiles;
use pretty_assertions::assert_eq;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// All transcripts, or none with a word about it.
fn logs() -> Vec<FoundLog> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/material/transcripts");
    match discover(&RealFiles, &folder) {
        Ok(found) => found.logs,
        Err(error) => {
            println!("skipped: {error}");
            Vec::new()
        }
    }
}

fn search(logs: &[FoundLog], terms: &[&str], limits: &SearchLimits) -> TranscriptSearch {
    let query = TermQuery::new(terms);
    search_transcripts(&RealFiles, logs, &query, limits, &AtomicBool::new(false))
}

#[test]
fn transcripts_of_every_tool_are_searched() {
    let logs = logs();
    if logs.is_empty() {
        return;
    }
    let limits = SearchLimits::default();
    for (terms, folder) in [
        (&["summarize", "hello.py", "prints"][..], "/pi/"),
        (&["list", "files"], "/codex/"),
        (&["compaction"], "pi-mono-mit"),
        (&["phantom", "reads"], "phantom-reads-mit"),
    ] {
        let own: Vec<FoundLog> = logs
            .iter()
            .filter(|log| log.path.to_string_lossy().contains(folder))
            .cloned()
            .collect();
        let found = search(&own, terms, &limits);
        let best = &found.matches[0];
        assert_eq!(best.terms, terms.len(), "{folder}: {best:?}");
        assert!(best.time.is_some(), "{best:?}");
        let lower = best.snippet.to_lowercase();
        assert!(terms.iter().any(|term| lower.contains(term)), "{best:?}");
        assert!(best.snippet.chars().count() <= limits.snippet + 2);
    }
}

#[test]
fn threads_and_repetition_change_nothing() {
    let logs = logs();
    let terms = ["error", "test", "file"];
    let one = SearchLimits {
        threads: 1,
        ..SearchLimits::default()
    };
    let first = search(&logs, &terms, &one);
    let second = search(&logs, &terms, &SearchLimits::default());
    assert_eq!(first.matches, second.matches);
    assert_eq!(first.bytes, second.bytes);
    let bytes: u64 = logs.iter().map(|log| log.bytes).sum();
    assert_eq!(first.bytes, bytes);
    assert_eq!(first.files, logs.len());
}
