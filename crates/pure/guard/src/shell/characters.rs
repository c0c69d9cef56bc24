//! Check for characters that hide something from a reader of the line, or from one of two parsers.

use super::LONGEST_LINE;
use super::reason::Reason;
use crate::paths::is_invisible;

/// Checks that the line consists of visible characters and plain blanks.
pub(super) fn check(line: &str) -> Result<(), Reason> {
    if line.is_empty() {
        return Err(Reason::Empty);
    }
    if line.len() > LONGEST_LINE {
        return Err(Reason::TooLong { bytes: line.len() });
    }
    line.chars().try_for_each(check_character)
}

fn check_character(character: char) -> Result<(), Reason> {
    let code = u32::from(character);
    match character {
        '\t' => Ok(()),
        '\n' | '\r' => Err(Reason::LineBreak),
        _ if character.is_control() => Err(Reason::Control { code }),
        _ if is_invisible(character) => Err(Reason::Invisible { code }),
        _ if character != ' ' && character.is_whitespace() => Err(Reason::Invisible { code }),
        _ => Ok(()),
    }
}
