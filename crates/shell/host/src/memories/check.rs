//! Looking for problems in a memory directory.
//!
//! # Not here
//! Mending: each finding names a remedy, and other services carry it out.

use super::limits;
use crate::error::HostError;
use crate::host::{Host, day};
use crate::place::Which;
use dormouse_core::settings::Settings;
use dormouse_guard::secrets;
use dormouse_memory::index::{self, drift};
use dormouse_memory::snapshot::{INDEX, Snapshot, is_topic};
use dormouse_memory::topic::{Topic, split};
use dormouse_memory::transaction::MOST_BYTES;
use jiff::civil::Date;
use serde::Serialize;

/// The state of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The directory, also where it does not exist yet.
    pub directory: String,
    /// Number of its memories.
    pub memories: usize,
    /// Findings that should be mended.
    pub problems: Vec<Finding>,
    /// Findings that may stay as they are.
    pub remarks: Vec<Finding>,
}

/// One problem or remark about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file, relative to its directory.
    pub path: String,
    /// The line in it, from 1, where there is one.
    pub line: Option<usize>,
    /// The finding, to be read behind the file's name.
    pub what: String,
    /// The way to mend it, worded by the caller.
    pub remedy: Remedy,
}

/// The way to mend a finding. Doors word it, each with its own commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// Mend the index: it does not fit the files.
    MendIndex,
    /// Shorten a line of the index; detail belongs into the file.
    ShortenLine,
    /// Merge memories by a dream, or shorten lines.
    MergeMemories,
    /// Remove a credential, also from the journal, and change it.
    RemoveCredential,
    /// Split a memory that is very long.
    Split,
    /// Write a description and a type.
    WriteFrontMatter,
    /// Write a description for recall.
    Describe,
    /// Set a type that is known.
    SetType,
}

impl Host {
    /// Looks for problems: drift, front matter, credentials, length.
    ///
    /// # Errors
    /// When memory is off, or the directory cannot be read.
    pub fn check(&self, which: &Which) -> Result<Check, HostError> {
        let found = self.find(which)?;
        let snapshot = found.snapshot()?;
        let mut report = Check {
            directory: found.root.display().to_string(),
            memories: snapshot.topics().count(),
            problems: Vec::new(),
            remarks: Vec::new(),
        };
        check_index(&snapshot, &self.settings(), day(self.now()), &mut report);
        for (path, file) in snapshot.files() {
            check_file(path.as_str(), &file.text(), is_topic(path), &mut report);
        }
        Ok(report)
    }
}

fn check_index(snapshot: &Snapshot, settings: &Settings, today: Date, report: &mut Check) {
    let drift = drift(snapshot, today);
    let line = |line: usize, what: String, remedy| Finding {
        path: INDEX.to_owned(),
        line: Some(line),
        what,
        remedy,
    };
    for entry in &drift.dangling {
        let what = format!("points to {}, which does not exist", entry.target);
        report
            .problems
            .push(line(entry.line, what, Remedy::MendIndex));
    }
    for entry in &drift.repeated {
        let what = format!("points to {} once more", entry.target);
        report
            .problems
            .push(line(entry.line, what, Remedy::MendIndex));
    }
    for entry in &drift.long {
        let what = format!("is longer than {} characters", index::LONGEST_LINE);
        report
            .remarks
            .push(line(entry.line, what, Remedy::ShortenLine));
    }
    for path in &drift.unlisted {
        report.problems.push(Finding {
            path: path.to_string(),
            line: None,
            what: "has no line in the index".to_owned(),
            remedy: Remedy::MendIndex,
        });
    }
    let text = snapshot.index();
    if let Some(cut) = index::load(&text, limits(settings)).cut {
        report.problems.push(Finding {
            path: INDEX.to_owned(),
            line: None,
            what: format!(
                "is too long: {} of {} lines, {} of {} bytes are loaded",
                cut.lines_shown, cut.lines, cut.bytes_shown, cut.bytes
            ),
            remedy: Remedy::MergeMemories,
        });
    }
}

fn check_file(path: &str, text: &str, topic: bool, report: &mut Check) {
    for found in secrets::scan(text) {
        report.problems.push(Finding {
            path: path.to_owned(),
            line: Some(found.line),
            what: format!("looks like a credential ({})", found.rule),
            remedy: Remedy::RemoveCredential,
        });
    }
    // Only memories have front matter; the index and other files do not.
    if !topic {
        return;
    }
    let remark = |what: &str, remedy| Finding {
        path: path.to_owned(),
        line: None,
        what: what.to_owned(),
        remedy,
    };
    if text.len() > MOST_BYTES {
        report.remarks.push(remark("is very long", Remedy::Split));
    }
    if split(text).0.is_none() {
        report
            .remarks
            .push(remark("has no front matter", Remedy::WriteFrontMatter));
        return;
    }
    let read = Topic::read(text);
    if read.description.is_empty() {
        report.remarks.push(remark(
            "has no description, so recall finds it only by its text",
            Remedy::Describe,
        ));
    }
    if read.kind.is_none() {
        report
            .remarks
            .push(remark("has no type that is known", Remedy::SetType));
    }
}
