//! `dormouse guard`: verdicts, findings and exit codes.

use crate::program::{Machine, Run};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::io::Write as _;
use std::process::Stdio;

/// Runs with something on the standard input.
fn with_input(machine: &Machine, line: &str, input: &[u8]) -> Run {
    let mut command = machine.command(line);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses its arguments may be gone before it reads anything.
    drop(child.stdin.take().unwrap().write_all(input));
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A key made at run time: none stands in this file.
fn key() -> String {
    let letters = (0_u32..36).map(|at| char::from_digit(at * 7 % 36, 36).unwrap());
    format!("{}_{}", "ghp", letters.collect::<String>())
}

#[test]
fn lines_that_only_read_pass() {
    let run = with_input(
        &Machine::new(&[]),
        "guard shell",
        b"ls -la\n\n\"git log\"\n",
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout, "allow   ls -la\nallow   git log\n");
    assert_eq!(run.stderr, "");
}

#[test]
fn others_are_refused_with_the_reason() {
    let machine = Machine::new(&[]);
    let input = b"ls\nsort -o out in\n\"ls\\nrm x\"\n";
    let run = with_input(&machine, "guard shell", input);
    assert_eq!(run.code, 5, "{run:?}");
    assert_eq!(
        run.stdout,
        "allow   ls\n\
         refuse  sort -o out in  (`-o` of `sort` is refused: it writes or changes something)\n\
         refuse  ls\\nrm x  (the line has a line break; join commands with `;` or `&&`)\n"
    );
    assert!(
        run.stderr
            .starts_with("error: 2 of 3 command lines refused\nhint: "),
        "{run:?}"
    );
    let run = with_input(&machine, "guard shell --json", input);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (&report["allowed"], &report["refused"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(
        report["lines"][1]["reason"],
        json!({
            "kind": "harmful_flag",
            "command": "sort",
            "flag": "-o",
            "why": "it writes or changes something",
        })
    );
}

#[test]
fn the_policy_comes_from_flags() {
    let machine = Machine::new(&[]);
    for (flags, input, code) in [
        ("", "cat /srv/notes/a", 5),
        ("--below /srv/notes", "cat /srv/notes/a", 0),
        ("--below /srv/notes", "cat /srv/notes/../a", 5),
        ("--anywhere", "cat /srv/notes/a", 0),
        ("--anywhere", "cat /dev/zero", 5),
        ("", "gh pr list", 0),
        ("", "gh pr merge 1", 5),
        ("--no-network", "gh pr list", 5),
        ("--no-network", "git log -1", 0),
        ("", "cargo tree", 0),
        ("--no-sandbox", "cargo tree", 5),
        ("--no-sandbox", "ls", 0),
        ("--below notes", "ls", 2),
        ("--below /a --anywhere", "ls", 2),
    ] {
        let run = with_input(&machine, &format!("guard shell {flags}"), input.as_bytes());
        assert_eq!(run.code, code, "{flags}: {input}: {run:?}");
    }
}

#[test]
fn input_that_is_no_command_line() {
    let machine = Machine::new(&[]);
    let nothing = machine.run("guard shell");
    assert_eq!(nothing.code, 4, "{nothing:?}");
    assert!(nothing.stderr.contains("hint: "), "{nothing:?}");
    let broken = with_input(&machine, "guard shell", b"ls\n\"ls\n");
    assert_eq!(broken.code, 4, "{broken:?}");
    assert!(
        broken.stderr.contains("line 2 begins with a quote"),
        "{broken:?}"
    );
    let bytes = with_input(&machine, "guard shell", &[b'l', b's', b' ', 0xff, 0, b'\n']);
    assert_eq!(bytes.code, 5, "{bytes:?}");
}

#[test]
fn secrets_are_named_by_place_and_never_shown() {
    let machine = Machine::new(&[]);
    machine.write("project/a.md", &format!("one\ntoken {}\n", key()));
    machine.write("project/b.md", "nothing to see\n");
    machine.write("project/c.bin", "a\0b");
    let run = machine.run("guard secrets a.md b.md c.bin");
    assert_eq!(run.code, 5, "{run:?}");
    assert_eq!(run.stdout, "a.md:2: github-token\n");
    assert_eq!(
        run.stderr.lines().take(2).collect::<Vec<_>>(),
        [
            "note: `c.bin` holds binary data and was left out",
            "error: 1 secret found"
        ]
    );
    assert!(!format!("{run:?}").contains(&key()[4..]));
    let json = machine.run("guard secrets a.md c.bin --json");
    let report: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        report,
        json!({
            "files": 1,
            "findings": [{"file": "a.md", "line": 2, "rule": "github-token"}],
            "skipped": ["c.bin"],
        })
    );
    assert_eq!(machine.stdout("guard secrets b.md"), "");
}

#[test]
fn secrets_come_through_a_pipe_too() {
    let machine = Machine::new(&[]);
    let run = with_input(&machine, "guard secrets -", key().as_bytes());
    assert_eq!((run.code, run.stdout.as_str()), (5, "-:1: github-token\n"));
    let clean = with_input(&machine, "guard secrets -", b"nothing");
    assert_eq!(clean.code, 0, "{clean:?}");
}

#[test]
fn folders_and_missing_files_are_errors() {
    let machine = Machine::new(&[]);
    for (file, says) in [
        ("nowhere.md", "hint: check the path"),
        (".", "hint: this is a directory"),
    ] {
        let run = machine.run(&format!("guard secrets {file}"));
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stderr.contains(says), "{run:?}");
    }
    assert_eq!(machine.run("guard secrets").code, 2);
}

#[test]
fn calls_are_judged_by_the_rules_of_this_folder() {
    let machine = Machine::new(&[
        (
            ".dormouse/settings.toml",
            "[permissions]\nallow = [\"Bash(make *)\"]\ndeny = [\"Bash(rm *)\", \"Bash(\"]\n",
        ),
        (
            "project/.claude/settings.json",
            "{\"permissions\": {\"allow\": [\"Bash(npm test)\"], \"deny\": [\"Read(.env)\"]}}",
        ),
    ]);
    let calls = b"Bash: make all\nBash: make && rm x\nBash: npm test\n\
        {\"tool_name\": \"Read\", \"tool_input\": {\"file_path\": \".env\"}}\nTodoWrite\n";
    let run = with_input(&machine, "guard call", calls);
    assert_eq!(run.code, 5, "{run:?}");
    let words: Vec<&str> = run
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    // The project is not trusted: what it allows is asked about, what it refuses is refused.
    assert_eq!(
        words,
        ["run", "refuse", "ask", "to", "refuse", "run"],
        "{run:?}"
    );
    assert!(run.stderr.contains("`Bash(` is no rule"), "{run:?}");
    assert!(
        run.stderr.contains("until this folder is trusted"),
        "{run:?}"
    );

    let json = with_input(&machine, "guard call --json --mode all", b"Bash: rm x\n");
    let value: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(value["calls"][0]["ruling"], "refuse", "{json:?}");
}

#[test]
fn calls_that_cannot_be_read_are_named() {
    let machine = Machine::new(&[]);
    for (input, said) in [
        (&b""[..], "there is no call to judge"),
        (b"{\"tool\": 1}\n", "line 1 is no call"),
    ] {
        let run = with_input(&machine, "guard call", input);
        assert_eq!(run.code, 4, "{run:?}");
        assert!(run.stderr.contains(said), "{run:?}");
    }
    let run = with_input(&machine, "guard call --mode yolo", b"Bash: ls\n");
    assert!(run.stderr.contains("there is no mode `yolo`"), "{run:?}");
}
