//! Fit of the confidence for small stores, from the questions to tune on.
//!
//! Logistic regression over the first three hits of each question; the bias is then moved so that one
//! answer in twenty of all questions is wrong. The test fails if the constants of the crate are not
//! the ones that come out; `--nocapture` prints them, and how each set does with the fit of the other.

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_recall::{
    ASKED, ASKED_FIT, Asked, Document, FEATURES, Query, RERANKED, SMALL_FIT, Searcher, Segment,
    language_of,
};

/// Number of features of a hit.
const ALL: usize = FEATURES + ASKED;
/// Penalty on the squares of the weights: one, the usual choice; halving or doubling it moves two
/// questions in a hundred.
const PENALTY: f64 = 1.0;
/// Wrong answers that the bias allows, of all questions.
const WRONG: f64 = 0.045;
/// Difference of a constant that rounding to two digits explains.
const ROUNDED: f64 = 0.011;
/// Characters of a description, as extraction writes it.
const DESCRIPTION: usize = 150;

/// Question with its first hits.
struct Sample {
    /// True if some memory answers it.
    answerable: bool,
    /// Features of a hit, and whether it is the answer.
    hits: Vec<([f64; ALL], bool)>,
}

fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines();
    let lines = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split(" | ").map(str::trim).collect())
        .collect()
}

fn card(row: &[&str]) -> Card {
    let path = SafePath::parse(&format!("{}.md", row[0])).unwrap();
    let mut card = Card::read(path, "", Millis(0));
    row[3].clone_into(&mut card.name);
    card.description = row[4].chars().take(DESCRIPTION).collect();
    card
}

/// Questions over memories, as a session would ask them.
fn samples(memories: &str, questions: &str) -> Vec<Sample> {
    let rows_of = rows(memories);
    let cards: Vec<Card> = rows_of.iter().map(|row| card(row)).collect();
    let documents = rows_of.iter().zip(&cards).map(|(row, card)| Document {
        name: &card.name,
        description: &card.description,
        body: row[4],
        payload: row[0].as_bytes(),
        prior: if matches!(row[2], "feedback" | "user") {
            0.6
        } else {
            0.5
        },
        ..Document::default()
    });
    let language = language_of(rows_of.iter().map(|row| row[4]));
    let segment = Segment::build(language, documents).unwrap();
    let searcher = Searcher::new(Segment::open(segment.into()).unwrap());
    let sample = |row: Vec<&str>| {
        let asked = Asked::of(row[3]);
        let query = Query {
            text: row[3],
            top: 50,
            now: 0,
        };
        let hits = searcher.measured(&query).into_iter().take(RERANKED);
        let hits = hits.map(|(hit, features)| {
            let card = &cards[hit.document];
            let mut all = [0.0; ALL];
            let both = features.into_iter().chain(asked.features(card));
            for (slot, feature) in all.iter_mut().zip(both) {
                *slot = f64::from(feature);
            }
            (all, rows_of[hit.document][0] == row[0])
        });
        Sample {
            answerable: row[0] != "-",
            hits: hits.collect(),
        }
    };
    rows(questions).into_iter().map(sample).collect()
}

fn logit(weights: &[f64; ALL], features: &[f64; ALL]) -> f64 {
    let terms = weights.iter().zip(features);
    terms.map(|(weight, feature)| weight * feature).sum()
}

/// Newton's method on the penalised likelihood; the bias is not penalised.
fn fit(samples: &[&Sample]) -> [f64; ALL] {
    /// Steps: the change is below a millionth by the tenth.
    const STEPS: usize = 15;
    let mut weights = [0.0; ALL];
    for _ in 0..STEPS {
        let mut rows = [[0.0; ALL + 1]; ALL];
        for (at, row) in rows.iter_mut().enumerate() {
            // The bias has next to no penalty, so that the matrix stays regular.
            let penalty = if at == 0 { 1e-9 } else { PENALTY };
            row[at] = penalty;
            row[ALL] = -penalty * weights[at];
        }
        for (features, right) in samples.iter().flat_map(|sample| &sample.hits) {
            let share = 1.0 / (1.0 + (-logit(&weights, features)).exp());
            let error = f64::from(u8::from(*right)) - share;
            for (row, feature) in rows.iter_mut().zip(features) {
                row[ALL] += error * feature;
                for (slot, other) in row.iter_mut().zip(features) {
                    *slot += share * (1.0 - share) * feature * other;
                }
            }
        }
        for (weight, step) in weights.iter_mut().zip(solved(rows)) {
            *weight += step;
        }
    }
    weights
}

/// Gaussian elimination with pivots; the last column is the right side.
fn solved(mut rows: [[f64; ALL + 1]; ALL]) -> [f64; ALL] {
    for at in 0..ALL {
        let pivot = (at..ALL).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()));
        rows.swap(at, pivot.unwrap());
        let upper = rows[at];
        for below in &mut rows[at + 1..] {
            let factor = below[at] / upper[at];
            for (slot, above) in below.iter_mut().zip(upper).skip(at) {
                *slot -= factor * above;
            }
        }
    }
    let mut found = [0.0; ALL];
    for at in (0..ALL).rev() {
        let known: f64 = (at + 1..ALL)
            .map(|column| rows[at][column] * found[column])
            .sum();
        found[at] = (rows[at][ALL] - known) / rows[at][at];
    }
    found
}

