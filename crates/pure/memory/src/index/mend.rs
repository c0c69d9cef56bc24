//! Mending of an index: Dormouse's own lines follow the files, a person's lines stay.
//!
//! # Model
//! The text is cut into pieces: lines that Dormouse made, and everything else. A person's piece is
//! kept byte for byte, with one exception: a line about one file that Dormouse itself removed goes
//! with it. A line of Dormouse's follows its file: it is updated, dropped when the memory no longer
//! holds or a person's line is about it too, and added at the end when nothing in the index links to
//! the memory. If not everything fits into the limits, the best of Dormouse's lines stay.
//!
//! # Not here
//! Links and their places (`links`); the report on what mending would do (`drift`).

use super::{Form, IndexEntry, IndexPast, Limits, entries, is_listed, is_trusted, line_of};
use crate::snapshot::{INDEX, Snapshot, StoredFile, is_pinned, is_topic};
use crate::topic::{Kind, Topic};
use crate::transaction::{Expected, Operation, Transaction};
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Beginning of the remark about memories without a line.
const REMARK: &str = "> More memories than fit here: ";
/// Bytes kept for it, so that its number may grow by a few digits.
pub(super) const REMARK_ROOM: usize = 120;

/// Treatment of a person's lines whose file is not here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// They stay: a folder that is half synced may be whole tomorrow.
    #[default]
    Keep,
    /// They go, because the user says so.
    Remove,
}

/// Facts that mending an index needs beside the files.
#[derive(Clone, Copy, Debug)]
pub struct IndexFacts<'a> {
    /// Day on which memories must hold.
    pub today: Date,
    /// Limits of the part that is loaded.
    pub limits: Limits,
    /// Facts of the journal.
    pub past: &'a IndexPast,
    /// Treatment of a person's lines whose file is not here.
    pub missing: Missing,
}

/// Reason why mending drops a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// Dormouse removed its file.
    Removed,
    /// Line of Dormouse's for a memory that has one already.
    Twice,
    /// Line of Dormouse's for a memory that no longer holds.
    Over,
    /// Line of Dormouse's for a memory that is not trusted.
    Untrusted,
    /// Remark of an earlier mending, which is made anew.
    Remark,
    /// Line of a person's whose file is not here, by the user's wish.
    Missing,
}

/// Decision on a stretch of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Bytes of a person's.
    Person(Range<usize>),
    /// Line of Dormouse's: where it stood, its file, and the line it should be.
    Own(Range<usize>, SafePath, String),
    /// Line that leaves the index, with its target and the reason.
    Gone(Range<usize>, Option<SafePath>, Gone),
}

/// Line of a memory with its rank.
struct Ranked {
    rank: (bool, usize, Reverse<i64>),
    path: SafePath,
    line: String,
}

/// Index as it should be, with the decisions that lead there.
pub(super) struct Plan {
    pub(super) pieces: Vec<Piece>,
    /// Memories that get a line.
    pub(super) added: Vec<SafePath>,
    /// Number of memories that have none because the index is full.
    pub(super) unfit: usize,
    pub(super) text: String,
}

/// Index mended: in step with the files, and within its limits as far as a person's lines allow.
pub fn mended(snapshot: &Snapshot, facts: &IndexFacts<'_>) -> String {
    plan(snapshot, facts).text
}

pub(super) fn plan(snapshot: &Snapshot, facts: &IndexFacts<'_>) -> Plan {
    plan_beside(snapshot, facts, 0)
}

/// Plan for a directory that has this many more memories, none of them with a line.
fn plan_beside(snapshot: &Snapshot, facts: &IndexFacts<'_>, unseen: usize) -> Plan {
    let text = snapshot.index();
    let links = entries(&text);
    let topics: BTreeMap<&SafePath, (&Topic, &StoredFile)> = snapshot
        .read_topics()
        .map(|(path, file, topic)| (path, (topic, file)))
        .collect();
    let pieces = pieces(&text, &links, snapshot, &topics, facts);
    let linked = linked(&pieces, &links);
    let mut new: Vec<Ranked> = topics
        .iter()
        .filter(|(path, (topic, _))| !linked.contains(*path) && is_listed(topic, facts.today))
        .map(|(path, (topic, file))| ranked(path, topic, file))
        .collect();
    new.sort_by(|a, b| (&a.rank, &a.path).cmp(&(&b.rank, &b.path)));
    // Memories that are not looked at still need their remark.
    let is_full = unseen > 0 && text.lines().any(is_remark);
    // A hundred thousand lines are not even joined.
    let may_fit = !is_full && new.len() <= facts.limits.lines;
    let whole = may_fit.then(|| joined(&text, &pieces, &|_| true, &new, None));
    if let Some(whole) = whole.filter(|whole| fits(whole, facts.limits)) {
        let added = new.into_iter().map(|new| new.path).collect();
        return Plan {
            pieces,
            added,
            unfit: 0,
            text: whole,
        };
    }
    selected(&text, pieces, new, &topics, facts.limits, unseen)
}

