//! Detection of a wish to do without memory.
//!
//! # Model
//! A word that turns memory off, a few words that may stand between, and memory itself at the end
//! of its phrase: "ignore your memory", "ohne dein Gedächtnis". Talk about a computer's memory
//! ("without memory leaks", "ignore memory warnings") goes on behind the word and is not meant.
//!
//! # Not here
//! Switching memory off for good: that is the setting `memory`.

/// Words for the memory that Dormouse keeps.
const MEMORY: [&str; 6] = [
    "memory",
    "memories",
    "gedächtnis",
    "gedaechtnis",
    "erinnerungen",
    "erinnerung",
];

/// Words that may stand between.
const BETWEEN: [&str; 38] = [
    "your",
    "the",
    "any",
    "all",
    "my",
    "our",
    "of",
    "saved",
    "stored",
    "previous",
    "earlier",
    "past",
    "existing",
    "using",
    "consulting",
    "use",
    "looking",
    "at",
    "into",
    "dein",
    "deine",
    "deinem",
    "deiner",
    "deines",
    "die",
    "das",
    "dem",
    "den",
    "alle",
    "allen",
    "bitte",
    "please",
    "mein",
    "meine",
    "gespeicherte",
    "gespeicherten",
    "bisherige",
    "bisherigen",
];

/// Words that may follow: a new phrase, not the second half of a compound.
const BEHIND: [&str; 34] = [
    "for",
    "in",
    "on",
    "and",
    "when",
    "while",
    "this",
    "here",
    "now",
    "today",
    "please",
    "just",
    "but",
    "to",
    "at",
    "or",
    "then",
    "files",
    "directory",
    "from",
    "entirely",
    "completely",
    "bei",
    "für",
    "und",
    "hier",
    "jetzt",
    "bitte",
    "diesmal",
    "nicht",
    "aber",
    "beim",
    "in",
    "heute",
];

/// True if a prompt says to ignore memory.
pub(super) fn says_to_ignore_memory(prompt: &str) -> bool {
    let lower = prompt.to_lowercase().replace('’', "'");
    let words: Vec<Word<'_>> = lower.split_whitespace().map(Word::new).collect();
    (0..words.len()).any(|at| turns_off(&words, at))
}

struct Word<'a> {
    text: &'a str,
    /// True if a phrase ends behind it.
    ends: bool,
}

impl<'a> Word<'a> {
    fn new(raw: &'a str) -> Self {
        let text =
            raw.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '_')));
        let behind = raw.rfind(text).map_or("", |at| &raw[at + text.len()..]);
        Self {
            text,
            // Kept apart from the word, because trimming it would lose where the phrase ends.
            ends: behind.contains(['.', ',', ';', ':', '!', '?', ')', '…']),
        }
    }
}

/// True if a phrase that turns memory off begins at a word.
fn turns_off(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at) else {
        return false;
    };
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    // "Do not ignore your memory" means the opposite.
    let negated = before.is_some_and(|word| is_negation(word.text));
    match word.text {
        "ignore" | "disregard" | "ignoring" | "ignoriere" | "ignorier" => {
            !negated && memory_after(words, at).is_some()
        }
        "without" | "ohne" => memory_after(words, at).is_some(),
        // "Use your memory" is a wish for it; only the negation turns it off.
        "use" | "consult" | "check" | "access" | "apply" => {
            negated && memory_after(words, at).is_some()
        }
        "nutze" | "nutz" | "benutze" | "benutz" | "verwende" | "verwend" => {
            // German negates with "kein" before the noun or with "nicht" behind it.
            let keine = words
                .get(at + 1)
                .is_some_and(|next| matches!(next.text, "kein" | "keine" | "keinerlei"));
            let from = if keine { at + 1 } else { at };
            memory_after(words, from).is_some_and(|found| {
                keine
                    || words
                        .get(found + 1)
                        .is_some_and(|next| next.text == "nicht")
            })
        }
        _ => false,
    }
}

fn is_negation(word: &str) -> bool {
    matches!(word, "don't" | "dont" | "not" | "never" | "nicht")
}

/// Position of the word for memory, if that is what follows.
fn memory_after(words: &[Word<'_>], at: usize) -> Option<usize> {
    let between = words
        .get(at + 1..)?
        .iter()
        // A comma ends the phrase: "ignore the tests, memory is fine".
        .take_while(|word| BETWEEN.contains(&word.text) && !word.ends)
        .count();
    let found = at + 1 + between;
    let word = words.get(found)?;
    if !MEMORY.contains(&word.text) {
        return None;
    }
    let ends = word.ends
        || words
            .get(found + 1)
            .is_none_or(|next| BEHIND.contains(&next.text));
    ends.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::says_to_ignore_memory;

    #[test]
    fn the_user_may_do_without_memory() {
        for prompt in [
            "Ignore memory and tell me what you see",
            "please ignore your memories for this one",
            "Answer without using your memory: what is 2+2?",
            "Don't use your memory here.",
            "don’t use any saved memories",
            "do not use memory",
            "Explain it without memory.",
            "Ignoriere bitte deine Erinnerungen.",
            "Beantworte das ohne dein Gedächtnis",
            "Nutze dein Gedächtnis nicht, schau in den Code",
            "verwende keine Erinnerungen",
        ] {
            assert!(says_to_ignore_memory(prompt), "{prompt}");
        }
    }

    #[test]
    fn a_computers_memory_is_not_meant() {
        for prompt in [
            "make it run without memory leaks",
            "ignore memory warnings of valgrind",
            "don't use memory-mapped files",
            "do not ignore your memory",
            "use your memory",
            "ignore the tests, memory is fine",
            "Nutze dein Gedächtnis",
            "what is in memory?",
            "",
        ] {
            assert!(!says_to_ignore_memory(prompt), "{prompt}");
        }
    }
}
