//! The README's screens, compared with the output of the program.
//!
//! Each fenced block with lines that begin with `$ dormouse` is run by a shell, in order, on one
//! machine that has the sample session; the text below a command must be its output. A command
//! without text below it is only looked up in the help. `README_UPDATE=1 cargo test -p dormouse
//! readme` writes the screens anew.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail as it does")]

use crate::program::Machine;
use dormouse_system::{Access, Files as _, RealFiles};
use pretty_assertions::assert_eq;
use regex::Regex;
use std::path::Path;
use std::process::Command;

/// The README, from this crate's folder.
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../README.md");
/// The page about policies.
const POLICIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/policies.md");
/// The section of that page whose tables are written by a test.
const CACHE_SECTION: &str = "## Is it only cache economics?\n";
/// The sample session that the README's commands read.
const SAMPLE: &str = include_str!("../../../../../docs/sample.jsonl");
/// Beginning of a line that is run.
const PROMPT: &str = "$ dormouse";
/// Beginning and end of a block of the README.
const FENCE: &str = "```";
/// Info string of blocks that list commands; others show their output.
const LIST: &str = "```console";

/// Ids and durations differ from run to run, ages from day to day.
const DIFFERS: [(&str, &str); 4] = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}", "ID"),
    (r"\d+(\.\d+)? (µs|ms)\b", "TIME"),
    (r"\d+ (mo|d|h|y) ago", "AGE"),
    // Columns move with the width of a duration.
    (" +", " "),
];

fn comparable(text: &str) -> String {
    DIFFERS
        .iter()
        .fold(text.to_owned(), |text, (pattern, with)| {
            let pattern = Regex::new(pattern).unwrap();
            pattern.replace_all(&text, *with).into_owned()
        })
}

fn run(machine: &Machine, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_dormouse"));
    // The system's own folders too, for `head` behind a long output.
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", line])
        .env_clear()
        .env("HOME", machine.home())
        .env("PATH", path)
        .current_dir(machine.home().join("project"));
    let run = machine.ran(&mut shell);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{line}");
    run.stdout
}

/// The README with the output of every command that shows one.
fn written_anew(readme: &str) -> String {
    let machine = Machine::new(&[("project/docs/sample.jsonl", SAMPLE)]);
    let (mut page, mut lines) = (String::new(), readme.lines().peekable());
    let mut push = |line: &str| page.extend([line, "\n"]);
    let mut in_list = false;
    while let Some(line) = lines.next() {
        push(line);
        if line.starts_with(FENCE) {
            in_list = line == LIST;
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| line.starts_with(PROMPT)) else {
            continue;
        };
        if in_list {
            let word = command.split_whitespace().nth(1).unwrap();
            run(&machine, &format!("dormouse help {word}"));
            continue;
        }
        for line in run(&machine, command).lines() {
            push(line);
        }
        while lines
            .peek()
            .is_some_and(|next| !next.starts_with(PROMPT) && !next.starts_with(FENCE))
        {
            lines.next();
        }
    }
    page
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for the person who runs the test, not for the program"
)]
fn update_wanted() -> bool {
    std::env::var_os("README_UPDATE").is_some()
}

/// Compares a part of a page with the output of its commands, and writes it anew where wanted.
fn check(path: &str, part: impl Fn(&str) -> std::ops::Range<usize>) {
    let path = Path::new(path);
    let page = RealFiles.read(path, u64::MAX).unwrap();
    let page = String::from_utf8(page.to_vec()).unwrap();
    let part = part(&page);
    let anew = written_anew(&page[part.clone()]);
    if update_wanted() {
        let whole = [&page[..part.start], &anew, &page[part.end..]].concat();
        RealFiles
            .replace(path, whole.as_bytes(), Access::Shared)
            .unwrap();
    }
    assert_eq!(comparable(&page[part]), comparable(&anew));
}

#[test]
fn shows_what_the_program_prints() {
    check(README, |page| 0..page.len());
}

#[test]
#[ignore = "plays long sessions for minutes; run it with README_UPDATE=1 when a policy changes"]
fn the_tables_about_the_cache_are_those_of_the_program() {
    check(POLICIES, |page| {
        let from = page.find(CACHE_SECTION).unwrap();
        let behind = from + CACHE_SECTION.len();
        let to = page[behind..].find("\n## ").unwrap();
        from..behind + to + 1
    });
}
