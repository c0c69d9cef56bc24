//! The index of a dream: mended, and within its limits.
//!
//! # Model
//! Lines that belong to no memory (headings, remarks, links out of the directory) are people's and
//! stay. Lines of memories that are gone or over are dropped, missing ones added at the end. A line
//! that is much too long is cut if its file says the same; all that are too long are, if the index
//! nears its limits. If not all fit, the memories are ranked (pinned, then by type, then newest)
//! and the first of them keep their lines; a remark says how many have none.
//!
//! # Not here
//! The format of a line ([`crate::index`]); the check of the result (`check`).

use super::sentence::Reader;
use super::support::percent;
use crate::index::{self, LONGEST_LINE, Limits};
use crate::snapshot::{Snapshot, StoredFile, is_pinned, is_topic};
use crate::topic::{Kind, Topic};
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Beginning of the remark about memories without a line.
const REMARK: &str = "> More memories than fit here: ";
/// Bytes kept for it, so that its number may grow by a few digits.
pub(super) const REMARK_ROOM: usize = 120;

/// Characters of a line that is not cut as long as there is room, a third above the limit: the
/// index is always at hand, and the last words of a hook are often those that count.
const BEARABLE_LINE: usize = LONGEST_LINE * 4 / 3;

/// Choice of the lines that are cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cutting {
    /// Lines that are much too long and whose files say the same.
    WhatFilesSay,
    /// All lines that are too long, because the index nears its limits.
    All,
}

/// Line of the index.
#[derive(Debug)]
enum Line {
    /// Line of people's: a heading, a remark, a link elsewhere.
    Other(String),
    /// Line of a memory.
    Of(SafePath, String),
}

/// Rank of a memory in the index, with its line.
struct Ranked {
    rank: (bool, usize, Reverse<i64>, SafePath),
    line: String,
}

/// Index as it should be.
pub(super) fn tidy(snapshot: &Snapshot, today: Date, limits: Limits) -> String {
    let current: BTreeMap<&SafePath, (Topic, &StoredFile)> = snapshot
        .topics()
        .map(|(path, file)| (path, (Topic::read(&file.text()), file)))
        // Overtaken memories are not recalled, so a line would waste room.
        .filter(|(_, (topic, _))| !topic.is_over(today))
        .collect();
    let cutting = if index::nearness(&snapshot.index(), limits).is_none() {
        Cutting::WhatFilesSay
    } else {
        Cutting::All
    };
    let lines = mended(snapshot, &current, cutting);
    let listed: BTreeSet<&SafePath> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Of(path, _) => Some(path),
            Line::Other(_) => None,
        })
        .collect();
    let mut missing: Vec<Ranked> = current
        .iter()
        .filter(|(path, _)| !listed.contains(*path))
        .map(|(path, (topic, file))| ranked(path, topic, file, None))
        .collect();
    missing.sort_by(|a, b| a.rank.cmp(&b.rank));
    let whole = joined(&lines, &missing, None);
    if fits(&whole, limits, 0) {
        return whole;
    }
    selected(lines, missing, &current, limits)
}

/// Lines there are, without those that lead nowhere.
fn mended(
    snapshot: &Snapshot,
    current: &BTreeMap<&SafePath, (Topic, &StoredFile)>,
    cutting: Cutting,
) -> Vec<Line> {
    let reader = Reader::new();
    let text = snapshot.index();
    let entries: BTreeMap<usize, index::IndexEntry> = index::entries(&text)
        .into_iter()
        .map(|entry| (entry.line, entry))
        .collect();
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    for (number, old) in text.split_inclusive('\n').enumerate() {
        let Some(entry) = entries.get(&(number + 1)) else {
            // The remark of an earlier dream is written anew, if it still holds.
            if !old.starts_with(REMARK) {
                lines.push(Line::Other(old.to_owned()));
            }
            continue;
        };
        let target = entry.target.split('#').next().unwrap_or_default();
        // A target that cannot be a file of the directory leads out of it.
        let Ok(path) = SafePath::parse(target) else {
            lines.push(Line::Other(old.to_owned()));
            continue;
        };
        let alive = if is_topic(&path) {
            current.contains_key(&path)
        } else {
            snapshot.get(&path).is_some()
        };
        if alive && seen.insert(path.clone()) {
            let said = || {
                snapshot
                    .get(&path)
                    .is_some_and(|file| says(&reader, file, entry))
            };
            let length = old.trim_end().chars().count();
            let cut = match cutting {
                Cutting::WhatFilesSay => length > BEARABLE_LINE && said(),
                Cutting::All => length > LONGEST_LINE,
            };
            let line = if cut {
                shortened(old, entry)
            } else {
                old.to_owned()
            };
            lines.push(Line::Of(path, line));
        }
    }
    lines
}

