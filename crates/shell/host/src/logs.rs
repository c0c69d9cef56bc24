//! Transcripts as files: records one by one, and conversion to and from other tools.
//!
//! # Not here
//! The prompt that records make: `prompt`. Formats of other tools: `dormouse-store`.

use crate::error::{HostError, chain};
use crate::host::Host;
use crate::remark::Remark;
use crate::transcripts::Transcripts;
use dormouse_context::conversation::Conversation;
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{Body, Checkpoint, LineContext, Record};
use dormouse_core::settings::keys;
use dormouse_guard::secrets;
use dormouse_store::{
    AboutSession, Draft, LogEnding, LogFile, LogWriter, NewLog, Parent, ProjectFolder, ReadError,
    ReadIssue, SessionSummary, convert, export, import, summarise,
};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::path::Path;

/// The records that are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Kinds of records; all if there are none.
    pub kinds: Vec<String>,
    /// Number of records from the end; all if it is `None`.
    pub last: Option<usize>,
}

/// Records of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogList {
    /// The records, in the order of the file.
    pub records: Vec<LogRow>,
    /// Number of records of each kind; of those listed, where only the end of the file was read.
    pub kinds: BTreeMap<String, u64>,
    /// The first lines that could not be read in full; the list is capped, the count is not.
    pub issues: Vec<LogIssue>,
    /// Number of lines that could not be read in full.
    pub issue_count: u64,
    /// Lines of the file, those without a record included; `None` where only its end was read.
    pub lines: Option<u64>,
    /// True if the last line is cut off: the writer is at work, or was killed.
    pub torn_tail: bool,
}

/// A record in a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogRow {
    /// Its line, from 1; `None` where only the end of the file was read.
    pub line: Option<u64>,
    /// Its line counted from the end, where 1 is the last; set instead of `line`.
    pub line_from_end: Option<u64>,
    /// Its number, or its offset where it has none.
    pub seq: String,
    /// Kind of the record, in the spelling of the log.
    pub kind: String,
    /// Id of the record, unique in the file.
    pub id: String,
    /// Id of the record before it.
    pub parent: Option<String>,
    /// Time at which it was made.
    pub at: Option<String>,
    /// Set if it is part of a conversation beside the main one.
    pub side_chain: bool,
    /// The sub-agent that it belongs to.
    pub agent: Option<String>,
    /// Id of the record that caused it.
    pub caused_by: Option<String>,
    /// Number of its content blocks.
    pub blocks: usize,
    /// Length of its blocks as JSON, in bytes.
    pub bytes: usize,
    /// The record in a line of text.
    pub text: String,
}

/// A line that could not be read in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogIssue {
    /// Its line, from 1.
    pub line: Option<u64>,
    /// Offset of the line in the file.
    pub offset: u64,
    /// The reason, with its causes.
    pub what: String,
}

impl LogIssue {
    fn of(issue: &ReadIssue) -> Self {
        Self {
            line: issue.line,
            offset: issue.offset,
            what: chain(&issue.what),
        }
    }
}

/// The outcome of a conversion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Converted {
    /// The log that was written.
    pub file: String,
    /// Lines of the new log.
    pub lines: u64,
    /// Lines of the transcript that were left out.
    pub left_out: u64,
}

