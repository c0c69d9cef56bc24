//! Input that is not what it should be: a clear error or a reported skip, and the exit code that
//! the help promises.

use crate::program::{Machine, Run};
use dormouse_system::{Access, Files as _, RealFiles};
use pretty_assertions::assert_eq;
use std::process::{Command, Stdio};

/// Commands that read one transcript.
const COMMANDS: [&str; 5] = ["usage", "context", "view", "log", "export"];
/// A line that every reader accepts, to put beside bad ones.
const USER: &str =
    r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"hello"}}"#;

fn check(machine: &Machine, file: &str, code: i32, says: &str) {
    for command in COMMANDS {
        let run = machine.run(&format!("{command} {file}"));
        assert_eq!(run.code, code, "{command} {file}: {run:?}");
        assert!(run.stderr.contains(says), "{command} {file}: {run:?}");
        assert!(run.stderr.contains("hint: "), "{command} {file}: {run:?}");
        assert!(!run.stderr.contains("panicked"), "{run:?}");
    }
}

fn write_bytes(machine: &Machine, name: &str, bytes: &[u8]) -> String {
    let path = machine.home().join(name);
    RealFiles.replace(&path, bytes, Access::Private).unwrap();
    path.display().to_string()
}

#[test]
fn what_is_not_there_or_no_file() {
    let machine = Machine::new(&[]);
    check(&machine, "nowhere.jsonl", 3, "there is no file");
    for command in ["context", "view", "log", "export"] {
        let run = machine.run(&format!("{command} {}", machine.home().display()));
        assert_eq!(run.code, 3, "{command}: {run:?}");
        assert!(run.stderr.contains("is a directory"), "{run:?}");
    }
    let empty_folder = machine.run(&format!("usage {}", machine.home().display()));
    assert_eq!(empty_folder.code, 4, "{empty_folder:?}");
}

#[test]
fn what_is_empty_or_no_transcript() {
    let machine = Machine::new(&[]);
    let empty = write_bytes(&machine, "empty.jsonl", b"");
    check(&machine, &empty, 4, "is empty");
    let binary = write_bytes(
        &machine,
        "binary.jsonl",
        &[0, 159, 146, 150, 10, 0, 255, 10],
    );
    check(&machine, &binary, 4, "it holds binary data");
    let prose = write_bytes(&machine, "prose.jsonl", b"Dear diary,\ntoday I slept.\n");
    check(&machine, &prose, 4, "it begins with \"Dear diary");
}

/// The file is read, and the line is reported.
fn check_skip(machine: &Machine, file: &str, says: &str) {
    let issues = machine.run(&format!("log {file} --issues"));
    assert_eq!(issues.code, 0, "{issues:?}");
    assert!(issues.stdout.contains(says), "{issues:?}");
    let view = machine.run(&format!("view {file}"));
    assert_eq!(view.code, 0, "{view:?}");
    assert!(view.stdout.contains("hello"), "{view:?}");
    assert!(view.stderr.contains("1 line of"), "{view:?}");
    assert_eq!(machine.run(&format!("usage {file}")).code, 0);
}

#[test]
fn damaged_lines_are_reported_and_the_rest_is_read() {
    let machine = Machine::new(&[]);
    let garbage = write_bytes(
        &machine,
        "garbage.jsonl",
        format!("{USER}\nnot json\n").as_bytes(),
    );
    check_skip(&machine, &garbage, "the line is not JSON");
    let mut bytes = format!("{USER}\n").into_bytes();
    bytes.extend_from_slice(b"{\"type\":\"user\",\"message\":{\"content\":\"\xff\xfe\"}}\n");
    let latin = write_bytes(&machine, "latin.jsonl", &bytes);
    check_skip(&machine, &latin, "UTF-8");
    let torn = write_bytes(
        &machine,
        "torn.jsonl",
        format!("{USER}\n{{\"type\":\"assi").as_bytes(),
    );
    check_skip(&machine, &torn, "it is torn");
}

#[test]
fn two_records_on_one_line_are_both_read_and_reported() {
    let machine = Machine::new(&[]);
    let glued = format!("{USER}\n{USER}{USER}\n");
    let glued = write_bytes(&machine, "glued.jsonl", glued.as_bytes());
    check_skip(&machine, &glued, "the line holds 2 records");
}

