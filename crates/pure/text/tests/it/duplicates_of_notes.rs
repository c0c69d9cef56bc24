//! Duplicates among real notes, with edited copies planted.
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use crate::material::notes;
use dormouse_text::duplicates::{Index, Likeness, NEAR, Sketch, clusters};

/// Distance between notes that get an edited copy: the index holds all notes, and the test stays
/// short.
const EVERY: usize = 4;

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

/// Changes, drops or adds one word in every `nth`.
fn edited(text: &str, nth: usize, dice: &mut Dice) -> String {
    const WORDS: [&str; 6] = ["quickly", "config", "also", "server", "maybe", "which"];
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_inclusive(char::is_whitespace) {
        match (dice.roll(nth), dice.roll(3)) {
            (0, 0) => words.push("other "),
            (0, 1) => {}
            (0, _) => words.extend([word, WORDS[dice.roll(WORDS.len())], " "]),
            _ => words.push(word),
        }
    }
    words.concat()
}

#[test]
fn edited_copies_of_notes_are_found_and_other_notes_are_not() {
    let notes = notes();
    let mut index = Index::new(NEAR);
    for note in &notes {
        index.insert(Sketch::new(note));
    }
    let mut dice = Dice(7);
    for (nth, floor) in [(40, 1.0), (20, 0.995), (12, 0.97), (8, 0.97), (5, 0.50)] {
        let (mut found, mut first, mut wrong) = (0, 0, 0);
        for (id, note) in notes.iter().enumerate().step_by(EVERY) {
            let hits = index.find(&Sketch::new(&edited(note, nth, &mut dice)));
            found += usize::from(hits.iter().any(|hit| hit.id == id));
            first += usize::from(hits.first().is_some_and(|hit| hit.id == id));
            wrong += hits.iter().filter(|hit| hit.id != id).count();
        }
        let all = notes.len().div_ceil(EVERY) as f64;
        let (recall, precision) = (found as f64 / all, found as f64 / (found + wrong) as f64);
        eprintln!(
            "one word in {nth} edited: recall {recall:.4}, first {:.4}, precision {precision:.4} ({wrong} others)",
            first as f64 / all
        );
        assert!(
            recall >= floor,
            "recall {recall} with one word in {nth} edited"
        );
        assert!(
            precision >= 0.99,
            "precision {precision} with one word in {nth} edited"
        );
    }
}

#[test]
fn bands_find_what_comparing_all_pairs_finds() {
    let notes = notes();
    let mut dice = Dice(11);
    let texts: Vec<_> = notes
        .iter()
        .step_by(8)
        .flat_map(|note| [note.clone(), edited(note, 8, &mut dice)])
        .collect();
    let sketches: Vec<_> = texts.iter().map(|text| Sketch::new(text)).collect();
    let mut index = Index::new(NEAR);
    for sketch in &sketches {
        index.insert(sketch.clone());
    }
    let (mut pairs, mut missed) = (0, 0);
    for (a, sketch) in sketches.iter().enumerate() {
        let found = index.find(sketch);
        for (b, other) in sketches.iter().enumerate().skip(a + 1) {
            if sketch.likeness(other, NEAR).is_some() {
                pairs += 1;
                missed += usize::from(!found.iter().any(|hit| hit.id == b));
            }
        }
    }
    eprintln!("{pairs} pairs by comparing all, {missed} not found by bands");
    assert!(missed * 100 <= pairs, "{missed} of {pairs} pairs missed");
}

#[test]
fn real_notes_hold_few_duplicates_and_they_are_plain_to_see() {
    let notes = notes();
    let groups = clusters(notes.iter().map(|note| Sketch::new(note)), NEAR).groups;
    for group in &groups {
        let title = |id: usize| notes[id].lines().next().unwrap_or_default();
        for other in &group.others {
            eprintln!(
                "{:?} {:.2}: {} | {}",
                other.likeness,
                other.overlap.jaccard,
                title(group.first),
                title(other.id)
            );
        }
    }
    assert!(groups.len() < 20, "{} groups", groups.len());
    let exact = groups.iter().flat_map(|group| &group.others);
    assert_eq!(
        exact
            .filter(|found| found.likeness == Likeness::Exact)
            .count(),
        0
    );
}