impl Transcripts {
    /// Lists the records of a transcript, of whichever tool. The caller puts each into a line of
    /// text; the records themselves are not kept, since a transcript can be longer than the memory.
    ///
    /// # Errors
    /// When the file cannot be read or is no transcript.
    pub fn list(
        &self,
        file: &Path,
        filter: &LogFilter,
        describe: impl Fn(&Record) -> String,
    ) -> Result<LogList, HostError> {
        let log = LogFile::open(&*self.system().files, file)?;
        let mut records = VecDeque::new();
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let wanted = |kind: &str| {
            filter.kinds.is_empty() || filter.kinds.iter().any(|wanted| wanted == kind)
        };
        // The records of Codex and pi depend on the lines before them: those are read whole.
        if let Some(last) = filter.last.filter(|last| *last > 0)
            && log.foreign_format()?.is_none()
            && let Some(ending) = log.last_records(last, |record| wanted(record.body.kind()))?
        {
            return Ok(list_ending(&ending, describe));
        }
        let scanned = log.for_each_of_any(|record, line| {
            let kind = record.body.kind();
            *kinds.entry(kind.to_owned()).or_default() += 1;
            // With `last` 0 only the kinds are wanted; describing every record would be wasted.
            if filter.last != Some(0) && wanted(kind) {
                let row = row(&record, describe(&record));
                records.push_back(LogRow {
                    line: Some(line),
                    ..row
                });
                if filter.last.is_some_and(|last| records.len() > last) {
                    // A window over the file: only the last records are kept, however long it is.
                    records.pop_front();
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(LogList {
            records: records.into(),
            kinds,
            issues: scanned.issues.list().iter().map(LogIssue::of).collect(),
            issue_count: scanned.issues.total(),
            lines: Some(scanned.lines),
            torn_tail: scanned.torn_tail,
        })
    }

    /// Hands out the lines of a log that tools made for Claude Code transcripts understand, byte
    /// for byte except for credentials, which are replaced by marks, until the caller has seen
    /// enough. The log itself is not touched.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn export<E: From<HostError>>(
        &self,
        file: &Path,
        mut line: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let log = LogFile::open(&*self.system().files, file).map_err(HostError::from)?;
        // Lines of Codex and pi are no lines of Claude Code; they would come out unreadable.
        if let Some(format) = log.foreign_format().map_err(HostError::from)? {
            let file = file.to_owned();
            return Err(HostError::OtherFormat { file, format }.into());
        }
        let mut redacted = 0;
        let exported = export(&log, |exported| {
            let clean = without_credentials(exported, &mut redacted);
            line(&clean).map_err(Stopped::Caller)
        });
        if redacted > 0 {
            self.remark(Remark::Redacted { count: redacted });
        }
        match exported {
            Ok(issues) => {
                self.note_skipped(issues.total(), file);
                Ok(())
            }
            Err(Stopped::Caller(error)) => Err(error),
            Err(Stopped::Read(error)) => Err(HostError::from(error).into()),
        }
    }
}

/// Keys whose values are no words: a mark in them would break pictures and signatures.
const OPAQUE: [&str; 3] = ["data", "signature", "encrypted_content"];

/// Line of a log with marks in place of credentials, which are counted. One without any is the same
/// bytes.
fn without_credentials<'a>(line: &'a [u8], count: &mut u64) -> Cow<'a, [u8]> {
    let Ok(mut value) = serde_json::from_slice::<Value>(line) else {
        return Cow::Borrowed(line);
    };
    let before = *count;
    redact(&mut value, count);
    if *count == before {
        return Cow::Borrowed(line);
    }
    // Keys keep their order, so that only the marks differ.
    serde_json::to_vec(&value).map_or(Cow::Borrowed(line), Cow::Owned)
}

fn redact(value: &mut Value, count: &mut u64) {
    match value {
        Value::String(text) => {
            let found = secrets::scan(text).len() as u64;
            if found > 0 {
                *count += found;
                *text = secrets::redact(text).into_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, count)),
        Value::Object(members) => {
            let words = members.iter_mut();
            let words = words.filter(|(key, _)| !OPAQUE.contains(&key.as_str()));
            words.for_each(|(_, member)| redact(member, count));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reason that an export ended early.
enum Stopped<E> {
    /// The caller had enough, or could not write.
    Caller(E),
    /// The log could not be read to its end.
    Read(ReadError),
}

impl<E> From<ReadError> for Stopped<E> {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl Host {
    /// Makes a log from a transcript of another tool, in the home unless a target is named.
    ///
    /// # Errors
    /// When the transcript cannot be read, or the log cannot be written or exists.
    pub fn convert(&self, file: &Path, to: Option<&Path>) -> Result<Converted, HostError> {
        let system = self.system();
        let log = LogFile::open(&*system.files, file)?;
        // Asked first: logs of Codex and pi are not lines of Claude Code, and are read by other
        // rules.
        let foreign = log.read_foreign()?;
        let about = match &foreign {
            Some(foreign) => foreign.about.clone(),
            None => told_by(summarise(&log)?),
        };
        let fresh = system.ids.fresh();
        let session = about
            .session
            // A transcript without an id gets one, so that it can be resumed.
            .unwrap_or_else(|| SessionId::new(fresh.as_str()));
        let cwd = about.cwd.unwrap_or_default();
        // A target of the user's need not lie in the home; its folder is not prepared.
        let target = if let Some(target) = to {
            target.to_owned()
        } else {
            // A transcript without a working directory belongs to no project; the root stands for
            // that.
            let project = if cwd.is_empty() { "/" } else { &cwd };
            let home = &self.places().home;
            ProjectFolder::prepare(&*system.files, home, Path::new(project))?.log(&session)?
        };
        let new = NewLog {
            session,
            id: RecordId::new(system.ids.fresh()),
            at: self.now(),
            project: cwd.clone(),
            context: LineContext {
                cwd,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                git_branch: about.git_branch.unwrap_or_default(),
            },
        };
        let (session, context) = (new.session.clone(), new.context.clone());
        let converted = match foreign {
            Some(foreign) => import(foreign, system, &target, new)?,
            None => convert(&log, system, &target, new)?,
        };
        // The log is whole without it; a checkpoint that cannot be written costs the next resume
        // its time.
        self.checkpoint(&target, session, context).ok();
        Ok(Converted {
            file: target.display().to_string(),
            lines: converted.lines,
            left_out: converted.left.total(),
        })
    }
}

impl Host {
    /// Writes a checkpoint at the end of a log that is too long to be traced at every resume.
    fn checkpoint(
        &self,
        target: &Path,
        session: SessionId,
        context: LineContext,
    ) -> Result<(), HostError> {
        let system = self.system();
        let mut writer = LogWriter::open(system, target, context, session)?;
        let every = self.settings().get(keys::LOG_CHECKPOINT);
        if writer.bytes_since_checkpoint() < every {
            return Ok(());
        }
        let transcripts = Transcripts::new(system, self.models());
        let mut conversation = transcripts.live(target)?.conversation;
        let mut append = |conversation: &Conversation, body: Body| {
            let head = writer.head().map(|head| head.id.clone());
            let mut draft = Draft::new(RecordId::new(system.ids.fresh()), self.now(), body);
            // Lines of bookkeeping may stand behind the newest message; they are on no path.
            if let Some(newest) = conversation.head() {
                draft.parent = Parent::Record(newest.clone());
            }
            writer.append(head.as_ref(), draft)
        };
        // The chronicle goes into a page of its own, which later manifests name.
        if let Some(page) = conversation.page_due(1) {
            let page = append(&conversation, Body::Chronicle(Box::new(page)))?;
            conversation.apply(&page);
        }
        let manifest = conversation.manifest();
        append(
            &conversation,
            Body::Checkpoint(Box::new(Checkpoint { manifest })),
        )?;
        Ok(())
    }
}

fn told_by(summary: SessionSummary) -> AboutSession {
    AboutSession {
        session: summary.session,
        cwd: summary.cwd,
        git_branch: summary.git_branch,
    }
}

/// Lists the end of a log.
fn list_ending(ending: &LogEnding, describe: impl Fn(&Record) -> String) -> LogList {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let records = ending.records.iter().map(|(record, line)| {
        *kinds.entry(record.body.kind().to_owned()).or_default() += 1;
        LogRow {
            line_from_end: Some(*line),
            ..row(record, describe(record))
        }
    });
    let records = records.collect();
    LogList {
        records,
        kinds,
        issues: ending.issues.list().iter().map(LogIssue::of).collect(),
        issue_count: ending.issues.total(),
        lines: None,
        torn_tail: ending.torn_tail,
    }
}

/// A record in a list, without its line.
fn row(record: &Record, words: String) -> LogRow {
    let text = |id: &dyn std::fmt::Display| id.to_string();
    let blocks = record.body.blocks();
    LogRow {
        line: None,
        line_from_end: None,
        seq: text(&record.seq),
        kind: record.body.kind().to_owned(),
        id: text(&record.id),
        parent: record.parent.as_ref().map(|id| text(id)),
        at: record.at.map(|at| text(&at)),
        side_chain: record.side_chain,
        agent: record.agent.as_ref().map(|id| text(id)),
        caused_by: record.caused_by.as_ref().map(|id| text(id)),
        blocks: blocks.len(),
        bytes: blocks.iter().map(|block| block.bytes().len()).sum(),
        text: words,
    }
}
