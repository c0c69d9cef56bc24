//! The lines of a history that answer to a question.
//!
//! # Model
//! A history is asked for one fact, and a fact stands on one line. Texts are cut into windows of a
//! paragraph; a question ranks the windows (BM25), then the lines of the best windows one by one,
//! each by the words of the question that it has and by the worth of the window around it. A text
//! may have a heading, such as the command that printed it, whose words count for its windows. Each
//! different line is shown once: a session reads the same file several times, and whole passages
//! would fill an answer with the same lines again.
//!
//! A history answers any question ([`History::any`]), or one that is known before the texts are
//! ([`History::of`]): then only windows with words of it are kept, the best of them, so that
//! gigabytes of texts take little memory. Both give the same answer. So lengths are compared with a
//! fixed one, not with a mean that all texts would be needed for, and a caller that knows a text to
//! have no word of the question only counts it ([`History::pass`]).
//!
//! # Not here
//! Reading the texts, and places in files: sources are the caller's. Passages of several lines that
//! explain themselves ([`super::Passage`]).

use super::{LENGTH, SATURATION};
use crate::words::{Language, Stemming, StopWords, Tokeniser};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Bytes of one window: a paragraph or a screenful of output.
const WINDOW: usize = 800;
/// Words of a window that is neither long nor short, for the penalty on long ones.
const USUAL_WORDS: f64 = 80.0;
/// Number of the best windows whose lines are looked at: more than an answer of a few thousand
/// tokens has lines for.
const MOST_WINDOWS: usize = 400;
/// Part of its window's score that a line gets beside its own words: the subject of a passage is
/// often named some lines above the fact.
const SURROUNDINGS: f64 = 0.5;
/// Longest line in bytes that is shown whole; of a longer one the part around its words is.
const LONGEST: usize = 240;
/// Bytes of an answer that a line takes beside its own: a part of the words that say where it is from.
const PLACE: usize = 16;
/// Windows kept for a known question: ten times as many as are looked at, so that a rarity that
/// changes as texts come in does not drop a good one.
const MOST_KEPT: usize = 4_000;
/// Letters from which a word also counts inside a longer one, where no text has it as it is: a
/// shorter one stands in too many.
const LONG_ENOUGH: usize = 4;
/// Least worth of a word, so that one that every window has still tells a line from another.
const LEAST_RARITY: f64 = 0.05;

/// Texts that can be asked for lines. `S` is the source of a text.
#[derive(Debug)]
pub struct History<S> {
    language: Language,
    tokeniser: Tokeniser,
    /// Words of the only question that is answered; `None` if any is.
    only: Option<Vec<String>>,
    words: HashMap<String, Word>,
    windows: Vec<Window<S>>,
    /// Windows of all texts, whether they are kept or not.
    count: f64,
}

/// A word of the texts.
#[derive(Debug, Default)]
struct Word {
    /// Windows that have it, whether they are kept or not.
    having: f64,
    /// The kept ones, each with the number of times.
    windows: Vec<(usize, f64)>,
}

#[derive(Debug)]
struct Window<S> {
    source: S,
    recency: i64,
    text: String,
    length: f64,
}

/// A word of a question.
#[derive(Debug)]
struct Asked {
    /// Bit of the word among those of the question; zero beyond the 64th.
    bit: u64,
    word: String,
    rarity: f64,
    /// True if no text has the word itself: longer ones that contain it count.
    inside: bool,
}

impl Asked {
    fn is_met_by(&self, word: &str) -> bool {
        if self.inside {
            word.contains(&self.word)
        } else {
            word == self.word
        }
    }
}

/// A line that answers to a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundLine<'a, S> {
    /// Source of its text.
    pub source: &'a S,
    /// The line, or the part of it around the words of the question.
    pub text: &'a str,
    /// Number of the window, and offset of the line in it: the order of lines of one source.
    pub position: (usize, usize),
    /// Words of the question that its surroundings have, a bit each, in the order of
    /// [`History::words`]; words beyond the 64th have none.
    pub words: u64,
    /// Score of the line; comparable within one search only.
    pub score: f64,
}

