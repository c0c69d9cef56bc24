//! Terms to look up for a query, each with its weight.
//!
//! # Model
//! A word that occurs is looked up with its inflected relatives; one that is nowhere is replaced by
//! words that begin alike, at a discount. Rarity weighs them, by the documents that are left.
//!
//! # Not here
//! Cutting a text into terms (`analyse`); the passes over the postings (`score`).

use super::score::rarity;
use crate::analyse::{QueryTerm, Sort};
use crate::asked::Asked;
use crate::glossary::Stand;
use crate::searcher::Searcher;
use std::collections::HashMap;

/// Most words of a query that are looked up; of a longer one, the rarest. A pasted log has
/// thousands, and the rarest few dozen decide.
const MOST_WORDS: usize = 48;

/// Most documents of a store in which single words decide: it fits into a reader's head, and its
/// words can be read through for each search.
const SMALL: u32 = 300;
/// Worth of a word that asks, where some memory has it and where none has.
const WEAK: f32 = 0.4;
const WEAK_AND_ABSENT: f32 = 0.1;
/// Worth of the thing that is asked for: a memory without it is hardly the answer.
const FOCUS: f32 = 1.5;
/// Factor of a stop word in the order of a small store: notes with long bodies gain by more, but a
/// memory of one sentence must not come first for its "the" and "is".
const STOP_WORD: f32 = 0.3;
/// Worth of a pair of characters that is nowhere: a word of three makes two of them.
const WIDE_AND_ABSENT: f32 = 0.6;

/// Word of the query that occurs, or something that stands for it.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// Terms to look up: the word itself first, then its relatives.
    pub(crate) lookups: Vec<Lookup>,
    /// Weight among documents: rarity, less for stop words and stand-ins.
    pub(crate) weight: f32,
    /// Weight among units, by its rarity there.
    pub(crate) unit_weight: f32,
    /// Factor for its rarity among wholes, which is known only during the pass.
    pub(crate) factor: f32,
    /// Place in the query of the word it stands for.
    pub(crate) word: usize,
}

/// Term of one part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lookup {
    pub(crate) part: usize,
    pub(crate) number: u32,
    /// Count of one occurrence; below 1 for relatives.
    pub(crate) share: f32,
    /// Evidence that the word is meant, from 0 to 1: another form of it counts little in the order
    /// of hits and nearly as much as the word when it has to be told if any is meant.
    pub(crate) cover: f32,
}

/// Word of the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) stops: bool,
    /// Loss of the query without it.
    pub(crate) rarity: f32,
    /// Worth as evidence; nothing for a stop word.
    pub(crate) worth: f32,
    /// Part it has in the evidence.
    pub(crate) class: Class,
    /// True for the thing that is asked for.
    pub(crate) focus: bool,
}

/// Sort of a word as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A name, a figure, or a word that the general tables do not have: it means one thing.
    Particular,
    /// Word of any project.
    General,
    /// Pair of characters, a word or half of one.
    Wide,
    /// Word that asks; stop words too.
    Weak,
}

/// Number of the classes above, for tables indexed by them.
pub(crate) const CLASSES: usize = 4;

/// Plan of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) terms: Vec<Planned>,
    /// Words in order; those of an identifier without the identifier.
    pub(crate) words: Vec<Word>,
    /// The same as the query has them.
    pub(crate) texts: Vec<String>,
    /// True for a question that a fact answers: a memory without one of its words is none.
    pub(crate) for_fact: bool,
    /// Words that stand together in the query, or with nothing but stop words between them.
    pub(crate) pairs: Vec<(usize, usize)>,
    /// By word: the pairs it is in.
    pub(crate) pairs_of: Vec<Vec<usize>>,
}

impl Plan {
    /// Drops the commonest words of a long query: they cost time and decide nothing. Words that are
    /// nowhere cost nothing and stay: the query is not covered without them.
    fn keep_rarest(&mut self) {
        let mut found: Vec<usize> = self.terms.iter().map(|term| term.word).collect();
        found.sort_unstable();
        found.dedup();
        if found.len() <= MOST_WORDS {
            return;
        }
        let rarity = |word: usize| self.words.get(word).map_or(0.0, |word| word.rarity);
        let mut rarities: Vec<f32> = found.into_iter().map(rarity).collect();
        rarities.sort_by(|a, b| b.total_cmp(a));
        let least = rarities.get(MOST_WORDS - 1).copied().unwrap_or_default();
        let words = &self.words;
        let is_kept = |word: &Word| word.rarity >= least;
        self.terms
            .retain(|term| words.get(term.word).is_some_and(is_kept));
    }

