//! Laws over the words of the sources: settings, errors, names.
//!
//! # Not here
//! Laws over dependencies and the length of files: the parent module. The style of sentences, which
//! a script cannot judge: `.ci/figures` counts what it can see.

use super::{root, rust_files};
use dormouse_core::settings::{Need, all_settings};
use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// Words that stand for an idea that has another word, with the word to use. Ours are those of
/// ARCHITECTURE.md; a second one makes the reader look for a difference that is not there.
const SYNONYMS: [(&str, &str); 6] = [
    ("summari[sz]ation", "compaction, or summary for its text"),
    ("condens(?:e|es|ed|ing|ation)", "compaction"),
    ("micro-?compaction", "clearing"),
    ("evict(?:s|ed|ion)?", "clearing"),
    ("(?:a|the|of|two|last) consolidations?", "dream"),
    ("retrieval", "recall"),
];

/// First words of a comment that hide its subject: the thing, or the component that acts.
const HIDDEN_SUBJECTS: [&str; 4] = ["What", "Whoever", "Nobody", "Somebody"];

/// Functions of the shell parser that keep command lines in process-wide caches.
const CACHED: [&str; 3] = ["tokenize_str", "word::parse", "arithmetic::parse"];

#[test]
fn every_setting_is_read_by_something() {
    let read = |path: &PathBuf| {
        !path.components().any(|part| part.as_os_str() == "table") && !is_test(path)
    };
    let source: String = sources()
        .into_iter()
        .filter(read)
        .map(|path| program(&path))
        .collect();
    let needed = |key: &str| {
        let names = all_settings().flat_map(|setting| setting.needs);
        names.into_iter().any(|need| match need {
            Need::On(other) | Need::Off(other) => *other == key,
        })
    };
    let mut breaches = Vec::new();
    for setting in all_settings() {
        // A name under a pattern (`offload.limit.Bash`) is read through the pattern.
        let family = all_settings().map(|other| other.key).filter(|other| {
            let prefix = other.split('<').next().unwrap_or(other);
            *other == setting.key || prefix != *other && setting.key.starts_with(prefix)
        });
        let is_read = family.into_iter().any(|key| {
            let accessor = Regex::new(&format!(r"\bkeys::{}\b", constant(key))).unwrap();
            accessor.is_match(&source)
        });
        if !is_read && !needed(setting.key) {
            breaches.push(setting.key);
        }
    }
    assert!(
        breaches.is_empty(),
        "nothing reads these settings: read them where the decision is made, mark the row \
         `.hidden()` until something does, or take the row out and add its key to \
         `settings/table/removed.rs`: {breaches:?}"
    );
}

/// Name of the constant that reads a key.
fn constant(key: &str) -> String {
    key.replace(['<', '>'], "").replace('.', "_").to_uppercase()
}

#[test]
fn errors_of_libraries_name_no_command() {
    let attribute = Regex::new(r"#\[error\(([^\]]*)\)\]").unwrap();
    let commands = command_words();
    let command = Regex::new(&format!(r"\bdormouse (?:{})\b", commands.join("|"))).unwrap();
    let flag = Regex::new(r"(?:^|[\s`(])--[a-z]").unwrap();
    let mut breaches = Vec::new();
    let mut seen = 0;
    for path in sources() {
        let ring = path.strip_prefix(root().join("crates")).unwrap();
        if !(ring.starts_with("pure") || ring.starts_with("shell")) {
            continue;
        }
        let source = program(&path);
        for found in attribute.captures_iter(&source) {
            seen += 1;
            let message = &found[1];
            if command.is_match(message) || flag.is_match(message) {
                breaches.push(format!("{}: {}", ring.display(), message.trim()));
            }
        }
    }
    assert!(seen > 100, "only {seen} error texts were found");
    assert!(
        breaches.is_empty(),
        "a library does not know the door it is used through; put the hint into the door's \
         conversion of the error:\n  {}",
        breaches.join("\n  ")
    );
}

/// Names of the program's commands, from the files that implement them.
fn command_words() -> Vec<String> {
    let folder = root().join("crates/doors/dormouse/src/commands");
    let mut words: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().path();
            name.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        })
        .collect();
    words.sort();
    assert!(words.iter().any(|word| word == "memory"), "{words:?}");
    words
}

