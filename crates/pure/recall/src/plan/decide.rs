//! Decisions of the plan.
//!
//! # Model
//! A planner goes through triggered rules, then hits, best first. Each memory is decided on once:
//! objections first, then confidence, then room; the rest become candidates for the small model
//! until those are enough.
//!
//! # Not here
//! The types of a plan ([`super`]); detection of a wish to do without memory (`ignore`).

use super::{
    Budgets, Hit, LeftOut, Pick, Reason, Request, Seen, Skip, Surfacing, Why, documentation,
    ignore, overrules,
};
use crate::triggers;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Memories to show with a prompt, and candidates for the small model.
pub fn plan(request: &Request<'_>) -> Surfacing {
    // "ok" and "continue" ask for nothing; a search with one word brings noise.
    if request.prompt.split_whitespace().nth(1).is_none() && !is_unspaced(request.prompt) {
        return skipped(Skip::TooShort);
    }
    if let Some(skip) = skip(request) {
        return skipped(skip);
    }
    let mut planner = Planner::new(request, &[]);
    // Before the hits: rules have priority over resemblance within the budget.
    planner.triggered();
    for hit in request.hits {
        planner.ranked(hit);
    }
    planner.finish()
}

/// Memories to show of the small model's choice. Showings since it was asked count.
pub fn plan_selected(request: &Request<'_>, selected: &[SafePath]) -> Surfacing {
    if let Some(skip) = skip(request) {
        return skipped(skip);
    }
    let mut planner = Planner::new(request, selected);
    for path in selected {
        planner.selected(path);
    }
    planner.finish()
}

/// Rules to show because the work has moved on, whatever the prompt was.
pub fn plan_work(request: &Request<'_>) -> Surfacing {
    if let Some(skip) = skip(request) {
        return skipped(skip);
    }
    let mut planner = Planner::new(request, &[]);
    planner.triggered();
    planner.finish()
}

fn skip(request: &Request<'_>) -> Option<Skip> {
    // Also for rules: the user's word on memory is the last.
    if ignore::says_to_ignore_memory(request.prompt) {
        Some(Skip::ToldToIgnore)
    } else if request.seen.bytes >= request.budgets.session_bytes {
        Some(Skip::BudgetSpent)
    } else {
        None
    }
}

fn skipped(skip: Skip) -> Surfacing {
    Surfacing {
        skipped: Some(skip),
        ..Surfacing::default()
    }
}

/// True for scripts without blanks, whose prompts have words all the same.
fn is_unspaced(prompt: &str) -> bool {
    let wide = |c: &char| {
        matches!(u32::from(*c),
            0x0E00..=0x0EFF | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF)
    };
    // Four characters make about two words.
    prompt.chars().filter(wide).nth(3).is_some()
}

struct Planner<'a> {
    request: &'a Request<'a>,
    cards: HashMap<&'a SafePath, &'a Card>,
    budgets: Budgets,
    seen: &'a Seen,
    /// Bytes that the session has left.
    left: u64,
    decided: BTreeSet<SafePath>,
    out: Surfacing,
}

impl<'a> Planner<'a> {
    /// Looks up the memories that may be decided on: `asked` and those of the hits.
    fn new(request: &'a Request<'a>, asked: &[SafePath]) -> Self {
        let hits = request.hits.iter().map(|hit| &hit.path);
        let wanted: HashSet<&SafePath> = hits.chain(asked).collect();
        Self {
            request,
            cards: request
                .cards
                .iter()
                // Standing ones for the triggers; all others only if needed, since a directory may
                // hold thousands.
                .filter(|card| card.is_standing() || wanted.contains(&card.path))
                .map(|card| (&card.path, card))
                .collect(),
            budgets: request.budgets,
            seen: request.seen,
            left: request
                .budgets
                .session_bytes
                .saturating_sub(request.seen.bytes),
            decided: BTreeSet::new(),
            out: Surfacing::default(),
        }
    }

    fn triggered(&mut self) {
        for found in triggers::matching(self.request.work, self.request.cards) {
            let Some(card) = self.cards.get(&found.path).copied() else {
                continue;
            };
            if self.first_look(&found.path) && self.vet(card) {
                self.take(card, Why::Triggered(found.by));
            }
        }
    }

