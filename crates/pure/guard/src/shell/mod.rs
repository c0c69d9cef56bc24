//! Whether a command line only reads.
//!
//! # Model
//! A list of what is allowed, never of what is forbidden. A line passes when
//! 1. its characters hide nothing (`characters`);
//! 2. a reader of quotes and a real parser agree on its words (`lexer`), and the parser finds
//!    nothing but simple commands joined by `|`, `&&`, `||` and `;`, with no redirection to a file
//!    (`structure`);
//! 3. each word means what it says: no substitution, no variable, no expansion that could turn
//!    into a flag (`word`);
//! 4. each command is in the table, with flags that are in its row, spelled out (`commands`);
//! 5. what it reads lies where the [`Policy`] lets it read (`places`).
//!
//! Everything else is refused with a [`Reason`], which says what and, where there is a way, how to
//! write it instead.
//!
//! # Not here
//! Running anything. The check is of the text; whoever runs the line does so with a time limit, with
//! no terminal (so that nothing starts a pager), and where the kernel can in a sandbox without
//! write access and network.

mod arguments;
mod characters;
mod commands;
mod lexer;
mod places;
mod policy;
mod reason;
mod scripts;
mod structure;
mod word;

pub use policy::{Policy, Reach};
pub use reason::Reason;

use structure::Simple;

/// The longest line that is looked at, in bytes.
pub const LONGEST_LINE: usize = 8 * 1024;
/// The most commands in one line.
pub const MOST_COMMANDS: usize = 64;
/// The most `[` in one word: the parser goes one level deeper for each, looking for elements of
/// lists.
pub const MOST_BRACKETS: usize = 32;
/// The most shells within shells (`sh -c "sh -c …"`).
pub const MOST_SHELLS: usize = 2;

/// What the environment of a line that passed must hold, for the same line to start nothing else:
/// no pager, no start-up file of a shell, no configuration that names programs.
///
/// A repository's own configuration stays in force: whoever can write it could do as much before.
/// One that lies unpacked among the files of another (which makes it the model's to choose) does not.
pub const ENVIRONMENT: [(&str, &str); 17] = [
    ("BASH_ENV", ""),
    ("ENV", ""),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("GH_PROMPT_DISABLED", "1"),
    ("RIPGREP_CONFIG_PATH", ""),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CONFIG_COUNT", "3"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
    ("GIT_CONFIG_KEY_1", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_1", "false"),
    ("GIT_CONFIG_KEY_2", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_2", "/dev/null"),
    ("LESSOPEN", ""),
];

/// The judgement of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It only reads.
    Allow,
    /// It may do more, or it cannot be told.
    Refuse(Reason),
}

impl Verdict {
    /// Whether it only reads.
    pub fn is_allowed(&self) -> bool {
        *self == Self::Allow
    }
}

/// Judges a command line under the strictest [`Policy`]: contents are read below the working
/// directory only, and nothing asks the network.
pub fn classify(command_line: &str) -> Verdict {
    classify_with(command_line, &Policy::default())
}

/// Judges a command line.
pub fn classify_with(command_line: &str, policy: &Policy) -> Verdict {
    match check_line(command_line, policy, 0) {
        Ok(()) => Verdict::Allow,
        Err(reason) => Verdict::Refuse(reason),
    }
}

/// `depth` counts the shells around it.
fn check_line(line: &str, policy: &Policy, depth: usize) -> Result<(), Reason> {
    let line = line.trim_matches([' ', '\t', '\n']);
    characters::check(line)?;
    let commands = structure::read(line, policy)?;
    commands
        .iter()
        .try_for_each(|command| check_command(command, policy, depth))
}

fn check_command(command: &Simple, policy: &Policy, depth: usize) -> Result<(), Reason> {
    let (name, words) = (command.name.as_str(), command.words.as_slice());
    if let Some(script) = commands::shell_script(name, words)? {
        if depth == MOST_SHELLS {
            return Err(Reason::TooManyShells);
        }
        return check_line(script, policy, depth + 1);
    }
    commands::check(name, words, policy)
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
