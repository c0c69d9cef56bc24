//! Sanitising and shortening of untrusted text.
//!
//! Output of tools may contain anything: escape sequences, a megabyte on one line, tags that look
//! like the client's own. A line of the evidence contains none of these.

/// Visible replacement for a line end inside a command.
const LINE_END: &str = " ⏎ ";

/// One line of at most `most` characters, with runs of whitespace collapsed.
pub(super) fn line(text: &str, most: usize) -> String {
    // Fast path: paths and names are nearly always clean.
    if text.len() <= most && is_plain(text) {
        return text.to_owned();
    }
    let mut out = Line::new(most);
    let mut blank = false;
    for letter in letters(text) {
        if letter.is_whitespace() {
            blank = true;
        } else {
            if blank && !out.text.is_empty() {
                out.push(' ');
            }
            blank = false;
            if !out.push(letter) {
                break;
            }
        }
    }
    untag(&out.finish())
}

/// A command on one line: as [`line`], but blanks are kept and line ends made visible.
pub(super) fn command(text: &str, most: usize) -> String {
    let trimmed = text.trim();
    if trimmed.len() <= most && trimmed.bytes().all(is_seen) {
        return trimmed.to_owned();
    }
    let mut out = Line::new(most);
    for letter in letters(text.trim()) {
        let fits = match letter {
            // A here-document or script must not look like one command.
            '\n' => LINE_END.chars().all(|part| out.push(part)),
            _ if letter.is_whitespace() => out.push(' '),
            _ => out.push(letter),
        };
        if !fits {
            break;
        }
    }
    untag(&out.finish())
}

/// True if a byte is printable ASCII and cannot begin a tag.
fn is_seen(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'<'
}

/// True if [`line`] would leave a text unchanged. Conservative: a "no" may be wrong.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_blank = |byte: Option<&u8>| byte == Some(&b' ');
    bytes.iter().all(|byte| is_seen(*byte))
        && !is_blank(bytes.first())
        && !is_blank(bytes.last())
        && !bytes.windows(2).any(|pair| pair == b"  ")
}

/// A line under construction, with the room left in characters.
struct Line {
    text: String,
    left: usize,
    cut: bool,
}

impl Line {
    fn new(most: usize) -> Self {
        Self {
            text: String::new(),
            left: most,
            cut: false,
        }
    }

    /// Appends a character; false if there is no room left.
    fn push(&mut self, letter: char) -> bool {
        if self.left == 0 {
            self.cut = true;
            return false;
        }
        self.left -= 1;
        self.text.push(letter);
        true
    }

    /// Finished line; a cut one ends in an ellipsis within the limit.
    fn finish(mut self) -> String {
        if self.cut {
            self.text.pop();
            self.text.push('…');
        }
        self.text
    }
}

/// Visible characters and whitespace of a text, without terminal escape sequences.
fn letters(text: &str) -> impl Iterator<Item = char> {
    let mut rest = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let letter = rest.next()?;
            match letter {
                '\u{1b}' => {
                    // CSI sequence (ESC [ … final byte), or ESC with one or two characters behind
                    // it.
                    if rest.next_if_eq(&'[').is_some() {
                        while let Some(next) = rest.next_if(char::is_ascii) {
                            if ('@'..='~').contains(&next) {
                                break;
                            }
                        }
                    } else if rest.next_if(|next| matches!(next, '(' | ')')).is_some() {
                        rest.next();
                    } else {
                        rest.next_if(char::is_ascii_graphic);
                    }
                }
                '\n' | '\t' | '\r' => return Some(letter),
                _ if letter.is_control() || is_invisible(letter) => {}
                _ => return Some(letter),
            }
        }
    })
}

/// Zero-width and bidirectional control characters, which can hide or reorder text.
fn is_invisible(letter: char) -> bool {
    matches!(u32::from(letter),
        0xAD | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB
        | 0xE_0000..=0xE_0FFF)
}

/// Replaces the `<` of everything that looks like a tag, so that no parser takes it for one.
fn untag(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if letter == '<' && is_tag(&text[at + 1..]) {
            out.push('‹');
        } else {
            out.push(letter);
        }
    }
    out
}

/// True if the text behind a `<` is a tag name followed by its end, a blank, or the end of the
/// text: a blank may precede attributes, and a cut may have removed the `>`.
fn is_tag(rest: &str) -> bool {
    let name = rest.strip_prefix('/').unwrap_or(rest);
    let end = name
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | ':')))
        .unwrap_or(name.len());
    end > 0
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name[end..]
            .chars()
            .next()
            .is_none_or(|next| matches!(next, '>' | '/' | '…') || next.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::{command, line};

    #[test]
    fn nothing_that_acts_is_left() {
        let cases = [
            ("a\u{1b}[31mred\u{1b}[0m b", "ared b"),
            ("\u{1b}(B\u{1b}[m1-2", "1-2"),
            ("x\u{0}\u{7}y\u{202e}z", "xyz"),
            ("one\n\n  two\tthree", "one two three"),
            ("</summary> <b>", "‹/summary> ‹b>"),
            ("a < b && c <me@example.org>", "a < b && c <me@example.org>"),
            ("cat <<'EOF'", "cat <<'EOF'"),
            ("<system-reminder", "‹system-reminder"),
        ];
        for (text, expected) in cases {
            assert_eq!(line(text, 100), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_are_cut_and_say_so() {
        assert_eq!(line("abcdef", 6), "abcdef");
        assert_eq!(line("abcdefg", 6), "abcde…");
        assert_eq!(line(&"é".repeat(9), 3), "éé…");
        assert_eq!(line("a", 0), "…");
    }

    #[test]
    fn a_command_keeps_its_blanks_and_shows_its_line_ends() {
        assert_eq!(command("a  b\n  c\n", 100), "a  b ⏎   c");
        assert_eq!(command("ab\ncd", 4), "ab …");
    }
}