#[test]
fn the_caches_of_the_shell_parser_are_not_used() {
    let guard = root().join("crates/pure/guard/src");
    for path in sources()
        .into_iter()
        .filter(|path| path.starts_with(&guard))
    {
        let source = program(&path);
        for name in CACHED {
            assert!(
                !source.contains(name),
                "{}: `{name}` keeps command lines, which may hold secrets",
                path.display()
            );
        }
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains("brush-parser = \"="),
        "a new version may cache elsewhere; read its source before it is taken"
    );
}

#[test]
fn one_idea_has_one_word() {
    let mut texts: Vec<(String, String)> = all_settings()
        .map(|setting| {
            let text = format!("{} {}", setting.key, setting.doc());
            (format!("setting {}", setting.key), text)
        })
        .collect();
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let pages = docs.map(|entry| entry.unwrap().path());
    let named = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    for page in pages.chain(named.map(|name| root().join(name))) {
        if page.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(&page).unwrap();
            texts.push((page.display().to_string(), text));
        }
    }
    for path in sources() {
        if path.starts_with(root().join("crates/doors")) && !is_test(&path) {
            texts.push((path.display().to_string(), literals(&program(&path))));
        }
    }
    let mut breaches = Vec::new();
    for (synonym, word) in SYNONYMS {
        let synonym = Regex::new(&format!(r"(?i)\b{synonym}\b")).unwrap();
        for (place, text) in &texts {
            if let Some(found) = synonym.find(text) {
                breaches.push(format!("{place}: \"{}\" is called {word}", found.as_str()));
            }
        }
    }
    assert!(
        breaches.is_empty(),
        "one idea has one word (ARCHITECTURE.md):\n  {}",
        breaches.join("\n  ")
    );
}

#[test]
fn comments_begin_with_their_subject() {
    let mut breaches = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap_or(&path);
        for (number, line) in begins(&text) {
            breaches.push(format!("{}:{number}: {line}", name.display()));
        }
    }
    assert!(
        breaches.is_empty(),
        "begin with the thing the item is, and let the component act (CONTRIBUTING.md, \"Prose\"); \
         {} comments:\n  {}",
        breaches.len(),
        breaches.join("\n  ")
    );
}

/// Comments whose first word hides the subject, with their lines. A line that goes on with a comment
/// begins nothing.
fn begins(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut goes_on = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = ["///", "//!", "//"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        let Some(comment) = comment.map(str::trim) else {
            goes_on = false;
            continue;
        };
        let first = comment
            .split(|letter: char| !letter.is_alphanumeric())
            .next();
        if !goes_on && first.is_some_and(|word| HIDDEN_SUBJECTS.contains(&word)) {
            found.push((at + 1, line));
        }
        goes_on = !(comment.is_empty() || comment.ends_with(['.', ':', '!', '?', '`', ')']));
    }
    found
}

#[test]
fn a_comment_begins_where_a_sentence_does() {
    let cases: [(&str, &[usize]); 5] = [
        ("/// What it is.\nfn f() {}\n", &[1]),
        ("//! A table of\n//! What cells.\n", &[]),
        ("// Nobody waits.\n// Somebody does.\n", &[1, 2]),
        ("/// Whatever it is.\n", &[]),
        ("let text = \"// What\";\n", &[]),
    ];
    for (text, expected) in cases {
        let lines: Vec<usize> = begins(text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, expected, "{text}");
    }
}

/// Rust files of the crates, without those of tests and benchmarks.
fn sources() -> Vec<PathBuf> {
    let in_source = |path: &PathBuf| {
        let path = path.strip_prefix(root().join("crates"));
        path.is_ok_and(|path| {
            path.components()
                .nth(2)
                .is_some_and(|part| part.as_os_str() == "src")
        })
    };
    rust_files().into_iter().filter(in_source).collect()
}

fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem == "tests"
        || stem.ends_with("_tests")
        || path.components().any(|part| part.as_os_str() == "tests")
}

/// A file without its comments and without its module of tests, which is the last item.
fn program(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let tests = Regex::new(r"(?m)^#\[cfg\(test\)\]\n(?:#\[.*\n)*mod \w+ \{").unwrap();
    let end = tests.find(&text).map_or(text.len(), |found| found.start());
    let lines = text[..end].lines();
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| [line, "\n"]).collect()
}

/// The string literals of a program, one a line.
fn literals(program: &str) -> String {
    let literal = Regex::new(r#""(?:[^"\\]|\\.)*""#).unwrap();
    let found = literal.find_iter(program);
    found.flat_map(|found| [found.as_str(), "\n"]).collect()
}
