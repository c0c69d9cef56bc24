//! Conversations on the screen.

use crate::scene::{Scene, calls, leave, says};
use dormouse_testkit::processes::await_end;
use dormouse_testkit_terminal::lint;
use pretty_assertions::assert_eq;
use serde_json::json;

/// Sign at the left of the composer when nothing is written.
const READY: &str = "ask mode · claude-opus-4-6";

#[test]
fn a_turn_with_tools_is_typed_streamed_and_left() {
    let script = [
        calls("Read", &json!({ "file_path": "notes.txt" })),
        says("The notes say **whisper**.\n\n1. one\n2. two\n\n```sh\nls -l\n```\n"),
    ];
    let scene = Scene::new(&script, "");
    scene.write("project/notes.txt", "whisper\n");
    let mut pty = scene.open(&[], (80, 24));
    pty.shows(READY);
    pty.send("Wht");
    // Ctrl+B moves back.
    pty.send("\u{2}a\u{6} do the 日本 notes say?");
    pty.shows("› What do the 日本 notes say?");
    pty.send("\r");
    pty.shows("ls -l");
    pty.shows("$0.");
    pty.hides("working");
    let shown = scene.shown(&pty);
    assert!(shown.contains("● Read notes.txt"), "{shown}");
    assert!(shown.contains("$0."), "{shown}");
    let once = [
        "› What do the 日本 notes say?",
        "● Read",
        "The notes say whisper.",
        "2. two",
        "  ls -l",
    ];
    let lines = leave(pty, "turn", &once);
    assert!(
        lines
            .iter()
            .any(|line| line.contains("go on: dormouse --resume")),
        "{lines:#?}"
    );
    // The session goes on in another terminal, and what was said is there again.
    let pty = scene.open(&["--continue"], (100, 30));
    pty.shows("The notes say whisper.");
    pty.shows(READY);
    leave(pty, "resumed", &["The notes say whisper."]);
}

