//! Logs, blobs and sessions on disk.
//!
//! # Model
//! A session is a log: a file of lines that only grows, with one writer and any number of readers.
//! Content too large for a line lies beside it as a blob under its hash. Every other question about
//! sessions (live records, usage, the list of sessions) is answered from the log.
//!
//! # Responsibilities
//! - Reading leniently, with a report of skipped lines ([`LogFile`], [`ReadLog`]).
//! - Resuming at a cost that grows with the live part, not with the file ([`LogFile::resume`]).
//! - Appending so that a crash loses at most the record being written ([`LogWriter`]).
//! - Fast scans that build no records ([`scan_usage`], [`summarise`]).
//! - Reading transcripts of Codex and pi ([`LogFile::read_foreign`], [`import`]).
//! - Searching the transcripts of several tools ([`search_transcripts`]).
//! - The layout on disk ([`ProjectFolder`], [`discover()`]), and files without a reference
//!   ([`survey()`], [`plan_gc`], [`collect`]).
//!
//! # Not here
//! A record's effect on the prompt: the context engine's business; the store hands it values.
//! Asynchrony: every call blocks, so a caller with an event loop uses a blocking pool. Deciding
//! when to append or to write a checkpoint: `dormouse-drive`.

mod after;
mod blobs;
mod chunks;
mod discover;
mod examine;
mod export;
mod file_log;
mod foreign;
mod gc;
mod issue;
mod layout;
mod lines;
mod log_file;
mod memory_log;
mod parse;
mod ranges;
mod read;
mod resume;
mod search;
mod session_log;
mod summary;
mod transcripts;
mod usage_scan;
mod writer;

pub use blobs::{BlobError, Blobs, FileBlobs, MAX_BLOB, MemoryBlobs};
pub use chunks::MAX_LINE;
pub use discover::{Discovered, FoundLog, discover};
pub use examine::Repair;
pub use export::{ConvertError, Converted, NewLog, convert, export};
pub use file_log::FileLog;
pub use foreign::{AboutSession, ForeignFormat, ForeignLog, import};
pub use gc::{
    Candidate, Garbage, GcPlan, LeftAlone, LogNames, NotRemoved, Survey, Why, collect,
    plan as plan_gc, survey,
};
pub use issue::{Issues, MAX_ISSUES, ReadIssue, Trouble};
pub use layout::{LayoutError, ProjectFolder, log_in, slug, unique_slug};
pub use lines::Line;
pub use log_file::{FirstBytes, LogFile, ReadError};
pub use memory_log::MemoryLog;
pub use read::{ReadLog, Scanned};
pub use resume::Resumed;
pub use session_log::{AppendError, Draft, Head, Parent, SessionLog};
pub use summary::{BoundarySummary, SessionSummary, summarise};
pub use transcripts::{
    Said, SearchLimits, TermQuery, TranscriptMatch, TranscriptSearch, search_transcripts,
    stream_transcripts,
};
pub use usage_scan::{UsageScan, scan_usage};
pub use writer::{LogWriter, OpenError};
