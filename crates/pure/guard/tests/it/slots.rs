//! Templates with slots for random values, so that no file contains a key.
//!
//! # Model
//! `«kind length»` is a secret, `«~kind length»` a random value that is none, and `«~text RSA»` the
//! text itself, for templates that would otherwise be taken for a key. The same seed completes a
//! template the same way in every run.

use crate::random::Random;

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
/// Words of passwords and phrases: long enough that a password made of two has the usual length.
const WORDS: [&str; 24] = [
    "marigold", "trombone", "copper", "lantern", "glacier", "walnut", "saddle", "harbor", "pepper",
    "violet", "anchor", "mosaic", "thunder", "blanket", "cactus", "falcon", "ribbon", "meadow",
    "puzzle", "tunnel", "velvet", "zephyr", "orchid", "quarry",
];

/// A template with all its slots filled.
pub(crate) struct Completed {
    pub(crate) text: String,
    /// Values of the slots that are secrets.
    pub(crate) secrets: Vec<String>,
}

/// Fills the slots of a template, the same way for the same seed.
pub(crate) fn complete(template: &str, seed: u64) -> Completed {
    let mut random = Random::new(seed + 11);
    let (mut text, mut secrets, mut rest) = (String::new(), Vec::new(), template);
    while let Some((before, slot)) = rest.split_once('«') {
        let (slot, after) = slot.split_once('»').unwrap();
        text.push_str(before);
        rest = after;
        let (slot, is_secret) = match slot.strip_prefix('~') {
            Some(slot) => (slot, false),
            None => (slot, true),
        };
        let (kind, argument) = slot.split_once(' ').unwrap_or((slot, ""));
        let value = if kind == "text" {
            argument.to_owned()
        } else {
            value(&mut random, kind, argument.parse().unwrap_or(0), seed)
        };
        text.push_str(&value);
        if is_secret {
            secrets.push(value);
        }
    }
    text.push_str(rest);
    Completed { text, secrets }
}

fn value(random: &mut Random, kind: &str, length: usize, seed: u64) -> String {
    let alphabet = match kind {
        "alnum" => format!("{LOWER}{UPPER}{DIGITS}"),
        "lower" => format!("{LOWER}{DIGITS}"),
        "upper" => format!("{UPPER}{DIGITS}"),
        "digits" => DIGITS.to_owned(),
        "hex" => format!("{DIGITS}abcdef"),
        "base32" => format!("{UPPER}234567"),
        "bech32" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        "b64" => format!("{LOWER}{UPPER}{DIGITS}+/"),
        "b64url" => format!("{LOWER}{UPPER}{DIGITS}-_"),
        "uuid" => {
            let part = |random: &mut Random, length| value(random, "hex", length, seed);
            return [8, 4, 4, 4, 12]
                .map(|length| part(random, length))
                .join("-");
        }
        "phrase" => {
            let words: Vec<&str> = (0..length).map(|_| word(random)).collect();
            return words.join(" ");
        }
        "password" => return password(random, seed),
        other => panic!("no slot is called {other}"),
    };
    let letters: Vec<char> = alphabet.chars().collect();
    let mut text: Vec<char> = (0..length)
        .map(|_| letters[random.below(letters.len())])
        .collect();
    // Short random values may lack letters or digits by chance; generators see to it that they do not.
    if matches!(kind, "alnum" | "lower") && length >= 4 {
        text[length / 2] = letters[letters.len() - 1 - random.below(10)];
        text[1] = letters[random.below(26)];
    }
    text.into_iter().collect()
}

/// Passwords as generators and as people make them.
fn password(random: &mut Random, seed: u64) -> String {
    let number = 10 + random.below(89);
    let year = 2009 + random.below(17);
    match seed % 6 {
        0 => format!(
            "{}!{}",
            value(random, "alnum", 7, seed),
            value(random, "alnum", 6, seed)
        ),
        1 => format!("{}{year}!", capital(word(random))),
        2 => format!(
            "{}{number}",
            word(random).replace('e', "3").replace('o', "0")
        ),
        3 => format!("{}-{}-{number}", word(random), word(random)),
        4 => value(random, "alnum", 10, seed),
        _ => format!(
            "{}*{}_{number}",
            capital(word(random)),
            capital(word(random))
        ),
    }
}

fn word(random: &mut Random) -> &'static str {
    WORDS[random.below(WORDS.len())]
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}
