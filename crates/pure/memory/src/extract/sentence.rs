//! Sentences of the user, and the sense in which they are meant.
//!
//! # Model
//! A person does not mean every sentence as it stands. A question asks, a supposition supposes, a
//! part in a play is played, a request of the moment is over with the task. Only an *asserted*
//! sentence can be the source of a memory.
//!
//! # Not here
//! Cues that make an asserted sentence worth keeping ([`super::offline`]); parts of a message that
//! the user did not write (`cut`).

use super::phrases::Phrases;
use dormouse_text::segment::{Kind, segment};

/// Sense in which a sentence is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sense {
    /// Meant as it stands; the only source of memories.
    Asserted,
    /// Question, or a request in its form.
    Question,
    /// Supposition: it may never come true.
    Supposed,
    /// Part in a play or story, or an example.
    Played,
    /// Words of a page, a file or a third person, told by the user.
    Reported,
    /// Irony: meant the other way round.
    Ironic,
    /// Request that is over with the task at hand.
    ForNow,
}

/// Sentence with its words and its sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    /// Text without list marks.
    pub(super) text: String,
    /// Folded words, for phrase lists.
    pub(super) words: Phrases,
    /// Sense in which it is meant.
    pub(super) sense: Sense,
}

/// Phrases that open a play, a story or an example.
const PLAY: &str = "pretend|role play|role-play|roleplay|let's play|in this story|in the story|\
    write a story|write a poem|act as|you are now|for the example|as an example|\
    for example|imagine|hypothetically|in this scenario|in the scenario|my character|\
    in character|dialogue where|tu so als|stell dir vor|rollenspiel|angenommen|\
    zum beispiel|write a dialogue";

/// Phrases of suppositions and of thinking aloud.
const SUPPOSED: &str = "suppose|what if|if we were|if i were|if i was|if we had|would have|maybe we should|\
    maybe i should|perhaps|not sure|i wonder|i'm wondering|we could|might want to|\
    thinking about|considering|let's say|say we|assume we|assuming|was wäre wenn|mal angenommen|gesetzt den fall|vielleicht|könnten wir|i guess|we might";

/// Phrases of irony. A plain "great" is not among them: it is mostly meant.
const IRONY: &str = "yeah right|sure because|oh great|of course because|great idea to|brilliant|lol|haha|\
    just kidding|kidding|joking|jk|as if|na klar|ja klar|super idee|thanks for nothing|such fun|what a joy|how lovely|a pleasure|nie im leben|never in my life|schon wieder|\
    wie immer halt|ganz toll gemacht";

/// Phrases that tie a sentence to the task at hand.
const FOR_NOW: &str = "for now|right now|this time|just this once|just for this|only for this|\
    for this task|for this one|for this change|in this pr|for this pr|in this commit|\
    for the moment|at the moment|for today|today only|until i say|until we're done|\
    until this|after this|when you're done|when you are done|once you're done|\
    before we continue|before you continue|now|in this file|that file|this file|\
    this function|that function|this test|this branch|this session|in this session|\
    temporarily|for a second|for once|exceptionally|this once|one time only|ausnahmsweise|nur heute|heute nur|nur diesmal|\
    einmalig|worse than before|still broken|geht wieder|geht gar nix|geht nicht mehr|erstmal|vorerst|jetzt|gerade|diesmal|nur dieses mal|danach|\
    in diesem pr|im moment|as part of|we are going to|we're going to|i'm going to|i am going to";

/// Phrases that make a sentence stand for longer, whatever else is in it.
const STANDING: &str = "from now on|always|never again|in future|in the future|going forward|every time|\
    generally|in general|as a rule|by default|ab jetzt|in zukunft|künftig|immer|\
    grundsätzlich|ab sofort|from here on";

/// Cuts a text into sentences. Play colours all that follows it in the same text, because its end
/// is rarely said.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut played = false;
    for piece in segment(text) {
        // Code, tables and quotes are not the user's own statements.
        if !matches!(piece.kind, Kind::Prose | Kind::ListItem | Kind::Heading) {
            continue;
        }
        let line = text[piece.trimmed(text)].trim_start_matches(['-', '*', '•', '#', ' ']);
        let line = without_number(line);
        if line.is_empty() {
            continue;
        }
        let words = Phrases::of(line);
        played |= words.has(PLAY);
        let sense = if played {
            Sense::Played
        } else {
            sense(line, &words)
        };
        found.push(Sentence {
            text: line.to_owned(),
            words,
            sense,
        });
    }
    found
}

