#![doc = include_str!("../README.md")]

mod after;
mod blobs;
mod chunks;
mod discover;
mod earlier;
mod ending;
mod examine;
mod export;
mod file_log;
mod foreign;
mod gc;
mod growing;
mod issue;
mod layout;
mod lines;
mod live_start;
mod log_events;
mod log_file;
mod memory_log;
mod mend;
mod parse;
mod ranges;
mod read;
mod resume;
mod scan_line;
mod search;
mod session_log;
mod summary;
mod transcripts;
mod usage_parts;
mod usage_scan;
mod writer;

pub use blobs::{BlobError, Blobs, FileBlobs, MAX_BLOB, MemoryBlobs};
pub use chunks::MAX_LINE;
pub use discover::{Discovered, FoundLog, discover};
pub use ending::LogEnding;
pub use examine::Repair;
pub use export::{ConvertError, Converted, NewLog, convert, export};
pub use file_log::FileLog;
pub use foreign::{AboutSession, ForeignFormat, ForeignLog, ForeignUsage, import};
pub use gc::{
    Candidate, Garbage, GcPlan, LeftAlone, LogNames, NotRemoved, Survey, Why, collect,
    plan as plan_gc, survey,
};
pub use growing::LogPart;
pub use issue::{Issues, MAX_ISSUES, ReadIssue, Trouble};
pub use layout::{
    LayoutError, ProjectFolder, SUB_AGENTS, log_in, logs_of_origin, slug, unique_slug,
};
pub use lines::Line;
pub use live_start::LiveStart;
pub use log_events::{ENGINE_TIME, LogEvent, LogWork};
pub use log_file::{FirstBytes, Lacks, LogFile, ReadError};
pub use memory_log::MemoryLog;
pub use read::{ReadLog, Scanned};
pub use resume::{Outlined, Resumed};
pub use session_log::{AppendError, Draft, Head, Parent, SessionLog};
pub use summary::{
    BoundarySummary, SessionSummary, summarise, summarise_and_bill, summarise_and_bill_foreign,
};
pub use transcripts::{
    Passage, Said, SearchLimits, TranscriptHistory, TranscriptMatch, has_words, read_history,
};
pub use usage_scan::{Depth, UsageScan, scan_usage, scan_usage_in};
pub use writer::{LogWriter, OpenError};
