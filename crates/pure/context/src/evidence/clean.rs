//! Making text harmless and short.
//!
//! What comes from tools may hold anything: escape sequences, a megabyte on one line, tags that
//! look like the client's own. A line of the evidence has none of these.

/// Stands for a line end inside a command.
const LINE_END: &str = " ⏎ ";

/// One line of at most `most` characters, blanks taken together.
pub(super) fn line(text: &str, most: usize) -> String {
    // Paths and names are nearly always as they should be.
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

/// A command on one line: as [`line`], but blanks stay and line ends show.
pub(super) fn command(text: &str, most: usize) -> String {
    let trimmed = text.trim();
    if trimmed.len() <= most && trimmed.bytes().all(is_seen) {
        return trimmed.to_owned();
    }
    let mut out = Line::new(most);
    for letter in letters(text.trim()) {
        let fits = match letter {
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

/// Whether a byte is a character that can be seen, or a blank, and begins no tag.
fn is_seen(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && byte != b'<'
}

/// Whether [`line`] would leave a text as it is: seen at a glance, so a no may be wrong.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_blank = |byte: Option<&u8>| byte == Some(&b' ');
    bytes.iter().all(|byte| is_seen(*byte))
        && !is_blank(bytes.first())
        && !is_blank(bytes.last())
        && !bytes.windows(2).any(|pair| pair == b"  ")
}

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

    /// Whether the letter still fitted.
    fn push(&mut self, letter: char) -> bool {
        if self.left == 0 {
            self.cut = true;
            return false;
        }
        self.left -= 1;
        self.text.push(letter);
        true
    }

    fn finish(mut self) -> String {
        if self.cut {
            self.text.pop();
            self.text.push('…');
        }
        self.text
    }
}

/// The characters that can be seen, and white space; escape sequences are left out.
fn letters(text: &str) -> impl Iterator<Item = char> {
    let mut rest = text.chars().peekable();
    std::iter::from_fn(move || {
        loop {
            let letter = rest.next()?;
            match letter {
                '\u{1b}' => {
                    // ESC [ … final, or ESC with one or two characters behind it.
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

/// Characters that take no room or turn the text around: they can hide what is said.
fn is_invisible(letter: char) -> bool {
    matches!(u32::from(letter),
        0xAD | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB
        | 0xE_0000..=0xE_0FFF)
}

/// Breaks what looks like a tag, so that no reader of tags takes it for one.
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

/// Whether a name of a tag and its end, or a blank or the end of the text, follow.
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

/// The first `most` characters.
pub(super) fn head(text: &str, most: usize) -> &str {
    let end = text
        .char_indices()
        .nth(most)
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// The last `most` characters.
pub(super) fn tail(text: &str, most: usize) -> &str {
    let start = match most.checked_sub(1) {
        Some(back) => text.char_indices().rev().nth(back).map_or(0, |(at, _)| at),
        None => text.len(),
    };
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::{command, head, line, tail};

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

    #[test]
    fn ends_are_cut_between_characters() {
        assert_eq!((head("äöü", 2), tail("äöü", 2)), ("äö", "öü"));
        assert_eq!((head("äöü", 9), tail("äöü", 9)), ("äöü", "äöü"));
        assert_eq!((head("äöü", 0), tail("äöü", 0)), ("", ""));
    }
}
