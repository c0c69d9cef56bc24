//! What the tests share.

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::journal::Entry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_memory::trust::{Origin, Speaker};
use dormouse_system::{Access, System};
use std::path::Path;

pub(crate) fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

pub(crate) fn open(system: &System, root: &Path) -> MemoryDir {
    MemoryDir::open(system, root, Access::Private).unwrap()
}

/// Files and what they hold, to compare.
pub(crate) fn shown(snapshot: &Snapshot) -> Vec<(String, String)> {
    snapshot
        .files()
        .map(|(path, file)| (path.to_string(), file.text().into_owned()))
        .collect()
}

/// Lets the user put files, or delete those without content.
pub(crate) fn put(
    dir: &MemoryDir,
    files: &[(&str, Option<&str>)],
) -> Result<Option<Entry>, MemdirError> {
    dir.update(|snapshot| {
        let mut change = Transaction::by(Author::User, "test");
        for (name, content) in files {
            match content {
                Some(content) => change.put(snapshot, path(name), (*content).to_owned()),
                None => change.delete(snapshot, path(name)),
            }
        }
        Ok(change)
    })
}

pub(crate) fn origin() -> Origin {
    Origin {
        session: Some("s".into()),
        message: Some("m".into()),
        speaker: Speaker::User,
        time: Millis(1),
    }
}
