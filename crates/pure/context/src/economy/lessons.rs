//! Figures that the sessions of a project leave to later ones.
//!
//! Model: one entry per session, replaced as the session goes on. A document of them can be merged
//! with another: the newer entry of a session wins, and the order of merging does not matter. So a
//! session that is killed has taught what it wrote last, and of two that run at once both count.
//!
//! Not here: the file, and the lock under which it is merged.

use super::{Estimators, Prior, Survival};
use crate::distil::{Book, Fetches};
use dormouse_core::id::SessionId;
use dormouse_core::units::Millis;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most sessions remembered: enough for a survival curve of their lengths, few enough that a
/// project's figures follow a change of work. Each takes some 800 bytes.
const MOST: usize = 48;

/// Figures of one session so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Lesson {
    /// Time of the entry.
    at: Millis,
    /// Requests made until then.
    requests: u32,
    /// Estimates as a prior for other sessions.
    figures: Prior,
    /// Distilled results and how many were fetched again.
    #[serde(default, skip_serializing_if = "Fetches::is_empty")]
    distilled: Fetches,
}

/// Figures of the newest sessions of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lessons {
    sessions: BTreeMap<SessionId, Lesson>,
}

impl Lessons {
    /// The document of one session.
    pub fn of(session: &SessionId, (known, book): (&Estimators, &Book), at: Millis) -> Self {
        let lesson = Lesson {
            at,
            requests: known.requests(),
            figures: Prior::of(known),
            distilled: book.fetches().clone(),
        };
        Self {
            sessions: BTreeMap::from([(session.clone(), lesson)]),
        }
    }

    /// Reads a document; empty if the bytes are damaged or of another version.
    pub fn read(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The bytes of the document.
    ///
    /// # Errors
    /// If a figure is no number, which no observation makes.
    pub fn write(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// Both documents as one, the newer entry of a session in place of the older.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        for (session, lesson) in other.sessions {
            let entry = self.sessions.entry(session);
            let entry = entry.or_insert_with(|| lesson.clone());
            // Longer wins at equal times: a session does not shrink.
            if (lesson.at, lesson.requests) > (entry.at, entry.requests) {
                *entry = lesson;
            }
        }
        let newest = self.newest();
        if let Some(oldest) = newest.get(MOST - 1).map(|(at, _)| *at) {
            self.sessions.retain(|_, lesson| lesson.at >= oldest);
        }
        self
    }

    /// Prior of a new session: the figures of earlier ones, the newest counting most, and their
    /// lengths. `None` without earlier sessions.
    pub fn prior(&self) -> Option<Prior> {
        let newest = self.newest();
        let figures = newest.iter().map(|(_, lesson)| &lesson.figures);
        let lengths = newest.iter().map(|(_, lesson)| lesson.requests);
        let prior = Prior::mean(figures)?;
        Some(prior.with_survival(Survival::of(lengths)))
    }

    /// Distilled results of all sessions, and how many were fetched again.
    pub fn fetches(&self) -> Fetches {
        let mut sum = Fetches::default();
        for lesson in self.sessions.values() {
            sum.add(&lesson.distilled);
        }
        sum
    }

    /// Entries by time, the newest first.
    fn newest(&self) -> Vec<(Millis, &Lesson)> {
        let mut entries: Vec<_> = self.sessions.values().map(|one| (one.at, one)).collect();
        entries.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        entries
    }
}

