//! Questions for a version: one flag that prints and ends, for programs that read nothing from the
//! working directory before it.
//!
//! # Not here
//! Programs that start what the folder names even then: `yarn` (`yarnPath`), `mvn` and `gradle`
//! (options of the virtual machine), `bazel` (a wrapper), `pytest` (plugins).

use crate::shell::policy::{Folder, Policy};
use crate::shell::reason::Reason;
use crate::shell::word::Word;

/// Programs, and the words that ask them for their version.
const ASKED: &[(&[&str], &[&str])] = &[
    (&["node", "npm", "npx", "bun"], &["--version", "-v"]),
    (&["deno", "uv", "ruff", "tsc"], &["--version", "-V"]),
    (&["python", "python3", "pip", "pip3"], &["--version", "-V"]),
    (
        &["cargo", "rustc", "rustup", "rustfmt"],
        &["--version", "-V", "-vV"],
    ),
    (&["go"], &["version"]),
    (&["java", "javac"], &["--version", "-version"]),
    (
        &["gcc", "g++", "cc", "c++", "clang", "clang++", "ld", "as"],
        &["--version"],
    ),
    (&["make", "cmake", "ninja"], &["--version"]),
    (&["ruby", "gem", "perl", "php", "lua"], &["--version", "-v"]),
    (&["docker", "gh", "bash", "zsh", "tmux"], &["--version"]),
    (
        &["psql", "sqlite3", "curl", "wget", "tar", "rsync", "swift"],
        &["--version"],
    ),
    (&["openssl"], &["version"]),
];

/// Programs that are chosen by a file in the folder: `rust-toolchain.toml` may name a path.
const CHOSEN_BY_FOLDER: [&str; 4] = ["cargo", "rustc", "rustfmt", "go"];

/// True if the words ask a known program for its version and nothing else.
pub(super) fn asks_for_version(name: &str, words: &[Word]) -> bool {
    let [word] = words else {
        return false;
    };
    ASKED
        .iter()
        .any(|(names, asks)| names.contains(&name) && asks.contains(&word.text.as_str()))
}

/// Judges a question for a version.
pub(super) fn check(name: &str, policy: &Policy) -> Result<(), Reason> {
    if CHOSEN_BY_FOLDER.contains(&name) && policy.folder == Folder::Loose {
        return Err(Reason::Settings {
            command: name.to_owned(),
        });
    }
    Ok(())
}
