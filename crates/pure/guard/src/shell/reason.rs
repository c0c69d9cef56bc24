//! Why a command line is refused.

use super::{LONGEST_LINE, MOST_BRACKETS, MOST_COMMANDS};
use serde::Serialize;

/// Why a command line is refused. The message says what, and the remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// Nothing to run.
    #[error("there is no command")]
    Empty,
    /// Longer than anything a person would check.
    #[error("the line has {bytes} bytes; at most {LONGEST_LINE} are looked at")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Too many commands.
    #[error("the line has {count} commands; at most {MOST_COMMANDS} are looked at")]
    TooManyCommands {
        /// How many there are.
        count: usize,
    },
    /// Too many brackets.
    #[error("a word has more than {MOST_BRACKETS} opening brackets")]
    TooManyBrackets,
    /// Shells in shells.
    #[error("shells start shells too many times over; write the command itself")]
    TooManyShells,
    /// A line break.
    #[error("the line has a line break; join commands with `;` or `&&`")]
    LineBreak,
    /// A control character.
    #[error("the line has the control character U+{code:04X}")]
    Control {
        /// The character's number.
        code: u32,
    },
    /// A character that cannot be seen, or a space that is none to the shell.
    #[error("the line has the invisible character or unusual space U+{code:04X}")]
    Invisible {
        /// The character's number.
        code: u32,
    },
    /// The rest of the line is hidden from one reader and not from another.
    #[error("the line has a comment; leave it out")]
    Comment,
    /// The parser cannot make sense of it.
    #[error("the line cannot be parsed: {detail}")]
    Unparsable {
        /// What the parser said.
        detail: String,
    },
    /// Loops, conditions, groups, functions, tests, arithmetic.
    #[error("{what} is not allowed; write plain commands joined by `|`, `&&`, `||` or `;`")]
    Compound {
        /// What it is.
        what: &'static str,
    },
    /// `&`.
    #[error("a command is sent to the background; leave out the `&`")]
    Background,
    /// `!` before a command.
    #[error("`!` before a command is not allowed")]
    Negation,
    /// `time` before a command.
    #[error("`time` before a command is not allowed; write the command itself")]
    Timing,
    /// `NAME=value`.
    #[error("`{name}=…` sets a variable")]
    Assignment {
        /// The variable.
        name: String,
    },
    /// `>` to a file, or a file descriptor that is not the output.
    #[error(
        "the redirection `{redirection}` may write to a file; only `2>&1` and `/dev/null` are allowed"
    )]
    Redirection {
        /// As it is written.
        redirection: String,
    },
    /// `<<`, `<<<`.
    #[error("{what} is not allowed")]
    HereDocument {
        /// What it is.
        what: &'static str,
    },
    /// `$`, backquotes.
    #[error("`{word}` is expanded by the shell; write the text itself, in single quotes")]
    Expansion {
        /// As it is written.
        word: String,
    },
    /// `{a,b}`.
    #[error("`{word}` is expanded to several words; write them out")]
    Braces {
        /// As it is written.
        word: String,
    },
    /// A pattern whose matches could be taken for something else.
    #[error(
        "`{word}` may match names that act as flags or lead elsewhere; write `./` before it, or quote it"
    )]
    Glob {
        /// As it is written.
        word: String,
    },
    /// A home other than `~/`.
    #[error("`{word}` names somebody's directory; write the path")]
    Tilde {
        /// As it is written.
        word: String,
    },
    /// A command name that is quoted, escaped or a path.
    #[error("the command name `{name}` is not written plainly")]
    HiddenCommand {
        /// As it is written.
        name: String,
    },
    /// Not in the table.
    #[error("`{command}` is not one of the commands that only read")]
    UnknownCommand {
        /// The command.
        command: String,
    },
    /// In no list, because it can write or run something.
    #[error("`{command}` is refused: {why}")]
    Dangerous {
        /// The command.
        command: String,
        /// What it can do.
        why: &'static str,
    },
    /// It would send something out.
    #[error("`{command}` asks the network, which is not allowed here")]
    Network {
        /// The command.
        command: String,
    },
    /// A command of commands without one.
    #[error("`{command}` needs one of its reading subcommands")]
    Subcommand {
        /// The command.
        command: String,
    },
    /// A flag that is not in the command's row.
    #[error("`{flag}` is not one of the flags allowed for `{command}`")]
    UnknownFlag {
        /// The command.
        command: String,
        /// The flag.
        flag: String,
    },
    /// A flag whose value is missing, superfluous or looks like a flag.
    #[error("the value of `{flag}` of `{command}` is missing or not allowed")]
    FlagValue {
        /// The command.
        command: String,
        /// The flag.
        flag: String,
    },
    /// An argument the command does not take, or could write to.
    #[error("`{argument}` is not allowed as an argument of `{command}`: {why}")]
    Argument {
        /// The command.
        command: String,
        /// The argument.
        argument: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Outside of where contents may be read.
    #[error("`{path}` lies outside of what may be read; name a path below the working directory")]
    Outside {
        /// The path.
        path: String,
    },
    /// A device, or what the kernel shows as a file.
    #[error("`{path}` is a device or a file of the kernel")]
    Device {
        /// The path.
        path: String,
    },
}
