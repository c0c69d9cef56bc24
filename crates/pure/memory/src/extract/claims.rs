//! Claims of a text, in a form that can be looked for in another text.
//!
//! # Model
//! A memory file is cut into sentences, each with its place (statement, reason, application). A
//! sentence is read as stems, exact names and numbers, days, and clauses with their negation; a
//! source must share enough of the first and all of the others.
//!
//! # Not here
//! The comparison with a conversation (`evidence`); the sense of a user's sentence (`sentence`).

use super::phrases::{Phrases, listed, visible};
use crate::topic::Topic;
use dormouse_text::atoms::{Shape, atoms};
use dormouse_text::dates::{Days, dates};
use dormouse_text::segment::{Kind, segment};
use dormouse_text::words::{Stemming, StopWords, Tokeniser, detect};
use jiff::civil::Date;
use std::collections::BTreeSet;

/// Part of a memory that a claim stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Rule or fact itself; it must have a source.
    Statement,
    /// Reason for it; dropped if it has no source.
    Why,
    /// Application of it; worded by the writer, so fewer words must match.
    How,
}

/// One sentence of a memory, to be attributed.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) text: String,
    pub(super) place: Place,
}

/// Claims of a memory file: its description and the sentences of its body that `known` does not
/// have.
pub(super) fn claims(content: &str, known: &str) -> Vec<Claim> {
    let topic = Topic::read(content);
    let old = Phrases::of(known);
    let mut found = Vec::new();
    let mut push = |text: &str, place: Place| {
        let words = Phrases::of(text);
        let is_known = !known.is_empty() && old.has(words.as_str());
        if words.count() > 0 && !is_known {
            let text = text.to_owned();
            found.push(Claim { text, place });
        }
    };
    push(&topic.description, Place::Statement);
    let body = &content[topic.body..];
    let mut place = Place::Statement;
    for piece in segment(body) {
        let line = &body[piece.trimmed(body)];
        // Code is no statement; `never` refuses it.
        if piece.kind == Kind::Fence {
            continue;
        }
        let (next, text) = labelled(line, place);
        place = next;
        if piece.kind != Kind::Heading {
            push(text, place);
        }
    }
    found
}

/// Takes a label such as `**Why:**` from a line; without one the part before goes on.
pub(super) fn labelled(line: &str, before: Place) -> (Place, &str) {
    let bare = line.trim_start_matches(['*', '_', '-', ' ']);
    let lower = bare.to_lowercase();
    for (label, place) in [
        ("why:", Place::Why),
        ("reason:", Place::Why),
        ("warum:", Place::Why),
        ("how to apply:", Place::How),
        ("anwendung:", Place::How),
        ("rule:", Place::Statement),
        ("fact:", Place::Statement),
    ] {
        if lower.starts_with(label) {
            let rest = bare.get(label.len()..).unwrap_or_default();
            return (place, rest.trim_start_matches(['*', '_', ' ']));
        }
    }
    (before, line)
}

/// Words that mark a text as a memory. Models add them to every sentence; counted as terms, they
/// would make any two memories look alike.
const ABOUT: &str = "user|users|user's|prefers|prefer|preferred|preference|preferences|wants|want|likes|\
    asked|asks|said|says|stated|states|explicitly|requested|agent|assistant|rule|rules|\
    always|should|must|needs|need|ensure|make|sure|whenever|when|apply|applies|use|used|\
    using|uses|instead|rather|team|project|please|work|working|keep|any|all|also|only|\
    via|per|benutzer|nutzer|möchte|will|bevorzugt|immer|soll|verwenden|nutzen";

/// Words that negate; a new clause begins with them.
const TURNS: &str = "not|no|never|none|don't|dont|doesn't|didn't|won't|can't|cannot|isn't|aren't|wasn't|\
    shouldn't|mustn't|wouldn't|haven't|without|stop|stopped|avoid|avoids|nor|neither|\
    nie|niemals|ohne|statt|kein|keine|keinen|keiner|keinem|pas|jamais";

/// Reader for texts of one language, so that their words can be compared.
#[derive(Debug)]
pub(super) struct Reader {
    stemmed: Tokeniser,
    /// [`ABOUT`] after stemming, since terms are compared as stems.
    about: BTreeSet<String>,
}

