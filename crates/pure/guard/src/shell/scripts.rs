//! Languages inside arguments (`sed`, `jq`, `printf`), each reduced to its reading part.

/// True if a `sed` script only prints: addresses with `p`, `d`, `q`, `=`, and `s` without the flags
/// `w` (writes a file) and `e` (runs a command), joined by `;`.
pub(super) fn sed_only_prints(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', ';']);
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let Some(after) = sed_command(rest) else {
            return false;
        };
        let after = after.trim_start_matches(' ');
        rest = match after.strip_prefix(';') {
            Some(next) => next.trim_start_matches([' ', ';']),
            None if after.is_empty() => "",
            None => return false,
        };
    }
    true
}

/// Rest of the script after one command with its addresses; none if it is not permitted.
fn sed_command(text: &str) -> Option<&str> {
    let mut rest = text;
    if let Some(after) = sed_address(rest) {
        rest = after;
        if let Some(second) = rest.strip_prefix(',') {
            rest = sed_address(second.trim_start_matches(' '))?;
        }
    }
    let rest = rest.trim_start_matches(' ').trim_start_matches('!');
    let mut characters = rest.chars();
    match characters.next()? {
        'p' | 'd' | '=' => Some(characters.as_str()),
        'q' => Some(
            characters
                .as_str()
                .trim_start_matches(|digit: char| digit.is_ascii_digit()),
        ),
        's' => sed_substitution(characters.as_str()),
        _ => None,
    }
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
    let rest = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

fn sed_substitution(text: &str) -> Option<&str> {
    let delimiter = text.chars().next()?;
    // GNU and BSD versions differ on such delimiters.
    if delimiter.is_alphanumeric() || matches!(delimiter, '\\' | ' ' | ';') {
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

/// True if every bracket closes within the part. Versions of `sed` differ in whether a delimiter
/// inside brackets ends the part; with closed brackets they agree.
fn brackets_close(pattern: &str) -> bool {
    let last_open = pattern.rfind('[');
    let last_close = pattern.rfind(']');
    last_open.is_none() || last_close > last_open
}

/// True if a `jq` filter reads neither the environment nor other files.
pub(super) fn jq_only_reads(filter: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let words = filter.split(|character: char| !is_word(character));
    // By whole words anywhere, strings included: refusing a harmless text costs little.
    let forbidden = [
        "env",
        "ENV",
        "import",
        "include",
        "input_filename",
        "get_search_list",
        "modulemeta",
        "__prog_args",
        "__loc__",
    ];
    !words.into_iter().any(|word| forbidden.contains(&word))
}

/// True if a `printf` format only prints its arguments: `%n` of some shells sets a variable.
pub(super) fn printf_only_prints(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let conversion = after.trim_start_matches(|character: char| {
            character.is_ascii_digit() || matches!(character, '-' | '+' | ' ' | '.' | '#')
        });
        if !conversion.starts_with(['%', 's', 'd', 'i', 'x', 'X', 'o', 'f', 'c', 'q', 'b']) {
            return false;
        }
        rest = &conversion[1..];
    }
    true
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
            "1,p",
            "s/[/]e/x/",
            "/[/]/w x",
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

    #[test]
    fn filters_and_formats() {
        assert!(jq_only_reads(".foo[] | select(.environment == 1)"));
        for filter in [
            "env",
            "$ENV.HOME",
            ".a|env.PATH",
            "import \"x\" as y; .",
            "include \"x\"; .",
        ] {
            assert!(!jq_only_reads(filter), "{filter}");
        }
        assert!(printf_only_prints("%s %5d%% \\n---\\n %-10s"));
        for format in ["%n", "%s%n", "%(%F)T", "%", "%*d"] {
            assert!(!printf_only_prints(format), "{format}");
        }
    }
}
