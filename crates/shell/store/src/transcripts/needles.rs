//! Prefilter: raw bytes that show whether a line may have a word.
//!
//! # Model
//! Words come without endings. The beginning of one stands in every line that has a form of it:
//! English endings change its last letter at most ("happi", "happy"). JSON writes letters and digits
//! of ASCII as they are, so the longest run of them is looked for; a word without such a run as it
//! is, in capitals, and by its first character escaped. A needle may hit in vain. It misses a form
//! that changes inside ("die", "dying") and an identifier whose parts are written together in the
//! question alone, where the line has no other word of the question.
//!
//! # Not here
//! The decision: the history looks for the words in the text itself.

use dormouse_text::words::Language;
use memchr::memmem::Finder;
use std::fmt::Write as _;

/// Needles of all words.
#[derive(Debug)]
pub(super) struct Needles {
    /// Finders of which one must hit, in lower-case ASCII.
    finders: Vec<Finder<'static>>,
}

impl Needles {
    /// Needles of words without endings. None in languages whose endings change letters inside a
    /// word: there every line has to be parsed.
    pub(super) fn new(words: &[String], language: Language) -> Option<Self> {
        if language != Language::English {
            return None;
        }
        // A single letter or digit stands in nearly every line; one that has nothing else of the
        // question answers nothing.
        let is_long = |word: &&String| word.len() > 1;
        let long: Vec<&String> = words.iter().filter(is_long).collect();
        let telling = if long.is_empty() {
            words.iter().collect()
        } else {
            long
        };
        let finders = telling.into_iter().flat_map(|word| needles_of(root(word)));
        Some(Self {
            finders: finders.collect(),
        })
    }

    /// Follows the needles through a block of lower-case bytes.
    pub(super) fn within<'a>(&'a self, block: &'a [u8]) -> Hits<'a> {
        let hits = |finder: &'a Finder<'static>| Hit {
            finder,
            next: finder.find(block),
        };
        Hits {
            block,
            needles: self.finders.iter().map(hits).collect(),
        }
    }
}

/// The needles in a block. Each is looked for once, whatever the others hit.
#[derive(Debug)]
pub(super) struct Hits<'a> {
    block: &'a [u8],
    needles: Vec<Hit<'a>>,
}

#[derive(Debug)]
struct Hit<'a> {
    finder: &'a Finder<'static>,
    /// Offset of the next hit; `None` if the rest of the block has none.
    next: Option<usize>,
}

impl Hits<'_> {
    /// The first hit of any needle at a place or behind it. Places only grow.
    pub(super) fn from(&mut self, place: usize) -> Option<usize> {
        for hit in &mut self.needles {
            // Searched again only when the last hit was passed: a rare needle costs one pass over
            // the block.
            if hit.next.is_some_and(|at| at < place) {
                let found = hit.finder.find(&self.block[place..]);
                hit.next = found.map(|at| place + at);
            }
        }
        self.needles.iter().filter_map(|hit| hit.next).min()
    }
}

/// Part of a word without ending that all its forms begin with.
fn root(word: &str) -> &str {
    let changes = word.bytes().all(|byte| byte.is_ascii_lowercase())
        && (word.len() > 3 || word.ends_with(['e', 'i']));
    match word.char_indices().next_back() {
        Some((last, _)) if changes && last > 0 => &word[..last],
        _ => word,
    }
}

fn needles_of(term: &str) -> Vec<Finder<'static>> {
    let run = term
        .split(|c: char| !c.is_ascii_alphanumeric())
        .max_by_key(|run| run.len())
        .unwrap_or_default();
    let mut needles: Vec<String> = Vec::new();
    // A run of one character would hit nearly every line.
    if run.len() > 1 {
        needles.push(run.to_ascii_lowercase());
    } else {
        // In a script with capitals any mixture of both may occur; the first character in either
        // case is enough, because the line is judged by its text anyway.
        let first = term.chars().next().unwrap_or_default();
        // The lower-case copy folds ASCII only, so other scripts need both forms.
        let capital = first.to_uppercase().next().unwrap_or(first);
        for letter in [first, capital] {
            needles.push(letter.to_ascii_lowercase().to_string());
            // JSON escapes by UTF-16 units, two of them for characters beyond the first plane.
            let mut units = [0; 2];
            let mut escaped = String::new();
            for unit in letter.encode_utf16(&mut units) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
            needles.push(escaped);
        }
        if capital == first {
            // In a script without capitals, more than one character makes a better needle.
            let caseless = |c: &char| !c.is_lowercase() && !c.is_uppercase();
            let start: String = term.chars().take_while(caseless).collect();
            if !start.is_empty() {
                needles[0] = start;
                needles.truncate(2);
            }
        }
    }
    needles.sort();
    needles.dedup();
    needles
        .iter()
        .map(|needle| Finder::new(needle.as_bytes()).into_owned())
        .collect()
}
