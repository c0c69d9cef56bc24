//! Arguments that several commands take, read as people write them.
//!
//! # Not here
//! The options of one command: beside it.

use dormouse_core::settings::parse_count;
use dormouse_core::units::Tokens;
use dormouse_host::Which;
use std::path::Path;

/// A number of tokens as people write it: `200000`, `200_000`, `200k`, `1m`.
///
/// # Errors
/// When the text is no such number, or zero.
pub fn tokens(text: &str) -> Result<Tokens, String> {
    // The parser of settings, so that an option and its setting take the same words.
    match parse_count(text) {
        // A window of no tokens would refuse every request.
        Some(number) if number > 0 => Ok(Tokens(number)),
        _ => Err("write a number like 200000, 200k or 1m".to_owned()),
    }
}

/// The option `--window` of commands that show or use a window.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct WindowOption {
    /// Tokens of the window, like 200k or 1m; otherwise as the log and the model say
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub window: Option<Tokens>,
}

impl WindowOption {
    /// The option as a setting, which all services read.
    pub fn setting(self) -> Option<String> {
        let window = self.window?;
        Some(format!("context.window={}", window.get()))
    }
}

/// Options that lead a command to the same memory, with a blank before each; empty for the project's
/// own. A hint without them would send the user to another directory.
pub fn which_options(which: &Which) -> String {
    match which {
        Which::Private => String::new(),
        Which::Team => " --team".to_owned(),
        Which::Directory(dir) => format!(" --dir {}", shell_word(dir)),
    }
}

/// Path as one word of a POSIX shell.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%:,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    // Nothing is special between single quotes but the quote itself.
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_memory_are_words_of_a_shell() {
        assert_eq!(which_options(&Which::Private), "");
        assert_eq!(which_options(&Which::Team), " --team");
        for (dir, word) in [
            ("notes/a-b_1.d", "notes/a-b_1.d"),
            ("記憶", "記憶"),
            ("my notes", "'my notes'"),
            ("it's", "'it'\\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("~", "'~'"),
            ("", "''"),
        ] {
            let which = Which::of(Some(dir.as_ref()), false);
            assert_eq!(which_options(&which), format!(" --dir {word}"), "{dir}");
        }
    }

    #[test]
    fn windows_are_written_as_people_do() {
        for (text, expected) in [
            ("200000", 200_000),
            ("200_000", 200_000),
            ("200,000", 200_000),
            ("200k", 200_000),
            ("1M", 1_000_000),
        ] {
            assert_eq!(tokens(text), Ok(Tokens(expected)), "{text}");
        }
        for bad in ["", "k", "0", "-1", "1.5m", "99999999999999999m", "1km"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }
}
