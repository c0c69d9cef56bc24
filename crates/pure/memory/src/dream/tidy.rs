//! The index of a dream: mended, and within its limits.
//!
//! # Model
//! What is not a line of a memory (headings, remarks, lines that lead out of the directory) belongs
//! to people and stays. Lines of memories that are gone or over are dropped, missing
//! ones added at the end. A line that is much too long is cut if its file says the same; all that are
//! too long are, if the index nears its limits. If not all fit, the memories are ranked (pinned, then by type, then
//! newest) and the first of them keep their lines; a remark says how many have none.

use super::sentence::Reader;
use super::support::percent;
use crate::index::{self, LONGEST_LINE, Limits};
use crate::snapshot::{Snapshot, StoredFile, is_pinned, is_topic};
use crate::topic::{Kind, Topic};
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// How the remark about memories without a line begins.
const REMARK: &str = "> More memories than fit here: ";
/// Room that is kept for it, so that its number may grow.
pub(super) const REMARK_ROOM: usize = 120;

/// Characters of a line that is not cut as long as there is room: what stands in the index is always
/// at hand, and the last words of a hook are often those that count.
const BEARABLE_LINE: usize = LONGEST_LINE * 4 / 3;

/// Which of the lines that are too long are cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cutting {
    /// Those that are much too long, and whose files say the same.
    WhatFilesSay,
    /// All, because the index nears its limits.
    All,
}

/// A line of the index.
#[derive(Debug)]
enum Line {
    /// Not of a memory.
    Other(String),
    /// Of a memory.
    Of(SafePath, String),
}

/// What the dream knows of a memory's place in the index.
struct Ranked {
    rank: (bool, usize, Reverse<i64>, SafePath),
    line: String,
}

/// The index as it should be.
pub(super) fn tidy(snapshot: &Snapshot, today: Date, limits: Limits) -> String {
    let current: BTreeMap<&SafePath, (Topic, &StoredFile)> = snapshot
        .topics()
        .map(|(path, file)| (path, (Topic::read(&file.text()), file)))
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

/// The lines there are without those that lead nowhere.
fn mended(
    snapshot: &Snapshot,
    current: &BTreeMap<&SafePath, (Topic, &StoredFile)>,
    cutting: Cutting,
) -> Vec<Line> {
    let reader = Reader::new();
    let text = snapshot.index();
    let entries: BTreeMap<usize, index::Entry> = index::entries(&text)
        .into_iter()
        .map(|entry| (entry.line, entry))
        .collect();
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    for (number, old) in text.split_inclusive('\n').enumerate() {
        let Some(entry) = entries.get(&(number + 1)) else {
            if !old.starts_with(REMARK) {
                lines.push(Line::Other(old.to_owned()));
            }
            continue;
        };
        let target = entry.target.split('#').next().unwrap_or_default();
        // What cannot be a file of the directory leads out of it.
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

/// Whether a file says what its line says, so that nothing is lost with the end of the line.
fn says(reader: &Reader, file: &StoredFile, entry: &index::Entry) -> bool {
    /// Most of the words; all of the numbers.
    const MOST_PERCENT: f64 = 80.0;
    let all = reader.sentence(&file.text()).terms;
    let hook = reader.sentence(&entry.hook);
    let known = hook.terms.iter().filter(|term| all.contains(*term)).count();
    hook.figures().all(|figure| all.contains(figure))
        && percent(known, hook.terms.len()) >= MOST_PERCENT
}

/// A line cut to its length, at the end of a clause if there is one far enough on.
fn shortened(old: &str, entry: &index::Entry) -> String {
    let end = &old[old.trim_end_matches(['\r', '\n']).len()..];
    let short = index::line(&entry.title, &entry.target, &clause(entry));
    // A long link cannot be cut.
    if short.chars().count() < old.trim_end().chars().count() {
        format!("{short}{end}")
    } else {
        old.to_owned()
    }
}

/// The clauses of a hook that fit into a line; the whole hook if the first is too long already, or
/// if too little would be left.
fn clause(entry: &index::Entry) -> String {
    let bare = index::line(&entry.title, &entry.target, "x")
        .chars()
        .count();
    let room = LONGEST_LINE.saturating_sub(bare);
    let fitting: String = entry.hook.chars().take(room).collect();
    let ends = ["; ", ". ", " — ", ": "].into_iter();
    let end = ends.filter_map(|mark| fitting.rfind(mark)).max();
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

/// The line a memory gets if it has none.
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

/// The lines, those that are missing, and a remark on how many have none.
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
        // What people wrote fills it already; dropping memories would not help.
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
    /// Each round adds lines or is the last; this is only a belt.
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

/// Whether an index has no room for another line.
pub(super) fn is_full(text: &str, limits: Limits) -> bool {
    text.lines().any(|line| line.starts_with(REMARK)) && {
        // A line is at most so long, in letters of up to four bytes.
        !fits(text, limits, LONGEST_LINE * 4)
    }
}

/// Whether a line is the remark about memories without a line.
pub(super) fn is_remark(line: &str) -> bool {
    line.starts_with(REMARK)
}
