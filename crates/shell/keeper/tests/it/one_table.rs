//! The law of the one table: tags of `dormouse_core::fragment` stand nowhere else in the sources.
//!
//! # Model
//! Source files of all crates are searched for the tags of the table, as `<name` or `</name`, and
//! for names that are no common words, as whole strings. Comments and test modules may name them.
//!
//! # Not here
//! The lab: it measures whether the engine keeps the user's words, so what a client writes is
//! written down there a second time on purpose.

#![expect(
    clippy::disallowed_methods,
    reason = "the subject is the source tree itself, not anything the program works on"
)]

use dormouse_core::fragment::rows;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn tags_stand_in_the_table_only() {
    let mut breaches = Vec::new();
    let files = sources();
    assert!(files.len() > 200, "only {} files were found", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in program(&text).filter(|(_, line)| names_a_tag(line)) {
            breaches.push(format!("{}:{number}: {}", file.display(), line.trim()));
        }
    }
    assert!(
        breaches.is_empty(),
        "ask `dormouse_core::fragment` instead: `open`, `close`, `render`, `recognise`:\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn a_tag_in_a_program_is_found() {
    assert!(names_a_tag("let a = \"<system-reminder>\";"));
    assert!(names_a_tag("const A: &str = \"ide_selection\";"));
    assert!(names_a_tag("format!(\"{x}</summary>\")"));
    assert!(!names_a_tag("let summary: Vec<Summary> = summary(x);"));
    let text = "a\n// <summary>\n#[cfg(test)]\nmod tests {\n    \"<summary>\"\n}\n";
    assert_eq!(
        program(text).collect::<Vec<_>>(),
        [(1, "a"), (3, "#[cfg(test)]")]
    );
}

/// Lines of a file that are neither comments nor tests, with their numbers.
fn program(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines
        .take_while(|(_, line)| !line.starts_with("mod tests {"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn names_a_tag(line: &str) -> bool {
    rows().any(|row| {
        let tag = row.tag;
        let quoted = || line.contains(&format!("\"{tag}\""));
        let is_distinct = tag.contains(['-', '_']) && !is_api_word(tag);
        // A placeholder in the name of a setting.
        let line = &line.replace(".<tool>", "");
        let begins = |sign: &str| {
            let sign = format!("{sign}{tag}");
            // Between quotes: outside of them it is a type or a comparison.
            let mut found = line.match_indices(&sign);
            found.any(|(at, _)| {
                let behind = line[at + sign.len()..].chars().next();
                behind.is_none_or(|c| matches!(c, '>' | ' ' | '"')) && line[..at].contains('"')
            })
        };
        begins("<") || begins("</") || is_distinct && quoted()
    })
}

/// Tags that are also names of the API's blocks.
fn is_api_word(tag: &str) -> bool {
    matches!(
        tag,
        "tool_use" | "tool_result" | "exit_code" | "context_window"
    )
}

/// Source files of the crates that ship, without tests.
fn sources() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for ring in ["pure", "shell", "doors"] {
        for member in fs::read_dir(crates.join(ring)).unwrap() {
            walk(&member.unwrap().path().join("src"), &mut found);
        }
    }
    found.retain(|path| {
        let text = path.to_string_lossy();
        !text.contains("/core/src/fragment/") && !text.contains("test")
    });
    found
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}
