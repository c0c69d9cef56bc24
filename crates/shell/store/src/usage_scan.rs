//! Token usage that a transcript reports.
//!
//! # Model
//! Lines that contain `"usage"` are taken apart, and of those only the few members that matter;
//! every other line is only checked to be whole, so that a scan finds the same damage as a reader.
//! Figures go into a [`UsageBook`], where each response has one entry, with the file and the time
//! of its first line. Codex and pi report their figures in other shapes; their translators give
//! them.
//!
//! A scan that divides prompts ([`Depth::Parts`]) also looks at lines with results of tools and at
//! compactions, and has a [`Meter`](dormouse_core::meter::Meter) follow the conversation. Prompts
//! of Codex and pi are not divided.
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
use crate::log_events::{EventNoter, LogEvent, LogWork};
use crate::log_file::{LogFile, ReadError, is_object};
use crate::scan_line::{self, ScanLine};
use crate::usage_parts::Follower;
use dormouse_core::id::SessionId;
use dormouse_core::json::Text;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Purpose, UsageReport, is_own_version};
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::{ResponseKey, Told, UsageBook};
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
    /// Number of the file in the book.
    pub source: u32,
    /// Session that its first response or its header names.
    pub session: Option<String>,
    /// Working folder that its first response or its header names.
    pub cwd: Option<String>,
    /// Work of the layers in the order of the lines, at [`Depth::Layers`]; of Codex and pi the
    /// responses.
    pub events: Vec<LogEvent>,
}

/// Detail of a scan.
#[derive(Clone, Copy, Debug)]
pub enum Depth<'m> {
    /// Figures of each response alone.
    Figures,
    /// Figures and the parts of each prompt, estimated for these models.
    Parts(&'m ModelTable),
    /// Figures, and the work of the layers.
    Layers,
}

/// Notes every usage figure of a transcript in the book, whichever tool wrote it.
pub fn scan_usage(log: &LogFile, book: &mut UsageBook) -> Result<UsageScan, ReadError> {
    scan_usage_in(log, book, Depth::Figures)
}

/// The same in the depth that is wanted.
pub fn scan_usage_in(
    log: &LogFile,
    book: &mut UsageBook,
    depth: Depth<'_>,
) -> Result<UsageScan, ReadError> {
    if let Some(foreign) = log.read_foreign()? {
        let source = book.next_source();
        let mut events = Vec::new();
        for response in &foreign.usage {
            let at = response.at;
            let told = Told { source, at };
            book.note_told(response.key.clone(), &response.model, response.usage, told);
            if matches!(depth, Depth::Layers) {
                let what = LogWork::Response {
                    key: response.key.clone(),
                    model: response.model.clone(),
                    usage: response.usage,
                    purpose: Purpose::Turn,
                };
                events.push(LogEvent { at, what });
            }
        }
        let session = foreign.about.session.as_ref().map(SessionId::as_str);
        return Ok(UsageScan {
            bytes: foreign.read.bytes,
            told: as_u64(foreign.usage.len()),
            issues: foreign.read.issues,
            source,
            session: session.map(str::to_owned),
            cwd: foreign.about.cwd,
            events,
        });
    }
    let bytes = log.len()?;
    let mut told = 0;
    let mut issues = Issues::default();
    let mut noter = UsageNoter::new(book, depth);
    for (line, number) in log.lines()?.zip(1..) {
        let line = line?;
        // A sound line without the words tells nothing; it is only checked, not taken apart.
        if let Line::Text { bytes, .. } = &line
            && !noter.may_tell(bytes)
            && is_object(bytes)
        {
            continue;
        }
        scan_line::scan(&line, number, &mut issues, |line, offset| {
            told += u64::from(noter.note(line, offset));
        });
    }
    Ok(UsageScan {
        bytes,
        told,
        issues,
        source: noter.source,
        session: noter.session,
        cwd: noter.cwd,
        events: noter.events.map(|noter| noter.events).unwrap_or_default(),
    })
}

/// Notes the figures of one file's lines.
pub(crate) struct UsageNoter<'a, 'm> {
    book: &'a mut UsageBook,
    source: u32,
    session: Option<String>,
    cwd: Option<String>,
    follower: Option<Follower<'m>>,
    events: Option<EventNoter>,
    /// Words of lines that tell something: figures, and what a follower wants to see.
    words: Vec<Finder<'static>>,
}

