//! Care for single memories in a dream: triggers, checks of their claims, and those never of use.
//!
//! # Model
//! These need the working tree and the book of use, which the rules of consolidation do not see. They
//! touch only files that Dormouse wrote, and only keys of its own. Forgetting is proposed, never
//! done.
//!
//! # Not here
//! Triggers of a text, claims and the book: `dormouse-recall`. Merging: `dormouse_memory::dream`.

use super::Dream;
use crate::keeper::Keeper;
use crate::recaller::{book, claims_of};
use crate::tree::TreeFacts;
use dormouse_guard::paths::SafePath;
use dormouse_memory::dream::{Stated, What};
use dormouse_memory::snapshot::{Snapshot, StoredFile, is_pinned};
use dormouse_memory::topic::{self, Field, Kind, Topic};
use dormouse_recall::triggers::derive;
use dormouse_recall::verify::{Claim, mark, refreshed};

/// Age in milliseconds above which a check is worth writing down again: a week. Each write is an entry
/// in the journal.
const CHECKED_LONG_AGO: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Most memories that are proposed for forgetting at once: a person reads the list.
const MOST_PROPOSED: usize = 10;

/// Memory that was shown again and again and never was of use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverUsed {
    /// File, relative to the memory directory.
    pub path: SafePath,
    /// Times it was shown.
    pub shown: u32,
}

impl Keeper {
    /// Adds triggers to rules that state them, and the time of the check to memories whose claims
    /// hold.
    pub(super) fn tend(&self, dream: &mut Dream) {
        self.trigger(dream);
        self.verify(dream);
    }

    fn trigger(&self, dream: &mut Dream) {
        let today = self.today();
        let rules = own(&dream.after).filter(|(_, _, topic)| {
            let rule = topic.kind == Some(Kind::Feedback);
            rule && topic.triggers.is_empty() && !topic.is_over(today)
        });
        let triggered: Vec<(SafePath, String)> = rules
            .filter_map(|(path, text, topic)| {
                let triggers = derive(&text[topic.body..]);
                let fields = [Field::Triggers(triggers.clone())];
                (!triggers.is_empty()).then(|| (path.clone(), topic::edit(&text, &fields)))
            })
            .collect();
        for (path, text) in triggered {
            put(
                dream,
                path,
                text,
                "it is shown with the work that it is about",
            );
        }
    }

    fn verify(&self, dream: &mut Dream) {
        let (now, today) = (self.now(), self.today());
        let due: Vec<(SafePath, String, Vec<Claim>)> = own(&dream.after)
            .filter(|(_, _, topic)| {
                let long_ago = |at: dormouse_core::units::Millis| now.0 - at.0 > CHECKED_LONG_AGO;
                !topic.is_over(today) && topic.verified.is_none_or(long_ago)
            })
            .map(|(path, text, _)| (path.clone(), claims_of(&text), text))
            .filter(|(_, claims, _)| !claims.is_empty())
            .map(|(path, claims, text)| (path, text, claims))
            .collect();
        // One walk over the tree for all of them.
        let all: Vec<Claim> = due
            .iter()
            .flat_map(|(_, _, claims)| claims.clone())
            .collect();
        if all.is_empty() {
            return;
        }
        let facts = TreeFacts::look(&self.system.files, &self.places.project_root, &all);
        for (path, text, claims) in due {
            if let Some(text) = refreshed(&text, &mark(&claims, &facts), now) {
                put(dream, path, text, "everything that it names is there");
            }
        }
    }

    /// Memories that were shown often and never were of use, the worst first. Rules, pinned memories
    /// and those that the user called useful are not among them.
    pub(super) fn never_used(&self, snapshot: &Snapshot) -> Vec<NeverUsed> {
        let book = book(&self.memory);
        let today = self.today();
        let keep = |path: &SafePath| {
            let topic = snapshot.topic(path);
            topic.is_none_or(|topic| {
                let rule = matches!(topic.kind, Some(Kind::Feedback | Kind::User));
                rule || is_pinned(path) || topic.useful > 0 || topic.is_over(today)
            })
        };
        let found = book.forgettable(keep).into_iter().take(MOST_PROPOSED);
        found
            .map(|path| NeverUsed {
                shown: book.counts(&path).surfaced,
                path,
            })
            .collect()
    }
}

/// Memories that Dormouse wrote and may change: whole text, with a source, not pinned.
fn own(snapshot: &Snapshot) -> impl Iterator<Item = (&SafePath, String, &Topic)> {
    snapshot.read_topics().filter_map(|(path, file, topic)| {
        let complete =
            !topic.name.is_empty() && !topic.description.is_empty() && topic.kind.is_some();
        let text = std::str::from_utf8(&file.content).ok()?.to_owned();
        (topic.origin.is_some() && complete && !is_pinned(path)).then_some((path, text, topic))
    })
}

fn put(dream: &mut Dream, path: SafePath, text: String, reason: &str) {
    let Some(file) = dream.after.get(&path) else {
        return;
    };
    let file = StoredFile {
        content: text.into(),
        // A note about a memory does not make it younger.
        modified: file.modified,
    };
    dream.after.insert(path.clone(), file);
    dream.changes.push(Stated {
        sources: vec![path.clone()],
        path,
        what: What::Changed,
        reason: reason.to_owned(),
    });
}
