//! Atoms: parts of a text that are kept whole, such as paths, identifiers, error codes, versions.
//!
//! # Model
//! An atom is a run between blanks, without the punctuation and quotes around it, and with a
//! [`Shape`] that its characters alone decide.
//!
//! # Not here
//! Existence of a path or definition of a symbol: nothing is looked up.

use std::ops::Range;

/// Shape of an atom, judged by its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shape {
    /// Word of a language, or anything not listed below.
    Word,
    /// Number with or without a unit: `42`, `3.5`, `20 %`, `512MB`.
    Number,
    /// Version number: `1.2.3`, `v0.4`, `2.0.0-rc.1`.
    Version,
    /// File or directory, absolute or not, also with a line number.
    Path,
    /// Text with a scheme, or an e-mail address.
    Url,
    /// Identifier of code: `camelCase`, `snake_case`, `SCREAMING_CASE`, `a::b`, `call()`.
    Identifier,
    /// Error or signal code: `E0382`, `ECONNREFUSED`, `TS2345`, `CVE-2024-1234`, `SIGKILL`.
    Code,
    /// Option of a command: `--flag`, `-x`.
    Flag,
    /// Hexadecimal digits as of a commit or a digest, or a UUID.
    Hash,
}

impl Shape {
    /// True if the atom names one thing and has to be kept as written.
    pub fn is_name(self) -> bool {
        !matches!(self, Self::Word | Self::Number)
    }
}

/// Run of characters between blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// Range without surrounding punctuation.
    pub range: Range<usize>,
    /// Shape, as its characters suggest.
    pub shape: Shape,
}

/// Atoms of a text in order.
pub fn atoms(text: &str) -> impl Iterator<Item = Atom> {
    let mut at = 0;
    text.split(char::is_whitespace).filter_map(move |word| {
        let start = at;
        // `split` consumed exactly one blank, whose length depends on the character.
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
        let (from, bare) = bare(word);
        (!bare.is_empty()).then(|| Atom {
            range: start + from..start + from + bare.len(),
            shape: shape(bare),
        })
    })
}

/// Word without surrounding punctuation, and the number of bytes before it.
fn bare(word: &str) -> (usize, &str) {
    const BEFORE: &[char] = &[
        '(', '[', '{', '<', '"', '\'', '`', '“', '‘', '„', '«', '*', '|', '=', ',', '>', '+',
    ];
    const AFTER: &[char] = &[
        ')', ']', '}', '>', '"', '\'', '`', '”', '’', '“', '»', '*', '|', '.', ',', ';', ':', '!',
        '?', '…', '=', '。', '，', '、', '：', '；', '！', '？',
    ];
    let start = word.trim_start_matches(BEFORE);
    let from = word.len() - start.len();
    let mut bare = start.trim_end_matches(AFTER);
    // The brackets of a call belong to its name.
    if start[bare.len()..].starts_with(')') && bare.ends_with('(') {
        bare = &start[..=bare.len()];
    }
    (from, bare)
}

/// Shape of a word without surrounding punctuation.
pub fn shape(word: &str) -> Shape {
    let mut figures = Figures::default();
    for found in word.chars() {
        figures.add(found);
    }
    // The order resolves overlaps: `deadbeef1` is also an identifier, `a_b.rs` an identifier and a
    // path.
    if word.contains("://") || is_mail(word) {
        Shape::Url
    } else if is_flag(word) {
        Shape::Flag
    } else if is_hash(word, &figures) {
        Shape::Hash
    } else if figures.digits > 0 && is_number(word, &figures) {
        Shape::Number
    } else if is_version(word, &figures) {
        Shape::Version
    } else if is_code(word, &figures) {
        Shape::Code
    } else if is_path(word, &figures) {
        Shape::Path
    } else if is_identifier(word, &figures) {
        Shape::Identifier
    } else {
        Shape::Word
    }
}

/// Number of characters by category.
#[derive(Default)]
struct Figures {
    upper: usize,
    lower: usize,
    digits: usize,
    dots: usize,
    slashes: usize,
    underscores: usize,
    other: usize,
    /// Number of capitals that follow a lower-case letter.
    humps: usize,
    last_lower: bool,
}

impl Figures {
    fn add(&mut self, found: char) {
        let lower = found.is_lowercase();
        match found {
            '.' => self.dots += 1,
            '/' | '\\' => self.slashes += 1,
            '_' => self.underscores += 1,
            _ if found.is_ascii_digit() => self.digits += 1,
            _ if found.is_uppercase() => {
                self.upper += 1;
                self.humps += usize::from(self.last_lower);
            }
            _ if lower => self.lower += 1,
            _ => self.other += 1,
        }
        self.last_lower = lower;
    }
}

fn is_mail(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('/'))
}

fn is_flag(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    matches!(word.len() - name.len(), 1 | 2)
        && name.starts_with(|found: char| found.is_ascii_alphabetic())
}

fn is_hash(word: &str, figures: &Figures) -> bool {
    let hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let uuid = word.len() == 36 && word.split('-').count() == 5 && word.split('-').all(hex);
    // Seven digits alone are a number; letters from a to f alone may be a word.
    uuid || (word.len() >= 7
        && hex(word)
        && figures.digits > 0
        && figures.lower + figures.upper > 0)
}

