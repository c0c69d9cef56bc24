//! Real memory folders beside the workspace, where there are any.
#![expect(clippy::disallowed_methods, reason = "the folders are read by path")]

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::snapshot::{Snapshot, StoredFile};
use std::fs;
use std::path::Path;

/// All Markdown files below a folder.
pub(crate) fn snapshot(folder: &Path) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
            if let Some(safe) = SafePath::parse(name)
                .ok()
                .filter(|_| name.to_lowercase().ends_with(".md"))
            {
                let file = StoredFile {
                    content: fs::read(&path).unwrap().into(),
                    modified: Millis(1_790_000_000_000),
                };
                snapshot.insert(safe, file);
            }
        }
    }
    snapshot
}
