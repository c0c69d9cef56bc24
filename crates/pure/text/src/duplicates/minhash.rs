//! `MinHash` signatures, and the bands by which they are looked up.
//!
//! Each hash function sees the set in another random order and keeps its smallest value; two sets
//! agree in one with the probability of their overlap. [`ROWS`] values make a band, and sets that
//! agree in any of the [`BANDS`] bands are candidates: with an overlap of `j` they meet with
//! probability `1 - (1 - j³)⁴²`, that is 0.996 at 0.5, 0.94 at 0.4 and 0.04 at 0.1.

use crate::hash::mix;
use std::array;

/// Number of bands: chosen with [`ROWS`] so that nearly every pair above 0.5 becomes a candidate
/// and few below 0.1 do. More bands cost memory and time per text.
const BANDS: usize = 42;
/// Values per band; see [`BANDS`].
const ROWS: usize = 3;

/// One key for each band. The position is part of the key.
pub(super) type Signature = [u64; BANDS];

/// Band keys of a set of hashes.
pub(super) fn signature(shingles: &[u64]) -> Signature {
    let seeds: [[u64; ROWS]; BANDS] =
        array::from_fn(|band| array::from_fn(|row| mix((band * ROWS + row) as u64)));
    let mut least = [[u64::MAX; ROWS]; BANDS];
    for shingle in shingles {
        for (least, seeds) in least.iter_mut().flatten().zip(seeds.iter().flatten()) {
            // The shingles are well mixed; a different odd multiplier gives each row its own order.
            let value = (shingle ^ seeds).wrapping_mul(seeds | 1);
            *least = (*least).min(value ^ (value >> 32));
        }
    }
    array::from_fn(|band| {
        least[band]
            .iter()
            .fold(band as u64, |key, value| mix(key ^ value))
    })
}
