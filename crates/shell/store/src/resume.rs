//! Resuming: the live part of a log, read from its end.
//!
//! # Model
//! A record that carries a manifest (checkpoint, boundary, undo, start of a fork) says which
//! earlier records are still in use; another tool's compaction boundary says that nothing before
//! it is, but perhaps a preserved stretch. So a resume needs three things: the newest such
//! *carrier* on the path of the log's newest record, the records it names, and the tail behind it.
//!
//! The carrier is looked for backwards. Following the parents of the tail shows whether it lies on
//! the path; if the path passes it by (it belongs to another branch), the search goes on before it,
//! and the records between join the tail. Every line is parsed once.
//!
//! # Responsibilities
//! The cost grows with the live part, not with the file. Abandoned branches behind the carrier are
//! part of the tail, because telling them apart takes the rules of a path; the context engine
//! applies those (`Conversation::resumed`).
//!
//! # Not here
//! Finding the records of a range ([`crate::ranges`]) and folding them into a prompt
//! (`dormouse-context`).

use crate::issue::{Issues, Trouble};
use crate::log_file::{LogFile, ReadError};
use crate::parse::{for_each_parsed, read_records};
use crate::ranges;
use crate::search::{Found, newest_line};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{Body, Links, ParsedLine, Preserved, Record};
use dormouse_system::{FileResult, RandomRead};
use memchr::memmem::Finder;
use std::collections::HashMap;
use std::ops::Range;

/// The live part of a log.
#[derive(Debug, Default)]
pub struct Resumed {
    /// The record to start from. Without one, the tail is everything there is.
    pub carrier: Option<Record>,
    /// The earlier records that are still in use, each with the session whose log it is in if
    /// that is not this one.
    pub kept: Vec<(Option<SessionId>, Record)>,
    /// Records behind the carrier, in the order of the file.
    pub tail: Vec<Record>,
    /// Lines that could not be read, and references that were not found.
    pub issues: Issues,
    /// Bytes read of this log and of others; the cost of the resume.
    pub bytes_read: u64,
}

/// The live part of a log whose tail need not fit into memory.
#[derive(Debug, Default)]
pub struct Outlined {
    /// The live part, with outlines of the records behind the carrier.
    pub live: Resumed,
    /// Bytes of the file from the carrier on; [`LogFile::for_each_in`] reads them again.
    pub tail: Range<u64>,
}

impl LogFile {
    /// Reads the live part as [`Self::resume`] does, but of the tail only what is needed to find
    /// the path through it. For logs without a boundary: their tail is everything.
    pub fn outline(
        &self,
        siblings: &dyn Fn(&SessionId) -> Option<Self>,
    ) -> Result<Outlined, ReadError> {
        let len = self.len()?;
        let live = self.resume_up_to(len, Tail::outlining(), siblings)?;
        let start = live.carrier.as_ref().map_or(0, |carrier| carrier.offset);
        Ok(Outlined {
            live,
            tail: start..len,
        })
    }

    /// Hands out the records in a range of the file, which begins at a record. Lines that cannot be
    /// read were reported by the reading that found the range.
    pub fn for_each_in(
        &self,
        range: Range<u64>,
        each: impl FnMut(Record),
    ) -> Result<(), ReadError> {
        let mut issues = Issues::default();
        self.during(for_each_parsed(self.file(), range, &mut issues, each))
    }

    /// Reads the live part. `siblings` opens the logs of other sessions that a fork refers to.
    pub fn resume(
        &self,
        siblings: &dyn Fn(&SessionId) -> Option<Self>,
    ) -> Result<Resumed, ReadError> {
        let len = self.len()?;
        self.resume_up_to(len, Tail::default(), siblings)
    }

