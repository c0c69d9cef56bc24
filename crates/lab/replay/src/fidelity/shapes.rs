//! Numbers, paths and exit codes, recognised by their shape.
//!
//! # Not here
//! Words and sentences: [`super::words`].

use super::words::subject_words;

/// Words on each side of a number that are kept as its context: about one clause.
const AROUND_NUMBER: usize = 6;

/// The numbers of a text that stand for themselves, with the words around them.
pub(super) fn numbers(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let Some(number) = number_in(word) else {
                continue;
            };
            // The number of a list item is not one the user gave.
            if at == 0 && word.ends_with(['.', ')', ':']) && number.len() <= 2 {
                continue;
            }
            let before = words[at.saturating_sub(AROUND_NUMBER)..at].iter().rev();
            let behind = words[at + 1..].iter().take(AROUND_NUMBER);
            let mut context: Vec<String> = Vec::new();
            let mut sides = (before, behind);
            loop {
                // Alternating, so that the nearest words of both sides come first.
                let pair = (sides.0.next(), sides.1.next());
                for word in [pair.1, pair.0].into_iter().flatten() {
                    context.extend(subject_words(word));
                }
                if pair == (None, None) {
                    break;
                }
            }
            // Without a word around it a number cannot be asked for.
            if !context.is_empty() {
                found.push((number.to_owned(), context));
            }
        }
    }
    found
}

/// The number that a word is, without the signs around it.
fn number_in(word: &str) -> Option<&str> {
    let word = word.trim_matches(|letter: char| {
        matches!(
            letter,
            '(' | ')' | '[' | ']' | '"' | '\'' | '`' | ',' | ';' | ':' | '!' | '?' | '*'
        )
    });
    let word = word.trim_start_matches(['$', '€', '~', '=', '<', '>', '#']);
    // A full stop ends the sentence, and a percent sign is often dropped when retold.
    let word = word.trim_end_matches(['.', '%']);
    let end = word
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '.' | ',' | '_')))
        .unwrap_or(word.len());
    let (number, unit) = word.split_at(end);
    let plain = number.starts_with(|letter: char| letter.is_ascii_digit())
        && number.ends_with(|letter: char| letter.is_ascii_digit());
    // `20ms` is a number with a unit, `2fa` a word; four letters are no unit.
    let unit = unit.len() <= 3 && unit.chars().all(char::is_alphabetic);
    (plain && unit).then_some(number)
}

/// Words of a text that are paths of files.
pub(super) fn paths_in(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|word| {
            word.trim_matches(|letter: char| {
                !(letter.is_alphanumeric() || matches!(letter, '/' | '.' | '_' | '-' | '~'))
            })
            .trim_end_matches('.')
        })
        // Addresses and plain words with a slash ("and/or") are no files.
        .filter(|word| word.contains('/') && !word.contains("://") && has_extension(word))
        .filter(|word| {
            word.chars()
                .all(|letter| letter.is_alphanumeric() || "/._-~+@".contains(letter))
        })
        .map(str::to_owned)
        .collect()
}

pub(super) fn has_extension(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=6).contains(&extension.len())
            && extension.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// The code in a line such as "Exit code 2" at the beginning of an output.
pub(super) fn exit_code(text: &str) -> Option<i32> {
    let first = text.trim_start().lines().next()?.to_ascii_lowercase();
    let code = first.strip_prefix("exit code")?;
    code.trim_matches([' ', ':']).parse().ok()
}
