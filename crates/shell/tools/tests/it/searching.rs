//! Tests of Grep and Glob.

use crate::kit::Kit;
use dormouse_core::units::Millis;
use dormouse_system::{Access, Files as _, RealFiles};
use dormouse_tools::limits::{FILES_SHOWN, LONGEST_PATTERN, LONGEST_RESULT};
use pretty_assertions::assert_eq;
use serde_json::json;

fn project() -> Kit {
    let kit = Kit::new();
    kit.put(
        "project/src/a.rs",
        "fn alpha() {}\nfn beta() {}\n// alpha again\n",
    );
    kit.put("project/src/deep/b.rs", "alpha\n");
    kit.put("project/notes.md", "# Alpha\n");
    kit.put("project/.hidden/c.rs", "alpha\n");
    kit.put("project/target/d.rs", "alpha\n");
    kit.put("project/.gitignore", "target/\n*.log\n");
    kit.put("project/x.log", "alpha\n");
    kit.put("project/binary", b"alpha\0alpha\n");
    kit
}

#[test]
fn files_with_matches() {
    let kit = project();
    let found = kit.says("Grep", &json!({ "pattern": "alpha" }));
    assert_eq!(found, "/project/src/a.rs\n/project/src/deep/b.rs");
    let found = kit.says("Grep", &json!({ "pattern": "alpha", "-i": true }));
    assert_eq!(
        found,
        "/project/notes.md\n/project/src/a.rs\n/project/src/deep/b.rs"
    );
}

#[test]
fn lines_with_context_and_counts() {
    let kit = project();
    let search = |mut input: serde_json::Value| {
        input["path"] = json!("src/a.rs");
        kit.says("Grep", &input)
    };
    assert_eq!(
        search(json!({ "pattern": "alpha", "output_mode": "content" })),
        "/project/src/a.rs:1:fn alpha() {}\n/project/src/a.rs:3:// alpha again"
    );
    assert_eq!(
        search(json!({ "pattern": "again", "output_mode": "content", "-B": 1, "-n": false })),
        "/project/src/a.rs-fn beta() {}\n/project/src/a.rs:// alpha again"
    );
    assert_eq!(
        search(json!({ "pattern": "beta", "output_mode": "content", "-C": 1 })),
        "/project/src/a.rs-1-fn alpha() {}\n/project/src/a.rs:2:fn beta() {}\n\
         /project/src/a.rs-3-// alpha again"
    );
    assert_eq!(
        search(json!({ "pattern": "alpha", "output_mode": "count" })),
        "/project/src/a.rs:2"
    );
    assert_eq!(
        search(json!({ "pattern": "beta.*again", "multiline": true, "output_mode": "content" })),
        "/project/src/a.rs:2:fn beta() {}\n/project/src/a.rs:3:// alpha again"
    );
    assert_eq!(
        search(json!({ "pattern": "nothing like it" })),
        "[no match]"
    );
}

#[test]
fn only_some_files() {
    let kit = project();
    let found = |glob: &str| kit.says("Grep", &json!({ "pattern": "(?i)alpha", "glob": glob }));
    assert_eq!(found("*.md"), "/project/notes.md");
    assert_eq!(found("src/*.rs"), "/project/src/a.rs");
    assert_eq!(
        found("src/**/*.rs"),
        "/project/src/a.rs\n/project/src/deep/b.rs"
    );
    assert_eq!(found("*.py"), "[no match]");
    let ignored = kit.says("Grep", &json!({ "pattern": "alpha", "path": "target" }));
    assert_eq!(ignored, "/project/target/d.rs");
    let hidden = kit.says(
        "Grep",
        &json!({ "pattern": "alpha", "path": ".hidden/c.rs" }),
    );
    assert_eq!(hidden, "/project/.hidden/c.rs");
}

#[test]
fn matches_have_a_limit() {
    let kit = Kit::new();
    kit.put("project/many", "hit\n".repeat(1_000));
    let input = json!({ "pattern": "hit", "output_mode": "content", "head_limit": 2 });
    assert_eq!(
        kit.says("Grep", &input),
        "/project/many:1:hit\n/project/many:2:hit\n\
         [there is more; narrow the search or raise head_limit]"
    );
    let input = json!({ "pattern": "hit", "output_mode": "content" });
    assert_eq!(kit.says("Grep", &input).lines().count(), 251);
    kit.put(
        "project/many",
        format!("hit {}\n", "x".repeat(5_000)).repeat(100),
    );
    let input = json!({ "pattern": "hit", "output_mode": "content", "head_limit": 1_000_000 });
    let text = kit.says("Grep", &input);
    assert!(text.len() < LONGEST_RESULT + 200 && text.contains("[cut: "));
    assert!(text.contains("more bytes]"));
}

