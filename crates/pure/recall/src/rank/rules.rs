//! Places for standing instructions among the hits of a request.
//!
//! # Model
//! Below the best three, which are never touched, the strongest standing instructions of the
//! collection take up to two places at once, then every second place down to the tenth. That is
//! done for requests alone (see `cues`). An instruction that has no word of the request gets a
//! place only if it is a clear one and such are rare: if many documents are instructions, words
//! have to choose among them. Clear ones come first, and among equals those that fit better.
//!
//! # Not here
//! Confidence: such a hit has the confidence its own words give it, mostly none, so a caller that
//! shows only sure hits does not show it.

use super::{Ranked, Scratch};
use crate::searcher::Searcher;
use std::collections::HashSet;

/// Places that are given away, counted from 0.
const PLACES: [usize; 5] = [3, 4, 6, 8, 9];
/// Instructions are rare if at most one in this many documents is one.
const RARE: usize = 10;

impl Searcher {
    /// Gives standing instructions their places in `hits`, which keeps its length.
    pub(super) fn place_rules(&self, hits: &mut Vec<Ranked>, top: usize, scratch: &Scratch) {
        // Fewer than three hits: a rule would stand where the answer belongs.
        if hits.len() < PLACES[0] || self.rules.is_empty() {
            return;
        }
        let clear = |strength: f32| strength >= 1.0;
        let all = self.rules.iter().filter(|rule| clear(rule.1)).count();
        let rare = all * RARE <= self.live as usize;
        let score = |document: u32| scratch.documents.get(document as usize).copied();
        let mut rules: Vec<(f32, f32, u32)> = self
            .rules
            .iter()
            .map(|(document, strength)| {
                (*strength, score(*document).unwrap_or_default(), *document)
            })
            .filter(|(strength, score, _)| (rare && clear(*strength)) || *score > 0.0)
            .collect();
        let key = |rule: &(f32, f32, u32)| (rule.1, rule.2);
        rules.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| self.order(key(a), key(b))));
        let known: HashSet<usize> = hits
            .iter()
            .take(PLACES[0])
            .map(|hit| hit.document)
            .collect();
        // A rule that is among the best already keeps its place.
        rules.retain(|rule| !known.contains(&(rule.2 as usize)));
        for (place, (_, score, document)) in PLACES.into_iter().zip(rules) {
            let document = document as usize;
            let found = hits.iter().position(|hit| hit.document == document);
            // Moving it down would punish a rule for fitting well.
            if found.is_some_and(|found| found <= place) {
                continue;
            }
            let hit = match found {
                Some(found) => hits.remove(found),
                None => Ranked {
                    document,
                    score,
                    confidence: 0.0,
                },
            };
            hits.insert(place.min(hits.len()), hit);
        }
        hits.truncate(top);
    }
}
