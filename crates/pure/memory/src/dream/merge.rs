//! Merging memories that say the same.
//!
//! # Model
//! Candidates are found by their words (`dormouse_text::duplicates`) and judged sentence by
//! sentence. Sentences that one file has and the other does not are carried over, so nothing is
//! lost but repetition. If both have sentences of their own and a number or a negation differs,
//! they may contradict each other: both stay, and each says so.
//!
//! # Responsibilities
//! - Memories of different trust are never merged. The files a merge was made of are named in it.
//! - Keys of other tools are carried over. Links follow.
//! - Pinned files and others that cannot be written, and files that those link to, stay where and
//!   as they are.
//!
//! # Not here
//! Front matter and links of a merge (`carry`); merging a new memory when it is added
//! ([`crate::write`]).

use super::carry::{believed, contradict, fields, relink, with_keys};
use super::desk::{Desk, Memory};
use super::replace::{Pair, replace};
use super::sentence::{Reader, Sentence};
use super::tally::{self, Step};
use super::{Stated, What};
use crate::snapshot::{Snapshot, StoredFile, is_pinned};
use crate::topic;
use crate::transaction::MOST_BYTES;
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use dormouse_text::duplicates::{Likeness, NEAR, Sketch, clusters};
use dormouse_text::segment::{Kind, segment};
use jiff::civil::Date;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Most memories of a group that are marked as contradicting its first. A handful may be versions of
/// one fact; a dozen that differ in a number are statements about a dozen things.
const MOST_CONTRARY: usize = 8;

/// True if a dream must leave a file as it is: it is pinned, or its content could not be written
/// again (too long, a credential), so that touching it would spoil the whole dream.
pub(super) fn is_untouchable(path: &SafePath, text: &str) -> bool {
    is_pinned(path) || text.len() > MOST_BYTES || !secrets::scan(text).is_empty()
}

/// Decision on two memories.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Unrelated, or not to be joined.
    Apart,
    /// Second goes into the first.
    Merge,
    /// First goes into the second.
    MergeBack,
    /// Different statements about the same thing.
    Contradict,
}

/// Merges until nothing is left to merge.
pub(super) fn merge(snapshot: &mut Snapshot, changes: &mut Vec<Stated>, today: Date) {
    let merger = Merger {
        reader: Reader::new(),
        today,
    };
    let mut desk = Desk::new(snapshot, changes);
    // First: what is replaced is history, and is compared with nothing any more.
    for Pair { older, newer } in replace(&mut desk, today) {
        merger.join_same(&mut desk, &older.path, &newer.path);
    }
    // Ends, because each round but the last takes a file away.
    while merger.round(&mut desk) {}
}

struct Merger {
    reader: Reader,
    today: Date,
}

impl Merger {
    /// One look at all memories; returns true if any was merged.
    fn round(&self, desk: &mut Desk<'_>) -> bool {
        let memories: Vec<Rc<Memory>> = desk
            .memories()
            .filter(|memory| !memory.topic.is_over(self.today))
            .filter(|memory| !memory.statement().trim().is_empty())
            .cloned()
            .collect();
        let sketches = memories.iter().map(|memory| memory.sketch().clone());
        let found = clusters(sketches, NEAR);
        tally::add(Step::Compared, found.compared);
        let mut merged = false;
        for cluster in found.groups {
            // As it is now: links in it may have followed an earlier merge of this round.
            let now = |desk: &Desk<'_>, number: usize| desk.memory(&memories[number].path);
            let Some(mut first) = now(desk, cluster.first) else {
                continue;
            };
            let mut contrary = Vec::new();
            for found in &cluster.others {
                let Some(other) = now(desk, found.id) else {
                    continue;
                };
                let (keeper, gone) = match self.judge(desk, &first, &other, found.likeness) {
                    Verdict::Apart => continue,
                    Verdict::Contradict => {
                        contrary.push(other);
                        continue;
                    }
                    Verdict::Merge => (Rc::clone(&first), other),
                    Verdict::MergeBack => (other, Rc::clone(&first)),
                };
                if !self.join(desk, &keeper, &gone) {
                    continue;
                }
                merged = true;
                if let Some(joined) = desk.memory(&keeper.path) {
                    first = joined;
                }
            }
            // More are a series: the same said of many servers, tickets or days.
            if contrary.len() <= MOST_CONTRARY {
                for other in contrary {
                    contradict(desk, &first.path, &other.path);
                }
            }
        }
        merged
    }

