//! Index for finding duplicates among many texts.

use super::{Likeness, Overlap, Sketch};
use crate::hash::HashedMap;

/// Text of the index that is similar to the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Number the text got when it was inserted.
    pub id: usize,
    /// Degree of similarity to the query.
    pub likeness: Likeness,
    /// Overlap figures; `of_this` relates to the query, `of_other` to the text found.
    pub overlap: Overlap,
}

/// Index of sketches by the bands of their signatures.
#[derive(Debug)]
pub struct Index {
    near: f64,
    sketches: Vec<Sketch>,
    /// Numbers of the texts that share a band, by its key.
    bands: HashedMap<Vec<usize>>,
}

impl Index {
    /// Empty index. `near` is the overlap from which on texts count as near duplicates; see
    /// [`super::NEAR`]. Below 0.4 the bands miss some pairs.
    pub fn new(near: f64) -> Self {
        Self {
            near,
            sketches: Vec::new(),
            bands: HashedMap::default(),
        }
    }

    /// Inserts a text and returns its number: 0, 1, 2 …
    pub fn insert(&mut self, sketch: Sketch) -> usize {
        let id = self.sketches.len();
        for key in sketch.signature() {
            self.bands.entry(*key).or_default().push(id);
        }
        self.sketches.push(sketch);
        id
    }

    /// Sketch with this number.
    pub fn get(&self, id: usize) -> Option<&Sketch> {
        self.sketches.get(id)
    }

    /// Number of texts in the index.
    pub fn len(&self) -> usize {
        self.sketches.len()
    }

    /// True if the index is empty.
    pub fn is_empty(&self) -> bool {
        self.sketches.is_empty()
    }

    /// Texts similar to this one, the most similar first. A text of the index finds itself.
    pub fn find(&self, sketch: &Sketch) -> Vec<Found> {
        let keys = sketch.signature().iter();
        let mut ids: Vec<_> = keys
            .filter_map(|key| self.bands.get(key))
            .flatten()
            .copied()
            .collect();
        // A text that shares several bands is compared once.
        ids.sort_unstable();
        ids.dedup();
        let mut found: Vec<_> = ids
            .into_iter()
            .filter_map(|id| {
                let other = &self.sketches[id];
                // Cheap test first: sets of very different size cannot overlap enough.
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
        // Exact before same before the others, which are ordered by their overlap.
        let rank = |found: &Found| found.likeness.max(Likeness::Near);
        found.sort_by(|a, b| {
            let by_figures = b.overlap.jaccard.total_cmp(&a.overlap.jaccard);
            rank(b).cmp(&rank(a)).then(by_figures).then(a.id.cmp(&b.id))
        });
        found
    }
}
