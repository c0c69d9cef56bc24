//! Characters that hide something: from a reader of the line, or from one of two parsers.

use super::reason::Reason;
use super::{LONGEST_LINE, MOST_BRACKETS};
use crate::paths::is_invisible;

/// Whether what is seen is what there is.
pub(super) fn check(line: &str) -> Result<(), Reason> {
    if line.is_empty() {
        return Err(Reason::Empty);
    }
    if line.len() > LONGEST_LINE {
        return Err(Reason::TooLong { bytes: line.len() });
    }
    line.chars().try_for_each(check_character)?;
    let brackets = line.matches(['(', ')', '{', '}', '[', ']', '`']).count();
    if brackets > MOST_BRACKETS {
        return Err(Reason::TooManyBrackets);
    }
    if has_comment(line) {
        return Err(Reason::Comment);
    }
    Ok(())
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

/// A `#` at the start of a word, outside of quotes. Shells differ in whether it starts a comment.
fn has_comment(line: &str) -> bool {
    let mut quote = None;
    let mut at_start = true;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '#') if at_start => return true,
            (None, '\'' | '"') => quote = Some(character),
            (None | Some('"'), '\\') => _ = characters.next(),
            _ => {}
        }
        at_start = quote.is_none()
            && matches!(
                character,
                ' ' | '\t' | ';' | '|' | '&' | '(' | ')' | '<' | '>'
            );
    }
    false
}
