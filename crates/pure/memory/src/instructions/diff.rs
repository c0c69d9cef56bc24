//! Changes on disk since instructions were given.

use super::parts::{File, Loaded};
use super::render::{shown, wrap};
use dormouse_core::hash::Hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const CHANGED: &str = include_str!("changed.md");

/// Digest of a file as it was given, to be recorded with the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// Path at which it was found.
    pub path: PathBuf,
    /// Hash of the text that was given.
    pub hash: Hash,
}

impl FileDigest {
    /// Digests of all files that a prompt begins with.
    pub fn of(loaded: &Loaded) -> Vec<Self> {
        let digest = |file: &File| Self {
            path: file.path.clone(),
            hash: file.hash,
        };
        loaded.always.iter().map(digest).collect()
    }
}

/// Announcement of the changes, for the end of the conversation; `None` if there are none. At the
/// end, because a change at the beginning would throw the cached prompt away.
pub fn diff(recorded: &[FileDigest], now: &Loaded) -> Option<String> {
    let before: BTreeMap<&Path, Hash> = recorded
        .iter()
        .map(|digest| (digest.path.as_path(), digest.hash))
        .collect();
    let after: BTreeMap<&Path, Hash> = now
        .always
        .iter()
        .map(|file| (file.path.as_path(), file.hash))
        .collect();
    let mut out = CHANGED.trim_end().to_owned();
    let mut any = false;
    let mut say = |what: &str, path: &Path| {
        any = true;
        // Writing to a string cannot fail.
        write!(out, "\n- {what}: {}", shown(path)).ok();
    };
    for (path, hash) in &after {
        match before.get(path) {
            None => say("new", path),
            Some(old) if old != hash => say("changed", path),
            Some(_) => {}
        }
    }
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        say("gone", path);
    }
    any.then(|| wrap(&out))
}
