//! Notes and memories for tests; see `dormouse_testkit::material`.

use dormouse_recall::evaluation::{CorpusEntry, is_about_the_folder, note};
use dormouse_testkit::material::{Folder, material, sample, texts_below};
use std::path::Path;

/// Technical notes without their titles, and the titles.
pub(crate) fn notes(folder: &Folder) -> (Vec<CorpusEntry>, Vec<String>) {
    let (mut entries, mut titles) = (Vec::new(), Vec::new());
    for (path, text) in texts_below(folder.path()) {
        let relative = Path::new(&path);
        // Files at the top are about the folder.
        if relative.components().count() != 2 {
            continue;
        }
        let name = relative.file_name().unwrap().to_string_lossy();
        let found = note(&text);
        if let Some(note) = found.filter(|_| !is_about_the_folder(&name)) {
            entries.push(CorpusEntry {
                id: relative.display().to_string(),
                text: note.body,
                name: relative.parent().unwrap().display().to_string(),
                ..CorpusEntry::default()
            });
            titles.push(note.title);
        }
    }
    (entries, titles)
}

/// Memories that agents wrote, each with its file name.
pub(crate) fn memories() -> Vec<(String, String)> {
    let real = material("memories/compose-envkit-mit/.claude/agent-memory");
    let folders = real.into_iter().chain([sample("memories/agent")]);
    let files = folders.flat_map(|folder| texts_below(&folder));
    files
        .filter(|(name, _)| !name.ends_with("MEMORY.md"))
        .collect()
}