/// True if a file says what its line says, so that nothing is lost with the end of the line.
fn says(reader: &Reader, file: &StoredFile, entry: &index::IndexEntry) -> bool {
    /// Least share of the hook's words that the file must have; all of the numbers are needed. Four
    /// fifths allow for other forms of a word.
    const MOST_PERCENT: f64 = 80.0;
    let all = reader.sentence(&file.text()).terms;
    let hook = reader.sentence(&entry.hook);
    let known = hook.terms.iter().filter(|term| all.contains(*term)).count();
    hook.figures().all(|figure| all.contains(figure))
        && percent(known, hook.terms.len()) >= MOST_PERCENT
}

/// Line cut to its length, at the end of a clause if there is one far enough on.
fn shortened(old: &str, entry: &index::IndexEntry) -> String {
    let end = &old[old.trim_end_matches(['\r', '\n']).len()..];
    let short = index::line(&entry.title, &entry.target, &clause(entry));
    // A long link cannot be cut, and then the line stays.
    if short.chars().count() < old.trim_end().chars().count() {
        format!("{short}{end}")
    } else {
        old.to_owned()
    }
}

/// Clauses of a hook that fit into a line; the whole hook if the first is too long already, or if
/// too little would be left.
fn clause(entry: &index::IndexEntry) -> String {
    let bare = index::line(&entry.title, &entry.target, "x")
        .chars()
        .count();
    let room = LONGEST_LINE.saturating_sub(bare);
    let fitting: String = entry.hook.chars().take(room).collect();
    let ends = ["; ", ". ", " — ", ": "].into_iter();
    let end = ends.filter_map(|mark| fitting.rfind(mark)).max();
    // Two fifths at least: a cut after the first few words would say nothing.
    match end.filter(|at| *at * 5 > fitting.len() * 2) {
        Some(at) => format!("{}…", fitting[..at].trim_end()),
        None => entry.hook.clone(),
    }
}

fn ranked(path: &SafePath, topic: &Topic, file: &StoredFile, line: Option<&str>) -> Ranked {
    let kind = topic.kind.map_or(Kind::ALL.len(), |kind| kind as usize);
    let time = topic
        .origin
        .as_ref()
        .map_or(file.modified, |origin| origin.time);
    let line = line.map_or_else(|| format!("{}\n", line_of(path, topic)), str::to_owned);
    Ranked {
        rank: (!is_pinned(path), kind, Reverse(time.0), path.clone()),
        line,
    }
}

/// Line that a memory gets if it has none.
pub(super) fn line_of(path: &SafePath, topic: &Topic) -> String {
    let name = path.file_name();
    let bare = name.get(..name.len().saturating_sub(3)).unwrap_or(name);
    let title = if topic.name.is_empty() {
        bare
    } else {
        &topic.name
    };
    index::line(title, path.as_str(), &topic.description)
}

/// Lines, those that are missing, and a remark on how many have none.
fn joined(lines: &[Line], missing: &[Ranked], unlisted: Option<usize>) -> String {
    let mut out = String::new();
    let mut push = |line: &str| {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(line);
    };
    for line in lines {
        let (Line::Other(line) | Line::Of(_, line)) = line;
        push(line);
    }
    for ranked in missing {
        push(&ranked.line);
    }
    if let Some(unlisted) = unlisted {
        push(&format!(
            "{REMARK}{unlisted} have no line; searching memory finds them.\n"
        ));
    }
    out
}

