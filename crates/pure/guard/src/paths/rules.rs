//! Rules for names, each on a piece of text. Their order decides which remedy is reported first.

use super::refusal::PathRefusal;
use unicode_normalization::UnicodeNormalization as _;

/// Longest name in bytes that common file systems accept.
pub const LONGEST_COMPONENT: usize = 255;
/// Longest path in bytes. Well below the 4,096 of Linux, so that any directory fits in front of it.
pub const LONGEST_PATH: usize = 1024;
/// Upper bound on names in a path: far more than memories need, and a bound on the folders a model
/// can create.
pub const MOST_COMPONENTS: usize = 16;

/// Characters with a meaning in paths; none may be introduced by normalisation or encoding.
const SPECIAL: [char; 6] = ['.', '/', '\\', ':', '%', '~'];
/// Characters reserved by some file systems (`:` is reported separately, as a drive or stream).
const RESERVED: [char; 6] = ['*', '?', '"', '<', '>', '|'];
/// Characters that resemble a special character but are not normalised to it.
const LOOKALIKES: [(char, char); 12] = [
    ('\u{2044}', '/'),
    ('\u{2215}', '/'),
    ('\u{2571}', '/'),
    ('\u{29f8}', '/'),
    ('\u{2216}', '\\'),
    ('\u{29f5}', '\\'),
    ('\u{29f9}', '\\'),
    ('\u{2236}', ':'),
    ('\u{a789}', ':'),
    ('\u{0589}', ':'),
    ('\u{a4f8}', '.'),
    ('\u{0701}', '.'),
];
/// Device names of Windows, which exist in every directory there.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
/// Prefixes of devices numbered from 0 to 9.
const NUMBERED_DEVICES: [&str; 2] = ["COM", "LPT"];

/// Applies all rules to the whole path.
pub(super) fn check(text: &str) -> Result<(), PathRefusal> {
    if text.is_empty() {
        return Err(PathRefusal::Empty);
    }
    if text.len() > LONGEST_PATH {
        return Err(PathRefusal::TooLong { bytes: text.len() });
    }
    // Before single characters: `C:\x` is better reported as a drive than as a backslash.
    check_start(text)?;
    for character in text.chars() {
        check_character(character)?;
    }
    check_encoding(text)?;
    if !unicode_normalization::is_nfc(text) {
        return Err(PathRefusal::NotNormal {
            normal: text.nfc().collect(),
        });
    }
    let components = text.split('/').count();
    if components > MOST_COMPONENTS {
        return Err(PathRefusal::TooDeep { components });
    }
    text.split('/').try_for_each(check_component)
}

fn check_start(text: &str) -> Result<(), PathRefusal> {
    let mut start = text.chars();
    match (start.next(), start.next()) {
        (Some('/'), Some('/'))
        | (Some('\\'), Some('\\'))
        | (Some('a'..='z' | 'A'..='Z'), Some(':')) => Err(PathRefusal::DriveOrUnc),
        (Some('/'), _) => Err(PathRefusal::Absolute),
        (Some('~'), _) => Err(PathRefusal::Home),
        _ => Ok(()),
    }
}

fn check_character(character: char) -> Result<(), PathRefusal> {
    let code = u32::from(character);
    match character {
        '\0' => return Err(PathRefusal::Nul),
        '\\' => return Err(PathRefusal::Backslash),
        ':' => return Err(PathRefusal::DriveOrUnc),
        _ => {}
    }
    if character.is_control() {
        return Err(PathRefusal::Control { code });
    }
    if is_invisible(character) {
        return Err(PathRefusal::Invisible { code });
    }
    if RESERVED.contains(&character) {
        return Err(PathRefusal::Reserved { character });
    }
    if let Some((_, plain)) = LOOKALIKES.iter().find(|(like, _)| *like == character) {
        let plain = plain.to_string();
        return Err(PathRefusal::Lookalike { code, plain });
    }
    // NFKC is the most aggressive normalisation a file system applies.
    if !character.is_ascii() {
        let plain: String = character.nfkc().collect();
        if plain.contains(SPECIAL) || plain.contains(RESERVED) {
            return Err(PathRefusal::Lookalike { code, plain });
        }
    }
    Ok(())
}

/// True if a character is invisible: no width, a change of direction, a filler, a tag.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Refuses `%2e` and similar, also in several layers (`%252e`, whose `%25` is a `%`).
fn check_encoding(text: &str) -> Result<(), PathRefusal> {
    for (at, _) in text.match_indices('%') {
        // Too short, or cut inside a character: no encoded byte.
        let Some(code) = text.get(at..at + 3) else {
            continue;
        };
        let Ok(byte) = u8::from_str_radix(&code[1..], 16) else {
            continue;
        };
        let character = char::from(byte);
        // Bytes above ASCII are refused too: several of them can decode to a special character.
        if SPECIAL.contains(&character) || character.is_control() || !byte.is_ascii() {
            return Err(PathRefusal::PercentEncoded {
                code: code.to_owned(),
            });
        }
    }
    Ok(())
}

fn check_component(component: &str) -> Result<(), PathRefusal> {
    match component {
        "" | "." => return Err(PathRefusal::EmptyOrDotComponent),
        ".." => return Err(PathRefusal::Parent),
        _ if component.starts_with('~') => return Err(PathRefusal::Home),
        _ => {}
    }
    if component.len() > LONGEST_COMPONENT {
        return Err(PathRefusal::ComponentTooLong {
            bytes: component.len(),
        });
    }
    // Wide and non-breaking spaces become plain ones in NFKC.
    let plain: String = component.nfkc().collect();
    if plain.ends_with(['.', ' ']) || plain.ends_with(char::is_whitespace) {
        return Err(PathRefusal::TrailingDotOrSpace {
            component: component.to_owned(),
        });
    }
    if is_device(&plain) {
        return Err(PathRefusal::DeviceName {
            component: component.to_owned(),
        });
    }
    Ok(())
}

/// True if a name is a device. NFKC turns `COM¹` into `COM1`, as Windows does.
fn is_device(plain: &str) -> bool {
    // Windows ignores the extension: `NUL.txt` is the device.
    let stem = plain.split('.').next().unwrap_or(plain).trim_end();
    let stem = stem.to_ascii_uppercase();
    let numbered = |name: &&str| {
        let rest = stem.strip_prefix(*name).unwrap_or_default();
        rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit())
    };
    DEVICES.contains(&stem.as_str()) || NUMBERED_DEVICES.iter().any(numbered)
}

/// Common spelling of all names that some file system treats as equal.
pub(super) fn folded(text: &str) -> String {
    // Upper case first: letters such as `ς` and `σ` are only equal there.
    let wide = text.nfkc().flat_map(char::to_uppercase);
    wide.flat_map(char::to_lowercase).nfkc().collect()
}
