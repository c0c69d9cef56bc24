//! Questions as people ask them: no file named, a pipe, a window of their own, a narrow screen.

use crate::program::Machine;
use pretty_assertions::assert_eq;
use std::process::Command;

/// The sample session, also used by the README.
const SAMPLE: &str = include_str!("../../../../../docs/sample.jsonl");

/// The folder of the machine's project as Claude Code names it.
fn folder(machine: &Machine) -> String {
    let path = machine.home().join("project");
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let slug: String = path.to_string_lossy().chars().map(plain).collect();
    format!(".claude/projects/{slug}")
}

#[test]
fn without_a_name_the_newest_session_of_this_folder_is_taken_and_named() {
    let machine = Machine::new(&[]);
    for command in ["context", "view", "log"] {
        let run = machine.run(command);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stderr.contains("no session was found"), "{run:?}");
    }
    let name = format!("{}/0b7d1c52.jsonl", folder(&machine));
    machine.write(&name, SAMPLE);
    for command in ["context", "view", "log"] {
        let run = machine.run(command);
        assert_eq!(run.code, 0, "{run:?}");
        let note = format!("the newest session here: ~/{name}");
        let note = note.replace(machine.home().to_str().unwrap(), "~");
        assert!(run.stderr.contains(&note), "{run:?}");
    }
}

#[test]
fn an_id_its_beginning_and_latest_stand_for_the_file() {
    let machine = Machine::new(&[
        (".claude/projects/a/0b7d1c52.jsonl", SAMPLE),
        (".claude/projects/b/0b7dffff.jsonl", SAMPLE),
    ]);
    for name in ["0b7d1c52", "0b7d1", "latest"] {
        for command in ["context", "view", "log", "export", "usage", "replay"] {
            let run = machine.run(&format!("{command} {name}"));
            assert_eq!(run.code, 0, "{command} {name}: {run:?}");
        }
    }
    let run = machine.run("context 0b7d");
    assert_eq!(run.code, 2, "{run:?}");
    let listed = run.stderr.contains("0b7d1c52, 0b7dffff");
    assert!(listed, "{run:?}");
}

#[test]
fn a_pipe_is_read_by_every_command_that_reads_a_session() {
    let machine = Machine::new(&[("project/sample.jsonl", SAMPLE)]);
    for command in ["context", "view", "log", "usage", "export"] {
        let program = env!("CARGO_BIN_EXE_dormouse");
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &format!("cat sample.jsonl | {program} {command} -")])
            .env("HOME", machine.home())
            .current_dir(machine.home().join("project"));
        let piped = machine.ran(&mut shell);
        let direct = machine.run(&format!("{command} sample.jsonl"));
        assert_eq!(piped.code, 0, "{command}: {piped:?}");
        assert_eq!(piped.stdout, direct.stdout, "{command}");
    }
}

#[test]
fn a_window_can_be_set_for_every_command_that_shows_one() {
    let machine = Machine::new(&[("project/sample.jsonl", SAMPLE)]);
    for command in ["context", "view"] {
        for set in ["--window 300k", "--set context.window=300000"] {
            let json = machine.json(&format!("{command} sample.jsonl {set} --json"));
            assert_eq!(json["window"], 300_000, "{command} {set}");
            assert_eq!(json["window_from"], "the settings", "{command} {set}");
        }
    }
    for set in ["--window 300k", "--set context.window=300000"] {
        let line = format!("replay sample.jsonl --policy none {set} --json");
        assert_eq!(machine.json(&line)["files"][0]["window"], 300_000, "{set}");
    }
}

#[test]
fn a_setting_without_an_effect_says_so() {
    let machine = Machine::new(&[("project/sample.jsonl", SAMPLE)]);
    for command in ["usage", "log", "export"] {
        let run = machine.run(&format!(
            "{command} sample.jsonl --set context.window=300000"
        ));
        assert_eq!(run.code, 0, "{run:?}");
        let note = "`--set context.window` has no effect on this command";
        assert!(run.stderr.contains(note), "{command}: {run:?}");
    }
    let run = machine.run("context sample.jsonl --set context.window=300000");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[test]
fn models_can_be_told_apart_on_a_narrow_screen() {
    let other = SAMPLE
        .replace("claude-haiku-4-5", "claude-haiku-5-5")
        .replace("msg_", "msg_other_");
    let machine = Machine::new(&[
        ("project/t/one.jsonl", SAMPLE),
        ("project/t/two.jsonl", &other),
    ]);
    for columns in ["40", "60"] {
        let machine = |line: &str| {
            let mut command = machine.command(line);
            command.env("COLUMNS", columns);
            machine.ran(&mut command)
        };
        for line in ["usage t", "usage t --by model"] {
            let run = machine(line);
            assert_eq!(run.code, 0, "{run:?}");
            let table: Vec<&str> = run.stdout.split("\n\n").collect();
            assert!(table[0].contains("haiku-4-5"), "{}", run.stdout);
            assert!(table[0].contains("haiku-5-5"), "{}", run.stdout);
            let widest = table[0].lines().map(|line| line.chars().count()).max();
            assert!(widest <= columns.parse().ok(), "{}", run.stdout);
        }
    }
}

#[test]
fn days_are_said_as_people_say_them() {
    let machine = Machine::new(&[("project/sample.jsonl", SAMPLE)]);
    for day in ["2020-01-01", "yesterday", "last week", "30 days", "2w"] {
        let run = machine.run_of(&["usage", "sample.jsonl", "--since", day, "--by", "day"]);
        assert_eq!(run.code, 0, "{day}: {run:?}");
    }
    let run = machine.run_of(&["usage", "sample.jsonl", "--since", "whenever"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("`whenever` is no day"), "{run:?}");
}
