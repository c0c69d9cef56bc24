//! Imports of folders that people and agents really wrote.

use crate::material;
use dormouse_core::units::Millis;
use dormouse_memory::import::{Foreign, Format, Import, Why, import, plan};
use dormouse_memory::index;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::topic::Topic;
use dormouse_testkit::material::{material as find, sample};
use pretty_assertions::assert_eq;
use std::path::Path;

fn read(format: Format, from: &Snapshot) -> Import {
    let files: Vec<Foreign<'_>> = from
        .files()
        .map(|(path, file)| Foreign {
            path: path.as_str(),
            content: &file.content,
        })
        .collect();
    import(format, &files, &Snapshot::new())
}

#[test]
fn a_memory_folder_arrives_whole() {
    arrives_whole(&sample("memories/agent"), &[]);
    if let Some(folder) = find("memories/recommendarr-mit/.claude/memory") {
        // Its index has a section of its own, about documents elsewhere.
        arrives_whole(&folder, &["References"]);
    }
}

fn arrives_whole(folder: &Path, sections: &[&str]) {
    let from = material::snapshot(folder);
    let found = read(Format::ClaudeCode, &from);
    let extra = found
        .memories
        .iter()
        .filter(|found| found.from == "MEMORY.md");
    let extra: Vec<&str> = extra.map(|found| found.memory.name.as_str()).collect();
    assert_eq!(extra, sections);
    assert_eq!(found.memories.len(), from.topics().count() + extra.len());
    let empty = Snapshot::new();
    let change = plan(&empty, &found.memories, "import");
    assert_eq!(change.vet(&empty), Ok(()));
    let after = change.applied(&empty, Millis(0));
    assert!(listed(&after));
    for (path, file) in from.topics() {
        let text = after.get(path).unwrap().text().into_owned();
        let (was, is) = (Topic::read(&file.text()), Topic::read(&text));
        assert_eq!((was.name, was.kind), (is.name, is.kind));
        assert_eq!(file.text()[was.body..].trim(), text[is.body..].trim());
    }
}

#[test]
fn a_small_folder_of_notes_arrives() {
    let from = material::snapshot(&sample("memories/notes"));
    let found = read(Format::Markdown, &from);
    assert_eq!((found.memories.len(), found.skipped.len()), (12, 0));
    let names = found.memories.iter().map(|found| &*found.memory.name);
    assert!(names.clone().any(|name| name == "Undo The Last Commit"));
}

#[test]
fn a_large_folder_of_notes_arrives_without_what_is_no_note() {
    let Some(folder) = find("memories/notes-jbranchaud-til-mit") else {
        return;
    };
    let from = material::snapshot(&folder);
    let found = read(Format::Markdown, &from);
    let left = found.skipped.iter().map(|left| (&*left.path, &left.why));
    assert_eq!(left.collect::<Vec<_>>(), [("README.md", &Why::TooLong)]);
    assert_eq!(found.memories.len() + 1, from.len());
    let described = |found: &&dormouse_memory::import::Imported| {
        !found.memory.name.is_empty() && !found.memory.description.is_empty()
    };
    assert!(found.memories.iter().filter(described).count() > 1_800);
    let empty = Snapshot::new();
    let change = plan(&empty, &found.memories, "import");
    let after = change.applied(&empty, Millis(0));
    assert_eq!(after.topics().count(), found.memories.len());
    assert!(listed(&after));
}

/// True if each memory has a line.
fn listed(snapshot: &dormouse_memory::snapshot::Snapshot) -> bool {
    let linked: Vec<_> = index::entries(&snapshot.index())
        .into_iter()
        .map(|entry| entry.path)
        .collect();
    snapshot.topics().all(|(path, _)| linked.contains(path))
}