#[test]
fn an_edit_is_permitted_with_its_diff_in_sight() {
    let edit = json!({ "file_path": "a.txt", "old_string": "helo", "new_string": "hello" });
    let script = [
        calls("Read", &json!({ "file_path": "a.txt" })),
        calls("Edit", &edit),
        says("Fixed."),
        says("Again."),
    ];
    let scene = Scene::new(&script, "");
    scene.write("project/a.txt", "helo\n");
    let mut pty = scene.open(&[], (80, 24));
    pty.shows(READY);
    pty.send("fix it\r");
    pty.shows("Allow Edit a.txt?");
    let shown = scene.shown(&pty);
    for part in [
        "- helo",
        "+ hello",
        "› 1 Yes",
        "No, and say what to do instead",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(scene.read("project/a.txt"), "helo\n");
    pty.send("y");
    pty.shows("Fixed.");
    assert_eq!(scene.read("project/a.txt"), "hello\n");
    leave(pty, "permission", &["- helo", "+ hello", "Fixed."]);
}

#[test]
fn a_running_turn_is_steered_queued_and_interrupted() {
    let script = [
        calls("Bash", &json!({ "command": "sleep 60" })),
        says("After that."),
    ];
    let scene = Scene::new(&script, "");
    let mut pty = scene.open(&["--mode", "all"], (80, 24));
    pty.shows("all mode");
    pty.send("wait\r");
    pty.shows("Bash sleep 60");
    pty.send("then commit\t");
    pty.shows("waits 1: then commit");
    pty.send("a draft that stays");
    pty.shows("› a draft that stays");
    pty.send("\u{1b}");
    pty.shows("stopped; everything that arrived is kept");
    // The waiting prompt has its turn, and the draft is still there.
    pty.shows("After that.");
    pty.shows("› a draft that stays");
    pty.send("\u{3}");
    pty.hides("a draft that stays");
    leave(pty, "interrupted", &["› then commit", "After that."]);
}

#[test]
fn words_that_come_meanwhile_steer_by_enter_and_wait_by_tab() {
    let script = [
        calls(
            "Bash",
            &json!({ "command": "while [ ! -e go ]; do sleep 0.02; done; echo went" }),
        ),
        json!({ "content": [{ "text": "Minded." }], "when": "mind the gap" }),
        json!({ "content": [{ "text": "Committed." }], "when": "then commit" }),
    ];
    let scene = Scene::new(&script, "");
    let options = ["--mode", "all", "--set", "simple=true"];
    let mut pty = scene.open(&options, (80, 24));
    pty.shows("all mode");
    pty.send("first\r");
    pty.shows("Bash while [");
    pty.send("then commit\t");
    pty.shows("then commit");
    pty.send("mind the gap\r");
    pty.shows("waits 2: ");
    pty.shows("mind the gap");
    scene.write("project/go", "");
    pty.shows("Committed.");
    pty.hides("working");
    let once = [
        "› first",
        "└ went",
        "› mind the gap",
        "Minded.",
        "› then commit",
        "Committed.",
    ];
    let lines = leave(pty, "steered", &once);
    // Words that steer come with the results, before the next answer; those that wait begin a turn.
    let place = |mark: &str| lines.iter().position(|line| line.contains(mark)).unwrap();
    let order = once.map(place);
    assert!(order.is_sorted(), "{lines:#?}");
}

/// Lines of a long answer.
fn marks() -> Vec<String> {
    (0..300)
        .map(|line| format!("streamed line {line:03}."))
        .collect()
}

/// An answer that streams while the terminal gets another size again and again.
fn storm(reflows: bool) -> (dormouse_testkit_terminal::Pty, Scene) {
    let lines = marks().join("\n");
    let mut scene = Scene::new(&[says(&lines)], "piece_chars = 40\npiece_ms = 2");
    if reflows {
        scene.set("XTERM_VERSION", "");
    }
    let mut pty = scene.open(&[], (80, 24));
    pty.shows(READY);
    pty.send("tell me\r");
    let sizes = [(60, 20), (120, 40), (40, 12), (200, 60), (50, 15), (80, 24)];
    for (step, (columns, rows)) in sizes.into_iter().enumerate() {
        pty.wrote(&format!("streamed line {:03}.", step * 40));
        pty.resize(columns, rows);
        pty.resize(columns + 7, rows + 3);
        pty.resize(columns, rows);
    }
    pty.wrote("streamed line 299.");
    pty.shows("$0.");
    (pty, scene)
}

#[test]
fn a_stream_survives_a_storm_of_sizes() {
    let (pty, _scene) = storm(false);
    let marks = marks();
    let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
    leave(pty, "storm-cut", &marks);
}

/// The emulator here cuts rows; `.ci/terminal` plays the recording in one that breaks them.
#[test]
fn a_storm_for_a_terminal_that_breaks_rows_is_recorded() {
    let (mut pty, _scene) = storm(true);
    pty.send("/exit\r");
    let (status, mut recording, _) = pty.ended();
    assert!(status.success());
    assert_eq!(lint(&recording.bytes(), true), [""; 0]);
    recording.once = marks();
    recording.keep("storm");
}

#[test]
fn five_thousand_pasted_lines_are_one_word_until_they_are_sent() {
    let scene = Scene::new(&[says("Long.")], "");
    let mut pty = scene.open(&[], (80, 24));
    pty.shows(READY);
    let pasted: Vec<String> = (0..5_000).map(|line| format!("pasted {line}")).collect();
    pty.paste(&pasted.join("\n"));
    pty.shows("[pasted 5,000 lines]");
    pty.send(" what is it?\r");
    pty.shows("Long.");
    leave(pty, "paste", &["pasted 4999", "Long."]);
}

#[test]
fn commands_of_the_command_line_answer_on_the_screen() {
    let scene = Scene::new(&[says("One."), says("Two.")], "");
    let mut pty = scene.open(&[], (100, 40));
    pty.shows(READY);
    pty.send("first\r");
    pty.shows("One.");
    pty.shows("$0.");
    pty.send("/context\r");
    pty.shows("tokens of");
    pty.shows("compacts next at about");
    pty.send("/undo\r");
    pty.shows("! not done: ");
    pty.send("/compact\r");
    pty.waits(
        |screen| screen.contains("ompacted: ") || screen.contains("not compacted"),
        "no answer to /compact",
    );
    pty.send("/rewind\r");
    pty.shows("1 first");
    pty.shows("no file was changed");
    pty.send("q");
    pty.hides("no file was changed");
    pty.send("!echo from the shell; exit 3\r");
    pty.shows("exit code 3");
    pty.send("/memory list\r");
    pty.send("/cost\r");
    pty.shows("from the cache");
    leave(pty, "commands", &["One.", "exit code 3"]);
}

#[test]
fn the_terminal_is_restored_after_a_signal_and_a_killed_session_goes_on() {
    // Memories may be drawn between the two prompts, which takes answers of the script.
    let script = ["Before.", "After.", "After.", "After.", "After."].map(says);
    let scene = Scene::new(&script, "");
    let mut pty = scene.open(&[], (80, 24));
    pty.shows(READY);
    pty.send("one\r");
    pty.shows("Before.");
    pty.shows("$0.");
    kill(pty.process(), "-TERM");
    let (status, recording, _) = pty.ended();
    assert!(status.success(), "{status:?}");
    assert_eq!(lint(&recording.bytes(), true), [""; 0]);
    let pty = scene.open(&["--continue"], (80, 24));
    pty.shows("Before.");
    pty.shows(READY);
    let process = pty.process();
    kill(process, "-KILL");
    drop(pty.ended());
    await_end(&process.to_string());
    let mut pty = scene.open(&["--continue"], (80, 24));
    pty.shows(READY);
    pty.send("two\r");
    pty.shows("After.");
    leave(pty, "killed", &["Before.", "After."]);
}

fn kill(process: u32, signal: &str) {
    let killed = std::process::Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(killed.unwrap().success());
}

#[test]
fn small_and_large_screens_show_the_same_conversation() {
    for size in [(80, 24), (200, 60), (40, 12)] {
        let scene = Scene::new(
            &[says(
                "日本語のとても長い返事です。Mixed with words that wrap somewhere.",
            )],
            "",
        );
        let mut pty = scene.open(&[], size);
        pty.shows("ask mode");
        pty.send("問い合わせ\r");
        pty.shows("somewhere.");
        pty.hides("working");
        let (row, column) = pty.cursor();
        assert!(
            row < size.1 && column == 2,
            "{row}, {column}: {}",
            pty.screen()
        );
        leave(
            pty,
            &format!("size-{}", size.0),
            &["› 問い合わせ", "somewhere."],
        );
    }
}

#[test]
fn a_file_is_named_by_some_letters_and_goes_along() {
    let script = [json!({ "content": [{ "text": "Seen." }], "when": "a secret colour" })];
    let scene = Scene::new(&script, "");
    for (name, text) in [
        ("notes.txt", "nothing"),
        (".gitignore", "built/\n"),
        ("src/colours.txt", "mauve is a secret colour\n"),
        ("built/colours.txt", "left out"),
    ] {
        scene.put(&format!("project/{name}"), text);
    }
    let mut pty = scene.open(&["--set", "simple=true"], (80, 24));
    pty.shows(READY);
    pty.send("look at @");
    pty.shows("@notes.txt");
    pty.send("clrs");
    pty.hides("@notes.txt");
    pty.shows("› @src/colours.txt");
    assert!(!pty.screen().contains("built"), "{}", pty.screen());
    pty.send("\r");
    pty.shows("› look at @src/colours.txt");
    pty.send("please\r");
    // The answer waits for the words of the file.
    pty.shows("Seen.");
    leave(
        pty,
        "mention",
        &["› look at @src/colours.txt please", "Seen."],
    );
}

#[test]
fn a_draft_is_written_in_an_editor_that_has_the_terminal() {
    let mut scene = Scene::new(&[says("One.")], "");
    // An editor that reads a line of the terminal itself, and fails when it is told to.
    let editor = "printf 'editor is open\\n'; read line; test \"$line\" = fail && exit 1; \
                  printf '%s and %s\\n' \"$(cat \"$1\")\" \"$line\" > \"$1\"\n";
    scene.put("editor.sh", editor);
    let path = scene.home().join("editor.sh");
    scene.set("EDITOR", format!("sh {}", path.display()));
    let mut pty = scene.open(&["--set", "simple=true"], (80, 24));
    pty.shows(READY);
    pty.send("a draft\u{7}");
    pty.shows("editor is open");
    pty.send("words of the editor\r");
    pty.shows("› a draft and words of the editor");
    pty.send("\u{7}");
    pty.waits(
        |_| {
            pty.lines()
                .iter()
                .filter(|line| *line == "editor is open")
                .count()
                == 2
        },
        "the editor is not opened again",
    );
    pty.send("fail\r");
    pty.shows("failed");
    // The draft stays, and keys are read again.
    pty.send("!");
    pty.shows("› a draft and words of the editor!");
    pty.send("\r");
    pty.shows("One.");
    leave(pty, "editor", &["One."]);
}

/// The smallest image: one point.
const POINT: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0x1f, 0x15, 0xc4,
    0x89, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x64, 0xf8, 0xcf, 0x50,
    0x0f, 0x00, 0x03, 0x86, 0x01, 0x80, 0x5a, 0x34, 0x7d, 0x6b, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45,
    0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

#[test]
fn an_image_that_is_dropped_goes_to_the_model() {
    let scene = Scene::new(&["It is a point."].map(says), "");
    scene.write_bytes("project/one point.png", POINT);
    let mut pty = scene.open(&[], (80, 24));
    pty.shows("ask mode");
    let path = scene.home().join("project/one\\ point.png");
    pty.send(&format!("\u{1b}[200~{}\u{1b}[201~", path.display()));
    pty.shows("› [Image #1]");
    pty.send(" what is it?\r");
    pty.shows("It is a point.");
    leave(pty, "image", &["› [Image #1] what is it?"]);
    let folder = format!(
        ".dormouse/projects/{}",
        scene.entries(".dormouse/projects")[0]
    );
    let logs = scene.entries(&folder).into_iter();
    let logs = logs.filter(|name| name.contains(".jsonl"));
    let logs: String = logs
        .map(|name| scene.read(&format!("{folder}/{name}")))
        .collect();
    assert!(logs.contains(r#""media_type":"image/png""#), "{logs}");
}
