//! Just enough of Markdown to find code, block comments and names of files.
//!
//! It is not a parser of Markdown. In doubt, indented lines behind a list are text, because there
//! they usually are.
//!
//! # Not here
//! Sentences and paragraphs of prose (`dormouse_text::segment`); opening the named files (`take`).

use std::collections::BTreeMap;
use std::ops::Range;

/// Most characters of a path in an include: longer than any path that people write.
const LONGEST_PATH: usize = 1_024;

/// Most includes of one file that are looked at: as many as files of a session are loaded at all.
const MOST_MENTIONS: usize = 1_000;

/// `@` with the word behind it, which may be a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// Bytes of the mention, the `@` included.
    pub(super) range: Range<usize>,
    /// Word behind the `@`, as it is written.
    pub(super) written: String,
}

impl Mention {
    /// Possible meanings, the most literal first: a sentence may go on behind the path, and a path
    /// may point into a section.
    pub(super) fn candidates(&self) -> Vec<String> {
        let whole = self.written.replace("\\ ", " ");
        let bare = whole
            .trim_end_matches([
                '.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'', '*', '_',
            ])
            .to_owned();
        let section = bare.split('#').next().unwrap_or_default().to_owned();
        let mut candidates = vec![whole];
        for next in [bare, section] {
            if !next.is_empty() && !candidates.contains(&next) {
                candidates.push(next);
            }
        }
        candidates
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Code,
    Text,
}

/// State of a scan that tells lines of code from others.
struct Lines {
    fence: Option<(char, usize)>,
    in_list: bool,
    /// True if an indented line would be code: the line before was blank, or such code.
    may_indent: bool,
}

impl Lines {
    fn new() -> Self {
        Self {
            fence: None,
            in_list: false,
            may_indent: true,
        }
    }

    fn kind(&mut self, line: &str) -> Kind {
        let body = line.trim_start_matches(' ');
        let indent = line.len() - body.len();
        if let Some((letter, length)) = self.fence {
            let run = body.chars().take_while(|next| *next == letter).count();
            // A fence is closed only by one of its own letter that is at least as long.
            if indent < 4 && run >= length && body[run..].trim().is_empty() {
                self.fence = None;
            }
            return Kind::Code;
        }
        if line.trim().is_empty() {
            self.may_indent = true;
            return Kind::Blank;
        }
        let indented = indent >= 4 || line.starts_with('\t');
        // Behind a list item, four blanks continue the item.
        if indented && !self.in_list && self.may_indent {
            self.may_indent = true;
            return Kind::Code;
        }
        self.may_indent = false;
        if is_list_item(body) {
            self.in_list = true;
        } else if indent == 0 && !line.starts_with('\t') {
            self.in_list = false;
        }
        let body = body.trim_start_matches('\t');
        for letter in ['`', '~'] {
            let run = body.chars().take_while(|next| *next == letter).count();
            // Backticks with another backtick behind them are code within the line.
            if run >= 3 && !(letter == '`' && body[run..].contains('`')) {
                self.fence = Some((letter, run));
                return Kind::Code;
            }
        }
        Kind::Text
    }
}

fn is_list_item(body: &str) -> bool {
    let digits = body.chars().take_while(char::is_ascii_digit).count();
    let marker = if digits > 0 && digits < 10 {
        body[digits..].strip_prefix(['.', ')'])
    } else {
        body.strip_prefix(['-', '*', '+'])
    };
    marker.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Text without comments that begin a line. An unclosed comment stays.
pub(super) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = Lines::new();
    let mut at = 0;
    let mut closes = true;
    while at < text.len() {
        let end = line_end(text, at);
        let line = &text[at..end];
        let is_comment = closes
            && lines.fence.is_none()
            && line.trim_start().starts_with("<!--")
            // Four blanks make it code.
            && line.len() - line.trim_start_matches(' ').len() < 4
            && !line.starts_with('\t');
        if is_comment {
            if let Some(length) = text[at..].find("-->") {
                at += length + "-->".len();
                // The rest of the line stays; an empty one goes with the comment.
                let rest = line_end(text, at);
                if text[at..rest].trim().is_empty() {
                    at = rest;
                }
                continue;
            }
            // Unclosed: looked for once, since each further look would scan to the end again.
            closes = false;
        }
        lines.kind(line.trim_end_matches('\n'));
        out.push_str(line);
        at = end;
    }
    out
}

/// Offset behind the line that begins at `at`.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// Files named with `@` outside of code.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut lines = Lines::new();
    let mut paragraph = 0..0;
    let mut at = 0;
    while at < text.len() {
        let end = line_end(text, at);
        if lines.kind(text[at..end].trim_end_matches('\n')) == Kind::Text {
            paragraph.end = end;
        } else {
            in_paragraph(text, paragraph, &mut found);
            paragraph = end..end;
        }
        at = end;
    }
    in_paragraph(text, paragraph, &mut found);
    // After the scan, so that the kept ones are the first in the file.
    found.truncate(MOST_MENTIONS);
    found
}

