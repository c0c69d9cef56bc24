//! The time between the first frame and the open session. A hook holds the opening up for as long as a
//! test needs it.

use crate::scene::{Scene, leave, says};
use dormouse_testkit_terminal::{Pty, lint};
use serde_json::json;

/// End of an update.
const FRAME: &str = "\u{1b}[?2026l";

/// Lets sessions wait for a file of the home before they are open.
fn hold_up(scene: &Scene) {
    let go = scene.home().join("go");
    let command = format!("while ! test -f {}; do sleep 0.02; done", go.display());
    let hook = json!({ "hooks": [{ "type": "command", "command": command }] });
    let settings = json!({ "hooks": { "SessionStart": [hook] } });
    scene.put(".claude/settings.json", &settings.to_string());
}

/// The first frame as text.
fn first_frame(pty: &Pty) -> String {
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    let (first, _) = bytes.split_once(FRAME).unwrap();
    first.to_owned()
}

#[test]
fn the_first_frame_comes_before_the_session_is_open() {
    let scene = Scene::new(&[says("One."), says("Two.")], "");
    hold_up(&scene);
    let mut pty = scene.open(&[], (80, 24));
    pty.shows("opening · ~/project");
    // The composer is there, and lines that are sent wait in order.
    pty.send("first 日本\r");
    pty.shows("› first 日本");
    pty.send("/cost\r");
    pty.send("a draft");
    pty.shows("› a draft");
    pty.hides("ask mode");
    let first = first_frame(&pty);
    for part in ["dormouse ", "/help commands", "› ", "opening · ~/project"] {
        assert!(first.contains(part), "{part}: {first:?}");
    }
    scene.write("go", "");
    pty.shows("ask mode");
    pty.shows("One.");
    pty.shows("› a draft");
    pty.send("\u{3}");
    pty.hides("a draft");
    let lines = leave(pty, "held", &["› first 日本", "One."]);
    assert!(lines.iter().any(|line| line == "/cost"), "{lines:#?}");
}

#[test]
fn a_line_that_waits_is_taken_back_and_the_screen_left_while_it_opens() {
    let scene = Scene::new(&[says("One.")], "");
    hold_up(&scene);
    let mut pty = scene.open(&[], (80, 24));
    pty.shows("opening ·");
    pty.send("not yet\r");
    pty.shows("› not yet");
    // Back into the composer, to be changed.
    pty.send("\u{1b}");
    pty.waits(|screen| screen.matches('›').count() == 1, "it still waits");
    pty.send("!");
    pty.shows("› not yet!");
    pty.send("\u{3}");
    pty.hides("not yet");
    pty.send("\u{3}");
    pty.shows("the same key again leaves");
    pty.send("\u{3}");
    let (status, recording, lines) = pty.ended();
    assert!(status.success(), "{lines:#?}");
    assert_eq!(lint(&recording.bytes(), true), [""; 0]);
    assert!(
        !lines.iter().any(|line| line.contains("One.")),
        "{lines:#?}"
    );
}

#[test]
fn the_end_of_a_resumed_session_is_shown_before_it_is_open() {
    let words: Vec<String> = (0..90).map(|turn| format!("Answer {turn}.")).collect();
    let script: Vec<_> = words.iter().map(|words| says(words)).collect();
    let scene = Scene::new(&script, "");
    let mut pty = scene.open(&["--set", "simple=true"], (80, 24));
    pty.shows("ask mode");
    for turn in 0..45 {
        pty.send(&format!("question {turn}\r"));
        pty.shows(&format!("Answer {turn}."));
    }
    pty.shows("$0.");
    leave(pty, "long-before", &["Answer 44."]);
    hold_up(&scene);
    let pty = scene.open(&["--continue", "--set", "simple=true"], (80, 24));
    pty.shows("Answer 44.");
    pty.shows("opening ·");
    let first = first_frame(&pty);
    assert!(
        first.contains("opening ·") && !first.contains("Answer"),
        "{first:?}"
    );
    scene.write("go", "");
    pty.shows("ask mode");
    // The sum is that of the whole session, of which the screen has a part.
    pty.shows("$0.");
    let lines = leave(pty, "long-resumed", &["Answer 44.", "› question 44"]);
    let earlier = "earlier parts are not repeated here";
    assert!(
        lines.iter().any(|line| line.contains(earlier)),
        "{lines:#?}"
    );
}

#[test]
fn a_session_that_cannot_be_opened_leaves_a_usable_terminal() {
    let scene = Scene::new(&[], "");
    let pty = scene.open(&["--resume", "no-such-session"], (80, 24));
    let (status, recording, lines) = pty.ended();
    assert_eq!(status.exit_code(), 3, "{lines:#?}");
    assert_eq!(lint(&recording.bytes(), true), [""; 0]);
    let told = lines.iter().filter(|line| line.contains("no-such-session"));
    assert_eq!(told.count(), 1, "{lines:#?}");
    let last = lines.iter().rfind(|line| !line.is_empty());
    assert!(
        !last.is_some_and(|line| line.contains("opening")),
        "{lines:#?}"
    );
}
