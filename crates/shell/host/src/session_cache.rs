//! Rows of the session list, kept between runs.
//!
//! # Model
//! A row is made from whole transcripts, which takes seconds for hundreds of megabytes. One file in
//! the home, or in the user's folder for caches where there is no home, keeps each row beside the stamps of the transcripts it was made from: length, time of
//! change, and a hash of both ends. A transcript with other stamps is read again, with all files of
//! its session; a list of unchanged sessions reads their ends only.
//!
//! # Limits
//! A transcript that was changed in its middle and given its old length and time back is not
//! noticed. No tool does that to a file it appends to.
//!
//! # Responsibilities
//! A cache that is absent, damaged, of another version or made with other prices is no cache. A list
//! is a question and makes no home where there is none; a folder for caches is there for such
//! questions. One that cannot be written to costs the next run the time, and nothing else.
//!
//! # Not here
//! Making a row: [`crate::sessions`].

use crate::sessions::SessionRow;
use dormouse_core::hash::Hash;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Millis;
use dormouse_store::FoundLog;
use dormouse_system::{Access, FileResult, Files, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Name of the file below Dormouse's home.
const FILE: &str = "sessions-cache.json";

/// Folder of caches in a user's home, where no variable names another.
const USER_CACHES: &str = if cfg!(target_os = "macos") {
    "Library/Caches"
} else {
    ".cache"
};

/// Version of the rows. Raised whenever a figure of a row is made in another way.
const VERSION: u32 = 1;

/// Most bytes of the file: about a kilobyte a session, for more sessions than anyone has.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes hashed at each end of a transcript: a line or a few, so that another session under the same
/// name shows, and one read of the disk.
const EDGE: u64 = 4 * 1024;

/// The content of the cache file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    version: u32,
    program: String,
    /// Hash of the model table: costs follow its prices, sizes its figures.
    models: String,
    rows: BTreeMap<PathBuf, Entry>,
}

/// A row and the transcripts that it was made from.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    stamps: Vec<Stamp>,
    row: SessionRow,
}

/// State of one transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    path: PathBuf,
    bytes: u64,
    modified: Millis,
    /// Hash of the first and the last bytes.
    edges: String,
}

/// Rows of earlier runs, and those of this one.
#[derive(Debug)]
pub(crate) struct SessionCache {
    /// File of the cache; none where the user has neither a home of ours nor one of his own.
    path: Option<PathBuf>,
    known: Stored,
    fresh: BTreeMap<PathBuf, Entry>,
    changed: bool,
}

impl SessionCache {
    /// Reads the rows that earlier runs kept.
    pub(crate) fn load(system: &System, home: &Path, models: &ModelTable) -> Self {
        let files = &*system.files;
        let path = folder(system, home).map(|folder| folder.join(FILE));
        let empty = Stored {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            models: Hash::of(format!("{models:?}").as_bytes()).to_string(),
            rows: BTreeMap::new(),
        };
        let stored = path.as_ref();
        let stored = stored.and_then(|path| files.read(path, MOST_BYTES).ok());
        let stored = stored.and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        let usable = stored.filter(|stored| {
            (stored.version, &stored.program, &stored.models)
                == (empty.version, &empty.program, &empty.models)
        });
        Self {
            path,
            known: usable.unwrap_or(empty),
            fresh: BTreeMap::new(),
            changed: false,
        }
    }

    /// The row of a session, if its transcripts are as they were.
    pub(crate) fn take(&mut self, path: &Path, stamps: &[Stamp]) -> Option<SessionRow> {
        let entry = self.known.rows.remove(path)?;
        if entry.stamps != stamps {
            self.changed = true;
            return None;
        }
        let row = entry.row.clone();
        self.fresh.insert(path.to_owned(), entry);
        Some(row)
    }

    /// Keeps a row for the next run.
    pub(crate) fn put(&mut self, path: &Path, stamps: Vec<Stamp>, row: &SessionRow) {
        self.changed = true;
        let row = row.clone();
        self.fresh.insert(path.to_owned(), Entry { stamps, row });
    }

    /// Writes the rows. Those of sessions that are no longer below `folder` go; other folders'
    /// stay.
    pub(crate) fn save(mut self, files: &dyn Files, folder: &Path) {
        let before = self.known.rows.len();
        self.known.rows.retain(|path, _| !path.starts_with(folder));
        self.changed |= self.known.rows.len() != before;
        let Some(path) = self.path.filter(|_| self.changed) else {
            return;
        };
        // Only a folder for caches can be missing here.
        if let Some(folder) = path.parent() {
            files.create_dir_all(folder, Access::Private).ok();
        }
        self.known.rows.append(&mut self.fresh);
        if let Ok(content) = serde_json::to_vec(&self.known) {
            // A disk that is read-only or full costs time, not the answer.
            files.replace(&path, &content, Access::Private).ok();
        }
    }
}

/// Folder that the cache lies in: the home where there is one, else ours among the user's caches.
fn folder(system: &System, home: &Path) -> Option<PathBuf> {
    if system.files.metadata(home).is_ok() {
        return Some(home.to_owned());
    }
    let named = system.env.var("XDG_CACHE_HOME").map(PathBuf::from);
    // The specification of the variable has relative paths ignored.
    let named = named.filter(|path| path.is_absolute());
    let caches = named.or_else(|| Some(system.env.home_dir()?.join(USER_CACHES)))?;
    Some(caches.join("dormouse"))
}

/// Stamps of the transcripts of one session; none if one of them cannot be read.
pub(crate) fn stamps(files: &dyn Files, logs: &[&FoundLog]) -> Option<Vec<Stamp>> {
    let stamps = logs.iter().map(|log| stamp(files, log));
    stamps.collect::<FileResult<_>>().ok()
}

fn stamp(files: &dyn Files, log: &FoundLog) -> FileResult<Stamp> {
    let file = files.open(&log.path)?;
    // The length of the opened file, not of the listing: both ends must belong to it.
    let bytes = file.len()?;
    let mut edges = file.read_range(0, EDGE.min(bytes))?.to_vec();
    edges.extend_from_slice(&file.read_range(bytes.saturating_sub(EDGE), EDGE.min(bytes))?);
    Ok(Stamp {
        path: log.path.clone(),
        bytes,
        modified: log.modified,
        edges: Hash::of(&edges).to_string(),
    })
}
