//! Name, description and type of a memory, told from the words that a person gave.

use dormouse_memory::topic::Kind;
use dormouse_text::words::{Language, detect};

/// Characters of a name: 40 make a readable file name and fit a list beside a description.
pub(super) const NAME_CHARS: usize = 40;
/// Characters of a description: a long sentence; more would say no more to recall.
const DESCRIPTION_CHARS: usize = 200;

/// The first sentence of a text, as its description.
pub(super) fn description(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    let line = line.trim_start_matches(['#', '-', '*', ' ']);
    let sentence = match line.find(". ") {
        Some(end) => &line[..end],
        None => line.trim_end_matches('.'),
    };
    within(sentence, DESCRIPTION_CHARS)
}

/// A short name: the text itself if it is short, else its telling words.
pub(super) fn name(text: &str) -> String {
    if text.chars().count() <= NAME_CHARS {
        return text.to_owned();
    }
    let language = detect(text).unwrap_or(Language::English);
    let mut name = String::new();
    for word in text.split_whitespace() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let stop = language.is_stop_word(&bare.to_lowercase().replace('’', "'"));
        if bare.is_empty() || stop {
            continue;
        }
        let gap = usize::from(!name.is_empty());
        if name.chars().count() + gap + bare.chars().count() > NAME_CHARS {
            break;
        }
        if gap > 0 {
            name.push(' ');
        }
        name.push_str(bare);
    }
    if name.is_empty() {
        return within(text, NAME_CHARS);
    }
    capitalised(&name)
}

/// The whole words of a text that fit into `most` characters.
fn within(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    match cut.rfind(' ') {
        Some(space) => cut[..space].to_owned(),
        None => cut,
    }
}

/// A name of plain words begins with a capital; one that begins with an identifier stays.
fn capitalised(name: &str) -> String {
    let first = name.split(' ').next().unwrap_or_default();
    let mut letters = name.chars();
    match letters.next() {
        Some(letter) if first.chars().all(char::is_lowercase) => {
            letter.to_uppercase().chain(letters).collect()
        }
        _ => name.to_owned(),
    }
}

/// The type that a text most likely has.
pub(super) fn kind(text: &str) -> Kind {
    let lower = text.trim().to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    // Beginnings only: "my" or "use" in the middle of a sentence says nothing of its type.
    if begins(&["i am ", "i'm ", "i prefer", "i like", "i work", "my "]) {
        Kind::User
    } else if begins(&[
        "always", "never", "don't", "do not", "use ", "prefer", "avoid", "please", "stop ",
    ]) {
        Kind::Feedback
    } else if lower.contains("http://") || lower.contains("https://") {
        Kind::Reference
    } else {
        Kind::Project
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_name_is_the_telling_words() {
        let cases = [
            ("Use tabs", "Use tabs"),
            (
                "The staging server of the shop listens on port 8080",
                "Staging server shop listens port 8080",
            ),
            (
                "Never mock the database in integration tests, please",
                "Never mock database integration tests",
            ),
            (
                "`cargo_metadata` is slow if the lock file is missing",
                "cargo_metadata slow lock file missing",
            ),
            (
                "Integration tests in the repository use the real database, never mocks",
                "Integration tests repository real",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(name(text), expected, "{text}");
        }
        assert_eq!(name(&"x".repeat(90)).len(), NAME_CHARS);
        assert_eq!(name(&"睡鼠".repeat(90)).chars().count(), NAME_CHARS);
    }

    #[test]
    fn a_text_gets_a_description_and_a_type() {
        assert_eq!(kind("Never mock the database"), Kind::Feedback);
        assert_eq!(kind("I prefer tabs"), Kind::User);
        assert_eq!(kind("Bugs: https://example.org/bugs"), Kind::Reference);
        assert_eq!(kind("The freeze begins on Thursday"), Kind::Project);
        assert_eq!(description("# One. Two.\nThree"), "One");
        assert!(description(&"word ".repeat(400)).chars().count() <= DESCRIPTION_CHARS);
    }
}
