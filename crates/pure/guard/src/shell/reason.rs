//! Reasons to refuse a command line.

use super::{LONGEST_LINE, MOST_BRACKETS, MOST_COMMANDS};
use serde::Serialize;

/// Reason to refuse a command line. Each message names the part, and the remedy where there is one.
/// Models read these messages as tool results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// Line without a command.
    #[error("there is no command")]
    Empty,
    /// Line that is longer than the limit.
    #[error("the line has {bytes} bytes; at most {LONGEST_LINE} are looked at")]
    TooLong {
        /// Length of the line in bytes.
        bytes: usize,
    },
    /// Line with more commands than the limit.
    #[error("the line has {count} commands; at most {MOST_COMMANDS} are looked at")]
    TooManyCommands {
        /// Number of commands in the line.
        count: usize,
    },
    /// Word with more brackets than the limit.
    #[error("a word has more than {MOST_BRACKETS} opening brackets")]
    TooManyBrackets,
    /// Shells nested more deeply than the limit.
    #[error("shells start shells too many times over; write the command itself")]
    TooManyShells,
    /// Line break, which separates commands.
    #[error("the line has a line break; join commands with `;` or `&&`")]
    LineBreak,
    /// Control character, which terminals interpret.
    #[error("the line has the control character U+{code:04X}")]
    Control {
        /// Code point of the character.
        code: u32,
    },
    /// Invisible character, or a space that is none to the shell.
    #[error("the line has the invisible character or unusual space U+{code:04X}")]
    Invisible {
        /// Code point of the character.
        code: u32,
    },
    /// Comment with signs that a shell could read as part of the command.
    #[error("the line has a comment that some shells would run; leave it out")]
    Comment,
    /// Line that cannot be parsed.
    #[error("the line cannot be parsed: {detail}")]
    Unparsable {
        /// Message of the parser or lexer.
        detail: String,
    },
    /// Compound command: loop, condition, group, function, test, arithmetic.
    #[error("{what} is not allowed; write plain commands joined by `|`, `&&`, `||` or `;`")]
    Compound {
        /// Name of the construct, with its article.
        what: &'static str,
    },
    /// Background command with `&`: it would outlive the time limit.
    #[error("a command is sent to the background; leave out the `&`")]
    Background,
    /// Negation with `!` before a command.
    #[error("`!` before a command is not allowed")]
    Negation,
    /// Variable assignment `NAME=value`: variables such as `LD_PRELOAD` start programs.
    #[error("`{name}=…` sets a variable")]
    Assignment {
        /// Name of the variable.
        name: String,
    },
    /// Redirection to a file, or of an unusual file descriptor.
    #[error(
        "the redirection `{redirection}` may write to a file; only `2>&1` and `/dev/null` are allowed"
    )]
    Redirection {
        /// Redirection as the parser prints it.
        redirection: String,
    },
    /// Here document (`<<`) or here string (`<<<`).
    #[error("{what} is not allowed")]
    HereDocument {
        /// Name of the construct, with its article.
        what: &'static str,
    },
    /// Expansion by `$` or backquotes.
    #[error("`{word}` is expanded by the shell; write the text itself, in single quotes")]
    Expansion {
        /// Word as written, quotes included.
        word: String,
    },
    /// Brace expansion, such as `{a,b}`.
    #[error("`{word}` is expanded to several words; write them out")]
    Braces {
        /// Word as written, quotes included.
        word: String,
    },
    /// Pattern whose matches could act as flags or lead elsewhere.
    #[error(
        "`{word}` may match names that act as flags or lead elsewhere; write `./` before it, or quote it"
    )]
    Glob {
        /// Pattern without its quotes.
        word: String,
    },
    /// Home directory of another user, or `~+` and `~-`.
    #[error("`{word}` names somebody's directory; write the path")]
    Tilde {
        /// Word as written, quotes included.
        word: String,
    },
    /// Command name that is quoted, escaped or a path.
    #[error("the command name `{name}` is not written plainly")]
    HiddenCommand {
        /// Name without its quotes.
        name: String,
    },
    /// Command without a row in the table.
    #[error("`{command}` is not one of the commands that only read")]
    UnknownCommand {
        /// Name of the command.
        command: String,
    },
    /// Known command that has no row because it can write or run something.
    #[error("`{command}` is refused: {why}")]
    Dangerous {
        /// Name of the command.
        command: String,
        /// Effect that excludes it, as a clause.
        why: &'static str,
    },
    /// Command that uses the network, where the policy forbids it.
    #[error("`{command}` asks the network, which is not allowed here")]
    Network {
        /// Name of the command with its subcommand.
        command: String,
    },
    /// Command that starts programs which settings in the folder name, where nothing holds them.
    #[error("`{command}` starts programs that settings in this folder may name")]
    Settings {
        /// Name of the command with its subcommand.
        command: String,
    },
    /// Words for `xargs` that are not visible in the line.
    #[error("`xargs` would pass on words that are not judged: {why}")]
    UnseenWords {
        /// Reason as a clause.
        why: &'static str,
    },
    /// Command that needs a subcommand with a row, and has none.
    #[error("`{command}` needs one of its reading subcommands")]
    Subcommand {
        /// Name of the command.
        command: String,
    },
    /// Flag that is not in the command's row.
    #[error("`{flag}` is not one of the flags allowed for `{command}`")]
    UnknownFlag {
        /// Name of the command.
        command: String,
        /// Flag without its value.
        flag: String,
    },
    /// Flag that is known, and does more than read.
    #[error("`{flag}` of `{command}` is refused: {why}")]
    HarmfulFlag {
        /// Name of the command.
        command: String,
        /// Flag without its value.
        flag: String,
        /// Effect as a clause.
        why: &'static str,
    },
    /// Flag whose value is missing, superfluous or looks like a flag.
    #[error("the value of `{flag}` of `{command}` is missing or not allowed")]
    FlagValue {
        /// Name of the command.
        command: String,
        /// Flag without its value.
        flag: String,
    },
    /// Operand that the command does not take, or could write to.
    #[error("`{argument}` is not allowed as an argument of `{command}`: {why}")]
    Argument {
        /// Name of the command.
        command: String,
        /// Operand as written, without quotes.
        argument: String,
        /// Reason as a clause.
        why: &'static str,
    },
    /// Path outside the directories whose contents may be read.
    #[error("`{path}` lies outside of what may be read; name a path below the working directory")]
    Outside {
        /// Path without its quotes.
        path: String,
    },
    /// Device, or a file that the kernel generates.
    #[error("`{path}` is a device or a file of the kernel")]
    Device {
        /// Path without its quotes.
        path: String,
    },
}
