//! Passes over the postings: documents, passages, wholes.
//!
//! # Model
//! Each pass sums the counts of a term's lookups first and lets the sum saturate, so that a word
//! and its relatives count as one word. Buffers are reused between searches and zeroed term by
//! term.
//!
//! # Not here
//! The terms and their weights (`plan`); adding the three passes up ([`super`]).

use super::Scratch;
use super::plan::{Plan, Planned};
use crate::searcher::{Family, NONE, Passages, Searcher};

impl Searcher {
    /// Adds up the worth of each document by its own words.
    pub(super) fn score_documents(&self, plan: &Plan, scratch: &mut Scratch) {
        let Scratch {
            documents: scores,
            counts,
            touched,
            ..
        } = scratch;
        scores.clear();
        scores.resize(self.gone.len(), 0.0);
        // Larger is fine: entries are zeroed again after each term.
        if counts.len() < scores.len() {
            counts.resize(scores.len(), 0.0);
        }
        let weights = &self.weights;
        for term in &plan.terms {
            // Only then must counts be summed before they saturate; most terms take the short way.
            let several = term.lookups.len() > self.parts.len().min(1);
            self.each_document(term, |document, name, description, body| {
                let norm = self.norms.get(document).copied().unwrap_or(1.0);
                let count = weights.name * name + weights.description * description + body / norm;
                if several {
                    if let Some(sum) = counts.get_mut(document) {
                        if *sum == 0.0 {
                            touched.push(document);
                        }
                        *sum += count;
                    }
                } else if let Some(score) = scores.get_mut(document) {
                    *score += term.weight * saturated(count, weights.saturation);
                }
            });
            for document in touched.drain(..) {
                let count = std::mem::take(&mut counts[document]);
                scores[document] += term.weight * saturated(count, weights.saturation);
            }
        }
    }

    /// Calls `found` with every document left that has the term or a relative, and the counts in
    /// its fields; once per term it is looked up by.
    fn each_document(&self, term: &Planned, mut found: impl FnMut(usize, f32, f32, f32)) {
        for lookup in &term.lookups {
            let Some(part) = self.parts.get(lookup.part) else {
                continue;
            };
            // One unit per document: the numbers are the same, and a lookup per posting is saved.
            let single = part.segment.units() as usize == part.segment.len();
            let mut last = NONE;
            let mut counts = [0.0; 3];
            for posting in part.segment.postings(lookup.number).iter() {
                let document = if single {
                    posting.unit
                } else {
                    part.segment.unit(posting.unit).0
                };
                if document != last {
                    self.report(last, part.first_document, counts, &mut found);
                    (last, counts) = (document, [0.0; 3]);
                }
                counts[0] += lookup.share * f32::from(posting.name);
                counts[1] += lookup.share * f32::from(posting.description);
                // Bodies are counted in quarters.
                counts[2] += lookup.share * 0.25 * f32::from(posting.body);
            }
            self.report(last, part.first_document, counts, &mut found);
        }
    }

    fn report(
        &self,
        document: u32,
        first: u32,
        counts: [f32; 3],
        found: &mut impl FnMut(usize, f32, f32, f32),
    ) {
        // Before the first posting there is nothing to report.
        if document == NONE {
            return;
        }
        let document = (document + first) as usize;
        if self.gone.get(document) == Some(&false) {
            found(document, counts[0], counts[1], counts[2]);
        }
    }

    /// Worth of the best unit of each document together with its neighbours.
    pub(super) fn score_passages(&self, passages: &Passages, plan: &Plan, scratch: &mut Scratch) {
        let units = passages.document.len();
        let Scratch {
            units: scores,
            counts,
            touched,
            passages: best,
            ..
        } = scratch;
        scores.clear();
        scores.resize(units, 0.0);
        if counts.len() < units {
            counts.resize(units, 0.0);
        }
        for term in &plan.terms {
            for lookup in &term.lookups {
                let Some(part) = self.parts.get(lookup.part) else {
                    continue;
                };
                for posting in part.segment.postings(lookup.number).iter() {
                    let unit = (posting.unit + part.first_unit) as usize;
                    // Units of removed documents still have postings.
                    if passages
                        .document
                        .get(unit)
                        .is_none_or(|document| *document == NONE)
                    {
                        continue;
                    }
                    let count = 0.25 * f32::from(posting.body)
                        + f32::from(posting.name)
                        + f32::from(posting.description);
                    let count = lookup.share * count;
                    for near in [
                        unit,
                        passages.before[unit] as usize,
                        passages.behind[unit] as usize,
                    ] {
                        if let Some(sum) = counts.get_mut(near) {
                            if *sum == 0.0 {
                                touched.push(near);
                            }
                            *sum += count;
                        }
                    }
                }
            }
            for unit in touched.drain(..) {
                let count = std::mem::take(&mut counts[unit]) / passages.norms[unit];
                scores[unit] += term.unit_weight * saturated(count, self.weights.saturation);
            }
        }
        best.clear();
        best.resize(self.gone.len(), 0.0);
        for (document, score) in passages.document.iter().zip(scores.iter()) {
            if let Some(best) = best.get_mut(*document as usize) {
                *best = best.max(*score);
            }
        }
    }

    /// Worth of the whole of each piece, by parent.
    pub(super) fn score_parents(&self, family: &Family, plan: &Plan, scratch: &mut Scratch) {
        let parents = family.norms.len();
        let Scratch {
            parents: scores,
            counts,
            touched,
            ..
        } = scratch;
        scores.clear();
        scores.resize(parents, 0.0);
        if counts.len() < parents {
            counts.resize(parents, 0.0);
        }
        for term in &plan.terms {
            self.each_document(term, |document, name, description, body| {
                let parent = family.parent.get(document).copied().unwrap_or(NONE) as usize;
                if parent >= parents {
                    return;
                }
                if counts[parent] == 0.0 {
                    touched.push(parent);
                }
                counts[parent] += name + description + body;
            });
            // Rarity among wholes: a word of every session says nothing there, however few turns
            // have it.
            let weight = term.factor * rarity(parents, touched.len());
            for parent in touched.drain(..) {
                let count = std::mem::take(&mut counts[parent]) / family.norms[parent];
                scores[parent] += weight * saturated(count, self.weights.saturation);
            }
        }
    }
}

/// Saturating count: from 0 for none towards `saturation + 1`.
fn saturated(count: f32, saturation: f32) -> f32 {
    count * (saturation + 1.0) / (count + saturation)
}

/// Standard deviation, the same in whatever order the scores come. Floating-point sums would depend
/// on it.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "scores are small numbers, and fixed-point sums stay far below the limits"
)]
pub(super) fn deviation(scores: impl Iterator<Item = f32>) -> f32 {
    // Sixteen bits behind the point: finer than any difference that matters, far from overflow.
    const ONE: f64 = 65_536.0;
    let (mut count, mut sum, mut squares) = (0_u32, 0_i64, 0_i128);
    for score in scores {
        let fixed = (f64::from(score) * ONE) as i64;
        count += 1;
        sum += fixed;
        squares += i128::from(fixed) * i128::from(fixed);
    }
    let count = f64::from(count.max(1));
    let mean = sum as f64 / count;
    let variance = squares as f64 / count - mean * mean;
    (variance.max(0.0).sqrt() / ONE) as f32
}

/// Information in a text's having a word. Never below zero, also for a word that all have.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "counts are far below 2^52, and the result is a small number"
)]
pub(super) fn rarity(all: usize, having: usize) -> f32 {
    let (all, having) = (all as f64, having as f64);
    ((all - having + 0.5).max(0.0) / (having + 0.5)).ln_1p() as f32
}
