//! Statements of one frame: the newer word replaces the older one, and the same said twice is one.
//!
//! # Model
//! Only statements of one sentence are compared, and only those that share a word which few have.
//! Both must be of one type and one trust, and the time of both must be known: without it no dream
//! can tell which of two words is the last.
//!
//! # Responsibilities
//! - The older file stays, as history with its last day; it names its successor.
//!
//! # Not here
//! Texts that mostly agree (`merge`); the relation of two statements ([`crate::frame`]).

use super::carry::{believed, contradict};
use super::desk::{Desk, Memory};
use super::{Stated, What};
use crate::frame::{Frame, Relation, last_day, said};
use crate::topic::{self, Field};
use dormouse_core::units::Millis;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Most memories that share a word which still finds others: a word of more is common.
const COMMON: usize = 48;
/// Most comparisons for one memory, so that the time of a dream follows their number.
const MOST: usize = 64;

/// Two memories in one frame, the older first.
pub(super) struct Pair {
    pub(super) older: Rc<Memory>,
    pub(super) newer: Rc<Memory>,
}

/// Marks what was replaced, and returns the pairs that say the same.
pub(super) fn replace(desk: &mut Desk<'_>, today: Date) -> Vec<Pair> {
    let framed: Vec<(Rc<Memory>, Frame)> = desk
        .memories()
        .filter(|memory| !memory.topic.is_over(today) && !memory.is_untouchable())
        .filter_map(|memory| Some((Rc::clone(memory), Frame::of(said(memory.statement()))?)))
        .collect();
    let mut having: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (_, frame)) in framed.iter().enumerate() {
        for term in frame.terms() {
            having.entry(term).or_default().push(at);
        }
    }
    let mut same = Vec::new();
    for (at, (memory, frame)) in framed.iter().enumerate() {
        let near = frame.terms().filter_map(|term| having.get(term));
        let near = near.filter(|list| list.len() <= COMMON).flatten().copied();
        let others: BTreeSet<usize> = near.filter(|other| *other < at).take(MOST).collect();
        for other in others {
            let (second, its) = &framed[other];
            let times = (time(memory), time(second));
            let alike = believed(&memory.topic) == believed(&second.topic)
                && memory.topic.kind == second.topic.kind
                && memory.topic.valid_until == second.topic.valid_until;
            if !alike {
                continue;
            }
            // Of equals the first by path counts as the older, in every dream the same.
            let swapped = times.0 < times.1;
            let (newer, older) = if swapped {
                (second, memory)
            } else {
                (memory, second)
            };
            let relation = if swapped {
                its.relation(frame)
            } else {
                frame.relation(its)
            };
            let known = times.0 != times.1 && times.0.0 > 0 && times.1.0 > 0;
            match relation {
                Relation::Replaces if known => supersede(desk, older, newer),
                Relation::Replaces => contradict(desk, &older.path, &newer.path),
                Relation::Same => same.push(Pair {
                    older: Rc::clone(older),
                    newer: Rc::clone(newer),
                }),
                Relation::Apart => {}
            }
        }
    }
    same
}

/// Time at which it was said; zero if that is unknown.
fn time(memory: &Memory) -> Millis {
    memory
        .topic
        .origin
        .as_ref()
        .map_or(Millis(0), |origin| origin.time)
}

fn supersede(desk: &mut Desk<'_>, older: &Memory, newer: &Memory) {
    let Some(memory) = desk.memory(&older.path) else {
        return;
    };
    // Replaced by an earlier pair already.
    if memory.topic.superseded_by.is_some() {
        return;
    }
    let mut fields = vec![Field::SupersededBy(Some(newer.path.to_string()))];
    if let Some(day) = last_day(&memory.topic, newer.topic.origin.as_ref()) {
        fields.push(Field::ValidUntil(Some(day)));
    }
    desk.set(&older.path, topic::edit(&memory.text, &fields));
    desk.state(Stated {
        path: older.path.clone(),
        what: What::Contradicts,
        reason: format!("{} says something else of the same, and later", newer.path),
        sources: vec![older.path.clone()],
    });
}
