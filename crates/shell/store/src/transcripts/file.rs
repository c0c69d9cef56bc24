//! Reading one transcript into a history, block by block.
//!
//! # Not here
//! The choice and order of files ([`super::read_history`]); the text of a line (`shape`).

use super::needles::Needles;
use super::shape::spoken;
use super::{Passage, Said, SearchLimits};
use crate::chunks::{Chunks, Piece, as_u64};
use crate::discover::FoundLog;
use dormouse_core::units::Millis;
use dormouse_system::{DirEntry, FileError, FileKind, FileResult, Files};
use dormouse_text::rank::History;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes read at a time: small, since every thread holds them and a copy in lower case.
const BLOCK: usize = 256 * 1024;

/// Folder of a session's long results.
const RESULTS: &str = "tool-results";
/// The same as a preview names it.
const RESULTS_IN: &str = "tool-results/";

/// Bytes of a call that head its result: a command line or a path, not the text of a file that is
/// written.
const HEADING: usize = 300;
/// Calls whose results are waited for; more are interrupted ones, which have none.
const MOST_OPEN: usize = 64;
/// Lines that are parsed without a needle because a result is waited for: parallel results come one a
/// line in some tools.
const FAR: usize = 16;

/// Bytes of a long result that make one passage: some lines, so that its offset leads near a line.
const PASSAGE: usize = 800;

/// Result of reading one file.
#[derive(Debug)]
pub(super) struct ReadFile {
    pub(super) history: History<Arc<Passage>>,
    pub(super) bytes: u64,
    pub(super) skipped: u64,
    /// True if it was read to its end, and not cancelled.
    pub(super) whole: bool,
    pub(super) error: Option<FileError>,
}

