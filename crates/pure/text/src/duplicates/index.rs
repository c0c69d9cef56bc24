//! Index for finding duplicates among many texts.
//!
//! # Model
//! Texts that share a band of their signatures lie in one bucket. A bucket has few places
//! ([`PLACES`]); once it is full, further texts go into buckets of a second, third and fourth level
//! that share one more band each. So a family of thousands of texts after one template fills the
//! coarse buckets, and the texts in it that are really alike still meet in a fine one. A search
//! looks at one bucket per band and level, and compares at most [`MOST_COMPARED`] texts, those
//! first that it met most often: its cost does not depend on the number of texts. Texts with the
//! same words are found by those, whatever the buckets hold.

use super::{Likeness, Overlap, Sketch};
use crate::hash::{HashedMap, mix};
use std::cmp::Reverse;

/// Texts in a bucket. Unrelated notes fill one in a few hundred; see [`LEVELS`].
const PLACES: usize = 8;
/// Levels of buckets. Of two texts with an overlap of 0.9 that are part of a template with one of
/// 0.45, four shared bands bring them together nearly always, and fewer than ten others with them
/// at 100,000 texts.
const LEVELS: usize = 4;
/// Most texts that one search compares, besides those with the same words. Near duplicates share five
/// bands and more; the sixteen that share the most have them among them, and notes of real folders
/// meet fewer than ten.
pub const MOST_COMPARED: usize = 16;

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
    buckets: HashedMap<Bucket>,
    /// Texts by the hash of their words, in the order of insertion.
    same: HashedMap<Vec<usize>>,
    /// Further places of buckets with more than one text.
    places: Vec<Vec<u32>>,
}

/// Numbers of the texts in one bucket. Nearly all have one text, which needs no list.
#[derive(Clone, Copy, Debug)]
enum Bucket {
    One(u32),
    /// Position of the list in [`Index::places`].
    Many(u32),
}

impl Index {
    /// Empty index. `near` is the overlap from which on texts count as near duplicates; see
    /// [`super::NEAR`]. Below 0.4 the bands miss some pairs.
    pub fn new(near: f64) -> Self {
        Self {
            near,
            sketches: Vec::new(),
            buckets: HashedMap::default(),
            same: HashedMap::default(),
            places: Vec::new(),
        }
    }

    /// Inserts a text and returns its number: 0, 1, 2 …
    pub fn insert(&mut self, sketch: Sketch) -> usize {
        let id = self.sketches.len();
        self.same.entry(sketch.words()).or_default().push(id);
        // Beyond four thousand million texts a machine has other limits first.
        if let Ok(number) = u32::try_from(id) {
            for band in 0..sketch.signature().len() {
                for key in keys(&sketch, band) {
                    if self.put(key, number) {
                        break;
                    }
                }
            }
        }
        self.sketches.push(sketch);
        id
    }

    /// Puts a text into a bucket; false if that is full.
    fn put(&mut self, key: u64, number: u32) -> bool {
        let Some(bucket) = self.buckets.get_mut(&key) else {
            self.buckets.insert(key, Bucket::One(number));
            return true;
        };
        match *bucket {
            Bucket::One(first) => {
                let Ok(at) = u32::try_from(self.places.len()) else {
                    return false;
                };
                *bucket = Bucket::Many(at);
                self.places.push(vec![first, number]);
                true
            }
            Bucket::Many(at) => {
                let list = &mut self.places[at as usize];
                let room = list.len() < PLACES;
                if room {
                    list.push(number);
                }
                room
            }
        }
    }

    /// Texts in a bucket; none if there is no such bucket.
    fn bucket(&self, key: u64) -> &[u32] {
        match self.buckets.get(&key) {
            None => &[],
            Some(Bucket::One(only)) => std::slice::from_ref(only),
            Some(Bucket::Many(at)) => &self.places[*at as usize],
        }
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
        self.search(sketch).0
    }

    /// Texts similar to this one, and the number of texts it was compared with.
    pub(super) fn search(&self, sketch: &Sketch) -> (Vec<Found>, usize) {
        let mut ids = self.met(sketch);
        let same = self.same.get(&sketch.words()).into_iter().flatten();
        ids.extend(same);
        ids.sort_unstable();
        ids.dedup();
        let compared = ids.len();
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
        (found, compared)
    }

    /// Texts in the buckets of this one, those that it meets most often.
    fn met(&self, sketch: &Sketch) -> Vec<usize> {
        let mut numbers: Vec<u32> = Vec::new();
        for band in 0..sketch.signature().len() {
            for key in keys(sketch, band) {
                let bucket = self.bucket(key);
                numbers.extend(bucket);
                // Behind a bucket with room there is none.
                if bucket.len() < PLACES {
                    break;
                }
            }
        }
        numbers.sort_unstable();
        let mut met: Vec<(usize, u32)> = Vec::new();
        for number in numbers {
            match met.last_mut() {
                Some((times, last)) if *last == number => *times += 1,
                _ => met.push((1, number)),
            }
        }
        if met.len() > MOST_COMPARED {
            met.sort_unstable_by_key(|(times, number)| (Reverse(*times), *number));
            met.truncate(MOST_COMPARED);
        }
        met.into_iter().map(|(_, number)| number as usize).collect()
    }
}

/// Keys of a text's buckets for one band, from the coarsest to the finest.
fn keys(sketch: &Sketch, band: usize) -> impl Iterator<Item = u64> + '_ {
    let signature = sketch.signature();
    (1..=LEVELS).scan(signature[band], move |key, level| {
        let this = *key;
        // The level is part of the key, or two bands could meet in one bucket.
        let next = signature[(band + level) % signature.len()];
        *key = mix(this ^ mix(next ^ level as u64));
        Some(this)
    })
}