/// Cuts the text into pieces and decides on each.
fn pieces(
    text: &str,
    links: &[IndexEntry],
    snapshot: &Snapshot,
    topics: &BTreeMap<&SafePath, (&Topic, &StoredFile)>,
    facts: &IndexFacts<'_>,
) -> Vec<Piece> {
    let mut ranges: BTreeMap<usize, &IndexEntry> = BTreeMap::new();
    for link in links {
        // The first link of a line decides on it; Dormouse's lines begin with theirs.
        ranges.entry(link.range.start).or_insert(link);
    }
    let by_hand = |link: &IndexEntry| {
        let own = is_own(text, link, topics, facts.past);
        link.form == Form::Entry && !own
    };
    let mut listed: BTreeSet<&SafePath> = links
        .iter()
        .filter(|link| by_hand(link))
        .map(|link| &link.path)
        .collect();
    let mut pieces = Vec::new();
    let mut at = 0;
    for link in ranges.values().filter(|link| link.whole) {
        if link.range.start < at {
            continue;
        }
        let range = link.range.clone();
        if is_own(text, link, topics, facts.past) {
            let piece = match topics.get(&link.path) {
                Some((topic, _)) if !is_trusted(topic.trust) => {
                    Piece::Gone(range, Some(link.path.clone()), Gone::Untrusted)
                }
                Some((topic, _)) if !is_listed(topic, facts.today) => {
                    Piece::Gone(range, Some(link.path.clone()), Gone::Over)
                }
                Some((topic, _)) if listed.insert(&link.path) => {
                    Piece::Own(range, link.path.clone(), line_of(&link.path, topic))
                }
                Some(_) => Piece::Gone(range, Some(link.path.clone()), Gone::Twice),
                None if facts.past.removed(&link.path, &text[range.clone()]) => {
                    Piece::Gone(range, Some(link.path.clone()), Gone::Removed)
                }
                None if facts.missing == Missing::Remove => {
                    Piece::Gone(range, Some(link.path.clone()), Gone::Missing)
                }
                None => continue,
            };
            persons(text, &mut pieces, at..link.range.start);
            at = link.range.end;
            pieces.push(piece);
        } else if link.form == Form::Entry && !exists(snapshot, &link.path) {
            let why = if facts.past.removed(&link.path, &text[range.clone()]) {
                Gone::Removed
            } else if facts.missing == Missing::Remove {
                Gone::Missing
            } else {
                continue;
            };
            persons(text, &mut pieces, at..link.range.start);
            at = link.range.end;
            pieces.push(Piece::Gone(range, Some(link.path.clone()), why));
        }
    }
    persons(text, &mut pieces, at..text.len());
    pieces
}

/// Adds a person's stretch, without remarks of earlier mendings.
fn persons(text: &str, pieces: &mut Vec<Piece>, range: Range<usize>) {
    let (mut start, mut at) = (range.start, range.start);
    for line in text[range.clone()].split_inclusive('\n') {
        let end = at + line.len();
        if is_remark(line) {
            if start < at {
                pieces.push(Piece::Person(start..at));
            }
            pieces.push(Piece::Gone(at..end, None, Gone::Remark));
            start = end;
        }
        at = end;
    }
    if start < range.end {
        pieces.push(Piece::Person(start..range.end));
    }
}