fn is_number(word: &str, figures: &Figures) -> bool {
    let Some(first) = word.find(|found: char| found.is_ascii_digit()) else {
        return false;
    };
    let sign = &word[..first];
    let body = &word[first..];
    let end = body
        .find(|found: char| !(found.is_ascii_digit() || matches!(found, '.' | ',' | '_' | '\'')))
        .unwrap_or(body.len());
    let unit = &body[end..];
    let signed = sign.chars().all(|found| {
        matches!(
            found,
            '+' | '-' | '~' | '$' | '€' | '£' | '#' | '<' | '>' | '≈' | '±'
        )
    });
    // Units have up to four characters: `512MB`, `3req/s` has more and is no number.
    let short_unit = unit.chars().count() <= 4
        && unit
            .chars()
            .all(|found| found.is_alphabetic() || matches!(found, '%' | '/' | '°' | '€' | '$'));
    signed && short_unit && figures.dots <= 1
}

fn is_version(word: &str, figures: &Figures) -> bool {
    let rest = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let core = rest.split(['-', '+']).next().unwrap_or_default();
    figures.dots > 0
        && core.contains('.')
        && core
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_code(word: &str, figures: &Figures) -> bool {
    let plain = figures.dots + figures.slashes + figures.underscores == 0 && figures.lower == 0;
    let dashes = word.matches('-').count();
    if !plain || figures.other != dashes || figures.upper == 0 {
        return false;
    }
    // `E0382`, `TS2345`, `CVE-2024-1234`: a few capitals, digits at the end.
    let numbered = figures.upper <= 6
        && figures.digits >= 2
        && word.starts_with(|found: char| found.is_ascii_uppercase())
        && word.ends_with(|found: char| found.is_ascii_digit());
    // `ECONNREFUSED`, `SIGKILL`; frequent words in capitals are excluded by name.
    let errno = dashes == 0
        && figures.digits == 0
        && word.is_ascii()
        && ((word.starts_with('E')
            && (5..=15).contains(&word.len())
            && !matches!(
                word,
                "ERROR" | "EVERY" | "EXIT" | "EITHER" | "ENTER" | "EMPTY"
            ))
            || (word.starts_with("SIG") && word.len() > 5));
    numbered || errno
}

fn is_path(word: &str, figures: &Figures) -> bool {
    let letters = figures.upper + figures.lower;
    if letters == 0 {
        return false;
    }
    if figures.slashes > 0 {
        // "and/or", "input/output": two words, neither with a file name.
        let rooted = word.starts_with(['/', '~', '.', '\\']) || word.ends_with('/');
        return rooted || figures.slashes > 1 || figures.dots > 0 || figures.underscores > 0;
    }
    figures.dots > 0 && has_extension(word)
}

/// True if a name has a short extension, possibly followed by a position: `main.rs:12:5`.
fn has_extension(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or_default();
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    (1..=5).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.starts_with(|found: char| found.is_ascii_lowercase())
        // Excludes abbreviations such as `e.g`, but not hidden files.
        && (stem.is_empty() || stem.len() > 1)
        && !stem.ends_with('.')
        && !word.contains('(')
}

fn is_identifier(word: &str, figures: &Figures) -> bool {
    let letters = figures.upper + figures.lower;
    let starts =
        word.starts_with(|found: char| found.is_alphabetic() || matches!(found, '_' | '@' | '$'));
    starts
        && letters > 0
        && (figures.humps > 0
            || figures.underscores > 0
            || word.contains("::")
            || word.ends_with("()")
            || (word.contains('(') && word.len() > 3 && !word.starts_with('('))
            || (figures.digits > 0 && figures.lower > 0 && figures.other == 0))
}

#[cfg(test)]
mod tests {
    use super::{Shape, atoms};

    #[test]
    fn an_atom_has_the_shape_its_characters_say() {
        let cases = [
            ("hello,", "hello", Shape::Word),
            ("and/or", "and/or", Shape::Word),
            ("42", "42", Shape::Number),
            ("~512MB.", "~512MB", Shape::Number),
            ("20%", "20%", Shape::Number),
            ("1.2.3", "1.2.3", Shape::Version),
            ("(v0.4-rc.1)", "v0.4-rc.1", Shape::Version),
            ("`src/main.rs:12:5`", "src/main.rs:12:5", Shape::Path),
            ("Cargo.toml.", "Cargo.toml", Shape::Path),
            ("~/.config", "~/.config", Shape::Path),
            ("https://a.b/c?d=1", "https://a.b/c?d=1", Shape::Url),
            ("<me@example.org>", "me@example.org", Shape::Url),
            ("readFile", "readFile", Shape::Identifier),
            ("std::fs", "std::fs", Shape::Identifier),
            ("MAX_LEN", "MAX_LEN", Shape::Identifier),
            ("`close()`", "close()", Shape::Identifier),
            ("E0382:", "E0382", Shape::Code),
            ("ECONNREFUSED", "ECONNREFUSED", Shape::Code),
            ("CVE-2024-1234", "CVE-2024-1234", Shape::Code),
            ("--no-run", "--no-run", Shape::Flag),
            ("68eeb86d", "68eeb86d", Shape::Hash),
            ("don't", "don't", Shape::Word),
        ];
        for (text, bare, shape) in cases {
            let found: Vec<_> = atoms(text)
                .map(|atom| (&text[atom.range], atom.shape))
                .collect();
            assert_eq!(found, [(bare, shape)], "{text}");
        }
    }
}
