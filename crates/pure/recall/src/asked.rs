//! The thing that a question asks for, and whether a memory can tell it.
//!
//! # Model
//! "Who owns the search service" and "which port has the search service" share their words with the
//! same memory, and it answers one of them. A person, a time, a place, a number and a reason are
//! told by their own words, in English, German and Chinese (`data/asked.txt`); a memory that has none
//! of what is asked for is less likely to be meant. Words that go without saying in a question ("owns"
//! behind "who") are no evidence for a subject. The manner matters as well: a question for a fact
//! is not answered by a memory that lacks one of its words, while an order names much that the rule
//! about it does not.
//!
//! # Not here
//! The subject of the question: words are matched by the search.

use dormouse_memory::card::Card;
use dormouse_memory::topic::Kind;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

const TABLE: &str = include_str!("../data/asked.txt");
/// Sorts of things that are asked for, as the table names them.
const SORTS: [&str; 10] = [
    "who", "when", "where", "count", "why", "cost", "size", "version", "contact", "tongue",
];
/// The same for people.
const NAMES: [&str; SORTS.len()] = [
    "a person",
    "a time",
    "a place",
    "a number",
    "a reason",
    "a price",
    "a size",
    "a version",
    "an address",
    "a language",
];
/// Sorts that weigh by themselves: a person, a time, a place, a number.
const APART: [usize; 4] = [0, 1, 2, 3];
/// Attributes: a memory that does not tell them is about something else of the same thing.
const ATTRIBUTES: [usize; 5] = [5, 6, 7, 8, 9];

/// Number of features that a memory has for a question.
pub const ASKED: usize = 15;

/// Weights of the features, in units of the confidence's logit, made by the same fit as
/// [`SMALL_FIT`](crate::SMALL_FIT): an attribute not told; a question for a fact, for a rule, about a moment; a standing
/// rule for a question for a fact, one for anything else, a memory about the user; then, for each of
/// person, time, place and number, not told and told.
pub const ASKED_FIT: [f32; ASKED] = [
    -1.51, -1.25, 0.34, -1.01, -0.06, 0.64, 0.32, -0.32, 0.63, -0.38, 1.42, 0.55, 1.54, -1.96,
    -0.74,
];

/// Words of the table under one heading.
#[derive(Debug, Default)]
struct Words {
    /// Whole words, and phrases with blanks.
    plain: HashSet<&'static str>,
    phrases: Vec<String>,
    han: Vec<&'static str>,
}

fn table() -> &'static HashMap<(&'static str, &'static str), Words> {
    static WORDS: OnceLock<HashMap<(&'static str, &'static str), Words>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut table: HashMap<(&str, &str), Words> = HashMap::new();
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        for (heading, items) in lines.filter_map(|line| line.split_once(": ")) {
            let Some(heading) = heading.split_once(' ') else {
                continue;
            };
            let words = table.entry(heading).or_default();
            for item in items.split_whitespace() {
                if item.contains(crate::analyse::is_wide) {
                    words.han.push(item);
                } else if item.contains('-') {
                    words.phrases.push(format!(" {} ", item.replace('-', " ")));
                } else {
                    words.plain.insert(item);
                }
            }
        }
        table
    })
}

/// Text as the table is compared with it.
struct Said<'a> {
    text: &'a str,
    words: Vec<String>,
    /// Words with single blanks, one at each end.
    line: String,
}

impl<'a> Said<'a> {
    fn new(text: &'a str) -> Self {
        let words = text
            .split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '\'' | '’'))
            .filter(|word| !word.is_empty());
        let words: Vec<String> = words
            .map(|word| word.to_lowercase().replace('’', "'"))
            .collect();
        let line = format!(" {} ", words.join(" "));
        Self { text, words, line }
    }

    fn has(&self, sort: &'static str, role: &'static str) -> bool {
        table().get(&(sort, role)).is_some_and(|words| {
            self.words.iter().any(|word| words.plain.contains(&**word))
                || words
                    .phrases
                    .iter()
                    .any(|phrase| self.line.contains(phrase))
                || words.han.iter().any(|word| self.text.contains(word))
        })
    }

    fn begins(&self, sort: &'static str, role: &'static str) -> bool {
        table().get(&(sort, role)).is_some_and(|words| {
            let first = self.words.first();
            first.is_some_and(|word| words.plain.contains(&**word))
                || words
                    .phrases
                    .iter()
                    .any(|phrase| self.line.starts_with(phrase))
                || words.han.iter().any(|word| self.text.contains(word))
        })
    }
}

/// True for a figure that counts something: neither a date nor a time of day.
fn is_count(word: &str) -> bool {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let dated =
        word.contains(':') || word.matches('-').count() == 2 || word.matches('.').count() == 2;
    let year = digits == 4 && word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    digits > 0 && !dated && !year
}

/// Manner of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Manner {
    /// Question for a fact.
    Fact,
    /// Question for a permission or a rule.
    Rule,
    /// Order, or a remark.
    #[default]
    Order,
}

/// The thing that a question asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    sorts: [bool; SORTS.len()],
    manner: Manner,
    /// True for a question about one moment or event.
    moment: bool,
}

impl Asked {
    /// Reads which sorts of things a prompt asks for.
    pub fn of(prompt: &str) -> Self {
        let said = Said::new(prompt);
        let mut sorts = SORTS.map(|sort| said.has(sort, "ask"));
        let (asking, attributes) = sorts.split_at_mut(ATTRIBUTES[0]);
        let asks =
            asking.contains(&true) || said.has("thing", "ask") || said.begins("fact", "begin");
        // Names of attributes ask for one only within a question: "bump the version" does not.
        for attribute in attributes {
            *attribute &= asks;
        }
        let manner = match () {
            () if asks => Manner::Fact,
            () if said.has("rule", "ask") || prompt.contains(['?', '？']) => Manner::Rule,
            () => Manner::Order,
        };
        Self {
            sorts,
            manner,
            moment: manner == Manner::Fact && said.has("moment", "ask"),
        }
    }