/// A line of a window.
#[derive(Debug)]
struct ScoredLine {
    range: Range<usize>,
    /// Offset in the line of the first word that was asked for.
    first: usize,
    /// Worth of its own words.
    own: f64,
    /// Bits of its words.
    words: u64,
}

impl<S: Clone> History<S> {
    /// An empty history that answers any question about texts of a language.
    pub fn any(language: Language) -> Self {
        Self {
            language,
            tokeniser: Tokeniser::new(Some(language), StopWords::Keep, Stemming::On),
            only: None,
            words: HashMap::new(),
            windows: Vec::new(),
            count: 0.0,
        }
    }

    /// An empty history that answers one question.
    pub fn of(question: &str, language: Language) -> Self {
        let mut history = Self::any(language);
        history.only = Some(words_of(question, language));
        history
    }

    /// Adds a text. Of two equal lines the one of higher recency is shown. The heading says what the
    /// text is about, such as the command that printed it; its words count for every window.
    pub fn add(&mut self, source: &S, recency: i64, heading: &str, text: &str) {
        for window in windows(text) {
            self.add_window(source, recency, heading, window);
        }
        if self.only.is_some() && self.windows.len() > 2 * MOST_KEPT {
            self.prune();
        }
    }

    /// Counts a text that has no word of the question, by its length in bytes.
    pub fn pass(&mut self, bytes: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.count += f64::from(bytes) / f64::from(u32::try_from(WINDOW).unwrap_or(u32::MAX));
    }

    /// Adds the texts of another history of the same question behind those of this one.
    pub fn append(&mut self, other: Self) {
        let before = self.windows.len();
        self.count += other.count;
        self.windows.extend(other.windows);
        for (word, new) in other.words {
            let known = self.words.entry(word).or_default();
            known.having += new.having;
            let moved = new.windows.into_iter();
            known
                .windows
                .extend(moved.map(|(at, count)| (at + before, count)));
        }
        if self.only.is_some() && self.windows.len() > MOST_KEPT {
            self.prune();
        }
    }

    fn add_window(&mut self, source: &S, recency: i64, heading: &str, text: &str) {
        self.count += 1.0;
        let number = self.windows.len();
        let mut length = 0.0;
        let mut met = false;
        let (words, only) = (&mut self.words, &self.only);
        let mut take = |word: &str| {
            let is_asked = only.as_ref().is_none_or(|only| {
                let inside = |asked: &String| {
                    asked == word || (asked.len() >= LONG_ENOUGH && word.contains(asked.as_str()))
                };
                only.iter().any(inside)
            });
            if !is_asked {
                return;
            }
            met = true;
            if !words.contains_key(word) {
                words.insert(word.to_owned(), Word::default());
            }
            let Some(known) = words.get_mut(word) else {
                return;
            };
            match known.windows.last_mut() {
                Some((at, count)) if *at == number => *count += 1.0,
                _ => {
                    known.having += 1.0;
                    known.windows.push((number, 1.0));
                }
            }
        };
        self.tokeniser.each(text, |word, _| {
            length += 1.0;
            take(word);
        });
        // Not part of the length: a text is no less to the point for a long command.
        self.tokeniser.each(heading, |word, _| take(word));
        if met {
            self.windows.push(Window {
                source: source.clone(),
                recency,
                text: text.to_owned(),
                length,
            });
        }
    }

    /// Texts of the windows that are kept.
    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<&str> {
        let texts = self.windows.iter().map(|window| window.text.as_str());
        texts.collect()
    }

