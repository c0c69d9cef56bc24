//! Telling from an answer whether a memory was of use.

use super::Event;
use dormouse_guard::paths::SafePath;
use dormouse_memory::topic::Topic;
use dormouse_text::atoms::atoms;
use dormouse_text::words::Tokeniser;
use std::collections::BTreeSet;

/// So many words of its own must turn up.
const WORDS: usize = 4;
/// Or so many names: of files, symbols, flags.
const NAMES: usize = 2;
/// A name of a memory with fewer words may be anybody's.
const NAME_WORDS: usize = 2;
/// A word that is shorter is anybody's.
const SHORTEST: usize = 4;

/// What followed upon a memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aftermath<'a> {
    /// What the user had asked.
    pub query: &'a str,
    /// What was in the conversation before and could be the source as well.
    pub before: &'a str,
    /// What the assistant answered.
    pub answer: &'a str,
    /// What the assistant called, as text: names and inputs.
    pub calls: &'a [String],
}

/// Whether a memory was cited or used; `None` if nothing points to it.
pub fn detect(path: &SafePath, text: &str, after: &Aftermath<'_>) -> Option<Event> {
    let topic = Topic::read(text);
    if is_cited(path, &topic, after) {
        return Some(Event::Cited);
    }
    let body = text.get(topic.body..).unwrap_or_default();
    let said = format!("{}\n{body}", topic.description);
    let mut followed = after.answer.to_owned();
    for call in after.calls {
        followed.push('\n');
        followed.push_str(call);
    }
    let before = format!("{}\n{}", after.query, after.before);
    let own = |of: &dyn Fn(&str) -> BTreeSet<String>| {
        let (said, before, followed) = (of(&said), of(&before), of(&followed));
        said.iter()
            .filter(|word| !before.contains(*word) && followed.contains(*word))
            .count()
    };
    // The memory's language for all of them: that of a short answer is hard to tell.
    let tokeniser = Tokeniser::for_text(&said);
    (own(&names) >= NAMES || own(&|text| words(&tokeniser, text)) >= WORDS).then_some(Event::Used)
}

fn is_cited(path: &SafePath, topic: &Topic, after: &Aftermath<'_>) -> bool {
    let names = |text: &str| {
        let lower = text.to_lowercase();
        let name = topic.name.trim().to_lowercase();
        lower.contains(&path.file_name().to_lowercase())
            || (name.split_whitespace().count() >= NAME_WORDS && lower.contains(&name))
    };
    names(after.answer) || after.calls.iter().any(|call| names(call))
}

/// Paths, symbols, flags, versions: what names one thing.
fn names(text: &str) -> BTreeSet<String> {
    atoms(text)
        .filter(|atom| atom.shape.is_name())
        .map(|atom| text[atom.range].to_lowercase())
        .collect()
}

/// Words that carry meaning, without their endings.
fn words(tokeniser: &Tokeniser, text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    tokeniser.each(text, |word, _| {
        if word.chars().count() >= SHORTEST || !word.is_ascii() {
            words.insert(word.to_owned());
        }
    });
    words
}
