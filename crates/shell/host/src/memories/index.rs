//! Mending the index, so that it fits the files.

use super::limits;
use crate::error::HostError;
use crate::host::{Host, day};
use crate::place::Which;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemoryDir;
use dormouse_memory::index::{IndexFacts, Missing, generated, mended};
use dormouse_memory::snapshot::{INDEX, Snapshot, StoredFile};
use dormouse_memory::transaction::{Author, Transaction};
use serde::Serialize;

/// The way the index is mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexMending {
    /// True to make it anew from the files alone; hand-written lines are lost.
    pub rebuild: bool,
    /// True to remove a person's lines whose file is not here.
    pub remove_missing: bool,
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
    /// Mends the index: lines that Dormouse made follow the files, and files without a line get one.
    /// A person's lines stay, unless Dormouse itself removed their file.
    ///
    /// # Errors
    /// When memory is off, or the directory cannot be changed.
    pub fn mend_index(&self, which: &Which, how: IndexMending) -> Result<IndexMended, HostError> {
        let mut found = self.find(which)?;
        let snapshot = found.snapshot()?;
        let existing = found.existing()?;
        let after = match &existing {
            Some(dir) => self.mended(dir, &snapshot, how)?,
            None => snapshot.index(),
        };
        let before = snapshot.index();
        // A directory without memories needs no index; mending must not begin one.
        let changed = before != after && !(snapshot.is_empty() && before.is_empty());
        let entry = if how.dry_run || !changed {
            None
        } else {
            let dir = found.open()?;
            // Made again for the directory as it is changed: the first look may be out of date.
            dir.update(|snapshot| {
                let mut change = Transaction::by(Author::User, "mend the index");
                if let Ok(path) = SafePath::parse(INDEX) {
                    change.put(snapshot, path, self.mended(&dir, snapshot, how)?);
                }
                Ok::<_, HostError>(change.without_idle(snapshot))
            })?
        };
        Ok(IndexMended {
            changed,
            before,
            after,
            entry: entry.map(|entry| entry.id),
        })
    }

    fn mended(
        &self,
        dir: &MemoryDir,
        snapshot: &Snapshot,
        how: IndexMending,
    ) -> Result<String, HostError> {
        let past = dir.index_past(snapshot)?;
        let facts = IndexFacts {
            today: day(self.now()),
            limits: limits(&self.settings()),
            past: &past,
            missing: if how.remove_missing {
                Missing::Remove
            } else {
                Missing::Keep
            },
        };
        if !how.rebuild {
            return Ok(mended(snapshot, &facts));
        }
        let mut anew = snapshot.clone();
        let content = generated(snapshot, facts.today).into();
        if let Ok(path) = SafePath::parse(INDEX) {
            let modified = Millis::default();
            anew.insert(path, StoredFile { content, modified });
        }
        // Mended once more: not all memories may fit.
        Ok(mended(&anew, &facts))
    }
}
