//! Lines that pass, run by a real shell.
//!
//! # Model
//! Labelled and everyday lines are mutated at random and judged. Those that pass are run by bash in
//! a folder of their own, where most programs are stubs: those of the table do nothing, others leave
//! a trace. Programs with a language or an output file of their own (`awk`, `sed`, `xargs`, `sort`
//! and others) are the real ones, as far as the machine has them, so that a script which writes or
//! starts something is seen. A line that changes the folder or leaves a trace should not have passed.
#![expect(
    clippy::disallowed_methods,
    reason = "the subject is what a shell does to the disk"
)]

use crate::random::Random;
use dormouse_guard::shell::classify;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

const BASH: &str = "/bin/bash";
/// Number of lines generated and judged: some hundreds of them pass and are run, within seconds.
const LINES: u64 = 6_000;
/// Pieces inserted into lines.
const PIECES: [&str; 78] = [
    "'",
    "\"",
    "\\",
    "$",
    "`",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "|",
    "&",
    ";",
    "<",
    ">",
    "#",
    "*",
    "?",
    "~",
    "!",
    "=",
    "-",
    "+",
    ",",
    ".",
    ":",
    "@",
    "%",
    " ",
    "\t",
    "/",
    "0",
    "1",
    "2",
    "9",
    "a",
    "b",
    ">x",
    "2>x",
    "&>x",
    "$(touch x)",
    "`touch x`",
    ">&x",
    "|touch x",
    ";touch x",
    "&touch x",
    "<(touch x)",
    "'>x'",
    "\\>",
    "a=b",
    "{a,b}",
    "$'\\x41'",
    "\\ ",
    "''",
    "-o x",
    "<<x",
    "<<<x",
    ">|x",
    "<>x",
    "[[",
    "\u{e9}",
    "|xargs rm",
    "|xargs -I{} sh -c {}",
    "xargs ",
    "time ",
    "w x",
    ";w x",
    "{w x}",
    "/e",
    "system(\"touch x\")",
    "> \"x\"",
    "|\"sh\"",
    "print > \"x\"",
    "-i",
    "-p",
    "-l",
    "@a",
];
/// Files of the folder, some of them named like flags.
const FILES: [&str; 7] = ["a", "b", "f", "notes.md", "-o", "--output=x", "-delete"];
/// Programs that must not be started.
const TRAPS: [&str; 13] = [
    "touch", "rm", "tee", "env", "python3", "perl", "mv", "cp", "curl", "sh", "a", "b", "x",
];
/// Programs that are run as they are.
const REAL: [&str; 9] = [
    "awk", "sed", "xargs", "sort", "uniq", "xxd", "diff", "file", "jq",
];

#[derive(Deserialize)]
struct Case {
    #[serde(default = "allow")]
    expect: String,
    line: String,
}

/// Label of everyday lines, which have none.
fn allow() -> String {
    "allow".to_owned()
}

#[test]
fn what_passes_changes_nothing_when_it_runs() {
    if !Path::new(BASH).exists() {
        eprintln!("skipped: there is no {BASH}");
        return;
    }
    let cases = cases();
    let ground = Ground::new(&cases);
    let mut run = 0;
    for seed in 0..LINES {
        let mut random = Random::new(seed + 1);
        // Most start from a line that passes, so that more of them pass after the mutation.
        let wanted = random.below(4) > 0;
        let of_kind: Vec<&Case> = cases
            .iter()
            .filter(|case| !wanted || case.expect == "allow")
            .collect();
        let line = changed(&of_kind[random.below(of_kind.len())].line, &mut random);
        if classify(&line).is_allowed() {
            assert_eq!(ground.effect(&line), None, "{line:?}");
            run += 1;
        }
    }
    println!("{run} of {LINES} lines passed and were run");
    assert!(run > 100, "only {run} lines passed: nothing was tested");
}

#[test]
fn what_writes_or_starts_programs_would_be_noticed() {
    if !Path::new(BASH).exists() {
        return;
    }
    for line in [
        "ls > x",
        "echo x > a",
        "touch x",
        "ls | env",
        "echo x >> src/new",
        "awk 'BEGIN { print 1 > \"x\" }'",
        "awk 'BEGIN { system(\"touch x\") }'",
        "echo 1 | sed 'w x'",
        "echo 1 | sed 's/1/touch x/e'",
        "echo x | xargs touch",
        "sort -o x a",
        "xxd -r a x",
    ] {
        let ground = Ground::new(&cases());
        assert!(ground.effect(line).is_some(), "{line}");
    }
}

fn cases() -> Vec<Case> {
    let labelled = include_str!("../data/shell_cases.jsonl");
    let everyday = include_str!("../data/shell_everyday.jsonl");
    let lines = labelled.lines().chain(everyday.lines());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn changed(line: &str, random: &mut Random) -> String {
    let mut line: Vec<char> = line.chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(line.len() + 1);
        match random.below(6) {
            0 if at < line.len() => _ = line.remove(at),
            _ => drop(line.splice(at..at, PIECES[random.below(PIECES.len())].chars())),
        }
    }
    line.into_iter().collect()
}

/// Folder in which lines are run.
struct Ground {
    directory: TempDir,
}

impl Ground {
    fn new(cases: &[Case]) -> Self {
        let ground = Self {
            directory: TempDir::new().unwrap(),
        };
        fs::create_dir_all(ground.path("programs")).unwrap();
        fs::create_dir_all(ground.path("work/src")).unwrap();
        fs::create_dir_all(ground.path("work/sub")).unwrap();
        let allowed = cases.iter().filter(|case| case.expect == "allow");
        let is_name = |word: &&str| {
            word.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && word.starts_with(|first: char| first.is_ascii_lowercase())
        };
        let names: BTreeSet<&str> = allowed
            .flat_map(|case| case.line.split_whitespace().filter(is_name))
            .collect();
        for name in names {
            ground.program(name, "exit 0");
        }
        for name in REAL {
            let real = Path::new("/usr/bin").join(name);
            if real.exists() {
                let script = format!("exec /usr/bin/timeout 1 {} \"$@\"", real.display());
                ground.program(name, &script);
            }
        }
        for name in TRAPS {
            ground.program(name, "echo \"$0\" >> \"$TRACE\"");
        }
        for name in FILES {
            fs::write(ground.path("work").join(name), "").unwrap();
        }
        ground
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("programs").join(name);
        fs::write(&path, format!("#!{BASH}\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Everything in the folder, with its length.
    fn state(&self) -> BTreeSet<(String, u64)> {
        let mut state = BTreeSet::new();
        for folder in ["work", "work/src", "work/sub"] {
            for entry in fs::read_dir(self.path(folder)).unwrap() {
                let entry = entry.unwrap();
                let length = if entry.path().is_file() {
                    entry.metadata().unwrap().len()
                } else {
                    0
                };
                state.insert((entry.path().display().to_string(), length));
            }
        }
        state
    }

    /// Forbidden effect of a line, if it has one.
    fn effect(&self, line: &str) -> Option<&'static str> {
        let before = self.state();
        Command::new(BASH)
            .args(["-c", line])
            .env_clear()
            .env("PATH", self.path("programs"))
            .env("HOME", self.path("work/sub"))
            .env("TRACE", self.path("trace"))
            .current_dir(self.path("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        if self.path("trace").exists() {
            return Some("it starts a program without a row");
        }
        (self.state() != before).then_some("it changes the folder")
    }
}
