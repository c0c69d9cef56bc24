//! The demonstration: on a terminal, in the screen, and without one.

use crate::scene::{Scene, leave};
use dormouse_testkit_terminal::lint;
use std::process::{Command, Stdio};

#[test]
fn the_demo_shows_every_layer_without_a_terminal() {
    let scene = Scene::bare();
    let pictures = scene.home().join("demo.svg");
    let mut demo = Command::new(env!("CARGO_BIN_EXE_dormouse"));
    demo.args(["demo", "--record"]).arg(&pictures);
    demo.env_clear().env("HOME", scene.home());
    demo.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    demo.env("TMPDIR", scene.home().join("temporary"));
    demo.current_dir(scene.home()).stdin(Stdio::null());
    let out = demo.output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{text}{out:?}");
    assert!(!text.contains('\u{1b}'), "{text}");
    for part in [
        "saved: ",
        "distil: ",
        "offload: ",
        "agent: count functions has ended",
        "clear: ",
        "notes: ",
        "compaction: ",
        "names and figures of yours are still in the prompt (100%)",
        "recall: recalled release-days.md",
        // The last answers of the script: behind a compaction, and in the session after it.
        "Five days, 1,500 uploads",
        "On a Tuesday; never on a Friday.",
        "merged: ",
        // A failed run shows its end, where the reason stands.
        "FAILED test_upload_limit: expected 300, got 30",
        // The question before the edit, and the table of policies.
        "LIMIT = 300",
        "economic",
        "opencode",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let names = [
        "begin",
        "edit-question",
        "next",
        "forgotten",
        "replay",
        "recalled",
    ];
    for name in names {
        let picture = scene.read(&format!("demo-{name}.svg"));
        assert!(
            picture.starts_with("<svg") && picture.ends_with("</svg>\n"),
            "{name}"
        );
    }
    let moving = scene.read("demo.svg");
    assert!(moving.contains("@keyframes k9{"), "{}", moving.len());
    // Nothing is left behind, neither in the home nor among temporary files.
    assert!(!scene.home().join(".dormouse").exists());
    assert_eq!(scene.entries("temporary"), [""; 0]);
}

#[test]
fn the_demo_is_paused_moved_on_and_left() {
    let scene = Scene::bare();
    let mut pty = scene.open(&["demo"], (100, 30));
    pty.shows("The real agent, in its own screen.");
    pty.send(" ");
    pty.shows("paused");
    pty.send("n");
    pty.shows("You mention a rule in passing.");
    pty.send(" ");
    pty.send("q");
    let (status, recording, lines) = pty.ended();
    assert!(status.success(), "{lines:#?}");
    assert_eq!(lint(&recording.bytes(), true), [""; 0]);
    assert!(
        lines.iter().any(|line| line.contains("that was the demo")),
        "{lines:#?}"
    );
}

#[test]
fn the_demo_is_a_command_of_the_screen() {
    let scene = Scene::bare();
    let mut pty = scene.open(&[], (100, 30));
    pty.shows("no model ·");
    pty.send("/demo\r");
    pty.shows("The real agent, in its own screen.");
    pty.shows("demo 1/");
    pty.send("q");
    // The screen before it goes on.
    pty.shows("no model ·");
    pty.send("!echo still here\r");
    pty.shows("still here");
    leave(pty, "demo-left", &["The real agent, in its own screen."]);
}
