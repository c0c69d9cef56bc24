//! Memories of other tools.
//!
//! # Model
//! Folders and files are read, memories made of them, and all are written in one transaction, so
//! that one undo takes the whole import back. A file that cannot be imported is named with the
//! reason and keeps nothing else outside.

use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use bytes::Bytes;
use dormouse_core::units::Millis;
use dormouse_memory::import::{Foreign, Format, Import, Imported, import, plan};
use dormouse_memory::snapshot::{INDEX, Snapshot};
use dormouse_memory::topic::Kind;
use dormouse_memory::transaction::{MOST_BYTES, Transaction};
use dormouse_system::{FileKind, Files, OptionalFile as _};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Files of one import at most: 20,000 are more than any folder of notes, and reading a whole disk
/// by mistake has to end.
const MOST_FILES: usize = 20_000;

/// The files that are imported, and how.
#[derive(Clone, Debug)]
pub struct ImportAsk {
    /// Folders or files, relative to the working directory.
    pub paths: Vec<PathBuf>,
    /// The tool that wrote them; told from the files if it is `None`.
    pub from: Option<Format>,
    /// Only say what would be imported.
    pub dry_run: bool,
}

/// The outcome of an import, also of a dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Set if nothing was written on purpose.
    pub dry_run: bool,
    /// The entry of the journal, if anything changed.
    pub entry: Option<String>,
    /// Memories that are new.
    pub added: Vec<Added>,
    /// Files that stay outside.
    pub skipped: Vec<LeftOutside>,
}

/// A memory that is new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Added {
    /// The file it comes from.
    pub from: String,
    /// Path of the new file, relative to the directory.
    pub path: String,
    /// Name of the new memory.
    pub name: String,
    /// Its `type`, if that is known.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
}

/// A file that stays outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutside {
    /// The file that was read.
    pub from: String,
    /// The reason, in words.
    pub why: String,
}

/// A file that was read, by its path below the folder.
struct File {
    path: String,
    content: Bytes,
}

/// The files below one path.
#[derive(Default)]
struct Reading {
    files: Vec<File>,
    skipped: Vec<LeftOutside>,
}

/// Files between two words about progress: a line changes a few times a second.
const EVERY: usize = 50;

impl Host {
    /// Brings in memories of other tools, or a folder of notes. `progress` is told now and then what
    /// is being done, and an empty text at the end.
    ///
    /// # Errors
    /// When a path leads nowhere, or the directory cannot be changed.
    pub fn import(
        &self,
        which: &Which,
        ask: &ImportAsk,
        mut progress: impl FnMut(&str),
    ) -> Result<ImportReport, HostError> {
        let imported = self.imported(which, ask, &mut progress);
        progress("");
        imported
    }

    fn imported(
        &self,
        which: &Which,
        ask: &ImportAsk,
        progress: &mut dyn FnMut(&str),
    ) -> Result<ImportReport, HostError> {
        let mut found = self.find(which)?;
        let current = &self.places().current_dir;
        let mut readings = Vec::new();
        for path in &ask.paths {
            let files = &*self.system().files;
            readings.push(read(path, &current.join(path), files, progress)?);
        }
        let files: usize = readings.iter().map(|reading| reading.files.len()).sum();
        progress(&format!(
            "comparing {files} files with the memories there are"
        ));
        let unread: Vec<LeftOutside> = readings
            .iter()
            .flat_map(|reading| reading.skipped.clone())
            .collect();
        let mut report = ImportReport {
            dry_run: ask.dry_run,
            entry: None,
            added: Vec::new(),
            skipped: unread.clone(),
        };
        if ask.dry_run {
            let snapshot = found.snapshot()?;
            // The plan fills the report; the change itself is thrown away.
            drop(planned(ask, &readings, &snapshot, &mut report));
        } else {
            let entry = found.update(|snapshot| {
                // Asked again if another process changed the directory meanwhile.
                report.added.clear();
                report.skipped.clone_from(&unread);
                Ok(planned(ask, &readings, snapshot, &mut report))
            })?;
            report.entry = entry.map(|entry| entry.id);
        }
        Ok(report)
    }
}

