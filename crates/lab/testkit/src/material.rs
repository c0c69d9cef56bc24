//! Transcripts, memories and strings for tests: real ones where they are at hand, else small ones.
//!
//! # Model
//! The **samples** lie in this crate and are of our own making, so that every checkout tests
//! something. The **material** is a folder beside the workspace with sessions and notes of other
//! projects; where it is absent, each test that wanted it says so in one line, past the capture of
//! the test runner, so that a run shows and a script can count what it left out.
//!
//! # Not here
//! Sessions that a test builds line by line: [`crate::LogBuilder`].

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "files for tests are read by path, and a broken sample fails the test"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Folder of the material, from the root of the workspace: beside it, no part of the repository.
const MATERIAL: &str = "../shared/material";

/// A file or folder of the material; `None`, with a line about it, if it is absent.
pub fn material(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let path = root.join(MATERIAL).join(name);
    if path.exists() {
        return Some(path);
    }
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // The print macros are captured while a test passes; the handle is not.
    let mut out = std::io::stderr();
    writeln!(out, "skipped (material): {test}: no {MATERIAL}/{name}").ok();
    None
}

/// A file or folder of the samples.
pub fn sample(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(name);
    assert!(path.exists(), "there is no sample {name}");
    path
}

/// A folder for a test that needs one, the real one if it is there.
#[derive(Clone, Debug)]
pub enum Folder {
    /// The real one: figures that were measured on it hold.
    Material(PathBuf),
    /// The small one of ours, which every checkout has.
    Sample(PathBuf),
}

impl Folder {
    /// The folder of the material, else the sample.
    pub fn of(name: &str, instead: &str) -> Self {
        material(name).map_or_else(|| Self::Sample(sample(instead)), Self::Material)
    }

    /// Path of the folder, real or small.
    pub fn path(&self) -> &Path {
        match self {
            Self::Material(path) | Self::Sample(path) => path,
        }
    }

    /// True if figures that were measured on the material can be expected.
    pub fn is_material(&self) -> bool {
        matches!(self, Self::Material(_))
    }
}

/// Short technical notes: a title, then a few sentences.
pub fn notes() -> Folder {
    Folder::of("memories/notes-jbranchaud-til-mit", "memories/notes")
}

/// Files with this ending at any depth, in order.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Transcripts: the samples, then those of the material.
pub fn transcripts() -> Vec<PathBuf> {
    let mut files = files_below(&sample("transcripts"), "jsonl");
    if let Some(folder) = material("transcripts") {
        files.extend(files_below(&folder, "jsonl"));
    }
    files
}

/// Texts of the Markdown files below a folder, each with its path there.
pub fn texts_below(folder: &Path) -> Vec<(String, String)> {
    let read = |path: PathBuf| {
        let name = path.strip_prefix(folder).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        (name.display().to_string(), text)
    };
    files_below(folder, "md").into_iter().map(read).collect()
}

/// Strings that break parsers: ours, then those of the material.
pub fn naughty_strings() -> Vec<String> {
    let read = |path: PathBuf| -> Vec<String> {
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    };
    let mut strings = read(sample("naughty.json"));
    strings.extend(material("security/blns-mit/blns.json").map_or_else(Vec::new, read));
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_samples_are_there() {
        let session = "transcripts/nest-box/0b7d1c52-4f0e-4c7e-9a39-6d2f0c5e8a11.jsonl";
        assert!(transcripts().contains(&sample(session)));
        assert!(texts_below(&sample("memories/notes")).len() >= 12);
        assert!(naughty_strings().len() >= 40);
    }

    #[test]
    fn absent_material_is_none() {
        assert_eq!(material("nothing of this name"), None);
    }
}
