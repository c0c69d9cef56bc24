//! Files of the layers that nothing needs any more.

use dormouse_core::hash::Hash;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::units::Millis;
use dormouse_relay::{Layers, Swept};
use dormouse_system::{Access, Files, MemorySystem};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FOLDER: &str = "/home/u/.dormouse/gateway";
const DAY: i64 = 86_400_000;
const NOW: i64 = 1_000 * DAY;

fn write(files: &dyn Files, path: &Path, text: &str, at: i64) {
    let folder = path.parent().unwrap();
    files.create_dir_all(folder, Access::Private).unwrap();
    let bytes = text.as_bytes();
    files
        .replace_dated(path, bytes, Access::Private, Millis(at))
        .unwrap();
}

/// A conversation that last spoke so many days ago: a file that its line names and a stray one.
fn conversation(files: &dyn Files, number: u128, days: i64) -> [PathBuf; 3] {
    let name = format!("{number:032x}");
    let record = json!({"v": 1, "replaced": {"at": 2, "digest": Hash::of(b"x"), "form": "offloaded",
        "block": "{}", "file": "named.txt"}});
    let folder = Path::new(FOLDER);
    let line = folder.join("lines").join(format!("{name}.jsonl"));
    let results = folder.join("results").join(&name);
    let at = NOW - days * DAY - DAY / 2;
    write(files, &line, &format!("\n{record}\n"), at);
    let [named, stray] = ["named.txt", "stray.txt"].map(|name| results.join(name));
    write(files, &named, "whole", at);
    write(files, &stray, "whole", at);
    [line, named, stray]
}

#[test]
fn files_without_a_record_go_and_silent_conversations_after_the_retention() {
    let machine = MemorySystem::new();
    let system = machine.system();
    let files = &*system.files;
    let models = Arc::new(ModelTable::builtin().clone());
    let layers = Layers::new(&system, Path::new(FOLDER), models, &Settings::default());
    let sweep = |days| layers.sweep(Millis(NOW), days).unwrap();
    let is_there = |path: &PathBuf| files.metadata(path).is_ok();
    // Before the first request there is no folder.
    assert_eq!(sweep(None), Swept::default());
    let old = conversation(files, 1, 40);
    let new = conversation(files, 2, 1);
    // One that is being written: its record comes in a moment.
    let fresh = new[2].with_file_name("fresh.txt");
    write(files, &fresh, "whole", NOW - 1_000);
    // A name that is no conversation's.
    let other = Path::new(FOLDER).join("results/notes/keep.txt");
    write(files, &other, "mine", 0);
    let swept = |conversations, files| Swept {
        conversations,
        files,
    };
    assert_eq!(sweep(None), swept(0, 2));
    assert_eq!(old.each_ref().map(is_there), [true, true, false]);
    assert_eq!(new.each_ref().map(is_there), [true, true, false]);
    assert_eq!(sweep(Some(30)), swept(1, 0));
    assert_eq!(old.each_ref().map(is_there), [false, false, false]);
    assert_eq!(new.each_ref().map(is_there), [true, true, false]);
    assert!(is_there(&fresh) && is_there(&other));
    assert_eq!(sweep(Some(30)), swept(0, 0));
}