/// True if a text fits into the limits. A reserve stands for a further line, the remark.
fn fits(text: &str, limits: Limits, reserve: usize) -> bool {
    let lines = text.lines().count() + usize::from(reserve > 0);
    lines <= limits.lines && text.len() + reserve <= limits.bytes
}

/// As many memories as fit, by rank. Lines that are not selected lose their place.
fn selected(
    lines: Vec<Line>,
    missing: Vec<Ranked>,
    current: &BTreeMap<&SafePath, (Topic, &StoredFile)>,
    limits: Limits,
) -> String {
    let others: Vec<&Line> = lines
        .iter()
        .filter(|line| match line {
            Line::Other(_) => true,
            Line::Of(path, _) => !current.contains_key(path),
        })
        .collect();
    let text_of = |line: &Line| match line {
        Line::Other(text) | Line::Of(_, text) => text.len() + usize::from(!text.ends_with('\n')),
    };
    let own_bytes: usize = others.iter().map(|line| text_of(line)).sum();
    let room = limits.lines.checked_sub(others.len() + 1);
    let bytes = limits.bytes.checked_sub(own_bytes + REMARK_ROOM);
    let (Some(mut room), Some(mut bytes)) = (room, bytes) else {
        // People's lines fill it already; dropping memories would not help.
        return joined(&lines, &[], None);
    };
    let mut all: Vec<Ranked> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Of(path, text) => {
                let (topic, file) = current.get(path)?;
                Some(ranked(path, topic, file, Some(text)))
            }
            Line::Other(_) => None,
        })
        .collect();
    all.extend(missing);
    all.sort_by(|a, b| a.rank.cmp(&b.rank));
    let mut kept = BTreeSet::new();
    let total = all.len();
    let mut missing = Vec::new();
    let listed: BTreeSet<SafePath> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Of(path, _) => Some(path.clone()),
            Line::Other(_) => None,
        })
        .collect();
    for ranked in all {
        let cost = ranked.line.len() + usize::from(!ranked.line.ends_with('\n'));
        // Strictly by rank: a lower one that happens to be shorter must not overtake.
        if room == 0 || cost > bytes {
            break;
        }
        room -= 1;
        bytes -= cost;
        kept.insert(ranked.rank.3.clone());
        if !listed.contains(&ranked.rank.3) {
            missing.push(ranked);
        }
    }
    let unlisted = total - kept.len();
    let lines: Vec<Line> = lines
        .into_iter()
        .filter(|line| match line {
            Line::Of(path, _) => kept.contains(path) || !current.contains_key(path),
            Line::Other(_) => true,
        })
        .collect();
    joined(&lines, &missing, (unlisted > 0).then_some(unlisted))
}

/// Tidies until nothing moves: a line that lost its place may come back in a shorter form.
pub(super) fn settled(snapshot: &Snapshot, today: Date, limits: Limits) -> String {
    /// Most rounds. Each adds lines or is the last, so this is only a belt against a cycle.
    const MOST_ROUNDS: usize = 8;
    let mut trial = snapshot.clone();
    let mut text = snapshot.index();
    for _ in 0..MOST_ROUNDS {
        let next = tidy(&trial, today, limits);
        if next == text {
            break;
        }
        text = next;
        put(&mut trial, text.clone());
    }
    text
}

/// Puts an index into a snapshot; an empty one that was not there is not put.
pub(super) fn put(snapshot: &mut Snapshot, text: String) {
    let Ok(path) = SafePath::parse(crate::snapshot::INDEX) else {
        return;
    };
    let old = snapshot.get(&path);
    if text.is_empty() && old.is_none() {
        return;
    }
    let modified = old.map(|file| file.modified).unwrap_or_default();
    let content = text.into();
    snapshot.insert(path, StoredFile { content, modified });
}

/// True if an index has no room for another line.
pub(super) fn is_full(text: &str, limits: Limits) -> bool {
    text.lines().any(|line| line.starts_with(REMARK)) && {
        // A line is at most so long, in letters of up to four bytes.
        !fits(text, limits, LONGEST_LINE * 4)
    }
}

/// True for the remark about memories without a line.
pub(super) fn is_remark(line: &str) -> bool {
    line.starts_with(REMARK)
}