#[test]
fn files_that_are_no_transcripts_are_refused_by_every_command() {
    let machine = Machine::new(&[]);
    let rows = "{\"id\":1,\"uuid\":\"a\",\"name\":\"x\"}\n".repeat(3);
    let other =
        r#"{"type":"user","uuid":"q","sessionId":"s","message":{"role":"user","parts":[]}}"#;
    for (name, content) in [("rows.jsonl", rows.as_str()), ("other.jsonl", other)] {
        let file = write_bytes(&machine, name, content.as_bytes());
        for command in [
            "context", "view", "log", "usage", "replay", "export", "convert",
        ] {
            let run = machine.run(&format!("{command} {file}"));
            assert_eq!(run.code, 4, "{command}: {run:?}");
            assert!(run.stderr.contains("is not a transcript"), "{run:?}");
            assert_eq!(run.stdout, "", "{command}");
        }
    }
}

#[test]
fn every_reader_says_that_a_line_is_lost() {
    let machine = Machine::new(&[]);
    let answer = r#"{"type":"assistant","uuid":"a","parentUuid":"lost","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"assistant","id":"m","model":"claude-sonnet-4-5","content":[{"type":"text","text":"well"}],"usage":{"input_tokens":9,"output_tokens":4}}}"#;
    let file = write_bytes(
        &machine,
        "lost.jsonl",
        format!("{USER}\n{{\"type\":\"us\n{answer}\n").as_bytes(),
    );
    for command in ["context", "view", "log", "usage", "replay", "export"] {
        let run = machine.run(&format!("{command} {file}"));
        assert_eq!(run.code, 0, "{command}: {run:?}");
        assert!(
            run.stderr.contains("could not be read in full"),
            "{command}: {run:?}"
        );
    }
    let view = machine.run(&format!("view {file}"));
    assert!(view.stdout.contains("hello"), "{view:?}");
    assert!(view.stderr.contains("1 gap bridged"), "{view:?}");
}

#[test]
fn a_boundary_inside_a_tool_result_is_just_text() {
    let machine = Machine::new(&[]);
    let inside = r#"{"type":"user","uuid":"u2","parentUuid":"u1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"{\"type\":\"system\",\"subtype\":\"compact_boundary\"}"}]},"toolUseResult":{"type":"system","subtype":"compact_boundary"}}"#;
    let file = write_bytes(
        &machine,
        "inside.jsonl",
        format!("{USER}\n{inside}\n").as_bytes(),
    );
    let view = machine.stdout(&format!("view {file}"));
    assert!(view.contains("hello"), "nothing was cut off: {view}");
    let kinds = machine.json(&format!("log {file} --json"));
    assert_eq!(kinds["kinds"].get("boundary"), None);
}

#[test]
fn a_line_of_200_megabytes_is_skipped_without_being_held() {
    let machine = Machine::new(&[]);
    let path = machine.home().join("huge.jsonl");
    let mut file = RealFiles.append(&path, Access::Private).unwrap();
    file.append(format!("{USER}\n{{\"type\":\"user\",\"x\":\"").as_bytes())
        .unwrap();
    let part = vec![b'x'; 1024 * 1024];
    for _ in 0..200 {
        file.append(&part).unwrap();
    }
    file.append(
        format!(
            "\"}}\n{}\n",
            USER.replace("u1", "u3").replace("hello", "still here")
        )
        .as_bytes(),
    )
    .unwrap();
    let shown = path.display().to_string();
    // 150 MB of address space would not hold the line.
    let limited = |command: &str| -> Run {
        let binary = env!("CARGO_BIN_EXE_dormouse");
        let script = format!("ulimit -v 400000; exec {binary} {command} {shown}");
        let output = Command::new("sh")
            .args(["-c", &script])
            .env_clear()
            .env("HOME", machine.home())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Run {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    };
    let issues = limited("log --issues");
    assert_eq!(issues.code, 0, "{issues:?}");
    assert!(
        issues.stdout.contains("more than is read of one line"),
        "{issues:?}"
    );
    let view = limited("view");
    assert_eq!(view.code, 0, "{view:?}");
    assert!(view.stdout.contains("still here"), "{view:?}");
    assert_eq!(limited("usage").code, 0);
}

#[test]
fn a_file_nobody_may_read_is_named() {
    let machine = Machine::new(&[("secret.jsonl", USER)]);
    let path = machine.home().join("secret.jsonl");
    let status = Command::new("chmod")
        .arg("000")
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    let run = machine.run(&format!("usage {}", path.display()));
    // The super-user may read everything; everybody else is told.
    if run.code != 0 {
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stderr.contains("no permission to read"), "{run:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let machine = Machine::new(&[]);
    let lines: String = format!("{USER}\n").repeat(20_000);
    let file = write_bytes(&machine, "long.jsonl", lines.as_bytes());
    let mut child = machine
        .command(&format!("log {file}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
