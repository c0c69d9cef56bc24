//! Tests of the memory tool with hostile and broken arguments.

use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use dormouse_memory::tool::{Change, Overwrite, answer};
use dormouse_testkit::material::naughty_strings;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Files = BTreeMap<SafePath, Bytes>;

fn apply(files: &mut Files, changes: Vec<Change>) {
    for change in changes {
        match change {
            Change::Put { path, content } => files.insert(path, content),
            Change::Delete { path } => files.remove(&path),
        };
    }
}

fn tell(files: &mut Files, input: &Value) -> (String, bool) {
    let told = answer(input, files, Overwrite::Refuse);
    assert!(!told.is_error || told.operations.is_empty());
    apply(files, told.operations);
    (told.text, told.is_error)
}

#[test]
fn naughty_contents_are_kept_and_shown_byte_for_byte() {
    for text in naughty_strings() {
        let mut files = Files::new();
        let path = "/memories/a.md";
        tell(
            &mut files,
            &json!({"command": "create", "path": path, "file_text": text}),
        );
        assert_eq!(files.values().next().unwrap(), text.as_bytes());
        let (shown, _) = tell(&mut files, &json!({"command": "view", "path": path}));
        let first = text.split('\n').next().unwrap();
        if !text.is_empty() {
            assert!(shown.contains(&format!("\n     1\t{first}")), "{text:?}");
            let (told, failed) = tell(
                &mut files,
                &json!({"command": "str_replace", "path": path, "old_str": text, "new_str": "x"}),
            );
            assert!(!failed, "{told}");
            assert_eq!(files.values().next().unwrap(), "x");
        }
        tell(
            &mut files,
            &json!({"command": "insert", "path": path, "insert_line": 0, "insert_text": text}),
        );
        assert!(files.values().next().unwrap().starts_with(text.as_bytes()));
    }
}

#[test]
fn naughty_paths_are_refused_or_stay_below_the_root() {
    for text in naughty_strings() {
        for path in [text.clone(), format!("/memories/{text}")] {
            let mut files = Files::new();
            let create = json!({"command": "create", "path": path, "file_text": "x"});
            let (told, failed) = tell(&mut files, &create);
            assert_eq!(files.len(), usize::from(!failed), "{told}");
            if !failed {
                let name = path.strip_prefix("/memories/").unwrap();
                let name = name.strip_suffix('/').unwrap_or(name);
                assert_eq!(files.keys().next().unwrap().as_str(), name);
                let (_, failed) = tell(&mut files, &json!({"command": "delete", "path": path}));
                assert!(!failed && files.is_empty());
            }
            for command in ["view", "delete"] {
                let (_, failed) = tell(&mut files, &json!({"command": command, "path": path}));
                let is_root_shown = path == "/memories/" && command == "view";
                assert!(failed || is_root_shown, "{path:?}");
            }
        }
        let (_, failed) = tell(&mut Files::new(), &json!({"command": text}));
        assert!(failed);
        let mut stray = json!({"command": "view", "path": "/memories"});
        stray[text.as_str()] = json!(1);
        let (_, failed) = tell(&mut Files::new(), &stray);
        assert!(failed || text == "path");
    }
}
