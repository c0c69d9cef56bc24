//! Large memory directories, through the services that doors call.
//! `cargo bench -p dormouse-host --bench scale`, or with a number of memories behind `--`.
//!
//! The folder holds notes of many kinds: unrelated ones, series after a template, copies, near copies
//! that link to each other. It is real, with a warm page cache, and every service opens its host
//! anew, as a command does.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark fails by panicking and prints what it found"
)]

use dormouse_host::{
    DreamAnswer, DreamAsk, Host, Near, NewMemoryText, RecallQuestion, Which, Work,
};
use dormouse_system::{Access, Files as _, MapEnvironment, RealFiles, System};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Memories without an argument: the size that a dream must bear.
const MEMORIES: usize = 100_000;
/// Files of the working tree that claims are checked against.
const TREE: usize = 1_000;

fn main() {
    let asked = std::env::args().find_map(|word| word.parse().ok());
    let memories: usize = asked.unwrap_or(MEMORIES);
    let root = tempfile::tempdir().expect("a folder");
    fill(root.path(), memories);
    // Stamps of files that have just been written are not believed.
    std::thread::sleep(Duration::from_millis(100));
    println!("{memories} memories");
    timed("recall, no index", || recalled(root.path()));
    let add = |text: &str| {
        let new = NewMemoryText {
            text: text.to_owned(),
            ..NewMemoryText::default()
        };
        let added = host(root.path()).remember(&Which::Private, &new);
        added.expect("a memory").path
    };
    timed("add", || {
        add("The gateway of the north office is called heron.")
    });
    timed("add again", || {
        add("The printers of the south office are called otters.")
    });
    timed("dream", || dreamt(root.path()));
    timed("dream again", || dreamt(root.path()));
}

fn timed(what: &str, work: impl FnOnce() -> String) {
    let clock = System::real().clock;
    let start = clock.ticks();
    let told = work();
    println!("{what}: {:.2?} ({told})", clock.ticks().since(start));
}

fn host(root: &Path) -> Host {
    let env = MapEnvironment::default();
    env.set_home(Some(root.join("home")));
    env.set_current_dir(Some(root.join("project")));
    env.set("DORMOUSE_MEMORY_DIR", root.join("memory"));
    let system = System {
        env: Arc::new(env),
        ..System::real()
    };
    Host::open_with(&system, &root.join("managed.toml"), Vec::new()).expect("a host")
}

fn recalled(root: &Path) -> String {
    let answer = host(root).recall(&RecallQuestion {
        prompt: "who owns the w77 service and where does `fn_w12` run".to_owned(),
        which: Which::Private,
        work: Work::default(),
        most: None,
        near: Near::Show,
        explain: false,
    });
    let answer = answer.expect("an answer");
    format!(
        "{} picked, {} near",
        answer.memories.len(),
        answer.uncertain.len()
    )
}

fn dreamt(root: &Path) -> String {
    let ask = DreamAsk {
        now: true,
        offline: true,
        dry_run: false,
    };
    let never = std::future::pending::<()>;
    let answer = host(root).dream(&Which::Private, ask, never, |_| {});
    match answer.expect("a dream") {
        DreamAnswer::Dreamt(report) => format!("{} changes", report.changes.len()),
        DreamAnswer::NotYet(not) => not.why_not,
        DreamAnswer::Ended => "ended".to_owned(),
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    /// Words with a long tail, as words are.
    fn text(&mut self, words: usize) -> String {
        let mut word = |_| format!("w{:x}", self.roll(70) * self.roll(70) * self.roll(8));
        let words: Vec<String> = (0..words).map(&mut word).collect();
        words.join(" ")
    }
}

fn fill(root: &Path, memories: usize) {
    for folder in ["home", "memory", "project/.git", "project/src"] {
        let folder = root.join(folder);
        RealFiles
            .create_dir_all(&folder, Access::Private)
            .expect("a folder");
    }
    let mut dice = Dice(7);
    for number in 0..TREE {
        let text = format!("fn w{number}() {{}}\n// {}\n", dice.text(200));
        write(&root.join(format!("project/src/w{number}.rs")), &text);
    }
    let mut index = String::new();
    for number in 0..memories {
        let body = match number % 20 {
            0..10 => format!(
                "{}.\n\nSee `src/w{}.rs` and `fn_w{}`.",
                dice.text(30),
                number % 900,
                number % 90
            ),
            10..13 => format!(
                "The server of unit {number} listens on port {} behind the proxy.",
                1_000 + number % 9_000
            ),
            13..15 => format!(
                "Teams own their services and say so in the handbook, as {} does.",
                dice.text(14)
            ),
            15 => {
                let rule = Dice((number / 40) as u64).text(24);
                format!("{rule}. Since {}. See [[m{}]].", dice.text(2), number / 2)
            }
            16 => format!(
                "{} is on call this week.",
                Dice((number % 4_000) as u64).text(12)
            ),
            _ => format!(
                "Ask {} about {}. See [[m{}]].",
                dice.text(1),
                dice.text(12),
                number - 1
            ),
        };
        let name = format!("m{number}");
        let about = dice.text(8);
        let text =
            format!("---\nname: {name}\ndescription: {about}\ntype: project\n---\n\n{body}\n");
        write(&root.join(format!("memory/{name}.md")), &text);
        if number < 100 {
            let line = format!("- [{name}]({name}.md) — by hand\n");
            index.push_str(&line);
        }
    }
    write(&root.join("memory/MEMORY.md"), &index);
}

fn write(path: &Path, text: &str) {
    // Without a sync for each: a hundred thousand of those take longer than the benchmark.
    let file = OpenOptions::new().create_new(true).write(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .expect("a file");
}