/// Best logit of a question, and whether that hit is the answer.
fn best(weights: &[f64; ALL], sample: &Sample) -> (f64, bool) {
    let hits = sample
        .hits
        .iter()
        .map(|(features, right)| (logit(weights, features), *right));
    let best = hits.max_by(|a, b| a.0.total_cmp(&b.0));
    best.unwrap_or((f64::MIN, false))
}

/// Weights whose bias lets so many wrong answers through, if a third of the questions has no answer.
fn biased(mut weights: [f64; ALL], samples: &[&Sample]) -> [f64; ALL] {
    let count = |answerable: bool| {
        let all = samples.iter().filter(|one| one.answerable == answerable);
        f64::from(u32::try_from(all.count()).unwrap())
    };
    let shares = [1.0 / 3.0 / count(false), 2.0 / 3.0 / count(true)];
    let mut hits: Vec<(f64, f64)> = samples
        .iter()
        .map(|one| {
            let (logit, right) = best(&weights, one);
            let wrong = if right {
                0.0
            } else {
                shares[usize::from(one.answerable)]
            };
            (logit, wrong)
        })
        .collect();
    hits.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut wrong = 0.0;
    let mut least = f64::MAX;
    for (logit, more) in hits {
        wrong += more;
        if wrong > WRONG {
            break;
        }
        least = logit;
    }
    weights[0] -= least;
    weights
}

/// Right and wrong answers.
fn answers(weights: &[f64; ALL], samples: &[&Sample]) -> (usize, usize) {
    let hits = samples.iter().map(|sample| best(weights, sample));
    let shown: Vec<bool> = hits.filter(|hit| hit.0 >= -1e-9).map(|hit| hit.1).collect();
    let right = shown.iter().filter(|right| **right).count();
    (right, shown.len() - right)
}

#[test]
fn constants_of_the_confidence_are_those_of_the_fit() {
    let first = samples(
        include_str!("../../../../shell/keeper/tests/it/truth/memories.txt"),
        include_str!("../../../../shell/keeper/tests/it/truth/questions_tuning.txt"),
    );
    let second = samples(
        include_str!("../../../../shell/keeper/tests/it/truth/memories_second.txt"),
        include_str!("../../../../shell/keeper/tests/it/truth/questions_second.txt"),
    );
    let taught = include_str!("../../../../shell/keeper/tests/it/truth/questions_near.txt");
    let beside = |set: &str| -> String {
        let rows = rows(taught).into_iter().filter(|row| row[0] == set);
        let lines = rows.map(|row| format!("{} | {} | near | {}\n", row[1], row[2], row[3]));
        lines.collect()
    };
    let first_beside = samples(
        include_str!("../../../../shell/keeper/tests/it/truth/memories.txt"),
        &beside("1"),
    );
    let second_beside = samples(
        include_str!("../../../../shell/keeper/tests/it/truth/memories_second.txt"),
        &beside("2"),
    );
    let (first, second): (Vec<&Sample>, Vec<&Sample>) =
        (first.iter().collect(), second.iter().collect());
    let (first_beside, second_beside): (Vec<&Sample>, Vec<&Sample>) = (
        first_beside.iter().collect(),
        second_beside.iter().collect(),
    );
    for (name, own, beside, other) in [
        ("second", &first, &first_beside, &second),
        ("first", &second, &second_beside, &first),
    ] {
        let own: Vec<&Sample> = own.iter().chain(beside).copied().collect();
        let weights = biased(fit(&own), &own);
        let (right, wrong) = answers(&weights, other);
        println!(
            "{name} set by the other's fit: {right} right, {wrong} wrong of {}",
            other.len()
        );
    }
    let own = first.iter().chain(&second);
    let all: Vec<&Sample> = own
        .chain(&first_beside)
        .chain(&second_beside)
        .copied()
        .collect();
    let weights = biased(fit(&all), &all);
    for (name, set) in [
        ("first", &first),
        ("second", &second),
        ("first beside", &first_beside),
        ("second beside", &second_beside),
    ] {
        let (right, wrong) = answers(&weights, set);
        println!(
            "{name} set by the fit of all: {right} right, {wrong} wrong of {}",
            set.len()
        );
    }
    let rounded: Vec<String> = weights
        .iter()
        .map(|weight| format!("{weight:.2}"))
        .collect();
    println!("SMALL_FIT: {}", rounded[..FEATURES].join(", "));
    println!("ASKED_FIT: {}", rounded[FEATURES..].join(", "));
    for (made, kept) in weights.iter().zip(SMALL_FIT.iter().chain(&ASKED_FIT)) {
        assert!(
            (made - f64::from(*kept)).abs() < ROUNDED,
            "{made} is not {kept}"
        );
    }
}