    fn resume_up_to(
        &self,
        len: u64,
        tail: Tail,
        siblings: &dyn Fn(&SessionId) -> Option<Self>,
    ) -> Result<Resumed, ReadError> {
        let file = self.counted();
        let mut resumed = self.during(live_part(&file, len, tail))?;
        // Taken out while the rest is filled in, since both are borrowed.
        if let Some(carrier) = resumed.carrier.take() {
            self.read_kept(&file, &carrier, siblings, &mut resumed)?;
            resumed.carrier = Some(carrier);
        }
        resumed.bytes_read += file.bytes_read();
        Ok(resumed)
    }

    pub(crate) fn read_kept(
        &self,
        file: &dyn RandomRead,
        carrier: &Record,
        siblings: &dyn Fn(&SessionId) -> Option<Self>,
        resumed: &mut Resumed,
    ) -> Result<(), ReadError> {
        // Another tool's boundary has no manifest: at most a preserved stretch is still in use.
        let Some(manifest) = carrier.body.manifest() else {
            if let Body::Boundary(boundary) = &carrier.body
                && let Some(preserved) = &boundary.preserved
            {
                return self.during(read_preserved(file, carrier.offset, preserved, resumed));
            }
            return Ok(());
        };
        for range in &manifest.ranges {
            let issues = &mut resumed.issues;
            // A manifest may name its own session too; those ranges lie in this file.
            let other = range
                .session
                .as_ref()
                .filter(|session| carrier.session.as_ref() != Some(session));
            let records = if let Some(session) = other {
                let Some(log) = siblings(session) else {
                    let session = session.clone();
                    issues.add(None, carrier.offset, Trouble::LogMissing { session });
                    continue;
                };
                let (len, file) = (log.len()?, log.counted());
                let records = log.during(ranges::read(&file, len, range, issues))?;
                resumed.bytes_read += file.bytes_read();
                records
            } else {
                // Up to the carrier only: a range that reaches behind it would give records of the
                // tail twice.
                self.during(ranges::read(file, carrier.offset, range, issues))?
            };
            let records = records.into_iter();
            let named = records.map(|record| (range.session.clone(), record));
            resumed.kept.extend(named);
        }
        Ok(())
    }
}

/// Finds the carrier and reads the tail behind it.
fn live_part(file: &dyn RandomRead, len: u64, mut tail: Tail) -> FileResult<Resumed> {
    let mut end = len;
    let carrier = loop {
        let Some(found) = newest_carrier(file, end)? else {
            // No carrier in the whole file: all of it is live, unless it starts as a fork.
            tail.prepend(file, 0..end)?;
            break tail.take_start_of_fork();
        };
        tail.prepend(file, found.next..end)?;
        for issue in found.value.issues {
            tail.issues.add(None, found.offset, Trouble::Part(issue));
        }
        let record = found.value.record;
        let mut path = tail.follow(&record);
        while let Path::PassesItBy(wanted) = &path {
            // Looked for only in a damaged log: the parent is either older or lost.
            let is_lost =
                !tail.issues.is_empty() && ranges::find_id(file, found.offset, wanted)?.is_none();
            if !(is_lost && tail.bridge(Some(&record))) {
                break;
            }
            path = tail.follow(&record);
        }
        match path {
            Path::ReachesIt => break Some(record),
            Path::EndsBehindIt => break None,
            Path::PassesItBy(_) => {
                tail.prepend_record(record);
                end = found.offset;
            }
        }
    };
    Ok(tail.resumed(carrier))
}

/// Newest line before `end` that a resume could start at.
pub(crate) fn newest_carrier(
    file: &dyn RandomRead,
    end: u64,
) -> FileResult<Option<Found<ParsedLine>>> {
    let needles = ["\"compact_boundary\"", "\"checkpoint\"", "\"undo\""].map(Finder::new);
    newest_line(file, 0..end, &needles, |offset, line| {
        let parsed = Record::parse(line, offset).ok()?;
        is_carrier(&parsed.record).then_some(parsed)
    })
}