    /// Drops all windows but the best ones for the question. Counts stay.
    fn prune(&mut self) {
        let Some(only) = &self.only else { return };
        let asked = self.asked(only.clone());
        let mut ranked = self.ranked(&asked);
        ranked.truncate(MOST_KEPT);
        ranked.sort_unstable_by_key(|(at, _)| *at);
        let mut places = vec![None; self.windows.len()];
        for (new, (old, _)) in ranked.iter().enumerate() {
            places[*old] = Some(new);
        }
        let mut kept = places.iter();
        self.windows
            .retain(|_| kept.next().is_some_and(Option::is_some));
        for word in self.words.values_mut() {
            let old = std::mem::take(&mut word.windows).into_iter();
            word.windows = old
                .filter_map(|(at, count)| Some((places[at]?, count)))
                .collect();
        }
    }

    /// The different words of a question that are looked for, without endings. Stop words are only
    /// where there are no others.
    pub fn words(question: &str, language: Language) -> Vec<String> {
        words_of(question, language)
    }

    /// The words of a question that occur, each with its rarity.
    fn asked(&self, words: Vec<String>) -> Vec<Asked> {
        let bits = (0..).map(|at| 1_u64.checked_shl(at).unwrap_or(0));
        let asked = words.into_iter().zip(bits).filter_map(|(word, bit)| {
            let known = self.words.get(&word);
            let inside = known.is_none();
            if inside && word.len() < LONG_ENOUGH {
                return None;
            }
            let having = match known {
                Some(known) => known.having,
                None => self.forms(&word).map(|form| form.having).sum(),
            };
            // BM25's IDF.
            let rarity = ((self.count - having + 0.5) / (having + 0.5)).ln_1p();
            (having > 0.0).then_some(Asked {
                bit,
                word,
                rarity: rarity.max(LEAST_RARITY),
                inside,
            })
        });
        asked.collect()
    }

    /// Words that contain another, in no order.
    fn forms<'a>(&'a self, inner: &'a str) -> impl Iterator<Item = &'a Word> {
        let containing = self
            .words
            .iter()
            .filter(move |(word, _)| word.contains(inner));
        containing.map(|(_, word)| word)
    }

    /// Windows with words of a question and their scores, best first; of equals the more recent.
    fn ranked(&self, asked: &[Asked]) -> Vec<(usize, f64)> {
        let mut scores = vec![0.0; self.windows.len()];
        for one in asked {
            let mut counts: HashMap<usize, f64> = HashMap::new();
            let exact = self.words.get(&one.word).filter(|_| !one.inside);
            let inside = one.inside.then(|| self.forms(&one.word));
            for form in exact.into_iter().chain(inside.into_iter().flatten()) {
                for (at, count) in &form.windows {
                    *counts.entry(*at).or_default() += count;
                }
            }
            for (at, count) in counts {
                let length = self.windows[at].length / USUAL_WORDS;
                let norm = SATURATION * (1.0 - LENGTH + LENGTH * length);
                scores[at] += one.rarity * count * (SATURATION + 1.0) / (count + norm);
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores
            .into_iter()
            .enumerate()
            .filter(|(_, score)| *score > 0.0)
            .collect();
        ranked.sort_by(|(a, worth_a), (b, worth_b)| {
            let recency = |at: usize| self.windows[at].recency;
            worth_b
                .total_cmp(worth_a)
                .then_with(|| recency(*b).cmp(&recency(*a)))
                .then(a.cmp(b))
        });
        ranked
    }

    /// The best lines for a question among those for which `wanted` is true, best first, each
    /// different line once, together not longer than `budget` bytes.
    pub fn lines(
        &self,
        question: &str,
        budget: usize,
        wanted: impl Fn(&S, &str) -> bool,
    ) -> Vec<FoundLine<'_, S>> {
        let asked = self.asked(words_of(question, self.language));
        let mut found = Vec::new();
        let mut looked_at = 0;
        for (at, score) in self.ranked(&asked) {
            let window = &self.windows[at];
            let before = found.len();
            let lines = self.scored_lines(&window.text, &asked);
            let words = lines.iter().fold(0, |all, line| all | line.words);
            for ScoredLine {
                range, first, own, ..
            } in lines
            {
                let range = shown(&window.text, range, first);
                let text = &window.text[range.clone()];
                if !text.is_empty() && wanted(&window.source, text) {
                    found.push((
                        FoundLine {
                            source: &window.source,
                            text,
                            position: (at, range.start),
                            words,
                            score: own + SURROUNDINGS * score,
                        },
                        window.recency,
                    ));
                }
            }
            looked_at += usize::from(found.len() > before);
            if looked_at == MOST_WINDOWS {
                break;
            }
        }
        found.sort_by(|(a, new_a), (b, new_b)| {
            let by_score = b.score.total_cmp(&a.score);
            by_score
                .then(new_b.cmp(new_a))
                .then(a.position.cmp(&b.position))
        });
        let mut left = budget;
        let mut known: HashSet<&str> = HashSet::new();
        let mut lines: Vec<FoundLine<'_, S>> = found.into_iter().map(|(line, _)| line).collect();
        lines.retain(|line| {
            let taken = line.text.len() + PLACE;
            let fits = taken <= left;
            if fits && known.insert(without_number(line.text)) {
                left -= taken;
                return true;
            }
            false
        });
        lines
    }

    /// Lines of a window with the worth of their own words.
    fn scored_lines(&self, text: &str, asked: &[Asked]) -> Vec<ScoredLine> {
        let mut start = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            let range = start..start + line.len();
            start = range.end;
            let mut seen = vec![false; asked.len()];
            let (mut own, mut words) = (0.0, 0);
            let mut first = None;
            self.tokeniser.each(line, |word, at| {
                for (one, seen) in asked.iter().zip(&mut seen) {
                    if one.is_met_by(word) && !std::mem::replace(seen, true) {
                        own += one.rarity;
                        words |= one.bit;
                        first = first.or(Some(at.start));
                    }
                }
            });
            ScoredLine {
                range,
                first: first.unwrap_or(0),
                own,
                words,
            }
        });
        lines.collect()
    }
}

