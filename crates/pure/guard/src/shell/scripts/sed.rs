//! Scripts of `sed`.

use super::brackets_close;

/// True if a `sed` script only prints: addresses with `p`, `d`, `q`, `=`, and `s` without the flags
/// `w` (writes a file) and `e` (runs a command), joined by `;` and grouped by braces.
pub(in crate::shell) fn sed_only_prints(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', ';']);
    if rest.is_empty() {
        return false;
    }
    let mut blocks = 0_usize;
    while !rest.is_empty() {
        let after = if let Some(after) = rest.strip_prefix('}') {
            let Some(fewer) = blocks.checked_sub(1) else {
                return false;
            };
            blocks = fewer;
            after
        } else {
            match sed_command(rest) {
                Some(Command::Whole(after)) => after,
                Some(Command::Opens(after)) => {
                    blocks += 1;
                    rest = after.trim_start_matches([' ', ';']);
                    continue;
                }
                None => return false,
            }
        };
        let after = after.trim_start_matches(' ');
        rest = match after.strip_prefix(';') {
            Some(next) => next.trim_start_matches([' ', ';']),
            None if after.is_empty() || after.starts_with('}') => after,
            None => return false,
        };
    }
    blocks == 0
}

/// Command that was read, with the rest of the script.
enum Command<'a> {
    Whole(&'a str),
    Opens(&'a str),
}

/// One command with its addresses; none if it is not permitted.
fn sed_command(text: &str) -> Option<Command<'_>> {
    let mut rest = text;
    if let Some(after) = sed_address(rest) {
        rest = after;
        if let Some(second) = rest.strip_prefix(',') {
            rest = sed_address(second.trim_start_matches(' '))?;
        }
    }
    let rest = rest.trim_start_matches(' ').trim_start_matches('!');
    let mut characters = rest.chars();
    let command = match characters.next()? {
        '{' => return Some(Command::Opens(characters.as_str())),
        'p' | 'd' | '=' => characters.as_str(),
        'q' => characters
            .as_str()
            .trim_start_matches(|digit: char| digit.is_ascii_digit()),
        's' => sed_substitution(characters.as_str())?,
        _ => return None,
    };
    Some(Command::Whole(command))
}

/// Rest after an address: a line number, `$`, or a pattern between slashes.
fn sed_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(pattern) = text.strip_prefix('/') {
        let (pattern, rest) = sed_part(pattern, '/')?;
        return brackets_close(pattern).then(|| rest.trim_start_matches('I'));
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let digits = |text: &str| {
        let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
        text.len() - rest.len()
    };
    let rest = &text[digits(text)..];
    if rest.len() == text.len() {
        return None;
    }
    // `1~2`: every second line.
    match rest.strip_prefix('~') {
        Some(step) if digits(step) > 0 => Some(&step[digits(step)..]),
        Some(_) => None,
        None => Some(rest),
    }
}

fn sed_substitution(text: &str) -> Option<&str> {
    let delimiter = text.chars().next()?;
    // GNU and BSD versions differ on such delimiters.
    if delimiter.is_alphanumeric() || matches!(delimiter, '\\' | ' ' | ';' | '{' | '}') {
        return None;
    }
    let (pattern, rest) = sed_part(&text[delimiter.len_utf8()..], delimiter)?;
    let (_, rest) = sed_part(rest, delimiter)?;
    let is_flag = |flag: char| matches!(flag, 'g' | 'p' | 'i' | 'I') || flag.is_ascii_digit();
    brackets_close(pattern).then(|| rest.trim_start_matches(is_flag))
}

/// Part up to the delimiter, which a backslash escapes, and the rest.
fn sed_part(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == delimiter {
            return Some((&text[..at], &text[at + delimiter.len_utf8()..]));
        }
        if character == '\\' {
            characters.next()?;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_print_pass() {
        for script in [
            "1,40p",
            "5p",
            "$p",
            "$=",
            "10q",
            "/foo/p",
            "/a/,/b/p",
            "/a/,+3p",
            "1d",
            "/^$/d",
            "1!d",
            "s/a/b/",
            "s/a/b/g",
            "s#^/usr#.#",
            "s/a/b/2p",
            "s/[0-9]*//g;p",
            "1p; 3p",
            "s|a/b|c|",
            "s/a\\/b/c/",
            "1~2p",
            "/a/{p;q}",
            "/a/{p; q;}",
            "1,5{=;p}",
            "/a/,/b/{/c/p}",
            "{ /a/ { s/x/y/g; p } }",
            "/a/{p};$p",
            "s/[[:space:]]*$//",
            "s/[\\/]x/y/",
        ] {
            assert!(sed_only_prints(script), "{script}");
        }
    }

    #[test]
    fn scripts_that_write_or_run_do_not() {
        for script in [
            "",
            ";",
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/e",
            "s/a/b/ge",
            "e",
            "1e ls",
            "r /etc/passwd",
            "p;w x",
            "p w x",
            "a\\ text",
            "i text",
            "c text",
            "s/a/b",
            "sabc",
            "s\\a\\b\\",
            "y/a/b/",
            "{p;w x}",
            "{p}w x",
            "{p",
            "p}",
            "{p}}",
            "{w x}",
            "{s/a/b/e}",
            "1~w x",
            "1,p",
            "s/[/]e/x/",
            "/[/]/w x",
            "s/[]/a/;/]/p;/w out/p",
            "s/[^]/a/;/]/p;/w out/p",
            "s/[[:alpha:]/a/;/]/p;/w out/p",
            "s/[\\]/a/;/]/p;/w out/p",
            "n",
            "D",
            "b end",
            "W x",
            "R x",
            "F",
            "s/a/b/m",
            "z",
        ] {
            assert!(!sed_only_prints(script), "{script}");
        }
    }
}
