//! Fit of the confidence for small stores, from the questions to tune on.
//!
//! Logistic regression over the first hits of each question, in the whole store and in small parts of
//! it, so that a store of one memory has its own share in the weights; the bias is then moved so that one
//! answer in twenty of all questions is wrong. The test fails if the constants of the crate are not
//! the ones that come out; `--nocapture` prints them. How each set does with the fit of all others is a test to be asked for.
//!
//! The sixteen stores of `data/stores` have two authors, who knew neither the code nor its tables.

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_memory::topic::Kind;
use dormouse_recall::{
    ASKED, ASKED_FIT, Asked, Document, FEATURES, Query, RERANKED, SMALL_FIT, Searcher, Segment,
    language_of,
};

/// Number of features of a hit.
const ALL: usize = FEATURES + ASKED;
/// Penalty on the squares of the weights. Each set was judged by the fit of the other: with six their
/// answers are told apart best, one to three lose two to eight in a hundred.
const PENALTY: f64 = 6.0;
/// Memories of the smaller stores: a first one, those of a first day, and those of a first week.
const SIZES: [usize; 3] = [1, 5, 20];
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
    card.kind = Kind::parse(row[2]);
    card.description = row[4].chars().take(DESCRIPTION).collect();
    card
}

/// Memories with their index, as a session has them.
struct Store<'a> {
    rows: Vec<&'a Vec<&'a str>>,
    cards: Vec<Card>,
    searcher: Searcher,
}