/// [`live_part`] for records that are all in memory.
pub(crate) fn live_part_of(records: &[Record]) -> Resumed {
    let mut tail = Tail::default();
    let mut end = records.len();
    let carrier = loop {
        let Some(at) = records[..end].iter().rposition(is_carrier) else {
            tail.take(records[..end].to_vec());
            break None;
        };
        tail.take(records[at + 1..end].to_vec());
        let record = &records[at];
        match tail.follow(record) {
            Path::ReachesIt => break Some(record.clone()),
            Path::EndsBehindIt => break None,
            Path::PassesItBy(_) => {
                tail.prepend_record(record.clone());
                end = at;
            }
        }
    };
    tail.resumed(carrier)
}

/// True if resuming can start at this record. A side conversation's boundary says nothing about the
/// main one.
pub(crate) fn is_carrier(record: &Record) -> bool {
    let boundary = matches!(record.body, Body::Boundary(_));
    !record.side_chain && (boundary || record.body.manifest().is_some())
}

/// Result of following the path of the newest record.
enum Path {
    /// To the record in question.
    ReachesIt,
    /// To a record without a parent that is newer.
    EndsBehindIt,
    /// To this record, which is older than the one in question, or lost.
    PassesItBy(RecordId),
}

/// The records behind the carrier, gathered from the end, and the path through them.
#[derive(Default)]
struct Tail {
    /// Stretches of records, the newest stretch first.
    parts: Vec<Vec<Record>>,
    issues: Issues,
    /// The parents of records that the path has not come to yet.
    parents: HashMap<RecordId, Option<RecordId>>,
    step: Step,
    /// The record that the path came to last.
    child: Option<RecordId>,
    /// True to keep outlines of the records only.
    outlines: bool,
}

/// Position on the path while it is followed back.
#[derive(Default)]
enum Step {
    /// No record that a conversation could end with has been seen yet.
    #[default]
    NotBegun,
    /// This one is to be found next.
    At(RecordId),
    /// This one has no parent.
    Ended(RecordId),
}

impl Tail {
    fn outlining() -> Self {
        Self {
            outlines: true,
            ..Self::default()
        }
    }

    fn prepend(&mut self, file: &dyn RandomRead, range: Range<u64>) -> FileResult<()> {
        let mut issues = Issues::default();
        let records = if self.outlines {
            let mut records = Vec::new();
            for_each_parsed(file, range, &mut issues, |record| {
                records.push(record.outline());
            })?;
            records
        } else {
            read_records(file, range, &mut issues)?
        };
        // The issues found so far lie behind this stretch; the list is in the order of the file.
        issues.append(std::mem::take(&mut self.issues));
        self.issues = issues;
        self.take(records);
        Ok(())
    }

    fn prepend_record(&mut self, record: Record) {
        self.take(vec![record]);
    }

    fn take(&mut self, records: Vec<Record>) {
        // Only the newest leaf counts: an earlier one belongs to a branch or is on its path.
        if matches!(self.step, Step::NotBegun)
            && let Some(leaf) = records.iter().rev().find(|record| is_leaf(record))
        {
            self.step = Step::At(leaf.id.clone());
        }
        // Backwards, so that of lines with the same id the first one counts, as in the context
        // engine.
        for record in records.iter().rev() {
            self.parents
                .insert(record.id.clone(), record.parent.clone());
        }
        self.parts.push(records);
    }

    fn follow(&mut self, carrier: &Record) -> Path {
        self.walk(Some(&carrier.id));
        match &self.step {
            // Nothing behind the carrier belongs to the conversation: it is the newest record.
            Step::NotBegun => Path::ReachesIt,
            Step::At(id) if *id == carrier.id => Path::ReachesIt,
            Step::At(id) => Path::PassesItBy(id.clone()),
            Step::Ended(_) => Path::EndsBehindIt,
        }
    }