    fn pair_up(&mut self) {
        let words = self.words.len();
        self.pairs = (1..words).map(|word| (word - 1, word)).collect();
        let speaking: Vec<usize> = (0..words).filter(|word| !self.words[*word].stops).collect();
        let apart = speaking.windows(2).map(|pair| (pair[0], pair[1]));
        self.pairs.extend(apart.filter(|pair| pair.0 + 1 != pair.1));
        self.pairs_of = vec![Vec::new(); words];
        for (index, (first, second)) in self.pairs.iter().enumerate() {
            self.pairs_of[*first].push(index);
            self.pairs_of[*second].push(index);
        }
    }
}

/// Number of documents and units that have a term.
#[derive(Clone, Copy, Default)]
pub(super) struct Having {
    pub(super) documents: usize,
    pub(super) units: usize,
}

impl Searcher {
    pub(crate) fn plan(&self, query: &str) -> Plan {
        let mut plan = Plan::default();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let terms = self.analyser.query(query);
        plan.for_fact = Asked::of(query).is_for_fact();
        let stems: Vec<&QueryTerm> = terms
            .iter()
            .filter(|term| term.sort == Sort::Stem)
            .collect();
        let phrases = self.phrases(&stems);
        let mut at = 0;
        for term in &terms {
            let is_word = term.sort == Sort::Stem;
            // Place among the stems, repeated ones included.
            let phrases = if is_word { phrases.get(at) } else { None };
            at += usize::from(is_word);
            // A repeated word of the query counts once: people repeat themselves.
            if known.contains_key(term.text.as_str()) {
                continue;
            }
            let place = plan.words.len().saturating_sub(usize::from(!is_word));
            known.insert(&term.text, place);
            let planned = self.planned(term, phrases.map_or(&[], Vec::as_slice), place);
            if is_word {
                let worth = self.worth(term, planned.as_ref());
                // A word that no document has still belongs to the query; covering the rest is not
                // enough.
                let nowhere = self.factor(term) * self.rarity(0);
                plan.texts.push(term.word.clone());
                plan.words.push(Word {
                    rarity: planned.as_ref().map_or(nowhere, |planned| planned.weight),
                    stops: term.stop_word,
                    worth,
                    class: self.class(term),
                    focus: term.focus,
                });
            }
            plan.terms.extend(planned);
        }
        self.joined(&terms, &known, &mut plan);
        bridge(&terms, &mut plan);
        plan.keep_rarest();
        plan.pair_up();
        plan
    }

    fn factor(&self, term: &QueryTerm) -> f32 {
        let sort = if term.sort == Sort::Form {
            self.weights.form
        } else {
            1.0
        };
        let word = if term.stop_word && self.is_small() {
            STOP_WORD
        } else if term.stop_word {
            self.weights.stop_word.at(self.context)
        } else {
            1.0
        };
        sort * word
    }

    fn planned(&self, term: &QueryTerm, phrases: &[Stand], word: usize) -> Option<Planned> {
        let mut factor = self.factor(term);
        let (mut lookups, mut having) = self.find(&term.text, 1.0, 1.0);
        if !term.stop_word && term.sort == Sort::Stem {
            // Relatives stand in for an absent word at a discount; beside a present one they only
            // help.
            let absent = having.documents == 0;
            let mut relatives = Having::default();
            for (text, relative) in self.relatives(&term.text, absent) {
                let (found, some) = self.find(&text, relative.share, relative.cover);
                lookups.extend(found);
                relatives.documents += some.documents;
                relatives.units += some.units;
            }
            let others = self.stand_ins(term, phrases, absent);
            lookups.extend(others.lookups);
            relatives.documents += others.having.documents;
            relatives.units += others.having.units;
            let stands_in = if others.best > 0.0 {
                others.best
            } else {
                self.weights.alike
            };
            if absent {
                having = relatives;
                factor *= stands_in;
            }
        }
        self.weighed(lookups, having, factor, word)
    }

