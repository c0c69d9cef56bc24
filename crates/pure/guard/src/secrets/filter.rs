//! Filters against false alarms: text that resembles a credential and is none.

use super::rule::Demand;

/// Placeholders that stand in for a credential, in lower case.
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
    "abc123",
    "abcdefgh",
    "process.env",
    "os.environ",
    "getenv",
    "env[",
    "secrets.",
    "vault.",
    "config.",
    "${",
    "{{",
    "$(",
    "....",
    "****",
    "goes-here",
];
/// Parts of keys that appear in public documentation: the sample JSON web token, two samples of a
/// payment service, and the words for user name and password in base64.
const SAMPLES: [&str; 5] = [
    "IkpvaG4gRG9lI",
    "BQokikJOvB",
    "4eC39HqLyj",
    "dXNlcm5hbWU6",
    "cGFzc3dvcmQ",
];
/// Words that stand for a password in explanations.
const WORDS: [&str; 14] = [
    "password",
    "passwd",
    "secret",
    "hunter",
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
/// Marks of an expression by which a program inserts the password.
const INSERTIONS: [&str; 7] = ["#{", "%s", "%(", "()", "::", "://", "env."];
/// Least number of digits in a random text; names made of words have fewer.
const LEAST_DIGITS: usize = 2;
/// Percentage of capitals among the letters of a random text without digits. Words have fewer,
/// constants more.
const CAPITALS: std::ops::RangeInclusive<usize> = 25..=75;
/// Length from which on the share of capitals is significant.
const LEAST_WITHOUT_DIGITS: usize = 14;
/// Length from which on a number is no date, version or price.
const LONG_NUMBER: usize = 15;

/// True if a text is a placeholder.
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    SAMPLES.iter().any(|sample| text.contains(sample))
        // Variables and fields to fill in: `$VAR`, `<name>`, `%VAR%`.
        || text.starts_with(['$', '<'])
        || text.starts_with('%') && text.ends_with('%')
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// True if a match meets the demand of its rule. The text `after` it tells a call from a value.
pub(super) fn meets(demand: Demand, text: &str, after: &str) -> bool {
    match demand {
        Demand::Format => !is_placeholder(text),
        // Any word may occur in a long block by chance; only an ellipsis marks it as abridged.
        Demand::Block => !text.contains("..."),
        Demand::LooksRandom => {
            // A bracket after it makes it the name of a call, an index or a type.
            !is_placeholder(text) && !after.starts_with(['(', '[', '{', '<']) && looks_random(text)
        }
        Demand::Password => !is_placeholder(text) && is_password(text),
    }
}

fn looks_random(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let capitals = text.bytes().filter(u8::is_ascii_uppercase).count();
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    let mixed =
        text.len() >= LEAST_WITHOUT_DIGITS && CAPITALS.contains(&(capitals * 100 / letters.max(1)));
    (digits >= LEAST_DIGITS || mixed) && !reads_like_code(text) && !is_made_of_words(text)
}

/// True if a text is code: a call, path, address or version.
fn reads_like_code(text: &str) -> bool {
    let is_word =
        |part: &&str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':');
    text.contains(['(', ')', '[', ']', '{', '}', '\\'])
        || text.contains("://")
        || text.contains("::")
        || text.starts_with(['/', '.', '@', '-', '#'])
        || text.split('/').filter(is_word).count() > 1
        || text.len() < LONG_NUMBER && text.bytes().all(is_number)
}

/// True if all parts are words or numbers, never mixed, as in `user-name-2020-v12`.
fn is_made_of_words(text: &str) -> bool {
    let mut parts = text.split(['-', '_', '.', '/', '=', ':', '+']);
    let is_hexadecimal = text
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_word = |part: &str| {
        part.len() < LONG_NUMBER && part.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let is_number =
        |part: &str| part.len() < LONG_NUMBER && part.bytes().all(|byte| byte.is_ascii_digit());
    // A UUID has parts as well, and may be a key.
    !is_hexadecimal
        && parts.clone().count() > 1
        && parts.all(|part| is_word(part) || is_number(part))
}

fn is_password(text: &str) -> bool {
    let plain = spelled_plainly(text);
    let letters = text.bytes().any(|byte| byte.is_ascii_alphabetic());
    let others = text.bytes().any(|byte| !byte.is_ascii_alphabetic());
    letters
        && others
        && !INSERTIONS.iter().any(|mark| text.contains(mark))
        && !is_made_of_words(text)
        && !WORDS.iter().any(|word| plain.contains(word))
}

/// Text with digits and signs replaced by the letters they resemble: `s3cr3t` is a word too.
fn spelled_plainly(text: &str) -> String {
    let plain = |character: char| match character.to_ascii_lowercase() {
        '3' => 'e',
        '0' => 'o',
        '1' | '!' => 'i',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    };
    text.chars().map(plain).collect()
}