/// The different words of a question that tell something; all of them if none does.
fn words_of(question: &str, language: Language) -> Vec<String> {
    let words = |stop_words| {
        let tokeniser = Tokeniser::new(Some(language), stop_words, Stemming::On);
        let mut different: Vec<String> = Vec::new();
        tokeniser.each(question, |word, _| {
            if !different.iter().any(|known| known == word) {
                different.push(word.to_owned());
            }
        });
        different
    };
    let telling = words(StopWords::Drop);
    // "to be or not to be" has no telling word and is still a question.
    if telling.is_empty() {
        words(StopWords::Keep)
    } else {
        telling
    }
}

/// Cuts a text into windows, at ends of lines where there are any.
fn windows(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let most = rest.floor_char_boundary(WINDOW);
        // Cut at a line's end, so that a fact on one line is never divided.
        let end = if most == rest.len() {
            most
        } else {
            let line_end = rest[..most].rfind('\n').filter(|end| *end > 0);
            line_end.unwrap_or(most)
        };
        let window = &rest[..end];
        rest = rest[end..].trim_start_matches(['\n', '\r']);
        // Blank lines only are no window, and leave nothing to cut.
        if rest.trim().is_empty() {
            rest = "";
        }
        Some(window)
    })
}

/// A line without the number that a tool put in front of it: an edit above shifts the numbers, and
/// the lines are the same.
fn without_number(line: &str) -> &str {
    line.trim_start_matches(|letter: char| {
        letter.is_ascii_digit() || letter.is_whitespace() || letter == '→'
    })
}

/// Part of a line that is shown: all of it without the blanks around, or the surroundings of its
/// first word that was asked for. `first` is the offset of that word in the line.
fn shown(text: &str, range: Range<usize>, first: usize) -> Range<usize> {
    let line = &text[range.clone()];
    let trimmed = line.trim();
    let lead = line.len() - line.trim_start().len();
    if trimmed.len() <= LONGEST {
        return range.start + lead..range.start + lead + trimmed.len();
    }
    let from = line.floor_char_boundary(first.saturating_sub(LONGEST / 4).max(lead));
    let to = line.floor_char_boundary((from + LONGEST).min(lead + trimmed.len()));
    range.start + from..range.start + to
}
