//! Check of the paths whose contents a command reads.
//!
//! By text alone: symbolic links are followed by the command, which is the sandbox's business.

use super::policy::{Policy, Reach};
use super::reason::Reason;
use super::structure::Simple;
use super::word::Word;
use std::path::Path;

/// Directories of the root without ordinary files: reading there has effects, never ends, or shows
/// memory. The last is how `awk` names connections.
const NO_FILES: [&str; 4] = ["dev", "proc", "sys", "inet"];

/// Checks that the contents at this path may be read.
pub(super) fn check_contents(word: &Word, policy: &Policy) -> Result<(), Reason> {
    check_device(word, From::Unknown)?;
    check_root(word, From::Unknown)?;
    check_reach(word, policy)
}

/// Checks that a line may go to this directory; to the root too, whose files are looked at later.
pub(super) fn check_directory(word: &Word, policy: &Policy) -> Result<(), Reason> {
    check_device(word, From::Unknown)?;
    check_reach(word, policy)
}

fn check_reach(word: &Word, policy: &Policy) -> Result<(), Reason> {
    let text = word.text.as_str();
    let outside = || Reason::Outside {
        path: text.to_owned(),
    };
    // A pattern may expand to `..`, which no literal comparison sees.
    let goes_up = |part: &str| part == ".." || word.glob && could_be_parent(part);
    let goes_up = text.split('/').any(goes_up);
    match &policy.reach {
        Reach::Anywhere => Ok(()),
        _ if goes_up || word.home => Err(outside()),
        _ if !text.starts_with('/') => Ok(()),
        Reach::Below(roots) if roots.iter().any(|root| Path::new(text).starts_with(root)) => Ok(()),
        Reach::Below(_) | Reach::Inside => Err(outside()),
    }
}

/// Checks a whole line that may leave the working directory: behind `cd /` the path `proc/1/mem`
/// leads to memory. Every word counts, whatever it means to its command, because only few lines
/// leave and name such words.
pub(super) fn check_after_leaving(commands: &[Simple], policy: &Policy) -> Result<(), Reason> {
    let is_cd = |command: &&Simple| command.name == "cd";
    let may_reach_root = commands
        .iter()
        .filter(is_cd)
        .any(|command| command.words.iter().any(may_be_root));
    if policy.reach != Reach::Anywhere || !may_reach_root {
        return Ok(());
    }
    for command in commands {
        for word in command.words.iter().chain(&command.inputs) {
            check_device(word, From::Root)?;
            if !is_cd(&command) {
                check_root(word, From::Root)?;
            }
        }
    }
    Ok(())
}

/// True if a directory may be the root: it is, or the path leads up.
fn may_be_root(word: &Word) -> bool {
    let (at_root, names) = resolve(word);
    at_root && (names.is_empty() || !word.text.starts_with('/'))
}

/// True if a pattern may match `..`, as `.*`, `.?` and `.[!a]` do.
fn could_be_parent(pattern: &str) -> bool {
    let after_dots = pattern.trim_start_matches('.');
    after_dots.len() < pattern.len() && after_dots.starts_with(['*', '?', '['])
}

/// Directory that a relative path starts from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    /// Somewhere below the root: with enough `..` the path reaches the root.
    Unknown,
    /// Perhaps the root itself.
    Root,
}

/// True if the path leads to the root, and the names of the path below the root, or below the
/// directory that it starts from.
fn resolve(word: &Word) -> (bool, Vec<&str>) {
    let mut at_root = word.text.starts_with('/');
    let mut names = Vec::new();
    for part in word.text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    at_root = true;
                }
            }
            name => names.push(name),
        }
    }
    (at_root, names)
}

fn check_device(word: &Word, from: From) -> Result<(), Reason> {
    let text = word.text.as_str();
    let (leads_up, names) = resolve(word);
    let at_root = leads_up || from == From::Root && !word.home;
    let leads_to_device = |name: &&str| {
        // A pattern counts by the letters before its first sign.
        let end = name.find(['*', '?', '[']).filter(|_| word.glob);
        NO_FILES.iter().any(|device| match end {
            Some(end) => device.starts_with(&name[..end]),
            None => device == name,
        })
    };
    if at_root && text != "/dev/null" && names.first().is_some_and(leads_to_device) {
        return Err(Reason::Device {
            path: text.to_owned(),
        });
    }
    Ok(())
}

/// Refuses the root itself, which holds the devices too, and paths of several `..` that may end
/// there.
fn check_root(word: &Word, from: From) -> Result<(), Reason> {
    let text = word.text.as_str();
    let (leads_up, names) = resolve(word);
    let one_up = text.trim_end_matches('/') == "..";
    let at_root = leads_up && !one_up || from == From::Root && !text.is_empty();
    if at_root && names.is_empty() {
        return Err(Reason::Device {
            path: text.to_owned(),
        });
    }
    Ok(())
}
