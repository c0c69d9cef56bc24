//! Commands that only read, one row each, and the checks beyond their flags.

mod agents;
mod find;
mod forge;
mod git;
mod operands;
mod refused;
mod services;
mod table;
mod tests_of_files;
mod versions;
mod xargs;

use super::grammar::{Row, Trait};
use super::policy::{Folder, Policy};
use super::reason::Reason;
use super::structure::Simple;
use super::word::Word;

/// Judges one command by its name and words. `before` are the commands whose output it reads.
pub(super) fn check(command: &Simple, before: &[Simple], policy: &Policy) -> Result<(), Reason> {
    let (name, words) = (command.name.as_str(), command.words.as_slice());
    if versions::asks_for_version(name, words) {
        return versions::check(name, policy);
    }
    match name {
        "find" => find::check(words),
        "xargs" => xargs::check(words, before, policy),
        "test" | "[" => tests_of_files::check(name, words),
        "cargo" | "docker" | "kubectl" | "npm" | "pip" => services::check(name, words, policy),
        "git" => git::check(words, policy),
        "gh" => forge::check(words, policy),
        "letta" => agents::check(words, policy),
        _ => match table::ROWS.iter().find(|row| row.name == name) {
            Some(row) => check_row(row, words, policy),
            None => Err(refused::reason(name)),
        },
    }
}

fn check_row(row: &Row, words: &[Word], policy: &Policy) -> Result<(), Reason> {
    if row.is(Trait::Network) && !policy.network {
        return Err(Reason::Network {
            command: row.name.to_owned(),
        });
    }
    if row.is(Trait::Settings) && policy.folder == Folder::Loose {
        return Err(Reason::Settings {
            command: row.name.to_owned(),
        });
    }
    let parsed = row.parse(words, policy)?;
    operands::check(row, words, &parsed, policy)
}

/// Script of `sh -c '…'`, which is a command line again.
pub(super) fn shell_script<'a>(name: &str, words: &'a [Word]) -> Result<Option<&'a str>, Reason> {
    if !matches!(name, "sh" | "bash") || versions::asks_for_version(name, words) {
        return Ok(None);
    }
    match words {
        // A login shell reads the user's start-up files first; their writer could run programs
        // anyway. Words after the script are its arguments, which no word in it can expand.
        [flag, script, ..]
            if matches!(flag.text.as_str(), "-c" | "-lc") && !script.glob && !script.home =>
        {
            Ok(Some(&script.text))
        }
        _ => Err(Reason::Dangerous {
            command: name.to_owned(),
            why: "it runs other commands; only `-c` with one quoted line is looked into",
        }),
    }
}

/// Row of a subcommand, whose name may have two words, and the words after it.
fn subcommand<'a>(
    command: &str,
    rows: &'static [Row],
    words: &'a [Word],
) -> Result<(&'static Row, &'a [Word]), Reason> {
    let named = |count: usize| {
        let names: Vec<&str> = words
            .get(..count)?
            .iter()
            .map(|word| word.text.as_str())
            .collect();
        let name = format!("{command} {}", names.join(" "));
        let row = rows.iter().find(|row| row.name == name)?;
        Some((row, &words[count..]))
    };
    let plain = words.iter().take(2).all(|word| !word.glob && !word.home);
    let found = if plain {
        // The longer name first: `git stash list` has a row, `git stash` must not.
        named(2).or_else(|| named(1))
    } else {
        named(1)
    };
    found.ok_or_else(|| Reason::Subcommand {
        command: command.to_owned(),
    })
}