/// A list item without its number.
fn without_number(line: &str) -> &str {
    let bare = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = bare.strip_prefix(". ").or_else(|| bare.strip_prefix(") "));
    item.filter(|_| bare.len() < line.len()).unwrap_or(line)
}

fn sense(line: &str, words: &Phrases) -> Sense {
    const ASKING: &str = "can you|could you|would you|will you|please|can we|could we|kannst du|könntest du|\
        bitte|let's|do me a favor and|do me a favour and|would you mind";
    const OPENERS: &str = "should|shall|do|does|did|is|are|was|were|what|why|how|which|who|where|when should|\
        when do|when did|whether|have|has|am i|soll|sollen|sollten|warum|wie|was|welche|wer|\
        wo|ist";
    const WAYS: &str = "stop|avoid|quit|refrain|never|not|don't|instead|prefer|use|call me|keep|aufhören|lass|nutze|\
        verwende|statt|remember|merk|note|memory|memorize|memorise|retain|jot|\
        vormerken|merken|notieren|notier";
    let ends = line.trim_end_matches(['"', '\'', ')', '”', ' ']);
    // "Could you stop adding emojis?" is a rule in polite form; "can you write a test?" is a
    // request.
    if ends.ends_with('?') && words.starts(ASKING) && !words.has(STANDING) && !words.has(WAYS) {
        return Sense::Question;
    }
    if ends.ends_with('?') && !words.starts(ASKING) {
        // "We use tabs, ok?" states more than it asks.
        let tag = ["ok?", "okay?", "right?", "please?", "ja?", "oder?"];
        let told =
            tag.iter().any(|tag| ends.to_lowercase().ends_with(tag)) && !words.starts(OPENERS);
        // "Right?" is different: it asks for confirmation of a belief that may be wrong.
        let told = told && !ends.to_lowercase().ends_with("right?");
        if !told {
            return Sense::Question;
        }
    }
    // Before the other checks: reported words may contain any of their phrases.
    if reports(words) {
        return Sense::Reported;
    }
    if words.has(SUPPOSED) {
        return Sense::Supposed;
    }
    if words.has(IRONY) || line.contains("/s") && line.trim_end().ends_with("/s") {
        return Sense::Ironic;
    }
    if words.has(FOR_NOW) && !words.has(STANDING) {
        return Sense::ForNow;
    }
    Sense::Asserted
}

/// True if the user quotes a text from elsewhere, or denies a wish.
fn reports(words: &Phrases) -> bool {
    const TEXTS: &str = "page|readme|docs|documentation|article|site|website|post|issue|ticket|email|mail|comment|\
        tutorial|blog|wiki|log|output|error|someone|somebody|chatgpt|stackoverflow|tool|file|book|video|forum|\
        linter|compiler|author|seite|artikel|doku|jemand|guide|manual|snippet|prompt";
    const SAYS: &str = "claims|claim|says|say|said|states|recommends|suggests|tells|told|wants|asks|advises|insists|\
        sagt|behauptet|schreibt|empfiehlt|steht|argues|demands";
    const DENIED: &str = "i never said|i didn't say|i did not say|you don't have to remember|don't remember|\
        do not remember|no need to remember|doesn't mean|ich habe nie gesagt|not saying that";
    // Three words apart: "the readme also clearly says" still reports.
    words.near(TEXTS, SAYS, 3) || words.has("according to") || words.has(DENIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_apart_by_how_they_are_meant() {
        for (text, expected) in [
            ("Always use tabs.", Sense::Asserted),
            ("From now on, run the linter.", Sense::Asserted),
            ("Should we always use tabs?", Sense::Question),
            ("Could you stop adding emojis?", Sense::Asserted),
            ("Can you write a test that loads it?", Sense::Question),
            ("Suppose we never mock anything.", Sense::Supposed),
            ("Pretend you are a pirate.", Sense::Played),
            ("Oh great, always break the build.", Sense::Ironic),
            ("Don't touch that file now.", Sense::ForNow),
            ("We never deploy on Fridays, ok?", Sense::Asserted),
        ] {
            assert_eq!(sentences(text)[0].sense, expected, "{text}");
        }
    }

    #[test]
    fn play_colours_what_follows() {
        let found = sentences("Let's play a game. I am a king.");
        assert_eq!(found[1].sense, Sense::Played);
    }
}