/// Text as sets of words.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// Stems, without stop words and [`ABOUT`].
    pub(super) terms: BTreeSet<String>,
    /// Whole text in lower case, for names and numbers.
    pub(super) folded: String,
    /// Days that the text names.
    pub(super) days: Vec<Days>,
    /// Clauses: true if negated, with the terms of each.
    pub(super) clauses: Vec<(bool, BTreeSet<String>)>,
}

impl Reader {
    /// Reader for texts in the language of this one.
    pub(super) fn for_text(text: &str) -> Self {
        let stemmed = Tokeniser::new(detect(text), StopWords::Drop, Stemming::On);
        let about = ABOUT.split('|').flat_map(|word| stemmed.terms(word));
        Self {
            about: about.collect(),
            stemmed,
        }
    }

    fn terms(&self, text: &str) -> BTreeSet<String> {
        let mut terms = BTreeSet::new();
        self.stemmed.each(text, |term, _| {
            // Single letters are list marks and initials, which match anything.
            let small = term.chars().count() < 2;
            if !small && !self.about.contains(term) && !listed(TURNS, term) {
                terms.insert(term.to_owned());
            }
        });
        terms
    }

    /// Reads a text that was written on `today`.
    pub(super) fn read(&self, text: &str, today: Date) -> Read {
        let text = visible(text).replace(['’', '‘'], "'");
        let mentions = dates(&text, today);
        let mut plain = text.clone();
        // Backwards, because each replacement moves the ranges behind it. Days are compared as
        // days: "tomorrow" and a date share no word.
        for mention in mentions.iter().rev() {
            plain.replace_range(mention.range.clone(), " ");
        }
        Read {
            terms: self.terms(&plain),
            folded: fold(&text),
            days: mentions.into_iter().map(|mention| mention.days).collect(),
            clauses: self.clauses(&plain),
        }
    }

    /// Cuts a text into clauses, each of which says one thing or its contrary.
    fn clauses(&self, text: &str) -> Vec<(bool, BTreeSet<String>)> {
        let ends = |c: char| ",;:—–().!?\n".contains(c);
        let mut found = Vec::new();
        for part in text.split(ends) {
            let words = Phrases::of(part);
            let words = words.without_phrases(IDIOMS);
            // German puts "nicht" last, so it negates all that stands before it.
            let whole = words.has("nicht");
            for (turned, words) in turns(&words.words().collect::<Vec<_>>()) {
                found.push((turned || whole, self.terms(&words)));
            }
        }
        found.retain(|(_, terms)| !terms.is_empty());
        found
    }
}

/// Phrases that only look like a negation.
const IDIOMS: &str = "don't forget|do not forget|never forget|no matter|no doubt|not only|not just|vergiss nicht|why not";
/// Words that begin a new clause.
const JOINTS: &str = "but|because|since|so|weil|aber|sondern|damit|while|although|unless|therefore|when|whenever|if|wenn|falls";
/// Words before a "not" that make it negate the whole clause.
const PREDICATES: &str =
    "must|should|do|does|did|is|are|was|were|may|can|will|would|could|be|to|we|you|i|they|has|have";

/// Cuts the words between two marks into clauses. "Tests must not mock" is one negated clause;
/// "spaces, not tabs" is two.
fn turns(words: &[&str]) -> Vec<(bool, String)> {
    let mut found: Vec<(bool, Vec<&str>)> = vec![(false, Vec::new())];
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let contrast = matches!((*word, next), ("instead", "of") | ("rather", "than"))
            || listed("not|no|without|ohne|statt|nor|kein|keine|keinen", word)
                && !listed(PREDICATES, before);
        let Some((_, current)) = found.last_mut() else {
            continue;
        };
        if listed(JOINTS, word) {
            found.push((false, Vec::new()));
        } else if contrast {
            found.push((true, vec![*word]));
        } else if listed(TURNS, word) {
            // Words before "and" are a clause of their own.
            let joint = current
                .iter()
                .rposition(|word| listed("and|or|und|oder", word));
            let rest = current.split_off(joint.unwrap_or(0));
            found.push((true, rest));
        } else {
            current.push(word);
        }
    }
    let joined = found
        .into_iter()
        .map(|(turned, words)| (turned, words.join(" ")));
    joined.collect()
}