impl<'a> Store<'a> {
    fn new(rows: Vec<&'a Vec<&'a str>>) -> Self {
        let cards: Vec<Card> = rows.iter().map(|row| card(row)).collect();
        let documents = rows.iter().zip(&cards).map(|(row, card)| Document {
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
        let language = language_of(rows.iter().map(|row| row[4]));
        let segment = Segment::build(language, documents).unwrap();
        let searcher = Searcher::new(Segment::open(segment.into()).unwrap());
        Self {
            rows,
            cards,
            searcher,
        }
    }

    /// Question with its first hits, and the memory that comes first.
    fn ask(&self, row: &[&str]) -> (Sample, Option<&'a str>) {
        let asked = Asked::of(row[3]);
        let query = Query {
            text: row[3],
            top: 50,
            now: 0,
        };
        let hits = self.searcher.measured(&query);
        let first = hits.first().map(|hit| self.rows[hit.0.document][0]);
        let hits = hits.into_iter().take(RERANKED).map(|(hit, features)| {
            let mut all = [0.0; ALL];
            let both = asked.features(&self.cards[hit.document]);
            for (slot, feature) in all.iter_mut().zip(features.into_iter().chain(both)) {
                *slot = f64::from(feature);
            }
            (all, self.rows[hit.document][0] == row[0])
        });
        let sample = Sample {
            answerable: row[0] != "-",
            hits: hits.collect(),
        };
        (sample, first)
    }
}

/// Questions over all memories, and the same over smaller stores: of the answer and others, or
/// without one of the memory that comes first and others. Names of memories as questions teach the
/// weights as well.
struct Set {
    name: &'static str,
    whole: Vec<Sample>,
    small: Vec<Sample>,
}

impl Set {
    fn new(name: &'static str, memories: &str, questions: &str) -> Self {
        let memories = rows(memories);
        let whole = Store::new(memories.iter().collect());
        let mut set = Self {
            name,
            whole: Vec::new(),
            small: Vec::new(),
        };
        for (at, row) in rows(questions).into_iter().enumerate() {
            let (sample, first) = whole.ask(&row);
            set.whole.push(sample);
            let kept = if row[0] == "-" { first } else { Some(row[0]) };
            let Some(kept) = kept else { continue };
            for size in SIZES.into_iter().filter(|size| *size < memories.len()) {
                // Other memories for each question: prime steps reach all of them.
                let others = memories.iter().filter(|memory| memory[0] != kept);
                let others = others.skip(at * 7 % 37).take(size - 1);
                let kept = memories.iter().filter(|memory| memory[0] == kept);
                set.small
                    .push(Store::new(others.chain(kept).collect()).ask(&row).0);
            }
        }
        // People also type a few words, as in a search: the name of a memory without its first word.
        for row in &memories {
            let words = row[3].split_once(' ').map_or("", |(_, rest)| rest);
            if !words.is_empty() {
                let row = [row[0], row[1], "name", words];
                set.small.push(whole.ask(&row).0);
            }
        }
        set
    }
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

/// A file of the keeper's sets.
macro_rules! truth {
    ($name:literal) => {
        include_str!(concat!(
            "../../../../shell/keeper/tests/it/truth/",
            $name,
            ".txt"
        ))
    };
}

/// A store of `data/stores`.
macro_rules! store {
    ($name:literal) => {
        Set::new(
            $name,
            include_str!(concat!("../data/stores/memories_", $name, ".txt")),
            include_str!(concat!("../data/stores/questions_", $name, ".txt")),
        )
    };
}

/// Sets to tune on; those about the same memories begin with the same word.
fn sets() -> Vec<Set> {
    let beside = |set: &str| -> String {
        let rows = rows(truth!("questions_near")).into_iter();
        let rows = rows.filter(|row| row[0] == set);
        let lines = rows.map(|row| format!("{} | {} | near | {}\n", row[1], row[2], row[3]));
        lines.collect()
    };
    let (first, second) = (truth!("memories"), truth!("memories_second"));
    vec![
        Set::new("first", first, truth!("questions_tuning")),
        Set::new("first beside", first, &beside("1")),
        Set::new("second", second, truth!("questions_second")),
        Set::new("second beside", second, &beside("2")),
        store!("a_1"),
        store!("a_2"),
        store!("a_3"),
        store!("a_4"),
        store!("a_5"),
        store!("a_6"),
        store!("a_7"),
        store!("a_8"),
        store!("b_1"),
        store!("b_2"),
        store!("b_3"),
        store!("b_4"),
        store!("b_5"),
        store!("b_6"),
        store!("b_7"),
        store!("b_8"),
    ]
}

/// The fit of some sets: weights by all stores, the bias by the whole ones.
fn fit_of(sets: &[&Set]) -> [f64; ALL] {
    let all = sets
        .iter()
        .flat_map(|set| set.whole.iter().chain(&set.small));
    let whole: Vec<&Sample> = sets.iter().flat_map(|set| &set.whole).collect();
    biased(fit(&all.collect::<Vec<_>>()), &whole)
}

/// Answered, answerable, wrong and all questions.
fn figures(weights: &[f64; ALL], samples: &[Sample]) -> [usize; 4] {
    let samples: Vec<&Sample> = samples.iter().collect();
    let answerable = samples.iter().filter(|one| one.answerable).count();
    let (right, wrong) = answers(weights, &samples);
    [right, answerable, wrong, samples.len()]
}

#[test]
#[ignore = "prints how well the fit holds for stores it has not seen; twenty fits"]
fn each_store_by_the_fit_of_the_others() {
    let sets = sets();
    let about = |set: &Set| set.name.split(' ').next();
    println!("answered of, wrong of; in the whole store, and in parts of it");
    let mut sums = [0; 8];
    for set in &sets {
        let others = sets.iter().filter(|other| about(other) != about(set));
        let weights = fit_of(&others.collect::<Vec<_>>());
        let (whole, small) = (figures(&weights, &set.whole), figures(&weights, &set.small));
        println!("{} by the fit of the others: {whole:?} {small:?}", set.name);
        for (sum, figure) in sums.iter_mut().zip(whole.into_iter().chain(small)) {
            *sum += figure;
        }
    }
    println!("all by the fit of the others: {sums:?}");
}

#[test]
fn constants_of_the_confidence_are_those_of_the_fit() {
    let sets = sets();
    let weights = fit_of(&sets.iter().collect::<Vec<_>>());
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