fn planned(
    ask: &ImportAsk,
    readings: &[Reading],
    snapshot: &Snapshot,
    report: &mut ImportReport,
) -> Transaction {
    // Memories of one path are known to the next, so that two copies of a folder give one.
    let mut known = snapshot.clone();
    let mut all: Vec<Imported> = Vec::new();
    for reading in readings {
        let files: Vec<Foreign<'_>> = reading
            .files
            .iter()
            .map(|file| Foreign {
                path: &file.path,
                content: &file.content,
            })
            .collect();
        let format = ask.from.unwrap_or_else(|| guessed(reading));
        let Import { memories, skipped } = import(format, &files, &known);
        known = plan(&known, &memories, "").applied(&known, Millis(0));
        all.extend(memories);
        report
            .skipped
            .extend(skipped.into_iter().map(|skipped| LeftOutside {
                from: skipped.path,
                why: skipped.why.to_string(),
            }));
    }
    let names: Vec<String> = ask
        .paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let change = plan(snapshot, &all, &format!("import {}", names.join(", ")));
    let paths = change
        .operations
        .iter()
        .map(|operation| operation.path.as_str())
        .filter(|path| *path != INDEX);
    report.added = all
        .iter()
        .zip(paths)
        .map(|(imported, path)| Added {
            from: imported.from.clone(),
            path: path.to_owned(),
            name: imported.memory.name.clone(),
            kind: imported.memory.kind.map(Kind::name),
        })
        .collect();
    change
}

/// The tool that most likely wrote a folder: an index at its top is Claude Code's way, `system/`
/// Letta's.
fn guessed(reading: &Reading) -> Format {
    let has = |wanted: &dyn Fn(&str) -> bool| reading.files.iter().any(|file| wanted(&file.path));
    if has(&|path| path == "memory_summary.md" || path.starts_with("rollout_summaries/")) {
        Format::Codex
    } else if has(&|path| path == INDEX) {
        Format::ClaudeCode
    } else if has(&|path| path.starts_with("system/")) {
        Format::Letta
    } else {
        Format::Markdown
    }
}

fn read(
    given: &Path,
    path: &Path,
    files: &dyn Files,
    progress: &mut dyn FnMut(&str),
) -> Result<Reading, HostError> {
    let Some(facts) = files.metadata(path).optional()? else {
        return Err(HostError::NoPath(given.to_owned()));
    };
    let mut reading = Reading::default();
    if facts.kind == FileKind::Directory {
        // Hidden folders hold journals, caches and repositories of other tools, never notes.
        let hidden = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with('.')
        };
        let mut walked = files.walk(path, &hidden)?;
        // The order of a folder's entries differs between disks; names of new files depend on it.
        walked.sort_by(|a, b| a.path.cmp(&b.path));
        // Counted before any file is read.
        if walked.len() > MOST_FILES {
            return Err(HostError::TooManyFiles {
                path: given.to_owned(),
                count: walked.len(),
            });
        }
        let all = walked.len();
        for (number, walked) in walked.into_iter().enumerate() {
            if number % EVERY == 0 {
                progress(&format!("reading file {} of {all}", number + 1));
            }
            reading.take(files, &path.join(&walked.path), &walked.path);
        }
    } else {
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        reading.take(files, path, &name);
    }
    Ok(reading)
}

impl Reading {
    fn take(&mut self, files: &dyn Files, path: &Path, below: &Path) {
        // Paths are compared with those of other tools, which write slashes.
        let name = below.to_string_lossy().replace('\\', "/");
        match files.read(path, MOST_BYTES as u64) {
            Ok(content) => self.files.push(File {
                path: name,
                content,
            }),
            // One unreadable file must not keep the others outside.
            Err(error) => self.skipped.push(LeftOutside {
                from: name,
                why: if error.too_large() {
                    "too long for a memory".to_owned()
                } else {
                    error.to_string()
                },
            }),
        }
    }
}