/// Lower case, one blank between words.
pub(super) fn fold(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

/// Names, numbers and addresses of a claim, which its source must have exactly: a changed digit is
/// a different fact, however many words agree.
pub(super) fn exact(text: &str, today: Date) -> Vec<String> {
    let mentions = dates(text, today);
    let dated = |at: usize| mentions.iter().any(|mention| mention.range.contains(&at));
    let mut first = true;
    let mut found = Vec::new();
    for atom in atoms(text) {
        let word = &text[atom.range.clone()];
        let opens = std::mem::replace(&mut first, word.ends_with(['.', ':', '!', '?']));
        // "2026-03-05" and "Thursday" may be the same day; dates are compared as such.
        if dated(atom.range.start) {
            continue;
        }
        let digits = word.bytes().any(|byte| byte.is_ascii_digit());
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let known = listed(ABOUT, word.to_lowercase().as_str());
        let proper = capital && !opens && !known && word.chars().count() > 1;
        let named = atom.shape.is_name() && atom.shape != Shape::Word;
        if (digits || proper || named) && !known {
            found.push(fold(word));
        }
        // A capital behind a full stop or a colon only opens a sentence.
        let behind = text[atom.range.end..].trim_start_matches(['"', '*', '`', ')', '”']);
        first = behind.starts_with(['.', ':', '!', '?']);
    }
    found
}

/// Share of the first set that the second has, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "counts of words")]
pub(super) fn share(of: &BTreeSet<String>, within: &BTreeSet<String>) -> f64 {
    if of.is_empty() {
        return 0.0;
    }
    let covered = of.iter().filter(|term| has(within, term)).count();
    covered as f64 / of.len() as f64
}

/// True if a set has a word, or another form of it that stemming left apart: "show" and "shown",
/// "summary" and "summarise".
pub(super) fn has(set: &BTreeSet<String>, term: &str) -> bool {
    // Four letters: shorter beginnings ("con", "pre") are shared by unrelated words. Two more at
    // most, the length of an ending such as "n" or "ed".
    const LEAST: usize = 4;
    const MOST_APART: usize = 2;
    if set.contains(term) {
        return true;
    }
    let Some(start) = term.get(..LEAST) else {
        return false;
    };
    let near = set
        .range(start.to_owned()..)
        .take_while(|other| other.starts_with(start));
    near.into_iter().any(|other| {
        let (short, long) = if other.len() < term.len() {
            (other.as_str(), term)
        } else {
            (term, other.as_str())
        };
        // `v1` and `v10` are no forms of one word.
        let letters = !long.bytes().any(|byte| byte.is_ascii_digit());
        letters && long.len() - short.len() <= MOST_APART && long.starts_with(short)
    })
}

/// True if two spans of days share a day.
pub(super) fn meet(one: Days, other: Days) -> bool {
    one.first <= other.last && other.first <= one.last
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const TODAY: Date = Date::constant(2026, 3, 2);

    #[test]
    fn claims_know_their_place() {
        let content = "---\nname: a\ndescription: use tabs\n---\nUse tabs.\n\n**Why:** diffs.\n**How to apply:** everywhere\n";
        let found: Vec<(Place, String)> = claims(content, "")
            .into_iter()
            .map(|claim| (claim.place, claim.text))
            .collect();
        let expected = [
            (Place::Statement, "use tabs"),
            (Place::Statement, "Use tabs."),
            (Place::Why, "diffs."),
            (Place::How, "everywhere"),
        ];
        assert_eq!(
            found,
            expected.map(|(place, text)| (place, text.to_owned()))
        );
    }

    #[test]
    fn names_and_numbers_must_be_exact() {
        assert_eq!(
            exact(
                "Bugs live in Linear under `INGEST-9`, port 8080, since 2026-03-05",
                TODAY
            ),
            ["linear", "ingest-9", "8080"]
        );
    }

    #[test]
    fn clauses_keep_what_is_turned_round_apart() {
        let reader = Reader::for_text("do not use the tabs but use the spaces");
        let read = reader.read("don't indent with tabs, indent with spaces", TODAY);
        let turned: Vec<bool> = read.clauses.iter().map(|(turned, _)| *turned).collect();
        assert_eq!(turned, [true, false]);
    }
}
