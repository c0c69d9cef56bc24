//! Searching real transcripts, where they are at hand.

use dormouse_store::{
    FoundLog, SearchLimits, TermQuery, TranscriptSearch, discover, search_transcripts,
};
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

fn search(logs: &[FoundLog], terms: &[&str], limits: &SearchLimits) -> TranscriptSearch {
    let query = TermQuery::new(terms);
    search_transcripts(&RealFiles, logs, &query, limits, &AtomicBool::new(false))
}

#[test]
fn transcripts_of_every_tool_are_searched() {
    let logs = logs();
    let limits = SearchLimits::default();
    let has_material = material("transcripts").is_some();
    let known = [
        (&["north", "wall", "degrees"][..], "nest-box"),
        (&["summarize", "hello.py", "prints"], "/pi/"),
        (&["list", "files"], "/codex/"),
        (&["compaction"], "pi-mono-mit"),
        (&["phantom", "reads"], "phantom-reads-mit"),
    ];
    for (terms, folder) in known.into_iter().take(if has_material { 5 } else { 1 }) {
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
    // Long results beside some of them are read as well.
    assert!(first.bytes >= bytes, "{} of {bytes}", first.bytes);
    assert_eq!(first.files, logs.len());
}
