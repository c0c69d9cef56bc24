//! Looking up duplicates among many texts.

use super::{Likeness, Overlap, Sketch};
use crate::hash::HashedMap;

/// A text of the index that is like the one asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// The number the text got when it was added.
    pub id: usize,
    /// How alike they are.
    pub likeness: Likeness,
    /// The figures; `of_this` is the text asked for, `of_other` the one found.
    pub overlap: Overlap,
}

/// Sketches, to be asked which of them a text duplicates.
#[derive(Debug)]
pub struct Index {
    near: f64,
    sketches: Vec<Sketch>,
    /// Key of a band to the texts that have it.
    bands: HashedMap<Vec<usize>>,
}

impl Index {
    /// An empty index. `near` is the overlap from which on texts count as near duplicates; see
    /// [`super::NEAR`]. Below 0.4 some pairs are not found.
    pub fn new(near: f64) -> Self {
        Self {
            near,
            sketches: Vec::new(),
            bands: HashedMap::default(),
        }
    }

    /// Adds a text and returns its number: 0, 1, 2 …
    pub fn insert(&mut self, sketch: Sketch) -> usize {
        let id = self.sketches.len();
        for key in sketch.signature() {
            self.bands.entry(*key).or_default().push(id);
        }
        self.sketches.push(sketch);
        id
    }

    /// The sketch with a number.
    pub fn get(&self, id: usize) -> Option<&Sketch> {
        self.sketches.get(id)
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.sketches.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sketches.is_empty()
    }

    /// The texts that are like this one, the most similar first. A text of the index finds itself.
    pub fn find(&self, sketch: &Sketch) -> Vec<Found> {
        let keys = sketch.signature().iter();
        let mut ids: Vec<_> = keys
            .filter_map(|key| self.bands.get(key))
            .flatten()
            .copied()
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found: Vec<_> = ids
            .into_iter()
            .filter_map(|id| {
                let other = &self.sketches[id];
                if !sketch.may_overlap(other, self.near) {
                    return None;
                }
                let overlap = sketch.overlap(other);
                let likeness = sketch.judge(other, &overlap, self.near)?;
                Some(Found {
                    id,
                    likeness,
                    overlap,
                })
            })
            .collect();
        // Exact before same before the rest, which goes by its figures.
        let rank = |found: &Found| found.likeness.max(Likeness::Near);
        found.sort_by(|a, b| {
            let by_figures = b.overlap.jaccard.total_cmp(&a.overlap.jaccard);
            rank(b).cmp(&rank(a)).then(by_figures).then(a.id.cmp(&b.id))
        });
        found
    }
}
