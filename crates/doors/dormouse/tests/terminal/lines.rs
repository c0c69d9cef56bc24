//! Terminals without colours, without a cursor, without a model, and none at all.

use crate::scene::{Scene, calls, leave, says};
use serde_json::json;
use std::process::{Command, Stdio};

#[test]
fn without_a_model_memory_sessions_and_the_shell_are_there() {
    let scene = Scene::bare();
    let mut pty = scene.open(&[], (100, 30));
    pty.shows("no model ·");
    pty.shows("Without a model:");
    pty.send("!echo it works\r");
    pty.shows("it works");
    pty.send("/memory list\r");
    pty.send("/sessions\r");
    pty.shows("0 sessions of all agents");
    pty.send("q");
    pty.send("/doctor\r");
    pty.waits(
        |_| pty.lines().iter().any(|line| line == "/doctor"),
        "no answer of /doctor",
    );
    pty.send("hello\r");
    pty.shows("› hello");
    // Clears the words that were kept.
    pty.send("\u{3}");
    let lines = leave(pty, "without-model", &[]);
    assert!(
        lines.iter().any(|line| line == "/memory list"),
        "{lines:#?}"
    );
}

#[test]
fn no_color_means_no_colour() {
    let mut scene = Scene::new(&[says("**Bold** and `code`.")], "");
    scene.set("NO_COLOR", "1");
    let mut pty = scene.open(&[], (80, 24));
    pty.shows("ask mode");
    pty.send("hi\r");
    pty.shows("Bold and code.");
    pty.send("/exit\r");
    let (_, recording, _) = pty.ended();
    let text = String::from_utf8_lossy(&recording.bytes()).into_owned();
    for code in 30..38 {
        assert!(
            !text.contains(&format!("[{code}m")) && !text.contains(&format!(";{code}m")),
            "{code}"
        );
    }
}

#[test]
fn a_dumb_terminal_gets_lines_and_no_escape_sequence() {
    let script = [
        calls("Bash", &json!({ "command": "touch made" })),
        says("Made."),
    ];
    for (term, option) in [("dumb", &[][..]), ("xterm", &["--plain"][..])] {
        let mut scene = Scene::new(&script, "");
        scene.set("TERM", term);
        let mut pty = scene.open(option, (80, 24));
        pty.shows(">");
        pty.send("make it\n");
        pty.shows("answer with y, s (session), a (always), n, n WORDS, or a number");
        pty.send("y\n");
        pty.shows("Made.");
        pty.send("/exit\n");
        let (status, recording, lines) = pty.ended();
        assert!(status.success(), "{lines:#?}");
        let bytes = recording.bytes();
        assert!(
            !bytes.contains(&0x1b),
            "{}",
            String::from_utf8_lossy(&bytes)
        );
        assert!(scene.home().join("project/made").exists());
        // The terminal has shown what was typed; it is not said again.
        assert_eq!(
            lines.iter().filter(|line| line.contains("make it")).count(),
            1,
            "{lines:#?}"
        );
    }
}

#[test]
fn without_a_terminal_it_says_what_it_can_do() {
    let scene = Scene::bare();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", scene.home());
        command
            .current_dir(scene.home().join("project"))
            .stdin(Stdio::null());
        command.output().unwrap()
    };
    let bare = run(&[]);
    assert!(bare.status.success());
    assert!(String::from_utf8_lossy(&bare.stdout).contains("dormouse -p"));
    let resumed = run(&["--continue"]);
    assert_eq!(resumed.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&resumed.stderr).contains("needs a terminal"));
    let misplaced = run(&["--model", "x", "sessions"]);
    assert_eq!(misplaced.status.code(), Some(2));
}
