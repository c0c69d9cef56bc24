//! The text of a distillate: both ends of a result, the lines that carry evidence, the names in the
//! rest, and the file with the whole.

use crate::clear::Measure;
use crate::evidence::mine::is_telling;
use crate::offload::{file_name, result_block, stored};
use aho_corasick::AhoCorasick;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::CallId;
use dormouse_core::show;
use dormouse_core::units::Tokens;
use dormouse_text::atoms::{Shape, atoms};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

/// Lines kept at each end: enough for a heading and a total.
const END_LINES: usize = 4;
/// Longest line in characters; longer ones are tables and dumps whose beginning tells the rest.
const LINE: usize = 160;
/// Share of the room for lines with evidence, in per cent; the rest lists names.
const EVIDENCE_SHARE: usize = 60;
/// Shortest name worth searching for: shorter ones stand in every text.
const SHORTEST: usize = 4;
/// Most names searched for in a result: those of a long answer, and a bound on the automaton.
const MOST_NAMES: usize = 400;

/// A result's distillate with the file that holds the whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Distillate {
    /// Block that is sent instead of the result.
    pub block: Block,
    /// Name of the file in the session's folder of results.
    pub file: String,
    /// Hash of the whole text.
    pub content: Hash,
    /// Whole text, to be saved first.
    pub text: String,
}

/// Names in texts: paths, identifiers, codes, versions and longer numbers, each once.
pub fn names<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for text in texts {
        for atom in atoms(text) {
            let word = &text[atom.range.clone()];
            let telling = atom.shape.is_name() || atom.shape == Shape::Number;
            if telling && word.len() >= SHORTEST && names.len() < MOST_NAMES {
                names.insert(word.to_owned());
            }
        }
    }
    names
}

/// Distils a result; `None` if it would not become shorter. `named` are the names that the answer and the user used, `folder` the folder of
/// results as the model is shown it.
pub fn distillate(
    result: &Block,
    named: &BTreeSet<String>,
    folder: &str,
    (limit, measure): (Tokens, Measure),
) -> Option<Distillate> {
    let call = result.call()?;
    let text = result.readable_text()?;
    let content = Hash::of(text.as_bytes());
    let file = file_name(call, &text, content);
    let path = format!("{folder}/{file}");
    // Bytes per token vary with the text: the room shrinks until the block keeps within the limit.
    let mut room = usize::try_from(limit.get()).ok()?.checked_mul(4)?;
    let mut block = made(call, &text, &path, named, room);
    for _ in 0..8 {
        let size = measure.tokens(block.weight());
        if size <= limit {
            break;
        }
        room = room * usize::try_from(limit.get()).ok()? / usize::try_from(size.get()).ok()?;
        room = room.saturating_sub(16);
        block = made(call, &text, &path, named, room);
    }
    let size = measure.tokens(block.weight());
    let shorter = size <= limit && size < measure.tokens(result.weight());
    shorter.then_some(Distillate {
        block,
        file,
        content,
        text,
    })
}

fn made(call: &CallId, text: &str, path: &str, named: &BTreeSet<String>, room: usize) -> Block {
    result_block(
        call,
        &stored(text, path, &body(text, named, room)),
        &[],
        false,
    )
}

/// Content of a distillate within so many bytes.
fn body(text: &str, named: &BTreeSet<String>, room: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    let mut used = 0;
    let evidence_room = room * EVIDENCE_SHARE / 100;
    let last = lines.len().saturating_sub(1);
    let ends = (0..END_LINES).flat_map(|at| [at, last.saturating_sub(at)]);
    let by_name = by_name(&lines, named);
    let telling = (0..lines.len()).filter(|at| is_telling(lines[*at]));
    for at in ends.chain(by_name).chain(telling) {
        let Some(line) = lines.get(at) else {
            continue;
        };
        let cost = show::head(line.trim_end(), LINE).len() + 1;
        if used + cost <= evidence_room && !line.trim().is_empty() && chosen.insert(at) {
            used += cost;
        }
    }
    let mut out = String::with_capacity(room);
    let mut next = 0;
    for at in &chosen {
        gap(&mut out, at - next);
        let _ = writeln!(out, "{}", show::head(lines[*at].trim_end(), LINE));
        next = at + 1;
    }
    gap(&mut out, lines.len() - next);
    let rest = list(text, &out, room.saturating_sub(out.len()));
    if !rest.is_empty() {
        let _ = write!(out, "Also named in it: {rest}");
    }
    out
}

/// Mark for lines that are left out.
fn gap(out: &mut String, lines: usize) {
    if lines > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(out, "[… {lines} lines]");
    }
}

/// Lines with names that were used, those with most of them first.
fn by_name(lines: &[&str], named: &BTreeSet<String>) -> Vec<usize> {
    let Some(finder) = (!named.is_empty())
        .then(|| AhoCorasick::new(named).ok())
        .flatten()
    else {
        return Vec::new();
    };
    let mut seen: HashSet<usize> = HashSet::new();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let in_line: BTreeSet<usize> = finder
            .find_iter(line)
            .map(|hit| hit.pattern().as_usize())
            .collect();
        // The first line of each name is enough: a name in every line would fill the room.
        let new = in_line.iter().filter(|name| seen.insert(**name)).count();
        if new > 0 {
            found.push((new, at));
        }
    }
    found.sort_by_key(|(new, at)| (std::cmp::Reverse(*new), *at));
    found.into_iter().map(|(_, at)| at).collect()
}

/// Distinct names of a text that `shown` lacks, in order of their first appearance.
fn list(text: &str, shown: &str, room: usize) -> String {
    /// Bytes left free: the words in front of the list.
    const LEAD: usize = 24;
    let mut out = String::new();
    let mut listed: HashSet<&str> = atoms(shown).map(|atom| &shown[atom.range]).collect();
    for atom in atoms(text) {
        let word = &text[atom.range.clone()];
        let telling = atom.shape.is_name() && word.len() >= SHORTEST && word.len() <= LINE;
        if !telling || !listed.insert(word) {
            continue;
        }
        if out.len() + word.len() + 2 + LEAD > room {
            break;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        out.push_str(word);
    }
    out
}
