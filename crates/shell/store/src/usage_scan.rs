//! Token usage that a transcript reports.
//!
//! # Model
//! Lines that contain `"usage"` are taken apart, and of those only the few members that matter;
//! every other line is only checked to be whole, so that a scan finds the same damage as a reader.
//! Figures go into a [`UsageBook`], where each response has one entry. Codex and pi report their
//! figures in other shapes; their translators give them.
//!
//! # Counted figures
//! An `assistant` line with a `message.usage`, and Dormouse's own `usage` records. Figures that
//! lie deeper (the report of a sub-agent inside a tool result, progress lines) are told again by
//! lines of their own, so they do not count here.
//!
//! # Not here
//! Sums and prices: [`UsageBook`]. Titles and counts of messages: [`crate::summarise`].

use crate::chunks::as_u64;
use crate::issue::Issues;
use crate::lines::Line;
use crate::log_file::{LogFile, ReadError, is_object};
use crate::scan_line::{self, ScanLine};
use dormouse_core::record::UsageReport;
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::{ResponseKey, UsageBook};
use memchr::memmem::Finder;
use std::sync::Arc;

/// Counts of a scan; the figures are in the book.
#[derive(Debug, Default)]
pub struct UsageScan {
    /// Bytes of the file that were read.
    pub bytes: u64,
    /// Lines that told of usage.
    pub told: u64,
    /// Lines that could not be read in full, with reasons.
    pub issues: Issues,
}

/// Notes every usage figure of a transcript in the book, whichever tool wrote it.
pub fn scan_usage(log: &LogFile, book: &mut UsageBook) -> Result<UsageScan, ReadError> {
    if let Some(foreign) = log.read_foreign()? {
        for response in &foreign.usage {
            book.note(response.key.clone(), &response.model, response.usage);
        }
        return Ok(UsageScan {
            bytes: foreign.read.bytes,
            told: as_u64(foreign.usage.len()),
            issues: foreign.read.issues,
        });
    }
    let mut scan = UsageScan {
        bytes: log.len()?,
        ..UsageScan::default()
    };
    let mut noter = UsageNoter::new(book);
    for (line, number) in log.lines()?.zip(1..) {
        let line = line?;
        // A sound line without the word has no figures; it is only checked, not taken apart.
        if let Line::Text { bytes, .. } = &line
            && !noter.may_tell(bytes)
            && is_object(bytes)
        {
            continue;
        }
        scan_line::scan(&line, number, &mut scan.issues, |line, offset| {
            scan.told += u64::from(noter.note(line, offset));
        });
    }
    Ok(scan)
}

/// Notes the figures of one file's lines.
pub(crate) struct UsageNoter<'a> {
    book: &'a mut UsageBook,
    source: u32,
    finder: Finder<'static>,
}

impl<'a> UsageNoter<'a> {
    pub(crate) fn new(book: &'a mut UsageBook) -> Self {
        let source = book.next_source();
        Self {
            book,
            source,
            finder: Finder::new("\"usage\""),
        }
    }

    /// False for a line that cannot have figures.
    pub(crate) fn may_tell(&self, line: &[u8]) -> bool {
        self.finder.find(line).is_some()
    }

    /// Notes the figures of a line; false if it has none.
    pub(crate) fn note(&mut self, line: &ScanLine<'_>, offset: u64) -> bool {
        let source = self.source;
        let record = || match line.uuid.0.as_deref() {
            Some(uuid) => record_key(uuid),
            None => ResponseKey::Line { source, offset },
        };
        match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
            (Some("dormouse"), Some("usage")) => {
                let report = line.dormouse.map(|raw| serde_json::from_str(raw.get()));
                let Some(Ok(report)) = report else {
                    return false;
                };
                let report: UsageReport = report;
                let key = report.message.map_or_else(record, ResponseKey::Message);
                self.book.note(key, &report.model, report.usage);
                true
            }
            (Some("assistant"), _) => assistant(line, record(), self.book),
            _ => false,
        }
    }
}

fn assistant(line: &ScanLine<'_>, record: ResponseKey, book: &mut UsageBook) -> bool {
    let Some(message) = line.message() else {
        return false;
    };
    let figures = message
        // Lines of other tools may hold a number or text under this name.
        .usage
        .filter(|raw| raw.get().starts_with('{'))
        .and_then(|raw| TokenUsage::from_wire(raw.get()));
    let Some(figures) = figures else {
        return false;
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
        (None, None) if own => return false,
        (None, None) => record,
    };
    let model = message.model.0.as_deref().unwrap_or_default();
    book.note(key, model, figures);
    true
}

fn record_key(uuid: &str) -> ResponseKey {
    ResponseKey::Record(uuid.into())
}
