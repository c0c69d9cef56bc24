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
//! 4. each command is in the table, and its flags are in its row, spelled out (`commands`);
//! 5. the files it reads lie where the [`Policy`] permits (`places`).
//!
//! Everything else is refused with a [`Reason`], which names the part and, where there is one, the
//! way to rewrite it.
//!
//! # Not here
//! Running anything. The verdict is about text; the executor runs the line with a time limit,
//! without a terminal (so that no pager starts), with [`ENVIRONMENT`] set, and where the kernel
//! permits in a sandbox without write access and network.

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

/// Environment that an executor has to set for a line that passed, so that it starts nothing else:
/// no pager, no start-up file of a shell, no configuration that names programs.
///
/// A repository's own configuration stays in force, since its writer could run programs anyway. A
/// bare repository that lies unpacked among other files, and could be placed there by the model, is
/// excluded (`safe.bareRepository`).
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
