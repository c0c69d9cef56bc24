//! Prefilter: raw bytes that show whether a line may have a term.
//!
//! # Model
//! JSON writes letters and digits of ASCII as they are, so the longest run of them in a term must
//! stand in every line that has the term. A term without such a run is looked for as it is, in
//! capitals, and by its first character escaped. A needle never misses; it may hit in vain.
//!
//! # Not here
//! The decision: `snippet` looks for the terms in the text itself.

use super::TermQuery;
use memchr::memmem::Finder;
use std::fmt::Write as _;

/// Needles of all terms.
#[derive(Debug)]
pub(super) struct Needles {
    /// For each term the needles of which one must be there, in lower-case ASCII.
    terms: Vec<Vec<Finder<'static>>>,
}

impl Needles {
    pub(super) fn new(query: &TermQuery) -> Self {
        let terms = query.terms().iter().map(|term| needles_of(term)).collect();
        Self { terms }
    }

    /// Follows the needles through a block of lower-case bytes.
    pub(super) fn within<'a>(&'a self, block: &'a [u8]) -> Hits<'a> {
        let hits = |finder: &'a Finder<'static>| Hit {
            finder,
            next: finder.find(block),
        };
        Hits {
            block,
            needles: self.terms.iter().flatten().map(hits).collect(),
        }
    }

    /// Upper bound on the number of terms in a line of lower-case bytes.
    pub(super) fn count(&self, line: &[u8]) -> usize {
        let has = |finders: &Vec<Finder<'static>>| {
            finders.iter().any(|finder| finder.find(line).is_some())
        };
        self.terms.iter().filter(|finders| has(finders)).count()
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