    /// True for a question that a fact answers.
    pub(crate) fn is_for_fact(self) -> bool {
        self.manner == Manner::Fact
    }

    /// True for a word that goes without saying in the question.
    pub(crate) fn implies(self, word: &str) -> bool {
        self.asked().any(|sort| {
            let implied = table().get(&(SORTS[sort], "implied"));
            implied.is_some_and(|words| words.plain.contains(word))
        })
    }

    /// The same in Chinese: words that go without saying.
    pub(crate) fn implied_han(self) -> impl Iterator<Item = &'static str> {
        let words = self
            .asked()
            .filter_map(|sort| table().get(&(SORTS[sort], "implied")));
        words
            .flat_map(|words| words.han.iter().copied())
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn asked(self) -> impl Iterator<Item = usize> {
        (0..SORTS.len()).filter(move |sort| self.sorts[*sort])
    }

    /// Sorts that are asked for, each with whether a memory tells it.
    pub fn told(self, card: &Card) -> Vec<(&'static str, bool)> {
        let tells = self.tells(card);
        tells.map(|(sort, told)| (NAMES[sort], told)).collect()
    }

    fn tells(self, card: &Card) -> impl Iterator<Item = (usize, bool)> {
        let text = format!("{}. {}", card.name, card.description);
        let said = Said::new(&text);
        let figures = text.contains(|letter: char| letter.is_ascii_digit());
        let counts = text.split_whitespace().any(is_count);
        let asked: Vec<(usize, bool)> = self
            .asked()
            .map(|sort| {
                let by_words = said.has(SORTS[sort], "tell");
                let by_figures = match SORTS[sort] {
                    "when" => figures,
                    "count" | "version" => counts,
                    _ => false,
                };
                (sort, by_words || by_figures)
            })
            .collect();
        asked.into_iter()
    }

    /// Features of a memory for this question.
    pub fn features(self, card: &Card) -> [f32; ASKED] {
        let flag = |holds: bool| if holds { 1.0 } else { 0.0 };
        let fact = self.manner == Manner::Fact;
        let told: Vec<(usize, bool)> = self.tells(card).collect();
        let is = |sort: usize, as_told: bool| flag(told.contains(&(sort, as_told)));
        let untold = |(sort, told): &(usize, bool)| ATTRIBUTES.contains(sort) && !told;
        let [who, when, place, count] = APART.map(|sort| [is(sort, false), is(sort, true)]);
        [
            flag(told.iter().any(untold)),
            flag(fact),
            flag(self.manner == Manner::Rule),
            flag(self.moment),
            flag(fact && card.kind == Some(Kind::Feedback)),
            flag(!fact && card.kind == Some(Kind::Feedback)),
            flag(card.kind == Some(Kind::User)),
            who[0],
            who[1],
            when[0],
            when[1],
            place[0],
            place[1],
            count[0],
            count[1],
        ]
    }

    /// Difference that a memory makes to the logit of its confidence.
    pub fn shift(self, card: &Card) -> f32 {
        let features = self.features(card);
        features
            .iter()
            .zip(ASKED_FIT)
            .map(|(feature, weight)| feature * weight)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Millis;
    use dormouse_guard::paths::SafePath;

    fn shift(prompt: &str, description: &str) -> f32 {
        let path = SafePath::parse("a.md").unwrap();
        let text = format!("---\ndescription: \"{description}\"\n---\n");
        let card = Card::read(path, &text, Millis(0));
        Asked::of(prompt).shift(&card)
    }

    #[test]
    fn a_memory_without_what_is_asked_for_is_less_likely() {
        let owner = "Mira owns the search service";
        let who = shift("who owns the search service?", owner);
        assert!(who > shift("when is the search service deployed?", owner));
        assert!(who > shift("how many shards has the search service?", owner));
        let told = shift("推荐模型是谁负责的", "推荐模型由王芳负责");
        assert!(told > shift("推荐模型是谁负责的", "推荐模型每天重新训练"));
        let day = shift("wann liefern wir an Brandt?", "Brandt: am ersten Mittwoch");
        assert!(day > shift("wann liefern wir an Brandt?", "Brandt ist ein Kunde"));
    }

    #[test]
    fn the_manner_of_a_prompt_is_told_by_its_words() {
        assert_eq!(Asked::of("who owns billing").manner, Manner::Fact);
        assert_eq!(Asked::of("is there a board for it").manner, Manner::Fact);
        assert_eq!(Asked::of("darf ich das löschen?").manner, Manner::Rule);
        assert_eq!(Asked::of("可以用英文写吗").manner, Manner::Rule);
        assert_eq!(
            Asked::of("tweak the ranking of the search").manner,
            Manner::Order
        );
        assert!(Asked::of("when was the last deploy of billing?").moment);
        assert_eq!(Asked::of(""), Asked::default());
    }

    #[test]
    fn words_that_go_without_saying_are_no_evidence() {
        assert!(Asked::of("who owns billing").implies("owns"));
        assert!(!Asked::of("what owns billing").implies("owns"));
    }

    #[test]
    fn every_heading_of_the_table_is_known() {
        for (sort, role) in table().keys() {
            let sorts = SORTS.iter().chain(&["thing", "fact", "rule", "moment"]);
            assert!(sorts.clone().any(|known| known == sort), "{sort}");
            assert!(["ask", "implied", "tell", "begin"].contains(role), "{role}");
        }
    }
}