/// Adds the mentions of a paragraph, which is the unit because inline code may span its line ends.
fn in_paragraph(text: &str, range: Range<usize>, found: &mut Vec<Mention>) {
    let paragraph = &text[range.clone()];
    if !paragraph.contains('@') {
        return;
    }
    let ticks = tick_runs(paragraph);
    let mut before: Option<char> = None;
    let mut at = 0;
    while let Some(letter) = paragraph[at..].chars().next() {
        let mut next = at + letter.len_utf8();
        match letter {
            // An escaped `\@` or backtick means itself.
            '\\' => {
                let escaped = paragraph[next..].chars().next();
                next += escaped.map_or(0, char::len_utf8);
            }
            '`' => {
                let run = paragraph[at..]
                    .bytes()
                    .take_while(|byte| *byte == b'`')
                    .count();
                let end = at + run;
                let closing = ticks.get(&run).and_then(|places| {
                    places
                        .get(places.partition_point(|place| *place < end))
                        .copied()
                });
                next = closing.map_or(end, |place| place + run);
            }
            '@' if begins_word(before) => {
                let written = path_at(&paragraph[next..]);
                if is_path_like(written) {
                    next += written.len();
                    found.push(Mention {
                        range: range.start + at..range.start + next,
                        written: written.to_owned(),
                    });
                }
            }
            _ => {}
        }
        before = paragraph[..next].chars().next_back();
        at = next;
    }
}

/// Starts of runs of backticks, by their length.
fn tick_runs(text: &str) -> BTreeMap<usize, Vec<usize>> {
    let mut runs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('`') {
        let start = at + start;
        let run = text[start..]
            .bytes()
            .take_while(|byte| *byte == b'`')
            .count();
        runs.entry(run).or_default().push(start);
        at = start + run;
    }
    runs
}

/// True if an `@` here begins a word; addresses have something before it.
fn begins_word(before: Option<char>) -> bool {
    before.is_none_or(|letter| letter.is_whitespace() || "([{\"'*:,;|>".contains(letter))
}

/// Word up to a blank that is not escaped, or a character that no path has.
fn path_at(text: &str) -> &str {
    let mut escaped = false;
    let end = text.find(|letter: char| {
        let ends = (letter.is_whitespace() && !(escaped && letter == ' '))
            || matches!(letter, '`' | '<' | '>' | '|' | '"')
            || letter.is_control();
        escaped = letter == '\\';
        ends
    });
    &text[..end.unwrap_or(text.len())]
}

fn is_path_like(written: &str) -> bool {
    let begins = written
        .chars()
        .next()
        .is_some_and(|first| first.is_alphanumeric() || "./~_-".contains(first));
    begins && written.chars().nth(LONGEST_PATH).is_none()
}

#[cfg(test)]
mod tests {
    use super::{mentions, without_comments};
    use pretty_assertions::assert_eq;

    #[test]
    fn files_are_named_outside_of_code_only() {
        let cases: [(&str, &[&str]); 22] = [
            ("@a.md", &["a.md"]),
            (
                "see @./a.md, @~/b.md and @/c.md.",
                &["./a.md,", "~/b.md", "/c.md."],
            ),
            ("(@a.md) \"@b.md\" *@c.md*", &["a.md)", "b.md", "c.md*"]),
            ("me@example.org a.@b x/@y", &[]),
            ("@ a, @@b, @", &[]),
            ("`@a.md` @b.md", &["b.md"]),
            ("``@a ` @b`` @c", &["c"]),
            ("`open @a.md", &["a.md"]),
            ("`spans\nlines @a` @b", &["b"]),
            ("`ends\n\nwith the paragraph @a`", &["a"]),
            ("```\n@a\n```\n@b", &["b"]),
            ("~~~md\n@a\n```\n~~~~\n@b", &["b"]),
            ("```\n@never closed", &[]),
            ("text\n\n    @a\n\n    @b\n@c", &["c"]),
            ("text\n    @a", &["a"]),
            ("- item\n\n    @a\n\nend\n\n    @b", &["a"]),
            ("    @a", &[]),
            ("\t@a", &[]),
            ("@a\\ b.md c", &["a\\ b.md"]),
            ("\\@a.md", &[]),
            ("@media (x) @ä.md", &["media", "ä.md"]),
            ("``` not `a` fence @a", &["a"]),
        ];
        for (text, expected) in cases {
            let found = mentions(text);
            let written: Vec<_> = found
                .iter()
                .map(|mention| mention.written.as_str())
                .collect();
            assert_eq!(written, expected, "{text:?}");
            for mention in found {
                assert_eq!(&text[mention.range], format!("@{}", mention.written));
            }
        }
    }

    #[test]
    fn a_sentence_may_go_on_behind_a_path() {
        let text = "@docs/a.md#top).";
        assert_eq!(
            mentions(text)[0].candidates(),
            ["docs/a.md#top).", "docs/a.md#top", "docs/a.md"]
        );
    }

    #[test]
    fn block_comments_go_and_nothing_else() {
        let cases = [
            ("a\n<!-- x -->\nb\n", "a\nb\n"),
            ("a\n<!-- x\n\n y -->\nb", "a\nb"),
            ("a\n  <!-- x --> stays\nb", "a\n stays\nb"),
            ("<!-- x --><!-- y -->\nb", "b"),
            ("in <!-- line --> stays", "in <!-- line --> stays"),
            ("```\n<!-- x -->\n```\n<!-- y -->", "```\n<!-- x -->\n```\n"),
            ("    <!-- code -->\n", "    <!-- code -->\n"),
            ("<!-- never closed\nb", "<!-- never closed\nb"),
            ("<!-- ``` -->\n@a\n<!-- ``` -->\n", "@a\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_comments(text), expected, "{text:?}");
        }
    }
}
