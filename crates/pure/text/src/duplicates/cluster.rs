//! Groups of duplicates.
//!
//! A group is a star: each member was compared with the group's first text. Transitive linking
//! would chain texts that have nothing in common through others in between.

use super::{Found, Index};

/// Text with its duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Number of the first text, the lowest in the group.
    pub first: usize,
    /// Duplicates by number, each compared with the first.
    pub others: Vec<Found>,
}

/// Groups of two and more, by their first text. A text is in at most one.
pub fn clusters(index: &Index) -> Vec<Cluster> {
    let mut taken = vec![false; index.len()];
    let mut clusters = Vec::new();
    for first in 0..index.len() {
        let Some(sketch) = index.get(first).filter(|_| !taken[first]) else {
            continue;
        };
        taken[first] = true;
        let mut others = index.find(sketch);
        others.retain(|found| !taken[found.id]);
        others.sort_unstable_by_key(|found| found.id);
        for found in &others {
            taken[found.id] = true;
        }
        if !others.is_empty() {
            clusters.push(Cluster { first, others });
        }
    }
    clusters
}