impl<'a, 'm> UsageNoter<'a, 'm> {
    pub(crate) fn new(book: &'a mut UsageBook, depth: Depth<'m>) -> Self {
        let source = book.next_source();
        let mut words = vec![Finder::new("\"usage\"")];
        let (follower, events) = match depth {
            Depth::Figures => (None, None),
            Depth::Parts(models) => {
                words.extend(["\"tool_result\"", "\"compact_boundary\""].map(Finder::new));
                (Some(Follower::new(models)), None)
            }
            Depth::Layers => {
                let telling = ["\"user\"", "\"dormouse\"", "\"compact_boundary\""];
                words.extend(telling.map(Finder::new));
                (None, Some(EventNoter::default()))
            }
        };
        Self {
            book,
            source,
            session: None,
            cwd: None,
            follower,
            events,
            words,
        }
    }

    /// False for a line that cannot tell anything.
    fn may_tell(&self, line: &[u8]) -> bool {
        self.words.iter().any(|word| word.find(line).is_some())
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
                self.event(&key, &report.model, report.usage, report.purpose, line);
                self.response(key, &report.model, report.usage, line);
                true
            }
            (Some("assistant"), _) => {
                let figures = assistant(line, record());
                let tells = figures.is_some();
                if let Some((key, model, usage)) = figures {
                    self.event(&key, &model, usage, Purpose::Turn, line);
                    self.response(key, &model, usage, line);
                }
                if let Some(follower) = &mut self.follower {
                    follower.calls(line);
                }
                tells
            }
            _ => {
                if let Some(follower) = &mut self.follower {
                    follower.line(line);
                }
                if let Some(events) = &mut self.events {
                    events.line(line);
                }
                false
            }
        }
    }

    fn event(
        &mut self,
        key: &ResponseKey,
        model: &str,
        usage: TokenUsage,
        purpose: Purpose,
        line: &ScanLine<'_>,
    ) {
        if let Some(events) = &mut self.events {
            let at = line.timestamp.0.as_deref().and_then(Millis::parse);
            events.response(key, model, usage, purpose, at);
        }
    }

    fn response(&mut self, key: ResponseKey, model: &str, usage: TokenUsage, line: &ScanLine<'_>) {
        let text = |text: &Text<'_>| text.0.as_deref().map(str::to_owned);
        if self.session.is_none() {
            self.session = text(&line.session_id);
        }
        if self.cwd.is_none() {
            self.cwd = text(&line.cwd);
        }
        let told = Told {
            source: self.source,
            at: line.timestamp.0.as_deref().and_then(Millis::parse),
        };
        let Some(follower) = &mut self.follower else {
            self.book.note_told(key, model, usage, told);
            return;
        };
        let is_new = self.book.note_told(key.clone(), model, usage, told);
        // A response of another file's is followed too: what comes behind it builds on it.
        let parts = follower.response(&key, model, &usage, line.is_sidechain.0);
        if let Some(parts) = parts.filter(|_| is_new) {
            self.book.divide(&key, parts);
        }
    }
}

fn assistant(
    line: &ScanLine<'_>,
    record: ResponseKey,
) -> Option<(ResponseKey, String, TokenUsage)> {
    let message = line.message()?;
    let figures = message
        // Lines of other tools may hold a number or text under this name.
        .usage
        .filter(|raw| raw.get().starts_with('{'))
        .and_then(|raw| TokenUsage::from_wire(raw.get()))?;
    let own = line.version.0.as_deref().is_some_and(is_own_version);
    let key = match (message.id.0.as_deref(), line.request_id.0.as_deref()) {
        (Some(id), _) => ResponseKey::Message(id.into()),
        (None, Some(request)) => ResponseKey::Request(Arc::from(request)),
        // Our own log reports it again, in a usage record; counted here it would count twice.
        (None, None) if own => return None,
        (None, None) => record,
    };
    let model = message.model.0.as_deref().unwrap_or_default();
    Some((key, model.to_owned(), figures))
}

fn record_key(uuid: &str) -> ResponseKey {
    ResponseKey::Record(uuid.into())
}