/// True for a line that Dormouse made, of the file as it is or as the journal has it.
pub(super) fn is_own(
    text: &str,
    link: &IndexEntry,
    topics: &BTreeMap<&SafePath, (&Topic, &StoredFile)>,
    past: &IndexPast,
) -> bool {
    let line = text[link.range.clone()].trim_end_matches(['\r', '\n']);
    let current = || {
        let topic = topics.get(&link.path);
        topic.is_some_and(|(topic, _)| line_of(&link.path, topic) == line)
    };
    link.whole && (current() || past.made(&link.path, line))
}

/// True for a file of the directory or a folder with one in it.
pub(super) fn exists(snapshot: &Snapshot, path: &SafePath) -> bool {
    snapshot.get(path).is_some() || (!is_topic(path) && snapshot.has_folder(path))
}

/// Files that the lines which stay link to.
fn linked(pieces: &[Piece], links: &[IndexEntry]) -> BTreeSet<SafePath> {
    // In the order of the text, and none in another.
    let gone: Vec<&Range<usize>> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Gone(range, ..) => Some(range),
            Piece::Person(_) | Piece::Own(..) => None,
        })
        .collect();
    let stays = |link: &&IndexEntry| {
        let at = link.link.start;
        let next = gone.partition_point(|range| range.end <= at);
        !gone.get(next).is_some_and(|range| range.contains(&at))
    };
    let stay = links.iter().filter(stays);
    stay.map(|link| link.path.clone()).collect()
}

fn ranked(path: &SafePath, topic: &Topic, file: &StoredFile) -> Ranked {
    let kind = topic.kind.map_or(Kind::ALL.len(), |kind| kind as usize);
    let time = topic
        .origin
        .as_ref()
        .map_or(file.modified, |origin| origin.time);
    Ranked {
        rank: (!is_pinned(path), kind, Reverse(time.0)),
        path: path.clone(),
        line: line_of(path, topic),
    }
}

/// Pieces that stay, new lines, and a remark on the memories without one.
fn joined(
    text: &str,
    pieces: &[Piece],
    keep: &dyn Fn(&SafePath) -> bool,
    new: &[Ranked],
    unlisted: Option<usize>,
) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces {
        match piece {
            Piece::Person(range) => out.push_str(&text[range.clone()]),
            Piece::Own(range, path, line) if keep(path) => {
                let old = &text[range.clone()];
                out.push_str(line);
                // The ending it had, so that a file of another system stays consistent.
                out.push_str(&old[old.trim_end_matches(['\r', '\n']).len()..]);
            }
            Piece::Own(..) | Piece::Gone(..) => {}
        }
    }
    let lines: Vec<String> = new.iter().map(|new| new.line.clone()).collect();
    let mut out = appended(&out, &lines);
    if let Some(unlisted) = unlisted {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(REMARK);
        out.push_str(&unlisted.to_string());
        out.push_str(" have no line; searching memory finds them.\n");
    }
    out
}

/// Text with lines at its end. In an index that ends inside code or HTML they would be no links:
/// then a blank line goes before them, or they go to the top.
pub(super) fn appended(text: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return text.to_owned();
    }
    let end = if text.ends_with("\r\n") { "\r\n" } else { "\n" };
    let mut block = String::new();
    for line in lines {
        block.push_str(line);
        block.push_str(end);
    }
    let gap = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        end
    };
    let wanted = entries(text).len() + entries(&block).len();
    let ways = [
        format!("{text}{gap}{block}"),
        format!("{text}{gap}{end}{block}"),
        format!("{block}{end}{text}"),
    ];
    let [first, ..] = &ways;
    let read = |way: &&String| entries(way).len() >= wanted;
    ways.iter().find(read).unwrap_or(first).clone()
}

pub(super) fn fits(text: &str, limits: Limits) -> bool {
    text.lines().count() <= limits.lines && text.len() <= limits.bytes
}

