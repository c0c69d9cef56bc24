//! Groups of duplicates.
//!
//! A group is a star: each member was compared with the group's first text. Transitive linking
//! would chain texts that have nothing in common through others in between.
//!
//! Texts come in one by one and are compared with the first texts of the groups so far; one that
//! is like none of them begins a group of its own. Members are never searched for, so a group of
//! thousands costs no more than as many single texts.

use super::{Found, Index, Sketch};

/// Text with its duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Number of the first text, the lowest in the group.
    pub first: usize,
    /// Duplicates by number, each compared with the first. Figures are those of the duplicate:
    /// `of_this` relates to it, `of_other` to the first.
    pub others: Vec<Found>,
}

/// Groups of texts that say the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    /// Groups of two and more, by their first text. A text is in at most one.
    pub groups: Vec<Cluster>,
    /// Comparisons of two texts that were made.
    pub compared: usize,
}

/// Groups texts, numbered in the order they come in. `near` is the overlap from which on texts count
/// as near duplicates; see [`super::NEAR`].
pub fn clusters(sketches: impl IntoIterator<Item = Sketch>, near: f64) -> Clusters {
    let mut firsts = Index::new(near);
    let mut groups: Vec<Cluster> = Vec::new();
    let mut compared = 0;
    for (id, sketch) in sketches.into_iter().enumerate() {
        let (found, looked_at) = firsts.search(&sketch);
        compared += looked_at;
        // The earliest group, so that the outcome does not depend on small differences in overlap.
        if let Some(found) = found.into_iter().min_by_key(|found| found.id) {
            groups[found.id].others.push(Found { id, ..found });
            continue;
        }
        // Groups and first texts are numbered alike.
        firsts.insert(sketch);
        groups.push(Cluster {
            first: id,
            others: Vec::new(),
        });
    }
    groups.retain(|group| !group.others.is_empty());
    Clusters { groups, compared }
}
