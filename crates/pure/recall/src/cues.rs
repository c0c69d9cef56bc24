//! Standing instructions and preferences, recognised by their wording.
//!
//! # Model
//! "Always use metric units when I ask about cooking" is needed exactly when a request does not
//! mention units, so no likeness of words finds it. Two things can be told without a model: that a
//! text *is* such a rule ([`standing`], computed when it is indexed), and that a query is a
//! *request* for something to be made, explained or suggested ([`is_request`]), to which rules
//! apply. Questions about the past are no requests.
//!
//! # Not here
//! Places of such documents among the hits: `rank`. Rules in other languages than English.

/// Bytes of a text that are looked at: a rule comes first, or the text is about something else.
const HEAD: usize = 700;

/// Phrases that make a text hold from now on.
const STRONG: [&str; 24] = [
    "from now on",
    "going forward",
    "in the future",
    "whenever i ",
    "every time i ",
    "any time i ",
    "anytime i ",
    "when i ask",
    "if i ask",
    "always ask me",
    "i always want",
    "i always prefer",
    "i prefer",
    "i'd prefer",
    "i would prefer",
    "i'd rather",
    "i would rather",
    "my preference is",
    "i don't want you to",
    "i never want",
    "please always",
    "please never",
    "make sure to always",
    "make sure you always",
];

/// Phrases that often do so; they count half.
const WEAK: [&str; 10] = [
    "make sure to ",
    "make sure you ",
    "please don't ",
    "please do not ",
    "please avoid ",
    "i'd like you to ",
    "i want you to ",
    "i want to avoid ",
    "keep in mind that i",
    "remember that i",
];

/// Words that make a rule when a sentence begins with them: "Never add comments".
const OPENING: [&str; 2] = ["always ", "never "];

/// Beginnings of queries that ask for something to be done.
const REQUESTS: [&str; 47] = [
    "any advice",
    "any suggestion",
    "any tips",
    "can you",
    "could you",
    "create",
    "describe",
    "design",
    "do you have any",
    "draft",
    "explain",
    "generate",
    "give me",
    "help",
    "how can i",
    "how could i",
    "how do i",
    "how do you",
    "how does",
    "how should i",
    "how to",
    "how would i",
    "how would you",
    "i need",
    "i want",
    "i'd like",
    "i'm looking",
    "i'm planning",
    "i'm thinking",
    "i'm trying",
    "i am",
    "implement",
    "make",
    "please",
    "provide",
    "recommend",
    "show me",
    "should i",
    "suggest",
    "walk me",
    "what are some",
    "what should i",
    "what would be",
    "what's a good",
    "what's the best",
    "where can i",
    "write",
];

/// Words that make a query one about the past.
const PAST: [&str; 12] = [
    " did ",
    " i said",
    " i told",
    " i mention",
    " we discuss",
    " we talk",
    "earlier",
    "previous",
    "remember",
    "remind",
    "summar",
    "so far",
];

/// Likeness of a text to a standing instruction or a preference, from 0 to 1.
pub(crate) fn standing(text: &str) -> f32 {
    let head = text[..text.floor_char_boundary(HEAD)]
        // Phones type curly apostrophes; the lists have straight ones.
        .replace('’', "'")
        .to_lowercase();
    let has = |cues: &[&str]| cues.iter().any(|cue| head.contains(cue));
    // At the beginning of a sentence only: "it was always sunny" is no rule.
    let opens = head.split(['.', '!', '?', '\n', ':', ';']).any(|sentence| {
        OPENING
            .iter()
            .any(|word| sentence.trim_start().starts_with(word))
    });
    match () {
        () if has(&STRONG) || opens => 1.0,
        // Half, so that a clear rule always comes before a possible one.
        () if has(&WEAK) => 0.5,
        () => 0.0,
    }
}

/// True for a query that asks for something to be done, to which standing instructions apply.
pub(crate) fn is_request(query: &str) -> bool {
    let query = query.replace('’', "'").to_lowercase();
    let begins = |part: &str| {
        REQUESTS
            .iter()
            .any(|request| part.trim_start().starts_with(request))
    };
    // Any clause may ask: people tell what is wrong before they say what they want.
    query.split(['.', '!', '?', '\n', ',']).any(begins)
        // "Can you remind me" asks for a memory, and rules in its place would hide it.
        && !PAST.iter().any(|past| query.contains(past))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_preferences_are_told_from_talk() {
        let rules = [
            "Always use metric units when I ask about cooking.",
            "ok. From now on, answer in bullet points please",
            "I’d rather have short functions than comments",
            "Never add a co-author line to commits!",
        ];
        for rule in rules {
            assert!(standing(rule) >= 1.0, "{rule}");
        }
        for talk in [
            "We went to the lake and it was always sunny.",
            "How do I sort a list?",
            "",
        ] {
            assert!(standing(talk) <= 0.0, "{talk}");
        }
        assert!(standing("please don't touch the tests") > 0.0);
    }

    #[test]
    fn requests_are_told_from_questions_about_the_past() {
        for request in [
            "How do I bake bread?",
            "Could you explain closures",
            "My app is slow, can you help",
        ] {
            assert!(is_request(request), "{request}");
        }
        let questions = [
            "When did Caroline go to the museum?",
            "What is my sister's name?",
            "Can you remind me what I said about bread?",
            "how many times did I visit",
        ];
        for question in questions {
            assert!(!is_request(question), "{question}");
        }
    }
}
