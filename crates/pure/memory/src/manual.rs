//! Memories that explain how to use something.
//!
//! # Model
//! A manual is known by its title, and only if neither title nor body warns of anything: a reader
//! who already uses a tool does not need its manual, but does need its pitfalls.
//!
//! # Not here
//! Which tools are in use, and leaving manuals out because of it (`dormouse-recall`).

use crate::topic::Topic;
use dormouse_guard::paths::SafePath;

/// Words of a title that announce a manual, in English and German: the two languages for which the
/// extraction's cues exist as well.
const MANUAL: [&str; 22] = [
    "usage",
    "howto",
    "how-to",
    "cheatsheet",
    "cheat-sheet",
    "cheat",
    "manual",
    "documentation",
    "docs",
    "guide",
    "tutorial",
    "basics",
    "introduction",
    "commands",
    "flags",
    "options",
    "syntax",
    "anleitung",
    "handbuch",
    "doku",
    "dokumentation",
    "befehle",
];

/// Words of a warning, in the same two languages. One is enough: leaving out a warning costs more
/// than showing a manual.
const WARNING: [&str; 40] = [
    "gotcha",
    "gotchas",
    "never",
    "careful",
    "carefully",
    "caution",
    "caveat",
    "caveats",
    "fails",
    "fail",
    "failed",
    "failing",
    "failure",
    "bug",
    "bugs",
    "buggy",
    "broken",
    "breaks",
    "break",
    "warning",
    "warns",
    "beware",
    "pitfall",
    "pitfalls",
    "trap",
    "avoid",
    "don't",
    "mustn't",
    "workaround",
    "crash",
    "crashes",
    "hangs",
    "danger",
    "dangerous",
    "achtung",
    "vorsicht",
    "niemals",
    "fehler",
    "fallstrick",
    "kaputt",
];

/// True if a memory explains how to use something and warns of nothing.
pub(crate) fn is_manual(path: &SafePath, topic: &Topic, text: &str) -> bool {
    let title = title(path, &topic.name, &topic.description);
    // `body` comes from the same text; if a caller mixes files up, an empty body is the safe
    // reading.
    let body = text.get(topic.body..).unwrap_or_default();
    let explains = title.iter().any(|word| MANUAL.contains(&word.as_str()))
        || title.windows(2).any(|pair| {
            matches!(
                [&*pair[0], &*pair[1]],
                ["how", "to"] | ["reference", "for" | "of"]
            )
        });
    // Title first: it is short and decides mostly, so that few bodies are split into words.
    explains && !warns(&title) && !warns(&words(body).collect::<Vec<_>>())
}

/// Words of a memory's file name, name and description, lower case.
pub fn title(path: &SafePath, name: &str, description: &str) -> Vec<String> {
    let stem = path.file_name().trim_end_matches(".md");
    words(&format!("{stem} {name} {description}").replace('_', " ")).collect()
}

fn warns(words: &[String]) -> bool {
    words.iter().any(|word| WARNING.contains(&word.as_str()))
        || words
            .windows(2)
            .any(|pair| matches!([&*pair[0], &*pair[1]], ["do" | "must" | "does", "not"]))
}

/// Words, lower case; a dash or an apostrophe inside belongs to one.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '’')))
        .map(|word| {
            word.trim_matches(['-', '\'', '’'])
                .to_lowercase()
                .replace('’', "'")
        })
        .filter(|word| !word.is_empty())
}