    fn ranked(&mut self, hit: &Hit) {
        let Some(card) = self.known(&hit.path) else {
            return;
        };
        if !self.vet(card) {
            return;
        }
        let confidence = hit.confidence;
        // Written so that NaN as a confidence is not enough.
        if confidence >= self.budgets.confidence && self.has_room(card).is_ok() {
            self.take(card, Why::Ranked { confidence });
        // Not sure enough, or too many already: the small model may still prefer it.
        } else if self.out.candidates.len() < self.budgets.candidates && self.fits(card) {
            self.out.candidates.push(hit.path.clone());
        } else {
            let reason = self
                .has_room(card)
                .err()
                .unwrap_or(Reason::Unsure { confidence });
            self.leave(&hit.path, reason);
        }
    }

    fn selected(&mut self, path: &SafePath) {
        if let Some(card) = self.known(path)
            && self.vet(card)
        {
            self.take(card, Why::Selected);
        }
    }

    /// Card of a path that was not decided on yet.
    fn known(&mut self, path: &SafePath) -> Option<&'a Card> {
        if !self.first_look(path) {
            return None;
        }
        let card = self.cards.get(path).copied();
        if card.is_none() {
            self.leave(path, Reason::Unknown);
        }
        card
    }

    fn first_look(&mut self, path: &SafePath) -> bool {
        // A rule may be triggered and ranked at once; it must be shown and reported once.
        self.decided.insert(path.clone())
    }

    /// True if a memory may be shown at all; otherwise it is left out with the reason.
    fn vet(&mut self, card: &Card) -> bool {
        let reason = self.objection(card);
        let fine = reason.is_none();
        if let Some(reason) = reason {
            self.leave(&card.path, reason);
        }
        fine
    }

    fn objection(&self, card: &Card) -> Option<Reason> {
        // Trust first: the reason shown for an untrusted memory must be that one.
        if let Some(trust) = card.trust.filter(|_| !card.is_trusted()) {
            return Some(Reason::Untrusted(trust));
        }
        if card.is_wrong() {
            return Some(Reason::Wrong);
        }
        if card.is_over(self.request.today) {
            return Some(Reason::Over);
        }
        if let Some(by) = self.contradicted(card) {
            return Some(Reason::Contradicted { by });
        }
        if self.seen.surfaced.contains(&card.path) {
            return Some(Reason::Surfaced);
        }
        if self.seen.read.contains(&card.path) {
            return Some(Reason::ReadByAgent);
        }
        documentation::of_tool_in_use(card, self.request.work)
            .map(|tool| Reason::Documentation { tool })
    }

    /// Memory among those looked at that says the contrary and holds: the one believed more, or of
    /// two words the later. Two contrary memories are never shown side by side.
    fn contradicted(&self, card: &Card) -> Option<SafePath> {
        let mut others = self.cards.values();
        others
            .find(|other| overrules(other, card, self.request.today))
            .map(|other| other.path.clone())
    }

    fn take(&mut self, card: &Card, why: Why) {
        match self.has_room(card) {
            Ok(bytes) => {
                self.left -= bytes;
                self.out.now.push(Pick {
                    path: card.path.clone(),
                    why,
                    bytes,
                });
            }
            Err(reason) => self.leave(&card.path, reason),
        }
    }

    /// Bytes that a memory takes of the budget, or the reason why it cannot have them.
    fn has_room(&self, card: &Card) -> Result<u64, Reason> {
        if self.out.now.len() >= self.budgets.files {
            return Err(Reason::TooMany);
        }
        if !self.fits(card) {
            return Err(Reason::NoRoom);
        }
        Ok(self.cost(card))
    }

    fn fits(&self, card: &Card) -> bool {
        self.cost(card) <= self.left
    }

    /// Most bytes of a memory that are shown. A `<` that is taken apart makes a text longer than
    /// its file, so that only the limit is sure to hold; but a small file stays small.
    fn cost(&self, card: &Card) -> u64 {
        let most = u64::try_from(self.budgets.file_bytes).unwrap_or(u64::MAX);
        card.bytes.min(most)
    }

    fn leave(&mut self, path: &SafePath, reason: Reason) {
        self.out.left_out.push(LeftOut {
            path: path.clone(),
            reason,
        });
    }

    fn finish(self) -> Surfacing {
        self.out
    }
}
