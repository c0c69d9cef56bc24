//! Error messages, hints and exit codes, as the user meets them.

use crate::program::{Machine, Run};
use pretty_assertions::assert_eq;
use std::io::Read as _;
use std::process::Stdio;

fn failed(code: i32, stderr: &str) -> Run {
    Run {
        code,
        stdout: String::new(),
        stderr: stderr.to_owned(),
    }
}

#[test]
fn errors_name_the_thing_the_cause_and_the_remedy() {
    let machine = Machine::new(&[("project/file", "")]);
    let cases = [
        (
            "config show modle",
            failed(
                2,
                "error: there is no setting `modle`\nhint: did you mean `model`?\n",
            ),
        ),
        (
            "--set model config show",
            failed(
                2,
                "error: `model` is not of the form key=value\nhint: write --set key=value\n",
            ),
        ),
        (
            "--set compact=maybe config show",
            failed(
                2,
                "error: command-line flag: `compact` must be true or false, not `maybe`\n\
                 hint: `dormouse config show compact` says what it takes\n",
            ),
        ),
        (
            "config trust nowhere",
            failed(
                3,
                "error: there is no folder `nowhere`\n  \
                   because: failed to inspect `~/project/nowhere`\n  \
                   because: No such file or directory (os error 2)\n\
                 hint: check the path\n",
            ),
        ),
        (
            "config trust file",
            failed(
                4,
                "error: `file` is not a folder\n\
                 hint: name the project's folder, or leave it out for the current one\n",
            ),
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(machine.run(line), expected, "{line}");
    }
}

#[test]
fn what_a_newer_program_wrote_is_left_alone() {
    let machine = Machine::new(&[(".dormouse/trust.toml", "version = 2\ntrusted = []\n")]);
    assert_eq!(
        machine.run("config trust"),
        failed(
            5,
            "error: version 2 of `~/.dormouse/trust.toml` is newer than 1, the newest this program writes\n\
             hint: update Dormouse, or change the file by hand\n"
        )
    );
}

#[test]
fn programs_get_errors_as_json() {
    let machine = Machine::new(&[]);
    let cases = [
        (
            "--json config trust nowhere",
            3,
            r#"{"error":{"kind":"unreadable","exit_code":3,"message":"there is no folder `nowhere`","causes":["failed to inspect `~/project/nowhere`","No such file or directory (os error 2)"],"hint":"check the path"}}"#,
        ),
        (
            "config shw --json",
            2,
            r#"{"error":{"kind":"usage","exit_code":2,"message":"unrecognized subcommand 'shw'","causes":[],"hint":"`dormouse --help` shows how commands are written"}}"#,
        ),
    ];
    for (line, code, stderr) in cases {
        assert_eq!(
            machine.run(line),
            failed(code, &format!("{stderr}\n")),
            "{line}"
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let machine = Machine::new(&[]);
    let mut child = machine
        .command("config docs")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), stderr.as_str()),
        (Some(0), "")
    );
}

#[test]
fn text_from_files_cannot_steer_the_terminal() {
    let machine = Machine::new(&[(
        "project/.dormouse/settings.toml",
        "\"a\\u001b[2Jb\" = 1\nmodel = \"x\\u001b]0;y\\u0007\\nz\"\n",
    )]);
    for line in [
        "config show",
        "config show model",
        "config show --color always",
    ] {
        let shown = machine.run(line).stdout.replace("\u{1b}[", "");
        let bad = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(bad, None, "{line}: {shown:?}");
        assert!(
            !shown.contains("2Jb") || shown.contains("\\u{1b}[2Jb"),
            "{shown}"
        );
    }
}

#[test]
fn colour_appears_when_asked_for_and_never_by_itself() {
    let machine = Machine::new(&[]);
    assert!(!machine.stdout("").contains('\u{1b}'));
    assert!(machine.stdout("--color always").contains('\u{1b}'));
    assert!(machine.stdout("--color=always --help").contains('\u{1b}'));
    assert!(
        machine
            .run("--color always nonsense")
            .stderr
            .contains('\u{1b}')
    );
    assert!(!machine.run("nonsense").stderr.contains('\u{1b}'));
}
