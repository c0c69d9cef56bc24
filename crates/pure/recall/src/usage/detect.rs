//! Detection of use: signs of a memory in the text that followed it.

use super::Event;
use dormouse_guard::paths::SafePath;
use dormouse_memory::topic::Topic;
use dormouse_text::atoms::atoms;
use dormouse_text::words::Tokeniser;
use std::collections::BTreeSet;

/// Least words of its own that must turn up; fewer are shared by any two texts on a subject.
const WORDS: usize = 4;
/// Or least names of files, symbols, flags: one may be a coincidence, two hardly are.
const NAMES: usize = 2;
/// Least words of a memory's title that counts as a citation; "Tests" alone is in every answer.
const NAME_WORDS: usize = 2;
/// Least letters of a word that counts; shorter ones are in every text.
const SHORTEST: usize = 4;

/// Texts before and after a memory was shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aftermath<'a> {
    /// Request of the user.
    pub query: &'a str,
    /// Earlier conversation, which could be the source of a word as well.
    pub before: &'a str,
    /// Answer of the assistant.
    pub answer: &'a str,
    /// Calls of the assistant as text: names and inputs.
    pub calls: &'a [String],
}

/// Event that followed a memory: cited or used; `None` if nothing points to it.
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
            // Words of the prompt prove nothing: the answer would have had them anyway.
            .filter(|word| !before.contains(*word) && followed.contains(*word))
            .count()
    };
    // The memory's language for all texts: that of a short answer is hard to tell.
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

/// Paths, symbols, flags, versions: words that name one thing.
fn names(text: &str) -> BTreeSet<String> {
    atoms(text)
        .filter(|atom| atom.shape.is_name())
        .map(|atom| text[atom.range].to_lowercase())
        .collect()
}

/// Words that carry meaning, stemmed.
fn words(tokeniser: &Tokeniser, text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    tokeniser.each(text, |word, _| {
        // A short word of another script may carry as much as a long one.
        if word.chars().count() >= SHORTEST || !word.is_ascii() {
            words.insert(word.to_owned());
        }
    });
    words
}
