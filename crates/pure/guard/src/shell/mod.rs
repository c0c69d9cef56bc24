//! Judge of command lines: whether a line only reads.
//!
//! # Model
//! An allow list, never a block list. A line passes when
//! 1. its characters hide nothing (`characters`);
//! 2. a lexer of quotes and a full parser agree on its words (`lexer`), and the parser finds only
//!    simple commands joined by `|`, `&&`, `||` and `;`, with no redirection to a file
//!    (`structure`);
//! 3. each word means what it says: no substitution, no variable, no expansion that could turn into
//!    a flag (`word`);
//! 4. each command is in the table, and its flags are in its row, spelled out (`grammar`,
//!    `arguments`, `commands`);
//! 5. the files it reads lie where the [`Policy`] permits (`places`).
//!
//! Everything else is refused with a [`Reason`], which names the part and, where there is one, the
//! way to rewrite it.
//!
//! # Not here
//! Running anything. The verdict is about text; the executor runs the line with a time limit,
//! without a terminal (so that no pager starts), with the environment of `dormouse-system` and in
//! its sandbox, without write access and network.

mod arguments;
mod characters;
mod commands;
mod grammar;
mod lexer;
mod parts;
mod places;
mod policy;
mod reason;
mod scripts;
mod structure;
mod word;

pub use parts::{Part, parts};
pub use policy::{Folder, Policy, Reach};
pub use reason::Reason;

use structure::Simple;

/// Longest line in bytes that is judged. Longer ones are scripts, which nothing here could judge
/// usefully; the bound also limits the parser's time.
pub const LONGEST_LINE: usize = 8 * 1024;
/// Upper bound on commands in one line: far above real pipelines, and a bound on the work.
pub const MOST_COMMANDS: usize = 64;
/// Upper bound on `[` in one word: the parser recurses for each, in search of array elements, and
/// some thousands overflow its stack.
pub const MOST_BRACKETS: usize = 32;
/// Upper bound on nested shells (`sh -c "sh -c …"`); each level hides the command from a reader of
/// the log.
pub const MOST_SHELLS: usize = 2;

/// Verdict on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The line only reads.
    Allow,
    /// The line may do more, or its effect is unknown.
    Refuse(Reason),
}

impl Verdict {
    /// True if the line only reads.
    pub fn is_allowed(&self) -> bool {
        *self == Self::Allow
    }
}

/// Judges a command line under the strictest [`Policy`]: contents are read only below the working
/// directory, and nothing uses the network.
pub fn classify(command_line: &str) -> Verdict {
    classify_with(command_line, &Policy::default())
}

/// Judges a command line under a policy.
pub fn classify_with(command_line: &str, policy: &Policy) -> Verdict {
    match check_line(command_line, policy, 0) {
        Ok(()) => Verdict::Allow,
        Err(reason) => Verdict::Refuse(reason),
    }
}

/// Judges a line inside `depth` shells.
fn check_line(line: &str, policy: &Policy, depth: usize) -> Result<(), Reason> {
    // A newline at the end is common in tool input and harmless; one inside separates commands.
    let line = line.trim_matches([' ', '\t', '\n']);
    characters::check(line)?;
    let commands = structure::read(line, policy)?;
    let mut first_of_pipe = 0;
    for (at, command) in commands.iter().enumerate() {
        if !command.piped {
            first_of_pipe = at;
        }
        check_command(command, &commands[first_of_pipe..at], policy, depth)?;
    }
    places::check_after_leaving(&commands, policy)
}

fn check_command(
    command: &Simple,
    before: &[Simple],
    policy: &Policy,
    depth: usize,
) -> Result<(), Reason> {
    let (name, words) = (command.name.as_str(), command.words.as_slice());
    if let Some(script) = commands::shell_script(name, words)? {
        if depth == MOST_SHELLS {
            return Err(Reason::TooManyShells);
        }
        return check_line(script, policy, depth + 1);
    }
    commands::check(command, before, policy)
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
