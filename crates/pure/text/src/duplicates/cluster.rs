//! Groups of duplicates.
//!
//! A group is a star: each member was compared with the group's first text. Joining whatever is
//! linked would chain texts that have nothing in common over others in between.

use super::{Found, Index};

/// A text and those that duplicate it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The text with the lowest number.
    pub first: usize,
    /// The others by number, each compared with the first.
    pub others: Vec<Found>,
}

/// The groups of two and more, by their first text. A text is in at most one.
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
