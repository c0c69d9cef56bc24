//! Real material beside the workspace, where there is any.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the material lies on the disk, and a skipped test says so"
)]

use dormouse_recall::evaluation::{Entry, is_about_the_folder, note};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of the material. `None`, with a message, if it is not there.
fn folder(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let path = root.join("../shared/material").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no material at ../shared/material/{name}");
    None
}

/// Strings that break parsers.
pub(crate) fn naughty_strings() -> Vec<String> {
    let Some(path) = folder("security/blns-mit/blns.json") else {
        return Vec::new();
    };
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Technical notes without their titles, and the titles.
pub(crate) fn notes() -> Option<(Vec<Entry>, Vec<String>)> {
    let root = folder("memories/notes-jbranchaud-til-mit")?;
    let mut paths = Vec::new();
    for topic in fs::read_dir(&root).unwrap() {
        let topic = topic.unwrap().path();
        if topic.is_dir() {
            paths.extend(
                fs::read_dir(topic)
                    .unwrap()
                    .map(|note| note.unwrap().path()),
            );
        }
    }
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.sort();
    let (mut entries, mut titles) = (Vec::new(), Vec::new());
    for path in paths {
        let relative = path.strip_prefix(&root).unwrap();
        let name = relative.file_name().unwrap().to_string_lossy();
        let found = note(&fs::read_to_string(&path).unwrap());
        if let Some(note) = found.filter(|_| !is_about_the_folder(&name)) {
            entries.push(Entry {
                id: relative.display().to_string(),
                text: note.body,
                name: relative.parent().unwrap().display().to_string(),
                ..Entry::default()
            });
            titles.push(note.title);
        }
    }
    Some((entries, titles))
}

/// Memories that agents wrote, each with its file name.
pub(crate) fn memories() -> Vec<(String, String)> {
    let Some(folder) = folder("memories/compose-envkit-mit/.claude/agent-memory") else {
        return Vec::new();
    };
    let mut memories = Vec::new();
    for agent in fs::read_dir(folder).unwrap() {
        for file in fs::read_dir(agent.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.to_lowercase().ends_with(".md") && name != "MEMORY.md" {
                memories.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    memories.sort();
    memories
}
