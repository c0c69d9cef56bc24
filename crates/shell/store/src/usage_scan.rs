//! Token usage that a transcript reports, read at the speed of the disk.
//!
//! # Model
//! Only lines that contain `"usage"` are looked at, and of those only the few members that matter
//! are read; everything else is skipped byte by byte. Figures go into a
//! [`UsageBook`], where each response has one entry.
//!
//! # Counted figures
//! An `assistant` line with a `message.usage`, and Dormouse's own `usage` records. Figures that
//! lie deeper (the report of a sub-agent inside a tool result, progress lines) are told again by
//! lines of their own, so they do not count here.
//!
//! # Not here
//! Sums and prices: [`UsageBook`]. Titles and counts of messages: [`crate::summarise`].

use crate::chunks::{Chunks, Piece, as_u64};
use crate::log_file::{LogFile, ReadError};
use crate::scan_line::ScanLine;
use dormouse_core::record::UsageReport;
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::{ResponseKey, UsageBook};
use memchr::memmem::Finder;
use std::sync::Arc;

/// Counts of a scan; the figures are in the book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageScan {
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Lines that told of usage.
    pub told: u64,
    /// Lines with the word in them that are no JSON, torn or too long.
    pub skipped: u64,
}

/// Notes every usage figure of the log in the book.
pub fn scan_usage(log: &LogFile, book: &mut UsageBook) -> Result<UsageScan, ReadError> {
    let len = log.len()?;
    let source = book.next_source();
    let finder = Finder::new("\"usage\"");
    let mut chunks = Chunks::whole(log.file(), 0..len);
    let mut scan = UsageScan {
        bytes: len,
        ..UsageScan::default()
    };
    while let Some(piece) = log.during(chunks.next_piece())? {
        let (offset, block) = match piece {
            Piece::Lines { offset, bytes } => (offset, bytes),
            Piece::Overlong { .. } => {
                // Passed over unread: the count tells the user that figures may be missing.
                scan.skipped += 1;
                continue;
            }
        };
        let mut from = 0;
        while let Some(hit) = finder.find(&block[from..]) {
            let hit = from + hit;
            // A line can hold the word several times; it is noted once, from its beginning.
            let start = memchr::memrchr(b'\n', &block[from..hit]).map_or(from, |at| from + at + 1);
            let end = memchr::memchr(b'\n', &block[hit..]).map_or(block.len(), |at| hit + at);
            let place = ResponseKey::Line {
                source,
                offset: offset + as_u64(start),
            };
            match note(&block[start..end], place, book) {
                Noted::Told => scan.told += 1,
                Noted::Nothing => {}
                // Counted, not fatal: one torn line must not hide the cost of a whole session.
                Noted::Unreadable => scan.skipped += 1,
            }
            // Behind the line: further hits in it would note it again.
            from = end;
        }
    }
    Ok(scan)
}

enum Noted {
    Told,
    Nothing,
    Unreadable,
}

fn note(line: &[u8], place: ResponseKey, book: &mut UsageBook) -> Noted {
    let Ok(line) = serde_json::from_slice::<ScanLine<'_>>(line) else {
        return Noted::Unreadable;
    };
    let record = |place| line.uuid.0.as_deref().map_or(place, record_key);
    match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
        (Some("dormouse"), Some("usage")) => {
            let report = line.dormouse.map(|raw| serde_json::from_str(raw.get()));
            let Some(Ok(report)) = report else {
                return Noted::Unreadable;
            };
            let report: UsageReport = report;
            let key = report
                .message
                .map_or_else(|| record(place), ResponseKey::Message);
            book.note(key, &report.model, report.usage);
            Noted::Told
        }
        (Some("assistant"), _) => assistant(&line, record(place), book),
        _ => Noted::Nothing,
    }
}

fn assistant(line: &ScanLine<'_>, record: ResponseKey, book: &mut UsageBook) -> Noted {
    let Some(message) = line.message() else {
        return Noted::Nothing;
    };
    let figures = message
        // Lines of other tools may hold a number or text under this name.
        .usage
        .filter(|raw| raw.get().starts_with('{'))
        .and_then(|raw| TokenUsage::from_wire(raw.get()));
    let Some(figures) = figures else {
        return Noted::Nothing;
    };
    let own = line
        .version
        .0
        .as_deref()
        .is_some_and(|version| version.starts_with("dormouse/"));
    let key = match (message.id.0.as_deref(), line.request_id.0.as_deref()) {
        (Some(id), _) => ResponseKey::Message(id.into()),
        (None, Some(request)) => ResponseKey::Request(Arc::from(request)),
        // Our own log reports it again, in a usage record; counted here it would count twice.
        (None, None) if own => return Noted::Nothing,
        (None, None) => record,
    };
    let model = message.model.0.as_deref().unwrap_or_default();
    book.note(key, model, figures);
    Noted::Told
}

fn record_key(uuid: &str) -> ResponseKey {
    ResponseKey::Record(uuid.into())
}
