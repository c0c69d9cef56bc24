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
/// Parts of keys that documentation shows everywhere: the sample of JSON web tokens, two of a payment
/// service's, and the words for user name and password in base64.
const SAMPLES: [&str; 5] = [
    "IkpvaG4gRG9lI",
    "BQokikJOvB",
    "4eC39HqLyj",
    "dXNlcm5hbWU6",
    "cGFzc3dvcmQ",
];
/// Words people write where a password goes in an explanation.
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
/// What marks a place where a program puts the password in.
const INSERTIONS: [&str; 7] = ["#{", "%s", "%(", "()", "::", "://", "env."];
/// A name made of words has few digits; keys have many.
const LEAST_DIGITS: usize = 2;
/// Without digits, capitals must be everywhere: their share of the letters, in a hundred.
const CAPITALS: std::ops::RangeInclusive<usize> = 25..=75;
/// What must be that long for its capitals to say anything.
const LEAST_WITHOUT_DIGITS: usize = 14;
/// A number this long is no date, version or price.
const LONG_NUMBER: usize = 15;

/// Whether it stands where a credential would go, without being one.
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    SAMPLES.iter().any(|sample| text.contains(sample))
        || text.starts_with(['$', '<'])
        || text.starts_with('%') && text.ends_with('%')
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// Whether it is what its rule demands. What comes `after` it tells a call from a value.
pub(super) fn meets(demand: Demand, text: &str, after: &str) -> bool {
    match demand {
        Demand::Format => !is_placeholder(text),
        Demand::Block => !text.contains("..."),
        Demand::LooksRandom => {
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

/// Calls, paths, addresses, versions.
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

/// `user-name-2020-v12`: parts that are words or numbers, never mixed.
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

/// `s3cr3t` is a word too.
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