    fn judge(&self, desk: &Desk<'_>, a: &Memory, b: &Memory, likeness: Likeness) -> Verdict {
        // A fact and a rule about the same thing are recalled for different reasons.
        let kinds = matches!((a.topic.kind, b.topic.kind), (Some(a), Some(b)) if a != b);
        // One file has one last day; merged, one of the two would end wrongly.
        let until = a.topic.valid_until != b.topic.valid_until;
        // Merged, the user's words would lose their trust or others' words gain it.
        let trust = believed(&a.topic) != believed(&b.topic);
        let (held_a, held_b) = (a.is_untouchable(), b.is_untouchable());
        if kinds || until || trust || (held_a && held_b) {
            return Verdict::Apart;
        }
        let (said_a, said_b) = (
            self.reader.sentences(a.statement()),
            self.reader.sentences(b.statement()),
        );
        let only_a = left_over(&said_a, &said_b);
        let only_b = left_over(&said_b, &said_a);
        let both = !only_a.is_empty() && !only_b.is_empty();
        if (likeness == Likeness::Variant && both) || differ(&only_a, &only_b) {
            return Verdict::Contradict;
        }
        // A link from an untouchable file cannot follow, so its target must stay.
        let (fixed_a, fixed_b) = (desk.is_fixed(&a.path), desk.is_fixed(&b.path));
        match (held_a || fixed_a, held_b || fixed_b) {
            (true, true) => Verdict::Apart,
            // An untouchable file is not added to; the other may go if it says nothing of its own.
            (true, false) if held_a && !only_b.is_empty() => Verdict::Apart,
            (false, true) if held_b && !only_a.is_empty() => Verdict::Apart,
            (false, true) => Verdict::MergeBack,
            (false, false) if better(b, a) => Verdict::MergeBack,
            (true | false, false) => Verdict::Merge,
        }
    }

    /// Drops the newer of two statements that say the same in other words: the older one stays.
    fn join_same(&self, desk: &mut Desk<'_>, older: &SafePath, newer: &SafePath) {
        let (Some(older), Some(newer)) = (desk.memory(older), desk.memory(newer)) else {
            return;
        };
        let over = |memory: &Memory| memory.topic.is_over(self.today);
        if over(&older) || over(&newer) || desk.is_fixed(&older.path) || desk.is_fixed(&newer.path)
        {
            return;
        }
        self.join(desk, &older, &newer);
    }

    /// Puts one memory into another; refuses if that would become too long.
    fn join(&self, desk: &mut Desk<'_>, keeper: &Memory, gone: &Memory) -> bool {
        if !keeper.is_untouchable() {
            let text = self.joined(keeper, gone);
            if text.len() > MOST_BYTES {
                return false;
            }
            desk.set(&keeper.path, text);
            desk.state(Stated {
                path: keeper.path.clone(),
                what: What::Merged,
                reason: format!("{} says nearly the same", gone.path),
                sources: vec![keeper.path.clone(), gone.path.clone()],
            });
        }
        desk.remove(&gone.path);
        desk.state(Stated {
            path: gone.path.clone(),
            what: What::Removed,
            reason: format!("it is part of {} now", keeper.path),
            sources: vec![keeper.path.clone()],
        });
        relink(desk, &gone.path, &keeper.path);
        true
    }

