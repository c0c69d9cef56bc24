//! Looking for problems in a memory directory.
//!
//! # Not here
//! Mending: each finding names a remedy, and other services carry it out.

use super::limits;
use crate::error::HostError;
use crate::host::{Host, day};
use crate::place::Which;
use dormouse_guard::secrets;
use dormouse_memory::index::{self, IndexFacts, IndexPast, Missing, drift};
use dormouse_memory::snapshot::{INDEX, Snapshot, is_topic};
use dormouse_memory::topic::{Topic, split};
use dormouse_memory::transaction::MOST_BYTES;
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
    /// Wait until a folder is synced, bring a file back, or remove its line.
    BringBack,
    /// Shorten or remove lines of one's own: they alone fill the index.
    ShortenIndex,
    /// Change or remove a line of one's own.
    UpdateLine,
    /// Nothing to do: recall finds memories without a line.
    NoLineNeeded,
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
        let past = match found.existing()? {
            Some(dir) => dir.index_past(&snapshot)?,
            None => IndexPast::default(),
        };
        let facts = IndexFacts {
            today: day(self.now()),
            limits: limits(&self.settings()),
            past: &past,
            missing: Missing::Keep,
        };
        check_index(&snapshot, &facts, &mut report);
        // All files, not only memories: a secret in the index is one, too.
        for (path, file) in snapshot.files() {
            check_file(path.as_str(), &file.text(), is_topic(path), &mut report);
        }
        Ok(report)
    }
}

fn check_index(snapshot: &Snapshot, facts: &IndexFacts<'_>, report: &mut Check) {
    let drift = drift(snapshot, facts);
    let at = |line: usize, what: String, remedy| Finding {
        path: INDEX.to_owned(),
        line: Some(line),
        what,
        remedy,
    };
    let whole = |what: String, remedy| Finding {
        path: INDEX.to_owned(),
        line: None,
        what,
        remedy,
    };
    let known = report.problems.len();
    for (entry, why) in &drift.removable {
        let what = format!("points to {}, {why}", entry.path);
        report
            .problems
            .push(at(entry.line, what, Remedy::MendIndex));
    }
    for entry in &drift.outdated {
        let what = format!("says what {} said earlier", entry.path);
        report
            .problems
            .push(at(entry.line, what, Remedy::MendIndex));
    }
    for path in &drift.unlisted {
        report.problems.push(Finding {
            path: path.to_string(),
            line: None,
            what: "has no line in the index".to_owned(),
            remedy: Remedy::MendIndex,
        });
    }
    // Such as a remark with a number that no longer holds.
    if drift.mendable && report.problems.len() == known {
        let what = "is not as it would be after mending".to_owned();
        report.problems.push(whole(what, Remedy::MendIndex));
    }
    for entry in &drift.missing {
        let what = format!(
            "points to {}, which is not here, though Dormouse did not remove it",
            entry.path
        );
        report
            .problems
            .push(at(entry.line, what, Remedy::BringBack));
    }
    // Memories behind the cut are not known to a session, which is why it is a problem.
    let text = snapshot.index();
    if let Some(cut) = index::load(&text, facts.limits).cut {
        let what = format!(
            "is too long: {} of {} lines, {} of {} bytes are loaded",
            cut.lines_shown, cut.lines, cut.bytes_shown, cut.bytes
        );
        // Lines that mending leaves are a person's, and only a person shortens them.
        let remedy = if drift.mendable {
            Remedy::MendIndex
        } else {
            Remedy::ShortenIndex
        };
        report.problems.push(whole(what, remedy));
    }
    let lines = [
        (
            &drift.left,
            "still links to a memory that was removed,",
            Remedy::UpdateLine,
        ),
        (
            &drift.stale,
            "repeats an earlier description of",
            Remedy::UpdateLine,
        ),
        (
            &drift.over,
            "is about a memory that no longer holds,",
            Remedy::UpdateLine,
        ),
        (
            &drift.repeated,
            "is one more line about",
            Remedy::UpdateLine,
        ),
        (
            &drift.long,
            "is longer than 150 characters, about",
            Remedy::ShortenLine,
        ),
    ];
    for (entries, what, remedy) in lines {
        for entry in entries {
            let what = format!("{what} {}", entry.path);
            report.remarks.push(at(entry.line, what, remedy));
        }
    }
    if drift.unfit > 0 {
        let what = format!("is full: {} more memories have no line", drift.unfit);
        report.remarks.push(whole(what, Remedy::NoLineNeeded));
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
    // Without front matter the two findings below would follow anyway.
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