/// Reads a log, and the files of long results beside it, into an empty history.
pub(super) fn read(
    files: &dyn Files,
    log: &FoundLog,
    history: History<Arc<Passage>>,
    needles: Option<&Needles>,
    limits: &SearchLimits,
    stop: &AtomicBool,
) -> ReadFile {
    let mut reader = Reader {
        log,
        needles,
        longest: limits.line_bytes,
        headings: Headings::default(),
        out: ReadFile {
            history,
            bytes: 0,
            skipped: 0,
            whole: false,
            error: None,
        },
    };
    if let Err(error) = reader.run(files, limits, stop, Reader::lines) {
        reader.out.error = Some(error);
    }
    let (mut out, mut headings) = (reader.out, reader.headings);
    for result in results(files, log) {
        let whole = std::mem::replace(&mut out.whole, false);
        let mut reader = Reader {
            log: &result,
            needles,
            longest: limits.line_bytes,
            headings,
            out,
        };
        // A result that was removed meanwhile is no fault of the log.
        let read = reader.run(files, limits, stop, Reader::plain);
        (out, headings) = (reader.out, reader.headings);
        out.whole = whole && (out.whole || read.is_err());
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
    let mut found: Vec<FoundLog> = listed.into_iter().filter(is_result).map(result).collect();
    // The order of directories differs between file systems; answers must not.
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

struct Reader<'a> {
    log: &'a FoundLog,
    needles: Option<&'a Needles>,
    /// Bytes of the longest line that is parsed.
    longest: usize,
    headings: Headings,
    out: ReadFile,
}

/// Calls of a log, for the results that answer to them.
#[derive(Debug, Default)]
struct Headings {
    /// Arguments of calls without a result yet, by id.
    open: HashMap<String, String>,
    /// Lines parsed since the last call or result.
    waited: usize,
    /// Arguments of calls by the name of the file that their result was saved to.
    files: HashMap<String, String>,
}

impl Headings {
    /// True while a result may follow that belongs to a call with words of the question.
    fn are_waited_for(&self) -> bool {
        !self.open.is_empty() && self.waited < FAR
    }

    fn called(&mut self, call: &str, argument: &str) {
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        self.waited = 0;
        let known = self.open.entry(call.to_owned()).or_default();
        let left = HEADING.saturating_sub(known.len());
        known.push_str(&argument[..argument.floor_char_boundary(left)]);
        known.push(' ');
    }

    /// Heading of a result, and of the file that it names.
    fn answered(&mut self, call: &str, text: &str) -> String {
        let heading = self.open.get(call).cloned().unwrap_or_default();
        self.waited = 0;
        let named = text.split(RESULTS_IN).skip(1);
        for rest in named.filter(|_| !heading.is_empty()) {
            let name = rest.split(|letter: char| letter.is_whitespace() || letter == '"');
            let name = name.take(1).collect::<String>();
            self.files.insert(name, heading.clone());
        }
        heading
    }
}

impl Reader<'_> {
    fn run(
        &mut self,
        files: &dyn Files,
        limits: &SearchLimits,
        stop: &AtomicBool,
        take: fn(&mut Self, u64, &[u8], &[u8]),
    ) -> FileResult<()> {
        let file = files.open(&self.log.path)?;
        let len = file.len()?;
        let mut chunks = Chunks::in_blocks(&*file, 0..len, BLOCK).with_limit(limits.line_bytes);
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
                    take(self, offset, &bytes, &lower);
                }
                Piece::Overlong { bytes, .. } => {
                    self.out.bytes += bytes;
                    self.out.skipped += 1;
                }
            }
        }
        Ok(())
    }

    /// Lines of JSON, those without a needle counted only.
    fn lines(&mut self, offset: u64, block: &[u8], lower: &[u8]) {
        let mut hits = self.needles.map(|needles| needles.within(lower));
        let mut from = 0;
        while from < block.len() {
            let hit = match &mut hits {
                Some(hits) if !self.headings.are_waited_for() => hits.from(from),
                _ => Some(from),
            };
            let Some(hit) = hit else { break };
            let start = memchr::memrchr(b'\n', &block[from..hit]).map_or(from, |at| from + at + 1);
            let end = memchr::memchr(b'\n', &block[hit..]).map_or(block.len(), |at| hit + at);
            self.out.history.pass(as_u64(start - from));
            self.line(offset + as_u64(start), &block[start..end]);
            // Behind the line: one line is parsed once, however many needles it has.
            from = (end + 1).min(block.len());
        }
        self.out.history.pass(as_u64(block.len() - from));
    }

    fn line(&mut self, offset: u64, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        if line.len() > self.longest {
            self.out.skipped += 1;
            return;
        }
        // Torn or foreign text; its raw words have no speaker, so they are not shown.
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            self.out.skipped += 1;
            return;
        };
        let spoken = spoken(&value);
        self.headings.waited += 1;
        let mut answered = Vec::new();
        for (at, one) in spoken.texts.iter().enumerate() {
            // Clients write a result twice into one line, in different shapes.
            if spoken.texts[..at]
                .iter()
                .any(|known| known.text == one.text)
            {
                continue;
            }
            let heading = match (one.call, one.said) {
                (Some(call), Said::Tool) => {
                    answered.push(call);
                    self.headings.answered(call, one.text)
                }
                (Some(call), _) => {
                    self.headings.called(call, one.text);
                    String::new()
                }
                (None, _) => String::new(),
            };
            let passage = Passage {
                is_call: one.call.is_some() && one.said != Said::Tool,
                ..self.passage(offset, spoken.record, spoken.time, one.said)
            };
            self.add(passage, &heading, one.text);
        }
        for call in answered {
            self.headings.open.remove(call);
        }
    }

    /// Text of a result that lies in a file of its own, a few lines at a time.
    fn plain(&mut self, offset: u64, block: &[u8], lower: &[u8]) {
        let name = self.log.path.file_name().unwrap_or_default();
        let heading = self.headings.files.get(&*name.to_string_lossy());
        let heading = heading.cloned().unwrap_or_default();
        let mut from = 0;
        while from < block.len() {
            let least = (from + PASSAGE).min(block.len());
            let end = memchr::memrchr(b'\n', &block[from..least])
                .map(|at| from + at + 1)
                .or_else(|| memchr::memchr(b'\n', &block[least..]).map(|at| least + at + 1))
                .unwrap_or(block.len());
            let has_needle = !heading.is_empty()
                || self
                    .needles
                    .is_none_or(|needles| needles.within(&lower[from..end]).from(0).is_some());
            if has_needle {
                let time = Some(self.log.modified);
                let passage = self.passage(offset + as_u64(from), None, time, Said::Tool);
                let text = String::from_utf8_lossy(&block[from..end]);
                self.add(passage, &heading, &text);
            } else {
                self.out.history.pass(as_u64(end - from));
            }
            from = end;
        }
    }

    fn add(&mut self, passage: Passage, heading: &str, text: &str) {
        let time = passage.time.unwrap_or(self.log.modified);
        let passage = Arc::new(passage);
        self.out.history.add(&passage, time.0, heading, text);
    }

    fn passage(
        &self,
        offset: u64,
        record: Option<&str>,
        time: Option<Millis>,
        said: Said,
    ) -> Passage {
        Passage {
            path: self.log.path.clone(),
            session: self.log.session.clone(),
            agent: self.log.agent.clone(),
            record: record.map(str::to_owned),
            offset,
            time,
            said,
            is_call: false,
        }
    }
}
