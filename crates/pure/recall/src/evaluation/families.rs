//! Grouping of entries into pieces of the same whole.
//!
//! # Model
//! The first of these that gives families of their own: the parent an entry names; the part of its
//! id before a number at the end (`D3:12`, `s1_t4`, `a#5`, `a/5`); its time, if several share it.
//! Ids and times are believed only if entries are short, as turns are: whole sessions are numbered,
//! too, and are no pieces of anything. Neighbours are entries that follow each other in the set and
//! have the same parent.
//!
//! # Not here
//! Parents of memories in use: those are notes that stand alone.

use super::CorpusEntry;
use std::collections::HashMap;

/// Most words of an entry, on average, that can be a turn of a conversation.
const TURN_WORDS: usize = 150;
/// Least entries per parent, on average, for an id or a time to be one: pairs occur by chance.
const FAMILY: usize = 3;

/// Place of an entry in a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family<'a> {
    pub(super) parent: &'a str,
    /// Position among all entries: neighbours are one apart.
    pub(super) order: u32,
}

/// Family of each entry, if it has one.
pub(super) fn of(entries: &[CorpusEntry]) -> Vec<Option<Family<'_>>> {
    let named: Vec<Option<&str>> = entries
        .iter()
        .map(|entry| entry.parent.as_deref())
        .collect();
    let found = if named.iter().any(Option::is_some) {
        Some(named)
    // Only without named parents: a set that names some has said which entries stand alone.
    } else if are_turns(entries) {
        let by_id: Vec<Option<&str>> = entries
            .iter()
            .map(|entry| before_number(&entry.id))
            .collect();
        let by_time: Vec<Option<&str>> = entries
            .iter()
            .map(|entry| Some(entry.time.as_str()).filter(|time| !time.is_empty()))
            .collect();
        let mut told = [by_id, by_time].into_iter();
        told.find(|parents| are_families(parents))
    } else {
        None
    };
    let Some(parents) = found else {
        return vec![None; entries.len()];
    };
    let sizes = sizes(&parents);
    (0_u32..)
        .zip(parents)
        .map(|(order, parent)| {
            // A piece alone has neither neighbours nor a whole.
            let parent = parent.filter(|parent| sizes.get(parent).is_some_and(|size| *size > 1))?;
            Some(Family { parent, order })
        })
        .collect()
}

/// Makes the entries of one group among several pieces of one whole, if they are short, their ids
/// count up and nothing else tells their whole: a conversation without sessions.
pub fn join_conversation(entries: &mut [CorpusEntry]) {
    let ids: Vec<Option<u64>> = entries
        .iter()
        .map(|entry| number_at_end(&entry.id))
        .collect();
    let steps = ids.windows(2).filter(|pair| match pair {
        [Some(before), Some(behind)] => before.checked_add(1) == Some(*behind),
        _ => false,
    });
    // Nine steps of ten: sets leave out a turn here and there.
    let counts_up = steps.count() * 10 >= entries.len().saturating_sub(1) * 9;
    if counts_up && are_turns(entries) && of(entries).iter().all(Option::is_none) {
        for entry in entries {
            entry.parent = Some(String::new());
        }
    }
}

fn number_at_end(id: &str) -> Option<u64> {
    let rest = id.trim_end_matches(|letter: char| letter.is_ascii_digit());
    id[rest.len()..].parse().ok()
}

fn are_turns(entries: &[CorpusEntry]) -> bool {
    let words: usize = entries
        .iter()
        .map(|entry| entry.text.split_whitespace().count())
        .sum();
    words <= TURN_WORDS * entries.len()
}

fn are_families(parents: &[Option<&str>]) -> bool {
    let sizes = sizes(parents);
    let pieces: usize = sizes.values().sum();
    // Four fifths must have a parent, and not all the same one: otherwise the id is only a name.
    sizes.len() > 1 && pieces >= FAMILY * sizes.len() && pieces * 10 >= parents.len() * 8
}

fn sizes<'a>(parents: &[Option<&'a str>]) -> HashMap<&'a str, usize> {
    let mut sizes = HashMap::new();
    for parent in parents.iter().flatten() {
        *sizes.entry(*parent).or_default() += 1;
    }
    sizes
}

/// Part of an id before the number at its end, without the letters that announce it (`_t4`).
fn before_number(id: &str) -> Option<&str> {
    let rest = id.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if rest.len() == id.len() {
        return None;
    }
    let rest = rest.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let parent = rest.trim_end_matches([':', '_', '#', '/', '-', '.', '|', ' ']);
    (parent.len() < rest.len() && !parent.is_empty()).then_some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn entries(ids: &[&str]) -> Vec<CorpusEntry> {
        let entry = |id: &&str| CorpusEntry {
            id: (*id).to_owned(),
            text: "a few words".to_owned(),
            ..CorpusEntry::default()
        };
        ids.iter().map(entry).collect()
    }

    #[test]
    fn parents_stand_before_the_number() {
        let check = |id: &str, parent: Option<&str>| assert_eq!(before_number(id), parent, "{id}");
        check("D3:12", Some("D3"));
        check("s1_t4", Some("s1"));
        check("a#5", Some("a"));
        check("a/5", Some("a"));
        check("chat-7/turn-12", Some("chat-7/turn"));
        check("session_3", Some("session"));
        check("12", None);
        check("note", None);
        check("t4", None);
    }

    #[test]
    fn turns_are_pieces_of_sessions() {
        let turns = entries(&["D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D2:3"]);
        let families = of(&turns);
        let parents: Vec<&str> = families
            .iter()
            .flatten()
            .map(|family| family.parent)
            .collect();
        assert_eq!(parents, ["D1", "D1", "D1", "D2", "D2", "D2"]);
    }

    #[test]
    fn a_conversation_without_sessions_is_one_whole() {
        let mut turns = entries(&["1", "2", "3", "4"]);
        join_conversation(&mut turns);
        assert!(of(&turns).iter().all(Option::is_some));
        let mut notes = entries(&["9", "2", "31", "4"]);
        join_conversation(&mut notes);
        assert!(of(&notes).iter().all(Option::is_none));
    }

    #[test]
    fn numbered_sessions_are_no_pieces() {
        let short = entries(&["session_1", "session_2", "session_3"]);
        assert_eq!(of(&short), [None; 3], "all of one whole says nothing");
        let mut long = entries(&["D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D2:3"]);
        for entry in &mut long {
            entry.text = "word ".repeat(400);
        }
        assert_eq!(of(&long), [None; 6]);
    }

    #[test]
    fn a_named_parent_is_believed_and_a_shared_time_is_the_last_resort() {
        let mut named = entries(&["1", "2", "3"]);
        for (entry, parent) in named.iter_mut().zip(["a", "a", "b"]) {
            entry.parent = Some(parent.to_owned());
        }
        let parents: Vec<Option<&str>> = of(&named)
            .iter()
            .map(|family| family.map(|family| family.parent))
            .collect();
        assert_eq!(
            parents,
            [Some("a"), Some("a"), None],
            "one alone is no family"
        );
        let mut timed = entries(&["x", "y", "z", "u", "v", "w"]);
        for (entry, time) in timed
            .iter_mut()
            .zip(["8 May", "8 May", "8 May", "9 May", "9 May", "9 May"])
        {
            entry.time = time.to_owned();
        }
        assert!(of(&timed).iter().all(Option::is_some));
    }
}
