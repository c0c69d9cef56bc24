//! Mending the index, so that it fits the files.

use crate::error::HostError;
use crate::host::{Host, day};
use crate::place::Which;
use dormouse_guard::paths::SafePath;
use dormouse_memory::index::{generated, reconciled};
use dormouse_memory::snapshot::{INDEX, Snapshot};
use dormouse_memory::transaction::{Author, Transaction};
use serde::Serialize;

/// The way the index is mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexMending {
    /// True to make it anew from the files alone; hand-written lines are lost.
    pub rebuild: bool,
    /// True to report the change without making it.
    pub dry_run: bool,
}

/// The index before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IndexMended {
    /// Unset if the index fits the files.
    pub changed: bool,
    /// Text of the index before.
    pub before: String,
    /// Text of the index after.
    pub after: String,
    /// The entry of the journal, if anything was written.
    pub entry: Option<String>,
}

impl Host {
    /// Mends the index: lines without a file go, files without a line get one.
    ///
    /// # Errors
    /// When memory is off, or the directory cannot be changed.
    pub fn mend_index(&self, which: &Which, how: IndexMending) -> Result<IndexMended, HostError> {
        let mut found = self.find(which)?;
        let today = day(self.now());
        let make = |snapshot: &Snapshot| {
            if how.rebuild {
                generated(snapshot, today)
            } else {
                reconciled(snapshot, today)
            }
        };
        let snapshot = found.snapshot()?;
        let (before, after) = (snapshot.index(), make(&snapshot));
        // A directory without memories needs no index; mending must not begin one.
        let changed = before != after && !(snapshot.is_empty() && before.is_empty());
        let entry = if how.dry_run || !changed {
            None
        } else {
            // Made again from the snapshot under the lock: the first look may be out of date.
            found.update(|snapshot| {
                let mut change = Transaction::by(Author::User, "mend the index");
                if let Ok(path) = SafePath::parse(INDEX) {
                    change.put(snapshot, path, make(snapshot));
                }
                Ok(change.without_idle(snapshot))
            })?
        };
        Ok(IndexMended {
            changed,
            before,
            after,
            entry: entry.map(|entry| entry.id),
        })
    }
}
