//! What looks like a credential and is none.

use super::rule::Demand;

/// Pieces of text that only stand where a credential would go, in lower case.
const PLACEHOLDERS: [&str; 33] = [
    "example",
    "placeholder",
    "your",
    "xxxx",
    "changeme",
    "change-me",
    "change_me",
    "dummy",
    "sample",
    "redacted",
    "insert",
    "replace",
    "secret-here",
    "key-here",
    "token-here",
    "todo",
    "fake",
    "123456789",
    "abcdefgh",
    "process.env",
    "os.environ",
    "getenv",
    "env[",
    "secrets.",
    "vault.",
    "config.",
    "<",
    ">",
    "${",
    "{{",
    "$(",
    "....",
    "****",
];
/// Part of the token that documentation of JSON web tokens shows everywhere.
const SAMPLE_TOKEN: &str = "IkpvaG4gRG9lI";
/// Words people write where a password goes in an explanation.
const WORDS: [&str; 14] = [
    "password",
    "passwd",
    "secret",
    "hunter2",
    "letmein",
    "username",
    "postgres",
    "correct",
    "staple",
    "none",
    "null",
    "true",
    "false",
    "undefined",
];
/// A name made of words has few digits; keys have many.
const LEAST_DIGITS: usize = 2;

/// Whether it stands where a credential would go, without being one.
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    // The block of a private key is long and has any pair of letters somewhere.
    let head = &lower[..lower.floor_char_boundary(512)];
    text.contains(SAMPLE_TOKEN)
        || text.starts_with('$')
        || text.starts_with('%') && text.ends_with('%')
        || PLACEHOLDERS.iter().any(|word| head.contains(word))
}

/// Whether it is what its rule demands.
pub(super) fn meets(demand: Demand, text: &str) -> bool {
    match demand {
        Demand::Format => true,
        Demand::LooksRandom => looks_random(text),
        Demand::Password => is_password(text),
    }
}

fn looks_random(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits >= LEAST_DIGITS && !reads_like_code(text) && !is_made_of_words(text)
}

/// Calls, paths, addresses, versions.
fn reads_like_code(text: &str) -> bool {
    text.contains(['(', ')', '[', ']', '{', '}', '\\'])
        || text.contains("://")
        || text.contains("::")
        || text.starts_with(['/', '.', '@', '-', '#'])
        || text.matches('/').count() > 3
        || text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':'))
            && text.len() < 15
}

/// `user-name-2020-v12`: parts that are words or numbers, never mixed.
fn is_made_of_words(text: &str) -> bool {
    let mut parts = text.split(['-', '_', '.', '/', '=', ':', '+']);
    let is_hexadecimal = text
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let pure = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit())
            || part.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    !is_hexadecimal && parts.clone().count() > 1 && parts.all(pure)
}

fn is_password(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let letters = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let others = text.bytes().any(|byte| !byte.is_ascii_alphabetic());
    letters
        && others
        && !reads_like_code(text)
        && !is_made_of_words(text)
        && !WORDS.iter().any(|word| lower.contains(word))
}