/// As many of Dormouse's lines as fit beside a person's, by rank.
fn selected(
    text: &str,
    pieces: Vec<Piece>,
    new: Vec<Ranked>,
    topics: &BTreeMap<&SafePath, (&Topic, &StoredFile)>,
    limits: Limits,
    unseen: usize,
) -> Plan {
    let theirs = joined(text, &pieces, &|_| false, &[], None);
    let room = limits.lines.checked_sub(theirs.lines().count() + 1);
    let bytes = limits.bytes.checked_sub(theirs.len() + 1 + REMARK_ROOM);
    let (Some(mut room), Some(mut bytes)) = (room, bytes) else {
        // A person's lines fill it already; dropping others would not help.
        return Plan {
            unfit: new.len(),
            text: joined(text, &pieces, &|_| true, &[], None),
            added: Vec::new(),
            pieces,
        };
    };
    let mut all: Vec<(Ranked, bool)> = new.into_iter().map(|new| (new, true)).collect();
    for piece in &pieces {
        if let Piece::Own(_, path, _) = piece
            && let Some((topic, file)) = topics.get(path)
        {
            all.push((ranked(path, topic, file), false));
        }
    }
    all.sort_by(|(a, _), (b, _)| (&a.rank, &a.path).cmp(&(&b.rank, &b.path)));
    let (mut kept, mut added) = (BTreeSet::new(), Vec::new());
    let total = all.len();
    for (ranked, is_new) in all {
        // Two bytes for the longest ending of a line.
        let cost = ranked.line.len() + 2;
        // Strictly by rank: a lower one that happens to be shorter must not overtake.
        if room == 0 || cost > bytes {
            break;
        }
        room -= 1;
        bytes -= cost;
        kept.insert(ranked.path.clone());
        if is_new {
            added.push(ranked);
        }
    }
    let unfit = total - kept.len();
    // Counted by name, memories that no longer hold among them: a writer need not read them all.
    let bare = joined(text, &pieces, &|path| kept.contains(path), &added, None);
    let linked: BTreeSet<SafePath> = entries(&bare).into_iter().map(|link| link.path).collect();
    let without = topics
        .keys()
        .filter(|path| !linked.contains(**path))
        .count()
        + unseen;
    let is_full = unseen > 0 && text.lines().any(is_remark);
    let remark = (unfit > 0 || is_full).then_some(without);
    Plan {
        unfit,
        text: joined(text, &pieces, &|path| kept.contains(path), &added, remark),
        added: added.into_iter().map(|new| new.path).collect(),
        pieces,
    }
}

/// True for the remark about memories without a line.
pub(crate) fn is_remark(line: &str) -> bool {
    line.starts_with(REMARK)
}

/// Puts an index into a snapshot; an empty one that was not there is not put.
pub(crate) fn put(snapshot: &mut Snapshot, text: String) {
    let Ok(path) = SafePath::parse(INDEX) else {
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

/// Change whose index keeps the limits. Where it would grow beyond them, the best of the lines it has
/// stay, so that the newest memories are not the ones that vanish; where a line of a full index goes,
/// the next memory gets its place. Any other change stays as it is.
#[must_use]
pub fn bounded(
    mut change: Transaction,
    snapshot: &Snapshot,
    facts: &IndexFacts<'_>,
) -> Transaction {
    let Ok(path) = SafePath::parse(INDEX) else {
        return change;
    };
    let position = change.operations.iter().position(|done| done.path == path);
    let Some(content) = position.and_then(|at| change.operations[at].content.clone()) else {
        return change;
    };
    let text = String::from_utf8_lossy(&content);
    let grows = text.len() > snapshot.index().len();
    let has_room = !grows && text.lines().any(is_remark);
    if !has_room && (!grows || fits(&text, facts.limits)) {
        return change;
    }
    let after = change.applied(snapshot, Millis::default());
    let past = facts.past.after(snapshot, &after);
    let facts = IndexFacts {
        past: &past,
        ..*facts
    };
    let text = if has_room {
        mended(&after, &facts)
    } else {
        // Memories without a line rank below those with one, so they need not be read.
        let linked: BTreeSet<SafePath> = entries(&text).into_iter().map(|link| link.path).collect();
        let unseen = after.topics().filter(|(path, _)| !linked.contains(*path));
        let unseen = unseen.count();
        let mut seen = Snapshot::new();
        for path in linked.iter().chain([&path]) {
            if let Some(file) = after.get(path) {
                seen.insert(path.clone(), file.clone());
            }
        }
        plan_beside(&seen, &facts, unseen).text
    };
    change.operations.retain(|done| done.path != path);
    change.operations.push(Operation {
        expected: Expected::now(snapshot, &path),
        path,
        content: Some(text.into()),
    });
    change.without_idle(snapshot)
}
