//! Cost of hooks, with the start of their processes. `cargo bench -p dormouse --bench hooks`
//! 10,000 memories in a real folder, warm page cache: 100 prompts one after the other, then 100 of them
//! 8 at a time while a dream runs. Processor time is that of all children, divided by their number. Each
//! prompt asks about one memory by its name; the answers that bring it in are counted.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark measures real time, fails by panicking and prints what it found"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MEMORIES: usize = 10_000;
const HOOKS: usize = 100;
const AT_ONCE: usize = 8;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for made in ["project/.git", "memory"] {
        std::fs::create_dir_all(root.join(made)).expect("a folder");
    }
    for number in 0..MEMORIES {
        let path = root.join(format!("memory/fact_{number:05}.md"));
        std::fs::write(path, memory(number)).expect("a memory");
    }
    // The first hook has the index made by another process; without one there is nothing to measure.
    let _nothing_yet = hook(root, "first", 0);
    let digest = root.join("memory/.cache/recall.digest");
    let begun = Instant::now();
    while !digest.exists() {
        assert!(begun.elapsed() < Duration::from_mins(2), "no index");
        thread::sleep(Duration::from_millis(50));
    }
    let before = children_ms();
    let alone = times(root, 1, "alone");
    report("one after the other", &alone, children_ms() - before);
    let mut dream = program(root)
        .args(["dream", "--now", "--offline"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a dream");
    // The dream is not waited for in between, so that its processor time is not counted.
    let before = children_ms();
    let beside = times(root, AT_ONCE, "beside");
    let spent = children_ms() - before;
    dream.wait().expect("the end of the dream");
    report("8 at a time while a dream runs", &beside, spent);
}

fn memory(number: usize) -> String {
    let own = name(number);
    let mut text = format!(
        "---\nname: Gadget {own}\ndescription: Place of gadget {own}\ntype: project\n---\n"
    );
    for word in 0..150 {
        // Words of others: never the name of a memory.
        let _ = write!(
            text,
            "{} ",
            name(200_000 + (number * 31 + word * 17) % 4_999)
        );
    }
    text.push_str("\nIt is stored in the north wing.\n");
    text
}

/// Word of four syllables, another one for each number.
fn name(number: usize) -> String {
    let consonants = [
        "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z",
    ];
    let vowels = ["a", "e", "i", "o", "u"];
    // Spread, so that names that follow each other do not begin alike.
    let mut rest = number * 7_919 + 13;
    let mut name = String::new();
    for _ in 0..4 {
        name.push_str(consonants[rest % consonants.len()]);
        rest /= consonants.len();
        name.push_str(vowels[rest % vowels.len()]);
        rest /= vowels.len();
    }
    name
}

fn program(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
    command
        .env_clear()
        .env("HOME", root)
        .env("DORMOUSE_MEMORY_DIR", root.join("memory"))
        .current_dir(root.join("project"));
    command
}

/// Time of a hook, and whether its answer brings the memory in.
fn hook(root: &Path, session: &str, number: usize) -> (Duration, bool) {
    let event = serde_json::json!({
        "session_id": session,
        "cwd": root.join("project"),
        "prompt": format!("Where is the gadget {} stored?", name(number)),
    });
    let begun = Instant::now();
    let mut child = program(root)
        .args(["hook", "user-prompt-submit"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a hook");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(event.to_string().as_bytes()).expect("sent");
    drop(stdin);
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success());
    let took = begun.elapsed();
    let answer = String::from_utf8_lossy(&output.stdout);
    (took, answer.contains(&format!("fact_{number:05}")))
}

fn times(root: &Path, at_once: usize, session: &str) -> Vec<(Duration, bool)> {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let take = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= HOOKS {
                return;
            }
            let took = hook(root, &format!("{session}-{number}"), number * 90);
            all.lock().expect("no panic").push(took);
        }
    };
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(take);
        }
    });
    let mut all = all.into_inner().expect("no panic");
    all.sort();
    all
}

/// Processor time of all children that were waited for, in milliseconds, by the kernel's ticks of ten.
fn children_ms() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    let number = |field: &str| field.parse::<u64>().unwrap_or(0);
    let fields: Vec<u64> = fields.split_whitespace().map(number).collect();
    // Fields 16 and 17 of the line, counted from 1; two of them stand before the parenthesis.
    10 * (fields.get(13).unwrap_or(&0) + fields.get(14).unwrap_or(&0))
}

fn report(what: &str, times: &[(Duration, bool)], cpu_ms: u64) {
    let ms = |at: usize| times.get(at).map_or(0, |(took, _)| took.as_millis());
    let answered = times.iter().filter(|(_, answered)| *answered).count();
    println!(
        "{what}: p50 {} ms, p99 {} ms, processor {} ms each, {answered} of {HOOKS} answered",
        ms(HOOKS / 2),
        ms(HOOKS * 99 / 100),
        cpu_ms / u64::try_from(HOOKS).unwrap_or(1)
    );
}
