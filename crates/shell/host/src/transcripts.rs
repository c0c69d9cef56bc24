//! Transcripts as the engine sees them.
//!
//! # Model
//! Doors ask about a session at a point: now, at a line, at a request. *Now* reads only the
//! live part of the file, and holds no more of it than the prompt; any other point reads the file
//! up to it. Both give the same [`Transcript`].
//!
//! # Not here
//! Figures over many transcripts ([`crate::sessions`]), and changing one.

use crate::error::HostError;
use crate::remark::Remark;
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, Path as Traced, trace};
use dormouse_context::path_table::{LinkTable, TracedLines};
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::target::Target;
use dormouse_context::window_proof;
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::models::{ModelTable, UNKNOWN_MODEL};
use dormouse_core::record::{Body, Record, Role, Windows};
use dormouse_core::weight::Weight;
use dormouse_store::{
    Blobs as _, FileBlobs, LiveStart, LogFile, LogPart, Outlined, ReadLog, Resumed, logs_of_origin,
};
use dormouse_system::System;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a live part whose records are held between finding the path and folding them, so that
/// they are parsed once. Parsed, they take two to three times as much for the moment; a longer live
/// part is parsed twice rather than held beside its view.
const HELD: u64 = 16 * 1024 * 1024;

/// A session at one point.
#[derive(Debug)]
pub struct Transcript {
    /// The engine's view of it: the prompt and its state.
    pub conversation: Conversation,
    /// The rendered prefix, where the log holds it.
    pub prefix: Option<RenderedPrefix>,
    /// The records that rewrote the prompt on the way here, as far as they were read.
    pub rewrites: Vec<Record>,
}

impl Transcript {
    /// Weight of the prefix, as far as it is known.
    pub fn prefix_weight(&self) -> Weight {
        self.prefix
            .as_ref()
            .map_or_else(Weight::default, |prefix| *prefix.weight())
    }

    /// The model the session talks to, or the one it is viewed for.
    pub fn model(&self) -> &str {
        &self.conversation.view().target().model
    }
}

/// Opens transcripts. Needs no home and no settings: a transcript is a file like any other.
#[derive(Debug)]
pub struct Transcripts {
    system: System,
    models: Arc<ModelTable>,
    model: Option<String>,
    remarks: Mutex<Vec<Remark>>,
}

impl Transcripts {
    /// Views are made with these models, for the model last used.
    pub fn new(system: &System, models: Arc<ModelTable>) -> Self {
        Self {
            system: system.clone(),
            models,
            model: None,
            remarks: Mutex::default(),
        }
    }

    pub(crate) const fn system(&self) -> &System {
        &self.system
    }

    /// Makes views for this model instead of the one last used.
    #[must_use]
    pub fn for_model(mut self, model: Option<String>) -> Self {
        self.model = model;
        self
    }

