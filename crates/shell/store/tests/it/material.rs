//! Real transcripts, where they are at hand.

use dormouse_context::path::{Leaf, path};
use dormouse_core::id::RecordId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Body;
use dormouse_core::usage_book::{SYNTHETIC_MODEL, UsageBook};
use dormouse_store::{LogFile, ReadError, scan_usage, summarise};
use dormouse_system::{Files as _, RealFiles};
use dormouse_testkit::material::transcripts;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

#[test]
fn every_transcript_is_read_and_summarised() {
    for path in transcripts() {
        let log = match LogFile::open(&RealFiles, &path) {
            Ok(log) => log,
            // Some files are sessions of tools whose formats are not read.
            Err(ReadError::Empty { .. } | ReadError::NotATranscript { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        let read = log.read_all().unwrap();
        let summary = summarise(&log).unwrap();
        let said = read.issues.total() > 0;
        assert!(!read.records.is_empty() || said, "{}", path.display());
        assert_eq!((summary.lines, summary.bytes), (read.lines, read.bytes));
        assert_eq!(read.records.len(), read.line_of.len());
    }
}

#[test]
fn a_resume_starts_where_the_engine_would() {
    for file in transcripts() {
        let Ok(log) = LogFile::open(&RealFiles, &file) else {
            continue;
        };
        let read = log.read_all().unwrap();
        let ids: HashSet<&RecordId> = read.records.iter().map(|record| &record.id).collect();
        if ids.len() < read.records.len() {
            // Some were made unrecognisable: all their ids are the same.
            continue;
        }
        let boundary = path(&read.records, Leaf::Newest)
            .into_iter()
            .rfind(|record| matches!(record.body, Body::Boundary(_)) && !record.side_chain);
        let resumed = log.resume(&|_| None).unwrap();
        assert_eq!(resumed.carrier.as_ref(), boundary, "{}", file.display());
        if boundary.is_none() {
            assert_eq!(resumed.tail.len(), read.records.len());
        }
    }
}

#[test]
fn usage_equals_a_naive_count() {
    let number = |usage: &Value, name: &str| usage[name].as_u64().unwrap_or(0);
    for path in transcripts() {
        let Ok(log) = LogFile::open(&RealFiles, &path) else {
            continue;
        };
        // Codex and pi report their figures in other shapes; those are counted in `usage`.
        if log.foreign_format().unwrap().is_some() {
            continue;
        }
        let mut book = UsageBook::new();
        scan_usage(&log, &mut book).unwrap();
        let totals = book.totals(ModelTable::builtin());
        let mut naive: HashMap<String, [u64; 3]> = HashMap::new();
        let text = RealFiles.read(&path, u64::MAX).unwrap();
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let Ok(line) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            let message = &line["message"];
            let usage = &message["usage"];
            if line["type"] != "assistant" || !usage.is_object() {
                continue;
            }
            let ids = [&message["id"], &line["requestId"], &line["uuid"]];
            let id = ids.iter().find_map(|id| id.as_str());
            let id = id.map_or_else(|| format!("line {at}"), str::to_owned);
            if message["model"] == SYNTHETIC_MODEL {
                naive.remove(&id);
                continue;
            }
            let names = [
                "input_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            ];
            naive.insert(id, names.map(|name| number(usage, name)));
        }
        let sum = |at: usize| naive.values().map(|figures| figures[at]).sum::<u64>();
        let usage = totals.all.usage;
        let written = usage.cache_write_5m + usage.cache_write_1h;
        assert_eq!(
            [
                totals.all.responses,
                usage.input.get(),
                usage.cache_read.get(),
                written.get()
            ],
            [naive.len() as u64, sum(0), sum(1), sum(2)],
            "{}",
            path.display()
        );
    }
}
