//! Real memory folders beside the workspace, where there are any.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the material lies on the disk, and a skipped test says so"
)]

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::snapshot::{Snapshot, StoredFile};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of the material. `None`, with a message, if it is not there.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let path = root.join("../shared/material").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no material at ../shared/material/{name}");
    None
}

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

/// Strings that break parsers.
pub(crate) fn naughty_strings() -> Vec<String> {
    let Some(path) = folder("security/blns-mit/blns.json") else {
        return Vec::new();
    };
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
