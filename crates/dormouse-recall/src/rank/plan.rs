//! From a query to the terms that are looked up, each with its weight.

use crate::searcher::Searcher;
use std::collections::HashMap;

/// A term of the query that occurs.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// Its number in each part.
    pub(crate) numbers: Vec<Option<u32>>,
    /// What it counts among documents: rarity, less for stop words and stand-ins.
    pub(crate) weight: f32,
    /// The same among units.
    pub(crate) unit_weight: f32,
    /// What it counts among wholes is its rarity there, times this.
    pub(crate) factor: f32,
    /// The place in the query of the word it stands for.
    pub(crate) word: usize,
}

/// A word of the query.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// How much the query loses without it.
    pub(crate) rarity: f32,
    pub(crate) stop_word: bool,
}

/// What to look up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) terms: Vec<Planned>,
    /// The words in order; those of an identifier without the identifier.
    pub(crate) words: Vec<Word>,
}

impl Searcher {
    pub(crate) fn plan(&self, query: &str) -> Plan {
        let mut plan = Plan::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        let weights = &self.weights;
        let terms = self.analyser.query(query);
        for term in &terms {
            let factor = if term.stop_word {
                weights.stop_word
            } else {
                1.0
            };
            let rarity = self.rarity_of_nothing();
            if let Some(first) = known.get(&term.text) {
                let again = plan.words[*first].clone();
                if !term.whole {
                    plan.words.push(again);
                }
                continue;
            }
            let word = plan.words.len();
            known.insert(term.text.clone(), word);
            let planned = self.planned(&term.text, factor, word);
            plan.words.push(Word {
                rarity: planned
                    .as_ref()
                    .map_or(rarity * factor, |planned| planned.weight),
                stop_word: term.stop_word,
            });
            match planned {
                Some(planned) => plan.terms.push(planned),
                None if !term.stop_word && weights.alike > 0.0 => {
                    self.alike(&term.text, word, &mut plan);
                }
                None => {}
            }
        }
        if weights.joined > 0.0 {
            for pair in terms.windows(2) {
                if let [first, second] = pair
                    && !(first.stop_word && second.stop_word)
                {
                    let joined = format!("{}{}", first.text, second.text);
                    let word = known.get(&first.text).copied().unwrap_or_default();
                    if !known.contains_key(&joined) {
                        plan.terms
                            .extend(self.planned(&joined, weights.joined, word));
                    }
                }
            }
        }
        plan
    }

    fn planned(&self, term: &str, factor: f32, word: usize) -> Option<Planned> {
        let numbers: Vec<Option<u32>> = self
            .parts
            .iter()
            .map(|part| part.segment.find(term))
            .collect();
        self.planned_numbers(numbers, factor, word)
    }

    fn planned_numbers(
        &self,
        numbers: Vec<Option<u32>>,
        factor: f32,
        word: usize,
    ) -> Option<Planned> {
        let (mut documents, mut units) = (0, 0);
        for (part, number) in self.parts.iter().zip(&numbers) {
            if let Some(number) = number {
                let (some, more) = part.having(&part.segment.postings(*number));
                documents += some as usize;
                units += more;
            }
        }
        (documents > 0).then(|| Planned {
            numbers,
            weight: factor * rarity(self.live as usize, documents),
            unit_weight: factor * rarity(self.live_units as usize, units),
            factor,
            word,
        })
    }

    /// The rarity of a word that no document has.
    fn rarity_of_nothing(&self) -> f32 {
        rarity(self.live as usize, 0)
    }

    /// Terms that begin like one that is nowhere.
    fn alike(&self, term: &str, word: usize, plan: &mut Plan) {
        let letters = term.chars().count();
        if letters < 5 || !term.chars().all(char::is_alphabetic) {
            return;
        }
        let keep = (letters * 3).div_ceil(4).max(4);
        let stem: String = term.chars().take(keep).collect();
        let mut found: HashMap<Vec<u8>, Vec<Option<u32>>> = HashMap::new();
        for (index, part) in self.parts.iter().enumerate() {
            let first = part.segment.first_at_least(&stem);
            for number in first..part.segment.terms() {
                let text = part.segment.term_text(number);
                if !text.starts_with(stem.as_bytes()) {
                    break;
                }
                if text.len() <= term.len() + 4 {
                    let numbers = found
                        .entry(text.to_vec())
                        .or_insert_with(|| vec![None; self.parts.len()]);
                    numbers[index] = Some(number);
                }
            }
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort();
        let share = self.weights.alike;
        plan.terms.extend(
            found
                .into_iter()
                .filter_map(|(_, numbers)| self.planned_numbers(numbers, share, word)),
        );
    }
}

/// How much it says that a text has a word. Never below zero, also for a word that all have.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "counts are far below 2^52, and the result is a small number"
)]
pub(crate) fn rarity(all: usize, having: usize) -> f32 {
    let (all, having) = (all as f64, having as f64);
    ((all - having + 0.5).max(0.0) / (having + 0.5)).ln_1p() as f32
}
