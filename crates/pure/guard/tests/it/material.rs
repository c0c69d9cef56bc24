//! Access to real material beside the workspace; tests skip with a message where it is absent.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the material lies on the disk, and a skipped test says so"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// File or folder of the material. `None`, with a message, if it is absent.
pub(crate) fn place(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let path = root.join("../shared/material").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no material at ../shared/material/{name}");
    None
}

/// Text of a file of the material.
pub(crate) fn text(name: &str) -> Option<String> {
    Some(fs::read_to_string(place(name)?).unwrap())
}

/// Strings that break parsers.
pub(crate) fn naughty_strings() -> Vec<String> {
    let text = text("security/blns-mit/blns.json");
    text.map_or_else(Vec::new, |text| serde_json::from_str(&text).unwrap())
}

/// Short technical notes, each with its path below the folder.
pub(crate) fn notes() -> Vec<(String, String)> {
    let Some(folder) = place("memories/notes-jbranchaud-til-mit") else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&folder).unwrap();
        (name.display().to_string(), text)
    };
    paths.into_iter().map(read).collect()
}
