//! The search in one file, block by block.
//!
//! # Not here
//! The choice and order of files ([`super::stream_transcripts`]); the text of a line (`shape`).

use super::needles::Needles;
use super::shape::spoken;
use super::snippet::{places, snippet};
use super::{Said, SearchLimits, TermQuery, TranscriptMatch, keep_best};
use crate::chunks::{Chunks, Piece, as_u64};
use crate::discover::FoundLog;
use dormouse_core::units::Millis;
use dormouse_system::{DirEntry, FileError, FileKind, FileResult, Files};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes read at a time: small, since every thread holds them and a copy in lower case.
const BLOCK: usize = 256 * 1024;

/// Folder of a session's long results.
const RESULTS: &str = "tool-results";

/// Matches of one long result: it is one answer of a tool, however many lines it has.
const MOST_OF_RESULT: usize = 2;

/// Result of searching one file.
#[derive(Debug, Default)]
pub(super) struct Searched {
    pub(super) matches: Vec<TranscriptMatch>,
    pub(super) bytes: u64,
    pub(super) skipped: u64,
    /// True if it was read to its end, and not cancelled.
    pub(super) whole: bool,
    pub(super) error: Option<FileError>,
}

pub(super) fn search(
    files: &dyn Files,
    log: &FoundLog,
    needles: &Needles,
    query: &TermQuery,
    limits: &SearchLimits,
    stop: &AtomicBool,
) -> Searched {
    let mut search = Search {
        log,
        needles,
        query,
        limits,
        out: Searched::default(),
    };
    if let Err(error) = search.run(files, stop, Search::line) {
        search.out.error = Some(error);
    }
    let mut out = search.out;
    for result in results(files, log) {
        let limits = SearchLimits {
            per_file: limits.per_file.min(MOST_OF_RESULT),
            ..*limits
        };
        let mut search = Search {
            log: &result,
            needles,
            query,
            limits: &limits,
            out: Searched::default(),
        };
        // A result that was removed meanwhile is no fault of the log.
        if search.run(files, stop, Search::plain).is_ok() {
            out.bytes += search.out.bytes;
            out.whole &= search.out.whole;
            out.matches.append(&mut search.out.matches);
        }
    }
    out
}

/// Files of long results beside a log of Dormouse's; other tools keep theirs in the log.
fn results(files: &dyn Files, log: &FoundLog) -> Vec<FoundLog> {
    let folder = log.path.with_extension("").join(RESULTS);
    let listed = files.list(&folder).unwrap_or_default();
    let is_result = |entry: &DirEntry| entry.metadata.kind == FileKind::File;
    let result = |entry: DirEntry| FoundLog {
        path: folder.join(entry.name),
        bytes: entry.metadata.len,
        modified: entry.metadata.modified,
        ..log.clone()
    };
    listed.into_iter().filter(is_result).map(result).collect()
}

struct Search<'a> {
    log: &'a FoundLog,
    needles: &'a Needles,
    query: &'a TermQuery,
    limits: &'a SearchLimits,
    out: Searched,
}