    /// Worth of a word as evidence that a document is meant.
    fn worth(&self, term: &QueryTerm, planned: Option<&Planned>) -> f32 {
        if term.stop_word {
            return 0.0;
        }
        // A word that is nowhere counts as one that a single document has: more would let a single
        // unknown word silence every memory of a small store.
        let unique = self.rarity(1);
        let base = planned.map_or(unique, |planned| planned.weight.min(unique));
        let weak = match (term.weak, planned.is_some()) {
            (false, _) => 1.0,
            (true, true) => WEAK,
            (true, false) => WEAK_AND_ABSENT,
        };
        let focus = if term.focus { FOCUS } else { 1.0 };
        let wide = if term.is_wide() && planned.is_none() {
            WIDE_AND_ABSENT
        } else {
            1.0
        };
        base * weak * focus * wide
    }

    fn class(&self, term: &QueryTerm) -> Class {
        match () {
            () if term.stop_word || term.weak => Class::Weak,
            () if term.is_wide() => Class::Wide,
            () if self.analyser.glossary().is_general(&term.text) => Class::General,
            () => Class::Particular,
        }
    }

    /// True for a store in which single words decide.
    pub(super) fn is_small(&self) -> bool {
        self.live <= SMALL && self.family.is_none()
    }

    fn weighed(
        &self,
        lookups: Vec<Lookup>,
        having: Having,
        factor: f32,
        word: usize,
    ) -> Option<Planned> {
        (having.documents > 0).then(|| Planned {
            lookups,
            weight: factor * self.rarity(having.documents),
            unit_weight: factor * rarity(self.live_units as usize, having.units),
            factor,
            word,
        })
    }

    /// Worth of a word that so many documents have.
    pub(super) fn rarity(&self, having: usize) -> f32 {
        let power = self.weights.rarity.at(self.context);
        rarity(self.live as usize, having).powf(power)
    }

    pub(super) fn find(&self, term: &str, share: f32, cover: f32) -> (Vec<Lookup>, Having) {
        let share = exact(share);
        let mut lookups = Vec::new();
        let mut having = Having::default();
        for (index, part) in self.parts.iter().enumerate() {
            if let Some(number) = part.segment.find(term) {
                let (documents, units) = part.having(&part.segment.postings(number));
                having.documents += documents as usize;
                having.units += units;
                lookups.push(Lookup {
                    part: index,
                    number,
                    share,
                    cover,
                });
            }
        }
        (lookups, having)
    }

    /// Adds pairs of the query's words that documents write as one ("code base", "codebase").
    fn joined(&self, terms: &[QueryTerm], known: &HashMap<&str, usize>, plan: &mut Plan) {
        let share = self.weights.joined;
        if share <= 0.0 {
            return;
        }
        let stems: Vec<&QueryTerm> = terms
            .iter()
            .filter(|term| term.sort == Sort::Stem)
            .collect();
        for pair in stems.windows(2) {
            let [first, second] = pair else { continue };
            let text = format!("{}{}", first.text, second.text);
            let place = known.get(first.text.as_str()).copied();
            let speak = !first.stop_word && !second.stop_word;
            if let Some(place) = place.filter(|_| speak && !known.contains_key(text.as_str())) {
                let (lookups, having) = self.find(&text, 1.0, 1.0);
                let joined = self.weighed(lookups, having, share, place);
                plan.terms.extend(joined);
            }
        }
    }
}

/// Takes the worth from pairs of characters that only join two words: "付网" in "支付网关" is no word,
/// and no document has to have it if it has a pair beside it.
fn bridge(terms: &[QueryTerm], plan: &mut Plan) {
    let words: Vec<&QueryTerm> = terms
        .iter()
        .filter(|term| term.sort == Sort::Stem)
        .collect();
    // Repeated words have one place; then the two lists differ, and nothing is taken.
    if words.len() != plan.words.len() || !words.iter().any(|word| word.is_wide()) {
        return;
    }
    let mut found = vec![false; plan.words.len()];
    for term in &plan.terms {
        found[term.word] = true;
    }
    for at in 0..words.len() {
        let beside = |other: Option<usize>| {
            other.is_some_and(|other| {
                words
                    .get(other)
                    .is_some_and(|word| word.is_wide() && !word.stop_word)
                    && found[other]
            })
        };
        if words[at].is_wide() && !found[at] && (beside(at.checked_sub(1)) || beside(Some(at + 1)))
        {
            plan.words[at].worth = 0.0;
        }
    }
}

/// Share in steps that add up without rounding, so that sums come out the same in whatever order
/// the documents were indexed.
fn exact(share: f32) -> f32 {
    // A power of two: sixty-fourths are exact in binary.
    const STEPS: f32 = 64.0;
    (share * STEPS).round() / STEPS
}
