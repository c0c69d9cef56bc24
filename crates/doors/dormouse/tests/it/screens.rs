//! Main screens of the command line as files, so that a change of a screen is seen in a diff.
//!
//! `INSTA_UPDATE=always cargo test -p dormouse screens` writes them anew.

use crate::program::Machine;
use insta::assert_snapshot;
use std::fmt::Write as _;

/// The sample session, also used by the README.
const SAMPLE: &str = include_str!("../../../../../docs/sample.jsonl");

/// Ids and durations differ from run to run, ages from day to day.
const DIFFERS: [(&str, &str); 5] = [
    // The folder of a project is named after its path, which is a temporary one here.
    (r"-tmp--tmp\w{6}-", "-HOME-"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}", "ID"),
    (r"\d+(\.\d+)? (µs|ms)\b", "TIME"),
    (r" *\d+ (mo|d|h|y) ago", " AGE"),
    (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "NOW"),
];

/// The commands, one session after the other, and the name of each screen. A name of `-` is not
/// kept.
const SCREENS: &[(&str, &[&str])] = &[
    ("welcome", &[]),
    ("sessions", &["sessions", "."]),
    ("context", &["context", "sample.jsonl"]),
    ("context_at", &["context", "sample.jsonl", "--at", "9"]),
    ("usage", &["usage", "sample.jsonl"]),
    ("stats", &["stats", "sample.jsonl"]),
    ("log", &["log", "sample.jsonl"]),
    ("view", &["view", "sample.jsonl", "--request", "2"]),
    ("replay", &["replay", "sample.jsonl"]),
    ("extract_dry_run", &["extract", "sample.jsonl", "--dry-run"]),
    (
        "-",
        &["memory", "add", "Never edit src/legacy.rs, it is generated"],
    ),
    (
        "-",
        &["memory", "add", "Releases are cut on Thursdays by Ann"],
    ),
    ("memory_list", &["memory", "list"]),
    ("memory_status", &["memory", "status"]),
    ("memory_log", &["memory", "log"]),
    ("memory_inbox", &["memory", "inbox"]),
    ("memory_check", &["memory", "check"]),
    ("recall", &["recall", "is", "legacy.rs", "generated"]),
    ("recall_nothing", &["recall", "capital", "of", "France"]),
    ("search", &["search", "legacy"]),
    ("dream_dry_run", &["dream", "--dry-run"]),
    ("memory_undo", &["memory", "undo"]),
    ("config_show", &["config", "show"]),
    ("gc", &["gc"]),
    ("error_no_file", &["context", "nowhere.jsonl"]),
    ("error_no_command", &["memori"]),
];

#[test]
fn screens_are_as_recorded() {
    let machine = Machine::new(&[("project/sample.jsonl", SAMPLE)]);
    for (name, arguments) in SCREENS {
        let run = machine.run_of(arguments);
        if *name == "-" {
            assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
            continue;
        }
        let command = ["dormouse"].iter().chain(*arguments).copied();
        let command: Vec<&str> = command.collect();
        let mut screen = format!("$ {}\n{}", command.join(" "), run.stdout);
        if !run.stderr.is_empty() {
            let _ = write!(screen, "\n━━ standard error\n{}", run.stderr);
        }
        if run.code != 0 {
            let _ = writeln!(screen, "\n━━ exit code {}", run.code);
        }
        insta::with_settings!({ filters => DIFFERS.to_vec(), prepend_module_to_snapshot => false, omit_expression => true }, {
            assert_snapshot!(*name, screen);
        });
    }
}