    fn walk(&mut self, stop: Option<&RecordId>) {
        while let Step::At(id) = &self.step
            && Some(id) != stop
            // Removed, so that a cycle of parents comes to an end.
            && let Some(parent) = self.parents.remove(id)
        {
            self.child = Some(id.clone());
            self.step = match parent {
                Some(parent) => Step::At(parent),
                None => Step::Ended(id.clone()),
            };
        }
    }

    /// Goes on at the record that stands in for a lost parent; false if there is none.
    fn bridge(&mut self, carrier: Option<&Record>) -> bool {
        let Some(child) = &self.child else {
            return false;
        };
        let tail = self.parts.iter().rev().flatten();
        let links = Links::new(carrier.into_iter().chain(tail).collect());
        let may = |at: usize| {
            let id = &links.records()[at].id;
            self.parents.contains_key(id) || carrier.is_some_and(|carrier| carrier.id == *id)
        };
        let stand_in = links.find(child).and_then(|at| links.stand_in(at, may));
        let Some(at) = stand_in else {
            return false;
        };
        self.step = Step::At(links.records()[at].id.clone());
        true
    }

    fn resumed(self, carrier: Option<Record>) -> Resumed {
        let mut parts = self.parts;
        let tail = if parts.len() == 1 {
            // Taken over and not copied: without a carrier it is the whole log.
            parts.pop().unwrap_or_default()
        } else {
            parts.into_iter().rev().flatten().collect()
        };
        Resumed {
            carrier,
            tail,
            issues: self.issues,
            ..Resumed::default()
        }
    }

    /// The start of the log, if it is a fork's and the path leads to it.
    fn take_start_of_fork(&mut self) -> Option<Record> {
        self.walk(None);
        while matches!(self.step, Step::At(_)) && self.bridge(None) {
            self.walk(None);
        }
        let Step::Ended(root) = &self.step else {
            return None;
        };
        let oldest = self.parts.last_mut()?;
        let first = oldest.first()?;
        // Only a fork's session record has a manifest; any other start is part of the tail.
        let starts = first.id == *root && is_carrier(first);
        starts.then(|| oldest.remove(0))
    }
}

/// True if a conversation can end with this record. The engine chooses the leaf by the same rule.
fn is_leaf(record: &Record) -> bool {
    let counts = record.own || matches!(record.body, Body::Message(_) | Body::Boundary(_));
    counts && !record.side_chain
}

/// Reads the stretch that another tool kept across its compaction.
///
/// Its messages form a chain of parents with results beside it, so everything from its first
/// message to the boundary is taken: the stretch is what was newest then.
fn read_preserved(
    file: &dyn RandomRead,
    boundary: u64,
    preserved: &Preserved,
    resumed: &mut Resumed,
) -> FileResult<()> {
    // Some versions write the stretch again behind the boundary: then it is in the tail already.
    let is_there = |id: &RecordId| resumed.tail.iter().any(|record| record.id == *id);
    if is_there(&preserved.head) && is_there(&preserved.tail) {
        return Ok(());
    }
    let mut missing = |id: &RecordId| {
        let what = Trouble::PreservedNotFound { id: id.clone() };
        resumed.issues.add(None, boundary, what);
    };
    let tail = ranges::find_id(file, boundary, &preserved.tail)?;
    if tail.is_none() {
        missing(&preserved.tail);
    }
    let end = tail.unwrap_or(boundary);
    let head = if preserved.head == preserved.tail {
        tail
    } else {
        ranges::find_id(file, end, &preserved.head)?
    };
    // A lost head costs itself: its child is the first record that is left of the stretch.
    let head = if head.is_none() && preserved.head != preserved.tail {
        missing(&preserved.head);
        ranges::find_child(file, boundary, &preserved.head)?
    } else {
        head
    };
    let Some(head) = head else {
        return Ok(());
    };
    let records = read_records(file, head..boundary, &mut resumed.issues)?;
    resumed.kept = records.into_iter().map(|record| (None, record)).collect();
    Ok(())
}