#[test]
fn patterns_that_are_none() {
    let kit = Kit::new();
    for pattern in [
        "(",
        "[a-",
        "a{1,99999999}",
        "\\p{Nothing}",
        "(?P<a>x)(?P<a>y)",
        "\n(",
    ] {
        let text = kit.fails("Grep", &json!({ "pattern": pattern }));
        assert!(
            text.starts_with("This is no regular expression: "),
            "{text}"
        );
    }
    let huge = "((a{100}){100}){100}";
    let text = kit.fails("Grep", &json!({ "pattern": huge }));
    assert!(
        text.starts_with("This is no regular expression: "),
        "{text}"
    );
    let long = "a".repeat(LONGEST_PATTERN + 1);
    for (tool, input) in [
        ("Grep", json!({ "pattern": long })),
        ("Grep", json!({ "pattern": "a", "glob": long })),
        ("Glob", json!({ "pattern": long })),
    ] {
        let text = kit.fails(tool, &input);
        assert!(text.starts_with("A pattern has at most"), "{text}");
    }
    for (tool, input) in [
        ("Grep", json!({ "pattern": "a", "glob": "[" })),
        ("Glob", json!({ "pattern": "{a" })),
    ] {
        assert!(kit.fails(tool, &input).starts_with("This is no glob: "));
    }
    let mode = json!({ "pattern": "a", "output_mode": "poem" });
    assert_eq!(
        kit.fails("Grep", &mode),
        "`output_mode` is `poem`; it must be one of files_with_matches, content, count."
    );
}

#[test]
fn files_by_name_newest_first() {
    let kit = project();
    let date = |name: &str, time: i64| {
        let time = Millis(1_700_000_000_000 + time);
        RealFiles
            .replace_dated(&kit.path(name), b"", Access::Private, time)
            .unwrap();
    };
    date("project/src/a.rs", 1);
    date("project/src/deep/b.rs", 2);
    let found = |input| kit.says("Glob", &input);
    let both = "/project/src/deep/b.rs\n/project/src/a.rs";
    assert_eq!(found(json!({ "pattern": "*.rs" })), both);
    assert_eq!(found(json!({ "pattern": "**/*.rs" })), both);
    assert_eq!(
        found(json!({ "pattern": "*.rs", "path": "src/deep" })),
        "/project/src/deep/b.rs"
    );
    let absolute = format!("{}/*.rs", kit.text("project/src"));
    assert_eq!(found(json!({ "pattern": absolute })), both);
    assert_eq!(found(json!({ "pattern": "*.none" })), "[no file matches]");
    for number in 0..FILES_SHOWN + 3 {
        kit.put(&format!("memory/{number}.md"), "");
    }
    let many = found(json!({ "pattern": "*.md", "path": kit.text("memory") }));
    assert_eq!(many.lines().count(), FILES_SHOWN + 1);
    assert!(many.ends_with("[3 more; at most 200 are shown, newest first]"));
}

#[test]
fn places_that_cannot_be_searched() {
    let kit = project();
    for (tool, pattern) in [("Grep", "alpha"), ("Glob", "*")] {
        let outside = kit.text("outside");
        for path in ["/", "/etc", "..", "../outside", &outside] {
            kit.denies(tool, &json!({ "pattern": pattern, "path": path }));
        }
        kit.fails(tool, &json!({ "pattern": pattern, "path": "missing" }));
    }
    kit.denies("Glob", &json!({ "pattern": "/etc/*" }));
    kit.denies("Glob", &json!({ "pattern": "/*" }));
}

#[cfg(unix)]
#[test]
fn a_search_does_not_leave_by_a_link() {
    let kit = project();
    std::os::unix::fs::symlink("../outside", kit.path("project/link")).unwrap();
    std::os::unix::fs::symlink("../outside/secret", kit.path("project/file")).unwrap();
    std::fs::hard_link(kit.path("outside/secret"), kit.path("project/hard")).unwrap();
    let found = kit.says("Grep", &json!({ "pattern": "precious" }));
    assert!(
        found.starts_with("[no match]\n[1 files were left out"),
        "{found}"
    );
    let found = kit.says("Glob", &json!({ "pattern": "secret" }));
    assert_eq!(found, "[no file matches]");
    kit.denies("Grep", &json!({ "pattern": "precious", "path": "link" }));
}