impl Search<'_> {
    fn run(
        &mut self,
        files: &dyn Files,
        stop: &AtomicBool,
        line: fn(&mut Self, u64, &[u8]),
    ) -> FileResult<()> {
        let file = files.open(&self.log.path)?;
        let len = file.len()?;
        let mut chunks =
            Chunks::in_blocks(&*file, 0..len, BLOCK).with_limit(self.limits.line_bytes);
        let mut lower = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let Some(piece) = chunks.next_piece()? else {
                self.out.whole = true;
                break;
            };
            match piece {
                Piece::Lines { offset, bytes } => {
                    self.out.bytes += as_u64(bytes.len());
                    lower.clear();
                    lower.extend_from_slice(&bytes);
                    // ASCII only, so that the copy has the same length and offsets as the original.
                    lower.make_ascii_lowercase();
                    self.block(offset, &bytes, &lower, line);
                }
                Piece::Overlong { bytes, .. } => {
                    self.out.bytes += bytes;
                    self.out.skipped += 1;
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, offset: u64, block: &[u8], lower: &[u8], line: fn(&mut Self, u64, &[u8])) {
        let mut hits = self.needles.within(lower);
        let mut from = 0;
        while let Some(hit) = hits.from(from) {
            let start = memchr::memrchr(b'\n', &block[from..hit]).map_or(from, |at| from + at + 1);
            let end = memchr::memchr(b'\n', &block[hit..]).map_or(block.len(), |at| hit + at);
            if end - start > self.limits.line_bytes {
                self.out.skipped += 1;
            } else if self.needles.count(&lower[start..end]) >= self.least() {
                line(self, offset + as_u64(start), &block[start..end]);
            }
            // Behind the line: one line is judged once, however many needles it has.
            from = end;
        }
    }

    /// Terms that a line must have to be worth a look: in a full list, no fewer than the worst has.
    fn least(&self) -> usize {
        let wanted = self.limits.least_terms.clamp(1, self.query.terms().len());
        let full = self.out.matches.len() >= self.limits.per_file;
        let worst = self.out.matches.last().filter(|_| full);
        worst.map_or(wanted, |worst| worst.terms.max(wanted))
    }

    fn line(&mut self, offset: u64, line: &[u8]) {
        // Torn or foreign text; its raw words have no speaker, so they are not shown.
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            self.out.skipped += 1;
            return;
        };
        let spoken = spoken(&value);
        let mut all = BTreeSet::new();
        let mut best: Option<Best<'_>> = None;
        for (said, text) in &spoken.texts {
            let places = places(text, self.query.terms());
            let own: BTreeSet<usize> = places.iter().map(|(_, number)| *number).collect();
            if own.is_empty() {
                continue;
            }
            // Strictly more, so that of equal texts the first one is shown.
            if best.as_ref().is_none_or(|best| own.len() > best.terms) {
                best = Some(Best {
                    said: *said,
                    text,
                    terms: own.len(),
                    places,
                });
            }
            all.extend(own);
        }
        // All texts of a line count together: a call and its result share one line in some tools.
        let Some(best) = best.filter(|_| all.len() >= self.least()) else {
            return;
        };
        let snippet = snippet(best.text, &best.places, self.limits.snippet);
        // Some tools write everything twice, in lines of different shape.
        let told = |known: &TranscriptMatch| known.snippet == snippet && known.said == best.said;
        if self.out.matches.iter().any(told) {
            return;
        }
        let found = self.found(
            offset,
            spoken.record,
            spoken.time,
            best.said,
            all.len(),
            snippet,
        );
        keep_best(&mut self.out.matches, found, self.limits.per_file);
    }

    /// A line of a result that lies in a file of its own: text, and no record.
    fn plain(&mut self, offset: u64, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let places = places(&text, self.query.terms());
        let own: BTreeSet<usize> = places.iter().map(|(_, number)| *number).collect();
        if own.is_empty() || own.len() < self.least() {
            return;
        }
        let snippet = snippet(&text, &places, self.limits.snippet);
        let time = Some(self.log.modified);
        let found = self.found(offset, None, time, Said::Tool, own.len(), snippet);
        keep_best(&mut self.out.matches, found, self.limits.per_file);
    }

    fn found(
        &self,
        offset: u64,
        record: Option<&str>,
        time: Option<Millis>,
        said: Said,
        terms: usize,
        snippet: String,
    ) -> TranscriptMatch {
        TranscriptMatch {
            path: self.log.path.clone(),
            session: self.log.session.clone(),
            agent: self.log.agent.clone(),
            record: record.map(str::to_owned),
            offset,
            time,
            said,
            terms,
            snippet,
        }
    }
}

struct Best<'a> {
    said: Said,
    text: &'a str,
    terms: usize,
    places: Vec<(usize, usize)>,
}
