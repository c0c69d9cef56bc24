//! Whole screens of the main views at three sizes, as pictures that a person can read.

use crate::scene::{Scene, calls, leave, says, screen_is};
use serde_json::json;

/// Waits until the agent rests and its figures are in the status line.
fn rests(pty: &dormouse_testkit_terminal::Pty, figure: char) {
    pty.waits(
        |screen| {
            let last = screen.lines().rfind(|line| !line.is_empty());
            let works = ["working", "answering", "running tools"];
            let rests = !works.iter().any(|word| screen.contains(word));
            rests && last.is_some_and(|line| line.starts_with("ask mode") && line.contains(figure))
        },
        "the turn does not end",
    );
}

fn views(size: (u16, u16)) {
    let name = |view: &str| format!("{view}_{}x{}", size.0, size.1);
    let edit = json!({ "file_path": "src/main.rs", "old_string": "helo", "new_string": "hello" });
    let mut script = vec![
        calls("Read", &json!({ "file_path": "src/main.rs" })),
        calls("Edit", &edit),
        says(
            "The greeting is **mended**. 挨拶を直しました。\n\n1. `src/main.rs` says `hello`\n2. nothing else changed\n\n```rust\nfn main() { println!(\"hello\"); }\n```\n",
        ),
    ];
    script.extend((0..4).map(|_| says("Later.")));
    let scene = Scene::new(&script, "");
    scene.put("project/src/main.rs", "fn main() { println!(\"helo\"); }\n");
    // Without background work, whose moment differs.
    let mut pty = scene.open(&["--set", "simple=true"], size);
    rests(&pty, '%');
    screen_is(&name("start"), &scene, &pty);
    pty.send("Mend the greeting, please. お願いします。\r");
    pty.shows("› 1 Yes");
    screen_is(&name("permission"), &scene, &pty);
    pty.send("y");
    pty.shows("println!(\"hello\"); }");
    rests(&pty, '%');
    screen_is(&name("conversation"), &scene, &pty);
    pty.send("/");
    pty.shows("› /");
    pty.send("re");
    pty.shows("/replay");
    screen_is(&name("commands"), &scene, &pty);
    pty.send("\u{3}");
    pty.hides("/replay");
    pty.send("\u{1b}");
    pty.shows("Esc again lists the points");
    pty.send("\u{1b}");
    pty.shows("1 Mend the greeting");
    screen_is(&name("points"), &scene, &pty);
    pty.send("q");
    pty.hides("1 Mend the greeting");
    leave(pty, &name("views"), &["1. src/main.rs says hello"]);
}

#[test]
fn the_views_on_a_usual_terminal() {
    views((80, 24));
}

#[test]
fn the_views_on_a_large_terminal() {
    views((200, 60));
}

#[test]
fn the_views_on_a_small_terminal() {
    views((40, 12));
}

#[test]
fn the_screen_without_a_model() {
    for size in [(80, 24), (40, 12)] {
        let scene = Scene::bare();
        let pty = scene.open(&[], size);
        pty.shows("no model ·");
        screen_is(&format!("bare_{}x{}", size.0, size.1), &scene, &pty);
        leave(pty, "bare", &[]);
    }
}