    /// Remarks since they were last taken, oldest first.
    pub fn take_remarks(&self) -> Vec<Remark> {
        std::mem::take(&mut *self.remarks.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The session as it is now.
    ///
    /// # Errors
    /// When the file cannot be read or is no transcript.
    pub fn live(&self, file: &Path) -> Result<Transcript, HostError> {
        let log = LogFile::open(&*self.system.files, file)?;
        if let Some(foreign) = log.read_foreign()? {
            // Formats of other tools do not mark where the live part begins: all of it is folded.
            self.note_skipped(foreign.read.issues.total(), file);
            return Ok(self.fold(file, &foreign.read.records, None));
        }
        self.live_of(&log, file)
    }

    /// The same, of a log of Claude Code or Dormouse that is open.
    pub(crate) fn live_of(&self, log: &LogFile, file: &Path) -> Result<Transcript, HostError> {
        // A fork refers to records of its parent.
        let files = Arc::clone(&self.system.files);
        let siblings = |session: &SessionId| {
            let paths = logs_of_origin(file.parent()?, session).ok()?;
            let mut logs = paths.iter();
            logs.find_map(|path| LogFile::open(&*files, path).ok())
        };
        let TracedTail {
            live,
            tail,
            held,
            target,
            on_path,
        } = match self.by_links(log, &siblings)? {
            Some(live) => live,
            None => self.by_outlines(log, &siblings, file)?,
        };
        self.note_skipped(live.issues.total(), file);
        let read = live.kept.iter().map(|(_, record)| record);
        let read = read.chain(&live.carrier);
        let rewriting = read.filter(|record| rewrites_prompt(record));
        let mut rewrites: Vec<Record> = rewriting.cloned().collect();
        let kept = live.kept.iter();
        let kept = kept.map(|(session, record)| (session.as_ref(), record));
        let mut conversation = match &live.carrier {
            None => Conversation::new(target),
            Some(carrier) => Conversation::resume(carrier, kept, target),
        };
        // In the order of the file, as the path is.
        let mut next = on_path.into_iter().peekable();
        let mut each = |record: Record| {
            while next.next_if(|offset| *offset < record.offset).is_some() {}
            if next.next_if_eq(&record.offset).is_some() {
                if rewrites_prompt(&record) {
                    rewrites.push(record.clone());
                }
                conversation.apply(&record.detached());
            }
        };
        match held {
            Some(records) => records.into_iter().for_each(&mut each),
            None => log.for_each_in(tail, &mut each)?,
        }
        if let Some(carrier) = &live.carrier
            && carrier.body.manifest().is_none()
        {
            let earlier = log.earlier_compactions(carrier.offset)?;
            conversation.add_earlier_windows(self.windows(&earlier));
        }
        Ok(self.finish(file, conversation, rewrites))
    }

    /// Traces the path over a table of links; `None` if the log's links are not sound.
    fn by_links(
        &self,
        log: &LogFile,
        siblings: Siblings<'_>,
    ) -> Result<Option<TracedTail>, HostError> {
        let LiveStart { mut live, tail } = log.live_start(siblings)?;
        let mut table = LinkTable::new(live.carrier.as_ref());
        let mut held = (tail.end - tail.start <= HELD).then(Vec::new);
        log.for_each_telling(tail.clone(), &mut live.issues, |record| {
            table.push(&record);
            if let Some(held) = &mut held {
                held.push(record);
            }
        })?;
        let Some(TracedLines { mut offsets, model }) = table.trace() else {
            return Ok(None);
        };
        let target = self.target_of(model.as_deref(), live.carrier.as_ref());
        // The carrier is where the view begins; applying it again would count it twice.
        let carrier = live.carrier.as_ref().map(|carrier| carrier.offset);
        offsets.retain(|offset| Some(*offset) != carrier);
        Ok(Some(TracedTail {
            live,
            tail,
            held,
            target,
            on_path: offsets,
        }))
    }

    /// Traces the path over outlines of the records, across gaps.
    fn by_outlines(
        &self,
        log: &LogFile,
        siblings: Siblings<'_>,
        file: &Path,
    ) -> Result<TracedTail, HostError> {
        let Outlined { mut live, tail } = log.outline(siblings)?;
        // Outlines are as long as short messages: they go before the view comes.
        let outlines = std::mem::take(&mut live.tail);
        let traced = trace(live.carrier.iter().chain(&outlines), Leaf::Newest);
        self.note_gaps(&traced, file);
        let target = self.target_of(newest_model(&traced.records), live.carrier.as_ref());
        let carrier = live.carrier.as_ref().map(|carrier| &carrier.id);
        let rest = traced.records.iter();
        let rest = rest.filter(|record| Some(&record.id) != carrier);
        let on_path = rest.map(|it| it.offset).collect();
        Ok(TracedTail {
            live,
            tail,
            held: None,
            target,
            on_path,
        })
    }

    /// All records of a transcript, of whichever tool.
    ///
    /// # Errors
    /// When the file cannot be read or is no transcript.
    pub fn read(&self, file: &Path) -> Result<ReadLog, HostError> {
        let log = LogFile::open(&*self.system.files, file)?;
        let read = log.read_any()?;
        self.note_skipped(read.issues.total(), file);
        Ok(read)
    }

    /// All records of a transcript, of whichever tool, in the order of the file.
    ///
    /// # Errors
    /// When the file cannot be read or is no transcript.
    pub fn records(&self, file: &Path) -> Result<Vec<Record>, HostError> {
        let records = self.read(file)?.records;
        self.note_gaps(&trace(&records, Leaf::Newest), file);
        Ok(records)
    }

    /// The end of a log of Dormouse's: the shortest stretch of which `enough` holds, or the whole.
    ///
    /// # Errors
    /// When the file cannot be read or is no transcript.
    pub fn tail(
        &self,
        file: &Path,
        enough: impl Fn(&[Record]) -> bool,
    ) -> Result<LogPart, HostError> {
        Ok(LogFile::open(&*self.system.files, file)?.tail(enough)?)
    }

    /// Records of a log up to an offset at which a line begins.
    ///
    /// # Errors
    /// As [`Transcripts::tail`].
    pub fn before(&self, file: &Path, offset: u64) -> Result<LogPart, HostError> {
        Ok(LogFile::open(&*self.system.files, file)?.before(offset)?)
    }

    /// Records of a log behind an offset at which a line begins, as far as their lines are whole.
    ///
    /// # Errors
    /// As [`Transcripts::tail`].
    pub fn added(&self, file: &Path, offset: u64) -> Result<LogPart, HostError> {
        Ok(LogFile::open(&*self.system.files, file)?.added(offset)?)
    }

    /// The session as it was after some of its records.
    pub fn fold(&self, file: &Path, records: &[Record], leaf: Option<&RecordId>) -> Transcript {
        let traced = trace(records, leaf.map_or(Leaf::Newest, Leaf::Record));
        self.note_gaps(&traced, file);
        let on_path = traced.records;
        let target = self.target_of(newest_model(&on_path), None);
        let mut conversation = Conversation::fold(&on_path, target);
        if leaf.is_none() {
            // Codex reports usage and window behind the last message, where no path leads.
            conversation.add_earlier_windows(self.windows(records));
        }
        let rewrites = on_path.into_iter().filter(|record| rewrites_prompt(record));
        let rewrites = rewrites.cloned().collect();
        self.finish(file, conversation, rewrites)
    }

    /// The session as it was after a line of the file.
    ///
    /// # Errors
    /// When the file cannot be read, is no transcript, or has no such line.
    pub fn at_line(&self, file: &Path, line: u64) -> Result<Transcript, HostError> {
        let read = self.read(file)?;
        if line == 0 || line > read.lines {
            return Err(HostError::NoLine {
                file: file.to_owned(),
                line,
                lines: read.lines,
            });
        }
        // Lines without a record have no entry; the records up to the line are meant.
        let count = read.line_of.partition_point(|at| *at <= line);
        Ok(self.fold(file, &read.records[..count], None))
    }

    /// Evidence of records on the windows of their models.
    pub fn windows(&self, records: &[Record]) -> Windows {
        let mut windows = Windows::default();
        for record in records.iter().filter(|record| !record.side_chain) {
            window_proof::observe(&mut windows, record, &self.models);
        }
        windows
    }

    /// Target for the model that a path names last; it may be named only before the part that was
    /// read, in the state of the carrier.
    fn target_of(&self, last: Option<&str>, carrier: Option<&Record>) -> Target {
        let manifest = carrier.and_then(|carrier| carrier.body.manifest());
        let before = manifest.and_then(|manifest| manifest.state.model.as_deref());
        // The caller's choice first, then the newest word of the session itself.
        let model = self.model.as_deref().or(last).or(before);
        Target::new(&self.models, model.unwrap_or(UNKNOWN_MODEL))
    }

    fn finish(&self, file: &Path, conversation: Conversation, rewrites: Vec<Record>) -> Transcript {
        // Blobs lie in the folder that has the log's name without its ending.
        let blobs = FileBlobs::new(Arc::clone(&self.system.files), &file.with_extension(""));
        let recorded = conversation.state().prefix.as_ref();
        let prefix = recorded.and_then(|prefix| {
            // Missing blobs leave the prefix out: the view still has every message.
            RenderedPrefix::from_record(prefix, |hash| blobs.get(hash).ok()).ok()
        });
        Transcript {
            conversation,
            prefix,
            rewrites,
        }
    }

    pub(crate) fn note_skipped(&self, count: u64, file: &Path) {
        if count > 0 {
            let file = file.to_owned();
            self.remark(Remark::LinesSkipped { file, count });
        }
    }

    fn note_gaps(&self, traced: &Traced<'_>, file: &Path) {
        if let Some(newest) = traced.bridges.first() {
            self.remark(Remark::GapsBridged {
                file: file.to_owned(),
                count: traced.bridges.len() as u64,
                between: (newest.child.to_string(), newest.to.to_string()),
            });
        }
    }

    pub(crate) fn remark(&self, remark: Remark) {
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        // A file may be folded several times for one answer.
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
}

/// Opens the log of another session that a fork refers to.
type Siblings<'a> = &'a dyn Fn(&SessionId) -> Option<LogFile>;

/// The live part of a log before its records behind the carrier are read.
struct TracedTail {
    live: Resumed,
    /// Bytes of the file that hold the records behind the carrier.
    tail: Range<u64>,
    /// Those records, where they are few enough to be held.
    held: Option<Vec<Record>>,
    target: Target,
    /// Offsets of the records on the path behind the carrier, in file order.
    on_path: Vec<u64>,
}

/// Model that the newest request or answer on a path names.
fn newest_model<'a>(path: &[&'a Record]) -> Option<&'a str> {
    path.iter().rev().find_map(|record| match &record.body {
        Body::Request(request) => Some(&*request.model),
        Body::Message(message) if message.role == Role::Assistant => message
            .model
            .as_deref()
            // Claude Code writes `<synthetic>` for messages that it made itself; no such model
            // exists.
            .filter(|model| !model.starts_with('<')),
        _ => None,
    })
}

/// True if a record says why the prompt is not simply what was said.
fn rewrites_prompt(record: &Record) -> bool {
    // A clearing by the provider leaves the bytes here, but the model no longer sees them.
    matches!(record.body, Body::Replacement(_) | Body::Cleared(_)) || record.body.is_rewrite()
}
