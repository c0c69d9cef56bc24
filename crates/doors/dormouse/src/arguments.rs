//! Arguments that several commands take, read as people write them.
//!
//! # Not here
//! The options of one command: beside it.

use dormouse_core::settings::parse_count;
use dormouse_core::units::Tokens;

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

#[cfg(test)]
mod tests {
    use super::*;

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
