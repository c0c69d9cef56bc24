//! Words that stand next to each other in the query and in the document.

use super::plan::Plan;
use crate::searcher::Searcher;
use crate::segment::GAP;

/// Farthest apart, in words.
const REACH: usize = 6;

/// The words of the query as numbers of one part's terms.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    /// Sorted by number.
    entries: Vec<(u32, usize)>,
}

impl Lookup {
    pub(super) fn new(plan: &Plan, part: usize) -> Self {
        let mut entries: Vec<(u32, usize)> = plan
            .terms
            .iter()
            .filter_map(|term| Some((term.numbers.get(part).copied().flatten()?, term.word)))
            .collect();
        entries.sort_unstable();
        Self { entries }
    }

    fn word(&self, number: u32) -> Option<usize> {
        let place = self
            .entries
            .binary_search_by_key(&number, |entry| entry.0)
            .ok()?;
        self.entries.get(place).map(|entry| entry.1)
    }
}

impl Searcher {
    /// What a document's words add by standing together as in the query.
    pub(super) fn nearness(&self, document: u32, plan: &Plan, lookups: &[Lookup]) -> f32 {
        let (Some(part), local) = self.place(document) else {
            return 0.0;
        };
        let index = usize::from(part.first_document > 0 && lookups.len() > 1);
        let Some(lookup) = lookups.get(index) else {
            return 0.0;
        };
        let words = plan.words.len();
        let mut best = vec![0.0_f32; words];
        let mut seen: Vec<Option<usize>> = vec![None; words];
        let mut place = 0;
        for number in part.segment.words(part.segment.units_of(local)) {
            place += 1;
            if number == GAP {
                place += REACH;
                continue;
            }
            let Some(word) = lookup.word(number) else {
                continue;
            };
            seen[word] = Some(place);
            if let Some(before) = word.checked_sub(1)
                && let Some(at) = seen[before]
            {
                best[word] = best[word].max(closeness(place - at));
            }
            if let Some(at) = seen.get(word + 1).copied().flatten() {
                best[word + 1] = best[word + 1].max(0.5 * closeness(place - at));
            }
        }
        let pairs = plan.words.windows(2).zip(&best[1..]);
        pairs
            .map(|(pair, close)| pair[0].rarity.min(pair[1].rarity) * close)
            .sum()
    }
}

fn closeness(distance: usize) -> f32 {
    match distance {
        1 => 1.0,
        2 => 0.6,
        3 => 0.4,
        4 => 0.25,
        5 | REACH => 0.15,
        _ => 0.0,
    }
}