    fn joined(&self, keeper: &Memory, gone: &Memory) -> String {
        let mut text = keeper.text.clone();
        let mut said = self.reader.sentences(keeper.statement());
        let mut extra = self.extra(gone.body(), &mut said, keeper.body());
        let all: BTreeSet<String> = said.iter().flat_map(|s| s.terms.clone()).collect();
        let description = self.reader.sentence(&gone.topic.description);
        let own = self.reader.sentence(&keeper.topic.description);
        let known = |term: &String| all.contains(term) || own.terms.contains(term);
        // A description may say more than the body; then it is carried over as a sentence.
        if !description.repeats(&own) && !description.terms.iter().all(known) {
            extra.push(gone.topic.description.clone());
        }
        if !extra.is_empty() {
            text.truncate(text.trim_end().len());
            for block in &extra {
                text.push_str("\n\n");
                text.push_str(block);
            }
            text.push('\n');
        }
        let text = with_keys(&text, &gone.text);
        topic::edit(&text, &fields(keeper, gone))
    }

    /// Parts of a body that are not said yet.
    fn extra(&self, body: &str, said: &mut Vec<Sentence>, keeper: &str) -> Vec<String> {
        let mut extra = Vec::new();
        for block in blocks(body) {
            // Code is compared whole: a line of it alone means nothing.
            if block.contains("```") || block.contains("~~~") {
                if !keeper.contains(block.trim()) {
                    extra.push(block.trim().to_owned());
                    said.extend(self.reader.sentences(block));
                }
                continue;
            }
            let mut new = String::new();
            for part in segment(block) {
                let text = &block[part.range.clone()];
                let sentence = self.reader.sentence(text);
                if part.kind == Kind::Blank || said.iter().any(|known| sentence.repeats(known)) {
                    continue;
                }
                new.push_str(text);
                said.push(sentence);
            }
            if !new.trim().is_empty() {
                extra.push(new.trim_end().to_owned());
            }
        }
        extra
    }
}

/// Sentences that the other side does not have.
fn left_over<'a>(mine: &'a [Sentence], theirs: &[Sentence]) -> Vec<&'a Sentence> {
    let said = |sentence: &Sentence| theirs.iter().any(|other| sentence.repeats(other));
    mine.iter().filter(|sentence| !said(sentence)).collect()
}

/// True if two sentences differ in a number or a negation alone.
fn differ(mine: &[&Sentence], theirs: &[&Sentence]) -> bool {
    let sketches = |list: &[&Sentence]| -> Vec<Sketch> {
        list.iter()
            .map(|sentence| Sketch::new(&sentence.text))
            .collect()
    };
    let theirs = sketches(theirs);
    sketches(mine).iter().any(|mine| {
        theirs
            .iter()
            .any(|other| mine.likeness(other, NEAR) == Some(Likeness::Variant))
    })
}

/// True if `a` is the better file to keep than `b`, which comes first.
fn better(a: &Memory, b: &Memory) -> bool {
    let rank = |memory: &Memory| (memory.is_complete(), memory.body().trim().len());
    rank(a) > rank(b)
}

pub(super) fn set(snapshot: &mut Snapshot, path: &SafePath, text: String) {
    // The old time stays: a dream adds no new information.
    let modified = snapshot.get(path).map(|file| file.modified);
    let file = StoredFile {
        content: text.into(),
        modified: modified.unwrap_or_default(),
    };
    snapshot.insert(path.clone(), file);
}

/// Paragraphs, with code in fences whole.
fn blocks(body: &str) -> Vec<&str> {
    let (mut blocks, mut start, mut at, mut fenced) = (Vec::new(), 0, 0, false);
    for line in body.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        at += line.len();
        if fence && !fenced {
            let before = at - line.len();
            if !body[start..before].trim().is_empty() {
                blocks.push(&body[start..before]);
            }
            start = before;
        }
        let ends = if fence {
            fenced
        } else {
            !fenced && line.trim().is_empty()
        };
        fenced ^= fence;
        if ends {
            blocks.push(&body[start..at]);
            start = at;
        }
    }
    blocks.push(&body[start..]);
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}
