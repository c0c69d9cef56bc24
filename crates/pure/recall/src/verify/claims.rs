//! Concrete claims of a text.
//!
//! # Model
//! Words with the shape of a path, symbol, commit, flag or address are claims, if little else could
//! be meant. Code blocks and sentences about missing things make none.
//!
//! # Not here
//! Shapes of words (`dormouse_text::atoms`); looking claims up ([`super::Facts`]).

use crate::fences::Fences;
use crate::files::{is_file, is_folder};
use dormouse_text::atoms::{Shape, atoms};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// Most claims that are looked at: the rest of a longer text adds little and costs a look each.
pub(super) const MOST_CLAIMS: usize = 40;
/// Bytes around a word that count as its sentence; words farther away say nothing about it.
const REACH: usize = 300;
/// Least letters of a plain word that counts as a symbol; shorter ones are in every project.
const SHORTEST_SYMBOL: usize = 7;
/// Most bytes of a name; longer ones are encoded data.
const LONGEST: usize = 256;

/// Words that say that a thing is *not* there, or not yet: such a sentence claims nothing that
/// could be looked up. The last ones are German.
const ABSENT: [&str; 27] = [
    "deleted",
    "removed",
    "no longer",
    "renamed",
    "formerly",
    "used to ",
    "was called",
    "gone",
    "moved from",
    "replaced",
    "deprecated",
    "instead of",
    "will be",
    "planned",
    "to be added",
    "create ",
    "creating",
    "does not exist",
    "doesn't exist",
    "missing",
    "never ",
    "for example",
    "e.g.",
    "gelöscht",
    "entfernt",
    "umbenannt",
    "nicht mehr",
];

/// Subject of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// File or folder, or a bare file name.
    Path,
    /// Name in code, such as a function.
    Symbol,
    /// Commit of the project's repository.
    Commit,
    /// Long flag of a program.
    Flag,
    /// Host name of an address.
    UrlHost,
}

/// Claim that can be looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Subject, which decides the lookup.
    pub kind: ClaimKind,
    /// Name of the thing, without positions and brackets.
    pub text: String,
    /// Bytes of the text that make the claim.
    pub range: Range<usize>,
}

/// Claims of a text in order, each thing once. Fenced code is an example and claims nothing, nor
/// does a sentence that says that something is gone or not there yet.
pub fn claims(text: &str) -> Vec<Claim> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    let mut fences = Fences::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if fences.cover(line) {
            continue;
        }
        let mut ticks = Backticks::new(line);
        for atom in atoms(line) {
            let quoted = ticks.surround(&atom.range);
            let word = &line[atom.range.clone()];
            let Some((kind, name)) = claim_of(word, atom.shape, quoted) else {
                continue;
            };
            if is_about_absence(sentence(line, &atom.range)) {
                continue;
            }
            if name.len() > LONGEST || !known.insert((kind, name.clone())) {
                continue;
            }
            found.push(Claim {
                kind,
                text: name,
                range: start + atom.range.start..start + atom.range.end,
            });
            if found.len() == MOST_CLAIMS {
                return found;
            }
        }
    }
    found
}

/// Sentence of a line that a word stands in.
fn sentence<'a>(line: &'a str, word: &Range<usize>) -> &'a str {
    let ends = [". ", "; ", "! ", "? "];
    let before = &line[line.floor_char_boundary(word.start.saturating_sub(REACH))..word.start];
    let reach = line.len().min(word.end + REACH);
    let after = &line[word.end..line.floor_char_boundary(reach)];
    let start = ends.iter().filter_map(|end| before.rfind(end));
    let start = word.start - before.len() + start.max().map_or(0, |at| at + 1);
    let end = ends.iter().filter_map(|end| after.find(end));
    let end = word.end + end.min().unwrap_or(after.len());
    &line[start..end]
}

fn is_about_absence(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('’', "'");
    ABSENT.iter().any(|word| lower.contains(word))
}

/// Position among the backticks of a line, from word to word.
struct Backticks<'a> {
    line: &'a str,
    last: usize,
    at: usize,
    open: bool,
}

impl<'a> Backticks<'a> {
    fn new(line: &'a str) -> Self {
        Self {
            line,
            last: line.rfind('`').unwrap_or(0),
            at: 0,
            open: false,
        }
    }

    /// True if the next word stands in backticks, alone or with others.
    fn surround(&mut self, word: &Range<usize>) -> bool {
        let between = &self.line[self.at..word.start];
        self.open ^= between.matches('`').count() % 2 == 1;
        self.at = word.start;
        // A backtick that is never closed is punctuation.
        self.open && self.last >= word.end
    }
}

fn claim_of(word: &str, shape: Shape, quoted: bool) -> Option<(ClaimKind, String)> {
    // Placeholders, patterns and templates name nothing in particular.
    if word.contains(['*', '<', '>', '{', '}', '$', '…', '|']) || word.contains("...") {
        return None;
    }
    match shape {
        Shape::Path => Some((ClaimKind::Path, path_of(word)?)),
        Shape::Url => Some((ClaimKind::UrlHost, host_of(word)?)),
        // Outside of code `--` is often a dash.
        Shape::Flag if quoted => Some((ClaimKind::Flag, flag_of(word)?)),
        Shape::Hash if is_commit(word) => Some((ClaimKind::Commit, word.to_owned())),
        Shape::Identifier if quoted || is_plainly_code(word) => {
            Some((ClaimKind::Symbol, symbol_of(word)?))
        }
        _ => None,
    }
}

/// Path without the position behind it (`main.rs:12`).
fn path_of(word: &str) -> Option<String> {
    let path = word.split([':', '#']).next()?;
    let path = path.strip_prefix("./").unwrap_or(path);
    (is_file(path) || is_folder(path)).then(|| path.trim_end_matches('/').to_owned())
}

fn host_of(word: &str) -> Option<String> {
    let (_, rest) = word.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // A user name before the host is no part of it.
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?;
    host.contains('.').then(|| host.to_lowercase())
}

/// True for forty or sixty-four digits, or the short form; a UUID has hyphens.
fn is_commit(word: &str) -> bool {
    !word.contains('-')
        && (matches!(word.len(), 7..=12 | 40 | 64))
        && !word.bytes().any(|b| b.is_ascii_uppercase())
}

/// True for names that occur only in code: `snake_case`, `a::b`, `call()`. `camelCase` may be a
/// product.
fn is_plainly_code(word: &str) -> bool {
    word.contains("::") || word.ends_with("()") || (word.contains('_') && !word.starts_with('_'))
}

/// Long flag without its value.
fn flag_of(word: &str) -> Option<String> {
    let flag = word.split('=').next()?;
    let name = flag.strip_prefix("--")?;
    let sound = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (name.len() > 1 && sound).then(|| flag.to_owned())
}

/// Last part of a name, without brackets: that can be searched for. A short word would be found in
/// any project and prove nothing.
fn symbol_of(word: &str) -> Option<String> {
    let name = word.strip_suffix("()").unwrap_or(word);
    let last = name.rsplit("::").next()?;
    let last = last.rsplit('.').next()?.trim_start_matches(['@', '$']);
    // `COMPOSE_` is a part of names, not one.
    let sound = last.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !last.starts_with('_')
        && !last.ends_with('_');
    let telling = last.len() >= SHORTEST_SYMBOL
        || last.contains('_')
        || last.chars().skip(1).any(char::is_uppercase);
    (last.len() > 2 && sound && telling).then(|| last.to_owned())
}
