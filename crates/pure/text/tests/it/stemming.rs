//! Effect of stemming on finding a note by its title.
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use crate::material::notes;
use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser};
use std::collections::HashMap;

/// Mean reciprocal rank of each note's body when searched by its title.
fn mean_reciprocal_rank(notes: &[(String, String)], tokeniser: &Tokeniser) -> f64 {
    let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
    let mut lengths = Vec::new();
    for (id, (_, body)) in notes.iter().enumerate() {
        let mut counts: HashMap<String, f64> = HashMap::new();
        for term in tokeniser.terms(body) {
            *counts.entry(term).or_default() += 1.0;
        }
        lengths.push(counts.values().sum::<f64>());
        for (term, count) in counts {
            postings.entry(term).or_default().push((id, count));
        }
    }
    let average = lengths.iter().sum::<f64>() / lengths.len() as f64;
    let reciprocal = notes.iter().enumerate().map(|(id, (title, _))| {
        let mut scores = vec![0.0; notes.len()];
        for term in tokeniser.terms(title) {
            let Some(list) = postings.get(&term) else {
                continue;
            };
            let rarity = (1.0 + notes.len() as f64 / list.len() as f64).ln();
            for (other, count) in list {
                let norm = 1.2 * (0.25 + 0.75 * lengths[*other] / average);
                scores[*other] += rarity * count * 2.2 / (count + norm);
            }
        }
        let above = scores.iter().filter(|score| **score >= scores[id]).count();
        1.0 / above.max(1) as f64
    });
    reciprocal.sum::<f64>() / notes.len() as f64
}

#[test]
fn cutting_endings_finds_notes_better() {
    let notes: Vec<_> = notes()
        .iter()
        .filter_map(|note| note.split_once('\n'))
        .map(|(title, body)| (title.to_owned(), body.to_owned()))
        .collect();
    let rank = |stop_words, stemming| {
        mean_reciprocal_rank(
            &notes,
            &Tokeniser::new(Some(Language::English), stop_words, stemming),
        )
    };
    let plain = rank(StopWords::Drop, Stemming::Off);
    let cut = rank(StopWords::Drop, Stemming::On);
    let all = rank(StopWords::Keep, Stemming::On);
    eprintln!(
        "mean reciprocal rank: plain {plain:.4}, endings cut {cut:.4}, with stop words {all:.4}"
    );
    assert!(cut >= plain);
}
