//! Our part of each conversation on disk: `lines/<conversation>.jsonl`, and the files beside it.
//!
//! # Model
//! A line is read when its conversation speaks and forgotten when others do; a bounded number is
//! held. A rewrite is on disk before it is first sent; measurements are appended without waiting.
//!
//! # Not here
//! The meaning of records: `dormouse-rewrite`.

use dormouse_recognise::Chain;
use dormouse_rewrite::{Line, Record, Save, history_file};
use dormouse_system::{Access, FileError, Files};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Lines held in memory: the conversations of a few busy clients. A line of a thousand rewrites
/// takes some 3 MB, an ordinary one a few kilobytes.
const HELD: usize = 64;
/// Bytes of a line's file: ten thousand rewrites.
const LONGEST: u64 = 256 * 1024 * 1024;
/// Version of the lines that this program writes.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    v: u32,
    #[serde(flatten)]
    record: Record,
}

/// One conversation that speaks.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) conversation: Chain,
    line: Mutex<Line>,
    /// One request at a time is planned.
    pub(crate) turn: Arc<Semaphore>,
}

impl Slot {
    pub(crate) fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All lines of a gateway.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) folder: PathBuf,
    held: Mutex<HashMap<Chain, (u64, Arc<Slot>)>>,
}

impl Lines {
    pub(crate) fn new(files: Arc<dyn Files>, folder: &Path) -> Self {
        Self {
            files,
            folder: folder.to_owned(),
            held: Mutex::default(),
        }
    }

    pub(crate) fn file(&self, conversation: Chain) -> PathBuf {
        self.folder
            .join("lines")
            .join(format!("{conversation}.jsonl"))
    }

    /// Folder of a conversation's results and histories.
    pub(crate) fn results(&self, conversation: Chain) -> PathBuf {
        self.folder.join("results").join(conversation.to_string())
    }

    /// File of a conversation's history, for those that memories are drawn from.
    pub(crate) fn transcript(&self, conversation: Chain) -> PathBuf {
        let name = format!("{conversation}.jsonl");
        self.folder.join("transcripts").join(name)
    }

    /// The line of a conversation. Reads its file if it is not held.
    pub(crate) fn open(&self, conversation: Chain) -> Result<Arc<Slot>, FileError> {
        if let Some(slot) = self.touch(conversation) {
            return Ok(slot);
        }
        let line = self.read(conversation)?;
        let mut held = self.held();
        let newest = held.values().map(|(at, _)| *at).max().unwrap_or(0);
        let slot = Arc::new(Slot {
            conversation,
            line: Mutex::new(line),
            turn: Arc::new(Semaphore::new(1)),
        });
        // Another request may have opened it meanwhile; that one counts.
        let (_, slot) = held
            .entry(conversation)
            .or_insert((newest + 1, slot))
            .clone();
        while held.len() > HELD {
            // One in use stays: what it learns must not be lost to a second copy.
            let idle = held
                .iter()
                .filter(|(_, (_, slot))| Arc::strong_count(slot) == 1);
            let Some(oldest) = idle.min_by_key(|(_, (at, _))| *at).map(|(chain, _)| *chain) else {
                break;
            };
            held.remove(&oldest);
        }
        Ok(slot)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Chain, (u64, Arc<Slot>)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self, conversation: Chain) -> Option<Arc<Slot>> {
        let mut held = self.held();
        let newest = held.values().map(|(at, _)| *at).max().unwrap_or(0);
        let (at, slot) = held.get_mut(&conversation)?;
        *at = newest + 1;
        Some(Arc::clone(slot))
    }

    fn read(&self, conversation: Chain) -> Result<Line, FileError> {
        let mut line = Line::default();
        for record in self.records(conversation)? {
            line.apply(record);
        }
        Ok(line)
    }

    /// Names of the files that a conversation's records name.
    pub(crate) fn named(&self, conversation: Chain) -> Result<HashSet<String>, FileError> {
        let records = self.records(conversation)?;
        let files = records.iter().filter_map(|record| match record {
            Record::Replaced(one) => Some(one.file.clone()),
            Record::Boundary(boundary) => Some(history_file(boundary.upto)),
            Record::Answered(_) | Record::Failed | Record::Offered | Record::Aside(_) => None,
        });
        Ok(files.collect())
    }

    /// Lets go of a line that is not in use.
    pub(crate) fn forget(&self, conversation: Chain) {
        self.held().remove(&conversation);
    }

    fn records(&self, conversation: Chain) -> Result<Vec<Record>, FileError> {
        let mut records = Vec::new();
        match self.files.read(&self.file(conversation), LONGEST) {
            Ok(bytes) => {
                // A line that a crash cut off is none.
                let lines = bytes.split(|byte| *byte == b'\n');
                let stored = lines.filter_map(|text| serde_json::from_slice::<Stored>(text).ok());
                records.extend(stored.map(|stored| stored.record));
            }
            Err(error) if error.not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(records)
    }

    /// Saves texts and appends records, and returns when all of it is on disk.
    pub(crate) fn keep(
        &self,
        conversation: Chain,
        saves: &[Save],
        records: &[Record],
    ) -> Result<(), FileError> {
        if !saves.is_empty() {
            let folder = self.results(conversation);
            self.files.create_dir_all(&folder, Access::Private)?;
            let paths: Vec<PathBuf> = saves.iter().map(|save| folder.join(&save.file)).collect();
            let files: Vec<(&Path, &[u8])> = paths
                .iter()
                .zip(saves)
                .map(|(path, save)| (path.as_path(), save.text.as_bytes()))
                .collect();
            self.files.replace_many(&files, Access::Private)?;
        }
        if records.is_empty() {
            return Ok(());
        }
        self.append(conversation, records, true)
    }

    /// Appends a record without waiting for the disk.
    pub(crate) fn note(&self, conversation: Chain, record: &Record) -> Result<(), FileError> {
        self.append(conversation, std::slice::from_ref(record), false)
    }

    fn append(
        &self,
        conversation: Chain,
        records: &[Record],
        durable: bool,
    ) -> Result<(), FileError> {
        let path = self.file(conversation);
        let mut file = match self.files.append(&path, Access::Private) {
            Err(error) if error.not_found() => {
                self.files
                    .create_dir_all(&self.folder.join("lines"), Access::Private)?;
                self.files.append(&path, Access::Private)?
            }
            other => other?,
        };
        // A line that a crash or a full disk cut off is ended first; an empty line is none.
        let mut lines = vec![b'\n'];
        for record in records {
            let stored = Stored {
                v: VERSION,
                record: record.clone(),
            };
            // Plain values without maps: serialising them cannot fail.
            if serde_json::to_writer(&mut lines, &stored).is_ok() {
                lines.push(b'\n');
            }
        }
        file.append(&lines)?;
        if durable {
            file.sync_data()?;
        }
        Ok(())
    }
}