/// Merges the bytes of a document into those of the file, which may be missing or damaged.
pub fn merge_lessons(file: Option<&[u8]>, new: &[u8]) -> Vec<u8> {
    let known = file.map(Lessons::read).unwrap_or_default();
    let merged = known.merge(Lessons::read(new));
    // Figures that cannot be written are no reason to lose those of other sessions.
    merged.write().unwrap_or_else(|_| new.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Tokens;
    use pretty_assertions::assert_eq;

    fn lessons(name: &str, requests: u32, growth: u64, at: i64) -> Lessons {
        let mut known = Estimators::default();
        for _ in 0..requests {
            known.observe_request(Tokens(10_000), Tokens(10_000 + growth));
        }
        Lessons::of(
            &SessionId::new(name),
            (&known, &Book::default()),
            Millis(at),
        )
    }

    #[test]
    fn two_sessions_at_once_both_teach_and_a_killed_one_keeps_its_last_entry() {
        let mut file = None;
        for (name, requests, at) in [("a", 4, 1), ("b", 8, 2), ("a", 9, 3), ("b", 30, 4)] {
            let new = lessons(name, requests, 2_000, at).write().unwrap();
            file = Some(merge_lessons(file.as_deref(), &new));
        }
        let read = Lessons::read(&file.unwrap());
        let lengths: Vec<u32> = read.sessions.values().map(|one| one.requests).collect();
        assert_eq!(lengths, [9, 30]);
    }

    #[test]
    fn the_order_of_merging_does_not_matter() {
        let parts = [
            lessons("a", 4, 500, 1),
            lessons("b", 8, 900, 2),
            lessons("a", 9, 700, 3),
        ];
        let merged = |order: [usize; 3]| {
            let parts = order.map(|at| parts[at].clone());
            parts.into_iter().fold(Lessons::default(), Lessons::merge)
        };
        assert_eq!(merged([0, 1, 2]), merged([2, 0, 1]));
        assert_eq!(merged([0, 1, 2]), merged([1, 2, 0]));
    }

    #[test]
    fn old_sessions_are_forgotten_and_damage_is_no_error() {
        let all = (0..200).fold(Lessons::default(), |all, n| {
            all.merge(lessons(&n.to_string(), 3, 100, n))
        });
        assert_eq!(all.sessions.len(), MOST);
        assert!(all.sessions.contains_key(&SessionId::new("199")));
        assert!(all.write().unwrap().len() < 64 * 1024);
        let new = lessons("a", 4, 500, 1);
        let merged = merge_lessons(Some(b"{ no"), &new.write().unwrap());
        assert_eq!(Lessons::read(&merged), new);
        // The file of an earlier version holds one prior, without sessions.
        let old = serde_json::to_vec(&Prior::default()).unwrap();
        assert_eq!(Lessons::read(&old).prior(), None);
    }

    #[test]
    fn a_new_session_starts_from_growth_and_lengths_of_the_earlier_ones() {
        let all = (0..30).fold(Lessons::default(), |all, n| {
            all.merge(lessons(&n.to_string(), 10, 6_000, n))
        });
        let known = Estimators::starting_from(&all.prior().unwrap());
        assert!((4_500..6_500).contains(&known.growth.tokens().get()));
        assert_eq!(known.requests(), 0);
        let shipped = Survival::default();
        assert!(known.survival.chance(8.0, 8.0) < 0.5 * shipped.chance(8.0, 8.0));
    }

    /// A project in which results were always fetched again distils nothing at first, and is
    /// corrected by a session in which none is.
    #[test]
    fn earlier_sessions_settle_how_often_results_are_fetched_again() {
        let book = |distilled: u32, again: u32| -> Book {
            let counts = serde_json::json!({ "distilled": distilled, "again": again });
            let tools = serde_json::json!({ "tools": { "Bash": counts } });
            serde_json::from_value(tools).unwrap()
        };
        let teaches = |n: i64, distilled, again| {
            let session = SessionId::new(n.to_string());
            let known = Estimators::default();
            Lessons::of(&session, (&known, &book(distilled, again)), Millis(n))
        };
        let always = (0..40).fold(Lessons::default(), |all, n| all.merge(teaches(n, 5, 5)));
        let read = Lessons::read(&always.write().unwrap());
        let begins = Book::starting_from(read.fetches()).again("Bash");
        assert!(begins > 0.7, "{begins}");
        // Two hundred results of earlier sessions count for twenty-four of this one.
        let mut corrected = serde_json::to_value(Book::starting_from(read.fetches())).unwrap();
        corrected["tools"] = serde_json::json!({ "Bash": { "distilled": 48, "again": 0 } });
        let corrected: Book = serde_json::from_value(corrected).unwrap();
        assert!(corrected.again("Bash") < 0.35);
        assert!(Book::starting_from(read.fetches()).again("Other") < 0.1);
    }
}
