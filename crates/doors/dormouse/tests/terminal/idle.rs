//! A screen that nobody touches does nothing.
#![expect(
    clippy::disallowed_methods,
    reason = "threads are files of the kernel, and their silence lasts for real time"
)]

use crate::scene::{Scene, leave, says};
use dormouse_testkit_terminal::Pty;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time without a wake-up: longer than every pause of the screen and of the agent (a frame, a tick of
/// the clock, a look at a log), so that each of them would be seen.
const SILENCE: Duration = Duration::from_secs(3);
/// Time until the silence has to come: a turn leaves work behind, and the machine may be busy.
const SOON: Duration = Duration::from_mins(1);

/// Times that each thread of a process has waited, but for those that watch over settings files: other
/// programs wake them, by opening files in `/etc`.
fn waits(process: u32) -> BTreeMap<String, u64> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let counted = tasks.filter_map(Result::ok).filter_map(|task| {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).ok();
        let name = read("comm")?;
        if name.starts_with("notify") || name.starts_with("settings") {
            return None;
        }
        let status = read("status")?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        let id = task.file_name().to_string_lossy().into_owned();
        Some((format!("{id} {}", name.trim()), line.trim().parse().ok()?))
    });
    counted.collect()
}

/// Waits for a silence in which no thread is woken and no byte is written.
fn falls_silent(pty: &Pty) {
    let begun = Instant::now();
    let state = || (waits(pty.process()), pty.bytes().len());
    let mut before = state();
    let mut since = Instant::now();
    while since.elapsed() < SILENCE {
        assert!(begun.elapsed() < SOON, "it still works: {before:?}");
        std::thread::sleep(Duration::from_millis(100));
        let now = state();
        if now != before {
            (before, since) = (now, Instant::now());
        }
    }
    assert!(before.0.len() > 1, "threads are not seen: {before:?}");
}

#[test]
fn without_a_model_nothing_wakes_up() {
    let scene = Scene::bare();
    let mut pty = scene.open(&[], (80, 24));
    pty.shows("no model ·");
    falls_silent(&pty);
    // It is awake at once.
    pty.send("x");
    pty.shows("› x");
    pty.send("\u{3}");
    pty.hides("› x");
    leave(pty, "idle-bare", &[]);
}

#[test]
fn behind_a_turn_nothing_wakes_up() {
    let scene = Scene::new(&[says("One.")], "");
    let mut pty = scene.open(&["--set", "simple=true"], (80, 24));
    pty.shows("ask mode");
    pty.send("first\r");
    pty.shows("One.");
    pty.shows("$0.");
    falls_silent(&pty);
    leave(pty, "idle", &["One."]);
}
