//! Random commands against a model of a file tree that is too simple to be wrong.

use crate::tool::{Change, Overwrite, answer};
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NAMES: [&str; 8] = ["a", "b", "d/a", "d/b", "d/e/a", "d/e", "f", "d"];

/// Effect of a command on files of lines, without any text about it. `None`: refused.
fn model(files: &BTreeMap<String, String>, input: &Value) -> Option<BTreeMap<String, String>> {
    let field = |name: &str| {
        input[name]
            .as_str()
            .map(|text| text.trim_start_matches("/memories/"))
    };
    let below = |name: &str| -> Vec<String> {
        let directory = format!("{name}/");
        let hit = |file: &&String| file.as_str() == name || file.starts_with(&directory);
        files.keys().filter(hit).cloned().collect()
    };
    let blocked = |name: &str| {
        files
            .keys()
            .any(|file| name.starts_with(&format!("{file}/")))
    };
    let mut after = files.clone();
    match input["command"].as_str()? {
        "view" => (!below(field("path")?).is_empty()).then_some(after),
        "create" => {
            let path = field("path")?;
            if !below(path).is_empty() || blocked(path) {
                return None;
            }
            after.insert(path.to_owned(), input["file_text"].as_str()?.to_owned());
            Some(after)
        }
        "str_replace" => {
            let text = after.get_mut(field("path")?)?;
            let (old, new) = (input["old_str"].as_str()?, input["new_str"].as_str()?);
            // The letters are single, so occurrences do not overlap.
            if text.matches(old).count() != 1 {
                return None;
            }
            *text = text.replacen(old, new, 1);
            Some(after)
        }
        "insert" => {
            let text = after.get_mut(field("path")?)?;
            let line = usize::try_from(input["insert_line"].as_i64()?).ok()?;
            let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
            if line > lines.len() {
                return None;
            }
            if line == lines.len()
                && let Some(last) = lines.last_mut()
                && !last.ends_with('\n')
            {
                last.push('\n');
            }
            lines.insert(line, input["insert_text"].as_str()?.to_owned());
            *text = lines.concat();
            Some(after)
        }
        "delete" => {
            let gone = below(field("path")?);
            after.retain(|file, _| !gone.contains(file));
            (!gone.is_empty()).then_some(after)
        }
        "rename" => {
            let (old, new) = (field("old_path")?, field("new_path")?);
            let moved = below(old);
            let inside = new.starts_with(&format!("{old}/"));
            if moved.is_empty() || !below(new).is_empty() || inside || blocked(new) {
                return None;
            }
            for file in moved {
                let content = after.remove(&file)?;
                after.insert(file.replacen(old, new, 1), content);
            }
            Some(after)
        }
        _ => None,
    }
}

fn commands() -> impl Strategy<Value = Value> {
    let path = || prop::sample::select(&NAMES[..]).prop_map(|name| format!("/memories/{name}"));
    // Whole lines only: what an open last line does is in the table of cases.
    let text = || "([xyz]{0,2}\n){0,4}";
    prop_oneof![
        path().prop_map(|path| json!({"command": "view", "path": path})),
        (path(), text()).prop_map(|(path, text)| json!({"command": "create", "path": path, "file_text": text})),
        (path(), "[xyz]", "[xyz\n]{0,3}").prop_map(
            |(path, old, new)| json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new})
        ),
        (path(), -1..6_i64, "([xyz]{0,2}\n){1,2}").prop_map(
            |(path, line, text)| json!({"command": "insert", "path": path, "insert_line": line, "insert_text": text})
        ),
        path().prop_map(|path| json!({"command": "delete", "path": path})),
        (path(), path()).prop_map(|(old, new)| json!({"command": "rename", "old_path": old, "new_path": new})),
    ]
}

proptest! {
    #[test]
    fn a_session_does_what_the_model_does(session in prop::collection::vec(commands(), 1..40)) {
        let mut tree: BTreeMap<SafePath, Bytes> = BTreeMap::new();
        let mut expected: BTreeMap<String, String> = BTreeMap::new();
        for input in session {
            let told = answer(&input, &tree, Overwrite::Refuse);
            let next = model(&expected, &input);
            prop_assert_eq!(told.is_error, next.is_none(), "{}: {}", input, told.text);
            for change in told.operations {
                match change {
                    Change::Put { path, content } => tree.insert(path, content),
                    Change::Delete { path } => tree.remove(&path),
                };
            }
            expected = next.unwrap_or(expected);
            let found: BTreeMap<String, String> = tree
                .iter()
                .map(|(path, content)| (path.to_string(), String::from_utf8(content.to_vec()).unwrap()))
                .collect();
            prop_assert_eq!(&found, &expected, "after {}", input);
        }
    }

    #[test]
    fn any_text_anywhere_is_answered(text in any::<String>(), field in 0..9_usize, command in 0..6_usize) {
        let tree: BTreeMap<SafePath, Bytes> =
            [(SafePath::parse("a.md").unwrap(), Bytes::from(text.clone()))].into();
        super::throw(&tree, &text, field, command);
    }
}
