//! Making the plan.

use super::super::triggers;
use super::{
    Budgets, Entry, Hit, LeftOut, Pick, Reason, Request, Seen, Skip, Surfacing, Why, documentation,
    ignore,
};
use dormouse_guard::paths::SafePath;
use std::collections::{BTreeSet, HashMap, HashSet};

/// What goes in with a prompt, and what the small model may choose from.
pub fn plan(request: &Request<'_>) -> Surfacing {
    if request.prompt.split_whitespace().nth(1).is_none() && !is_unspaced(request.prompt) {
        return skipped(Skip::TooShort);
    }
    if let Some(skip) = skip(request) {
        return skipped(skip);
    }
    let mut planner = Planner::new(request, &[]);
    planner.triggered();
    for hit in request.hits {
        planner.ranked(hit);
    }
    planner.finish()
}

/// What goes in of the small model's choice. What happened since it was asked counts.
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

/// What goes in because the work has moved on: rules only, whatever the prompt was.
pub fn plan_work(request: &Request<'_>) -> Surfacing {
    if let Some(skip) = skip(request) {
        return skipped(skip);
    }
    let mut planner = Planner::new(request, &[]);
    planner.triggered();
    planner.finish()
}

fn skip(request: &Request<'_>) -> Option<Skip> {
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

/// Scripts that are written without blanks have words all the same.
fn is_unspaced(prompt: &str) -> bool {
    let wide = |c: &char| {
        matches!(u32::from(*c),
            0x0E00..=0x0EFF | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF)
    };
    prompt.chars().filter(wide).nth(3).is_some()
}

struct Planner<'a> {
    request: &'a Request<'a>,
    entries: HashMap<&'a SafePath, &'a Entry>,
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
            entries: request
                .entries
                .iter()
                .filter(|entry| entry.is_standing() || wanted.contains(&entry.path))
                .map(|entry| (&entry.path, entry))
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
        for found in triggers::matching(self.request.work, self.request.entries) {
            let Some(entry) = self.entries.get(&found.path).copied() else {
                continue;
            };
            if self.first_look(&found.path) && self.vet(entry) {
                self.take(entry, Why::Triggered(found.by));
            }
        }
    }

    fn ranked(&mut self, hit: &Hit) {
        let Some(entry) = self.known(&hit.path) else {
            return;
        };
        if !self.vet(entry) {
            return;
        }
        let confidence = hit.confidence;
        // Written so that a confidence that is no number is not enough.
        if confidence >= self.budgets.confidence && self.has_room(entry).is_ok() {
            self.take(entry, Why::Ranked { confidence });
        } else if self.out.candidates.len() < self.budgets.candidates && self.fits(entry) {
            self.out.candidates.push(hit.path.clone());
        } else {
            let reason = self
                .has_room(entry)
                .err()
                .unwrap_or(Reason::Unsure { confidence });
            self.leave(&hit.path, reason);
        }
    }

    fn selected(&mut self, path: &SafePath) {
        if let Some(entry) = self.known(path)
            && self.vet(entry)
        {
            self.take(entry, Why::Selected);
        }
    }

    /// The entry of a path that was not decided on yet.
    fn known(&mut self, path: &SafePath) -> Option<&'a Entry> {
        if !self.first_look(path) {
            return None;
        }
        let entry = self.entries.get(path).copied();
        if entry.is_none() {
            self.leave(path, Reason::Unknown);
        }
        entry
    }

    fn first_look(&mut self, path: &SafePath) -> bool {
        self.decided.insert(path.clone())
    }

    /// Whether a memory may go in at all; otherwise it is left out.
    fn vet(&mut self, entry: &Entry) -> bool {
        let reason = self.objection(entry);
        let fine = reason.is_none();
        if let Some(reason) = reason {
            self.leave(&entry.path, reason);
        }
        fine
    }

    fn objection(&self, entry: &Entry) -> Option<Reason> {
        if let Some(trust) = entry.trust.filter(|_| !entry.is_trusted()) {
            return Some(Reason::Untrusted(trust));
        }
        if entry.over {
            return Some(Reason::Over);
        }
        if self.seen.surfaced.contains(&entry.path) {
            return Some(Reason::Surfaced);
        }
        if self.seen.read.contains(&entry.path) {
            return Some(Reason::ReadByAgent);
        }
        documentation::of_tool_in_use(entry, self.request.work)
            .map(|tool| Reason::Documentation { tool })
    }

    fn take(&mut self, entry: &Entry, why: Why) {
        match self.has_room(entry) {
            Ok(bytes) => {
                self.left -= bytes;
                self.out.now.push(Pick {
                    path: entry.path.clone(),
                    why,
                    bytes,
                });
            }
            Err(reason) => self.leave(&entry.path, reason),
        }
    }

    /// What a memory takes of the budget, or why it cannot have it.
    fn has_room(&self, entry: &Entry) -> Result<u64, Reason> {
        if self.out.now.len() >= self.budgets.files {
            return Err(Reason::TooMany);
        }
        if !self.fits(entry) {
            return Err(Reason::NoRoom);
        }
        Ok(self.cost(entry))
    }

    fn fits(&self, entry: &Entry) -> bool {
        self.cost(entry) <= self.left
    }

    /// What of a memory is shown at most. A `<` that is taken apart makes a text longer than its
    /// file, so that only the limit is sure to hold; but a small file stays small.
    fn cost(&self, entry: &Entry) -> u64 {
        let most = u64::try_from(self.budgets.file_bytes).unwrap_or(u64::MAX);
        entry.bytes.min(most)
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
