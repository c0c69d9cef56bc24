//! An inbox: a file of letters that only grows.
//!
//! # Model
//! A line is a letter. [`Inbox::accept`] takes the file's lock, reads the lines that are new since
//! it last looked, and appends the letter unless its id is among them. [`Inbox::read`] takes no
//! lock: it reads whole lines from a [`Cursor`] on, and leaves a line that is still being written.
//!
//! A killed writer leaves a line without its end. If the letter in it is complete, the next writer
//! only ends the line; otherwise it ends the line and readers count it as torn. The sender of a torn
//! letter never had a confirmation and sends it again.
//!
//! # Not here
//! Who may write: the folder is private to the user, and `door` checks its peers.

use crate::address::AgentName;
use crate::error::{MailError, MailResult};
use crate::letter::{LONGEST, Letter, LetterId};
use dormouse_system::{Access, FileResult, Files, OptionalFile as _, RandomRead};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Longest wait for other writers. Each holds the lock for one line, so that a longer wait means
/// that one is stopped, and the sender should hear of it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of an inbox at which it refuses letters: a thousand of the longest. An owner who reads
/// never comes near it in the life of a team; one who does not must not fill the disk.
const FULL: u64 = 1000 * LONGEST as u64;
/// Bytes that are read in one piece; a line always fits.
const PIECE: u64 = 1024 * 1024;

/// Place in an inbox up to which it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(u64);

/// Result of handing a letter in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// The letter lies in the inbox now.
    New,
    /// A letter of this id lay there before; nothing was written.
    Before,
}

/// Letters read in one go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Letters in the order in which they came, each with the place behind it.
    pub letters: Vec<(Letter, Cursor)>,
    /// Place from which to read on.
    pub next: Cursor,
    /// Lines that are no letter: torn by a killed writer, or written by something else.
    pub torn: u64,
}

/// Inbox of one agent. Clones share what they know of the file.
#[derive(Clone, Debug)]
pub struct Inbox {
    files: Arc<dyn Files>,
    owner: AgentName,
    path: PathBuf,
    known: Arc<Mutex<Known>>,
}

/// Ids of the letters up to a place in the file.
#[derive(Debug, Default)]
struct Known {
    upto: u64,
    ids: HashSet<LetterId>,
}

impl Inbox {
    pub(crate) fn at(files: Arc<dyn Files>, owner: AgentName, path: PathBuf) -> Self {
        Self {
            files,
            owner,
            path,
            known: Arc::default(),
        }
    }

    pub(crate) const fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    /// Agent that reads this inbox.
    pub const fn owner(&self) -> &AgentName {
        &self.owner
    }

    /// File with the letters.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands a letter in. After it returned, the letter is on disk.
    ///
    /// # Errors
    /// When the letter is too long, the inbox full, locked for long, or the disk fails. The letter
    /// may then be there or not; sending it again is safe.
    pub fn accept(&self, letter: &Letter) -> MailResult<Accepted> {
        let line = letter.line()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = self.files.lock_waiting(&self.path, PATIENCE)? else {
            return Err(MailError::Locked {
                path: self.path.clone(),
            });
        };
        let mut file = self.files.append(&self.path, Access::Private)?;
        let rest = known.catch_up(&*self.files.open(&self.path)?)?;
        let unended = !matches!(rest, Rest::Nothing);
        if let Rest::Whole(id) = rest {
            known.ids.insert(id);
        }
        let before = known.ids.contains(&letter.id);
        let mut bytes = Vec::with_capacity(line.len() + 1);
        if unended {
            bytes.push(b'\n');
        }
        if !before {
            let len = file.len()?;
            if len + line.len() as u64 > FULL {
                return Err(MailError::Full {
                    name: self.owner.to_string(),
                    len,
                });
            }
            bytes.extend_from_slice(&line);
        }
        if !bytes.is_empty() {
            file.append(&bytes)?;
        }
        // Not under the lock: other writers need not wait for the disk, and their lines are forced
        // down with this one.
        drop(held);
        drop(known);
        // A line that was there before may have been written by a sender who died before this.
        file.sync_data()?;
        Ok(if before {
            Accepted::Before
        } else {
            Accepted::New
        })
    }

    /// Reads the letters behind a place, at most about a megabyte of them.
    pub fn read(&self, from: Cursor) -> MailResult<Batch> {
        let mut batch = Batch {
            next: from,
            ..Batch::default()
        };
        let Some(file) = self.files.open(&self.path).optional()? else {
            return Ok(batch);
        };
        let bytes = file.read_range(from.0, PIECE)?;
        let mut at = from.0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(text) = line.strip_suffix(b"\n") else {
                // Being written, or torn: the next writer ends it.
                break;
            };
            at += line.len() as u64;
            match serde_json::from_slice::<Letter>(text) {
                Ok(letter) => batch.letters.push((letter, Cursor(at))),
                Err(_) if text.is_empty() => {}
                Err(_) => batch.torn += 1,
            }
        }
        batch.next = Cursor(at);
        Ok(batch)
    }
}

/// End of a file behind its last whole line.
enum Rest {
    Nothing,
    Whole(LetterId),
    Torn,
}

impl Known {
    /// Takes in the lines that were written since the last look.
    fn catch_up(&mut self, file: &dyn RandomRead) -> FileResult<Rest> {
        loop {
            let bytes = file.read_range(self.upto, PIECE)?;
            let whole = bytes.iter().rposition(|byte| *byte == b'\n');
            let whole = whole.map_or(0, |at| at + 1);
            for line in bytes[..whole].split(|byte| *byte == b'\n') {
                if let Some(id) = id_of(line) {
                    self.ids.insert(id);
                }
            }
            self.upto += whole as u64;
            let rest = &bytes[whole..];
            // A piece without a line end is no letter, and reading it again would never end.
            if whole > 0 && bytes.len() as u64 == PIECE {
                continue;
            }
            return Ok(if rest.is_empty() {
                Rest::Nothing
            } else {
                id_of(rest).map_or(Rest::Torn, Rest::Whole)
            });
        }
    }
}

fn id_of(line: &[u8]) -> Option<LetterId> {
    let letter: Letter = serde_json::from_slice(line).ok()?;
    Some(letter.id)
}
