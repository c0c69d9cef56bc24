//! Refusals: their words, and that nothing is written then.

use super::{MEMORY, files, json, machine, memory, run};
use crate::program::{Machine, Run};
use pretty_assertions::assert_eq;

/// A made-up key in the form that the provider documents.
fn key() -> String {
    ["AKIA", "IOSFODNN7EXAMPLX"].concat()
}

fn failed(code: i32, stderr: &str) -> Run {
    Run {
        code,
        stdout: String::new(),
        stderr: stderr.to_owned(),
    }
}

#[test]
fn a_memory_that_does_not_exist() {
    let machine = machine(&[("feedback_testing.md", "Test it.\n")]);
    let hint = "hint: `dormouse memory list --all` shows what there is\n";
    for command in [
        &["show", "nothing"][..],
        &["edit", "nothing", "--name", "x"],
        &["forget", "nothing"],
        &["pin", "nothing"],
    ] {
        assert_eq!(
            run(&machine, command),
            failed(3, &format!("error: there is no memory `nothing`\n{hint}")),
            "{command:?}"
        );
    }
    assert_eq!(
        run(&machine, &["show", "feedback_on_testing"]),
        failed(
            3,
            "error: there is no memory `feedback_on_testing`\n\
             hint: did you mean `feedback_testing.md`?\n"
        )
    );
    assert_eq!(
        run(&machine, &["diff", "nothing"]).stderr,
        "error: the journal has no entry `nothing`\nhint: `dormouse memory log` lists the entries\n"
    );
}

#[test]
fn a_credential_is_refused_by_rule_and_line_and_not_shown() {
    let machine = machine(&[("note.md", "Fine.\n")]);
    let before = files(&machine.home().join(MEMORY), true);
    let secret = format!("The key\nof the shop is {}", key());
    let name = format!("key {}", key());
    let rule = "aws-access-key-id";
    let hint = "hint: leave it out and name the place where it is kept instead\n";
    let refused = |what: &str| {
        let text = format!("error: {what} holds a credential ({rule}); nothing was remembered\n");
        failed(5, &format!("{text}{hint}"))
    };
    assert_eq!(
        run(&machine, &["add", &secret]),
        refused("line 2 of the text")
    );
    assert_eq!(
        run(&machine, &["add", "x", "--name", &name]),
        refused("line 1 of --name")
    );
    let edit = run(&machine, &["edit", "note", "--text", &secret]);
    assert_eq!(
        edit,
        failed(
            5,
            &format!(
                "error: `note.md` line 2 holds a credential ({rule}); memories never hold \
                 secrets: leave it out, name where it is kept instead\n"
            )
        )
    );
    let input =
        serde_json::json!({"command": "create", "path": "/memories/k.md", "file_text": secret});
    let tool = run(&machine, &["tool", &input.to_string()]);
    assert_eq!(tool.code, 4);
    assert!(
        tool.stdout.contains(rule) && !tool.stdout.contains(&key()),
        "{}",
        tool.stdout
    );
    assert_eq!(
        files(&machine.home().join(MEMORY), true)
            .into_iter()
            .filter(|(path, _)| !path.ends_with("write.lock"))
            .collect::<Vec<_>>(),
        before
    );
}

#[test]
fn programs_get_errors_as_json() {
    let machine = machine(&[("a_one.md", "1"), ("a_two.md", "2")]);
    let cases = [
        (
            &["show", "a_", "--json"][..],
            2,
            "usage",
            "`a_` could be any of 2 memories",
        ),
        (
            &["show", "b", "--json"],
            3,
            "unreadable",
            "there is no memory `b`",
        ),
        (
            &["approve", "x", "--json"],
            3,
            "unreadable",
            "nothing in the inbox is called `x`",
        ),
        (
            &["edit", "a_one", "--until", "soon", "--json"],
            2,
            "usage",
            "`soon` is no date",
        ),
    ];
    for (arguments, code, kind, message) in cases {
        let run = run(&machine, arguments);
        let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
        let error = &error["error"];
        assert_eq!(
            (run.code, error["kind"].as_str(), run.stdout.as_str()),
            (code, Some(kind), ""),
            "{arguments:?}"
        );
        assert_eq!(error["message"], message);
    }
}

#[test]
fn a_project_may_switch_memory_off_and_not_elsewhere() {
    let machine = Machine::new(&[("project/.dormouse/settings.toml", "memory = false\n")]);
    let off = "error: memory is switched off (setting `memory`)\n\
               hint: `dormouse config show memory` says who switched it off\n";
    for line in ["memory list", "memory add x", "recall x", "memory log"] {
        assert_eq!(machine.run(line), failed(5, off), "{line}");
    }
    assert!(!machine.home().join(".dormouse/projects").exists());

    let machine = Machine::new(&[(
        "project/.dormouse/settings.toml",
        "[memory]\ndirectory = \"/tmp/stolen\"\n",
    )]);
    let listed = machine.run("memory list --json");
    assert!(!listed.stdout.contains("stolen"), "{}", listed.stdout);
    assert!(
        listed.stdout.contains("~/.dormouse/projects/"),
        "{}",
        listed.stdout
    );
}

#[test]
fn directories_that_cannot_be_meant_are_refused() {
    for bad in ["/", "/home", "relative/path", "//", "/tmp/.."] {
        let machine = Machine::new(&[]).with_variable("DORMOUSE_MEMORY_DIR", bad);
        let run = machine.run("memory add x");
        assert_eq!(run.code, 5, "{bad}: {}", run.stderr);
        let begin = "error: the setting `memory.directory` cannot be used\n  because: ";
        assert!(run.stderr.starts_with(begin), "{bad}: {}", run.stderr);
    }
    let machine = Machine::new(&[]);
    let run = machine.run("memory list --dir /");
    assert_eq!(run.code, 5, "{}", run.stderr);
}

#[test]
fn a_remote_run_has_the_memory_that_is_set_or_none() {
    let machine = Machine::new(&[]).with_variable("DORMOUSE_REMOTE", "1");
    let run = machine.run("memory add x");
    assert_eq!(run.code, 5);
    assert!(
        run.stderr.starts_with("error: this is a remote run"),
        "{}",
        run.stderr
    );
    assert!(!machine.home().join(".dormouse/projects").exists());
    let directory = machine.home().join("remote").display().to_string();
    let machine = machine.with_variable("DORMOUSE_REMOTE_MEMORY_DIR", directory);
    let added = json(&machine, &["add", "Use tabs"]);
    assert_eq!(added["path"], "feedback_use_tabs.md");
    assert!(machine.home().join("remote/feedback_use_tabs.md").exists());
    let status = json(&machine, &["status"]);
    assert_eq!(
        status["why"],
        "a remote run, set by `memory.remote_directory`"
    );
}

#[test]
fn without_settings_memory_lies_in_the_project_s_folder() {
    let machine = Machine::new(&[]);
    assert_eq!(
        memory(&machine, &["add", "Use tabs"]).lines().next(),
        Some("Remembered: feedback_use_tabs.md")
    );
    let listed = json(&machine, &["list"]);
    let directory = listed["directory"].as_str().unwrap();
    assert!(
        directory.starts_with("~/.dormouse/projects/"),
        "{directory}"
    );
    assert!(directory.ends_with("-project/memory"), "{directory}");
}
