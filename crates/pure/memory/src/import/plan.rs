//! Paths for imported memories.

use super::Imported;
use crate::index;
use crate::snapshot::{INDEX, PINNED, Snapshot};
use crate::transaction::{Author, Transaction};
use crate::write::render;
use dormouse_guard::paths::SafePath;
use std::collections::BTreeSet;

/// One transaction that adds all of them, each under its own name or the next one that is free,
/// with a line in the index. One, so that an import can be undone in one step.
pub fn plan(snapshot: &Snapshot, memories: &[Imported], reason: &str) -> Transaction {
    let mut transaction = Transaction::by(Author::Import, reason);
    // Case-insensitive: `Notes.md` and `notes.md` are one file on some disks.
    let folded = |path: &SafePath| path.as_str().to_lowercase();
    let mut taken: BTreeSet<String> = snapshot.files().map(|(path, _)| folded(path)).collect();
    let mut lines = snapshot.index();
    if !lines.is_empty() && !lines.ends_with('\n') {
        lines.push('\n');
    }
    for imported in memories {
        let Some(path) = free(&imported.path, &taken) else {
            continue;
        };
        taken.insert(folded(&path));
        let memory = &imported.memory;
        if index::is_trusted(memory.trust) {
            let line = index::line(&memory.name, path.as_str(), &memory.description);
            lines.push_str(&line);
            lines.push('\n');
        }
        transaction.put(snapshot, path, render(memory));
    }
    if let Some(path) = SafePath::parse(INDEX)
        .ok()
        // Without memories there is nothing to list, and an untouched index stays untouched.
        .filter(|_| !transaction.is_empty())
    {
        transaction.put(snapshot, path, lines);
    }
    transaction
}

/// Name asked for, or one with a number. A memory pinned elsewhere is not pinned here: pinning is
/// the user's decision for this directory.
fn free(wanted: &SafePath, taken: &BTreeSet<String>) -> Option<SafePath> {
    let wanted = wanted.as_str();
    let wanted = match wanted.split_once('/') {
        // In any case: some disks take `Pinned` for the folder of pinned memories.
        Some((folder, rest)) if folder.to_lowercase() == PINNED => rest,
        _ => wanted,
    };
    // Three bytes for `.md`, which every imported name has.
    let bare = wanted.get(..wanted.len().saturating_sub(3))?;
    let numbered = (2..).map(|number| format!("{bare}_{number}.md"));
    std::iter::once(format!("{bare}.md"))
        .chain(numbered)
        .find(|name| !taken.contains(&name.to_lowercase()))
        .and_then(|name| SafePath::parse(&name).ok())
}
