//! Filters against false alarms: text that resembles a credential and is none.

use super::entropy::bits_per_byte;
use super::rule::Demand;
use super::shape;

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
/// Texts that stand for a password in explanations or are a well-known default, as a whole.
const STAND_INS: [&str; 44] = [
    "password",
    "passwd",
    "passwort",
    "pass",
    "pwd",
    "pw",
    "secret",
    "mysecret",
    "mypassword",
    "mypass",
    "hunter",
    "hunter2",
    "letmein",
    "username",
    "user",
    "guest",
    "root",
    "admin",
    "test",
    "testing",
    "postgres",
    "mysql",
    "redis",
    "mongo",
    "rabbitmq",
    "minio",
    "elastic",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "foo",
    "bar",
    "foobar",
    "baz",
    "qux",
    "token",
    "key",
    "value",
    "string",
    "hidden",
    "correcthorsebatterystaple",
];
/// Words beside a stand-in that do not make it a password.
const FILLERS: [&str; 14] = [
    "super", "top", "my", "the", "some", "very", "your", "our", "db", "app", "strong", "new",
    "old", "123",
];
/// Marks of an expression by which a program inserts the password.
const INSERTIONS: [&str; 8] = ["#{", "%s", "%(", "()", "::", "://", "env.", "${"];
/// Least length of a password in a sentence; in quotes it may be shorter.
const LEAST_PASSWORD: usize = 6;
const LEAST_QUOTED: usize = 4;
/// Longest password: what is longer is a key or a text.
const LONGEST_PASSWORD: usize = 128;
/// Least length of a password after a word that need not announce one.
const LEAST_STRONG: usize = 8;
/// Hyphens from which on two words with a number are a password; a ticket has fewer words.
const LEAST_HYPHENS: usize = 2;
/// Least number of digits in a random text; names made of words have fewer.
const LEAST_DIGITS: usize = 2;
/// Percentage of capitals among the letters of a random text without digits. Words have fewer,
/// constants more.
const CAPITALS: std::ops::RangeInclusive<usize> = 25..=75;
/// Length from which on the share of capitals is significant.
const LEAST_WITHOUT_DIGITS: usize = 14;
/// Least length of base64 that is told from a path: the credentials of a short user name.
const LEAST_ENCODED: usize = 24;
/// Least entropy of base64 that is told from a path, in bits per byte. Paths stay below 4.
const ENCODED_FLOOR: f64 = 4.1;
/// Length from which on a number is no date, version or price.
const LONG_NUMBER: usize = 15;

/// True if a text is a placeholder.
pub(super) fn is_placeholder(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    SAMPLES.iter().any(|sample| text.contains(sample))
        // Variables and fields to fill in: `$VAR`, `<name>`, `%VAR%`.
        || text.starts_with(['$', '<'])
        || text.starts_with('%') && text.ends_with('%')
        // Slots of templates and format strings.
        || text.starts_with('{') && text.contains('}')
        || text.contains(['«', '»', '…'])
        || text.bytes().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-' | b'_' | b'#'))
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// True if a match meets the demand of its rule. The text `after` it tells a call from a value.
pub(super) fn meets(demand: Demand, text: &str, after: &str) -> bool {
    match demand {
        Demand::Format => !is_placeholder(text),
        // Any word may occur in a long block by chance; only an ellipsis marks it as abridged.
        Demand::Block => !text.contains("..."),
        Demand::Random => {
            // A bracket after it makes it the name of a call, an index or a type.
            !after.starts_with(['(', '[', '{', '<']) && is_random(text)
        }
        Demand::Position => !is_placeholder(text) && !is_stand_in(text) && !is_insertion(text),
        Demand::Password => {
            !after.starts_with(['(', '[', '{', '<']) && is_plausible_password(text, false)
        }
    }
}

/// True if a text is random, as keys are.
pub(super) fn is_random(text: &str) -> bool {
    !is_placeholder(text) && looks_random(text)
}

/// True if a text can be a password at a place that announces one.
pub(super) fn is_plausible_password(text: &str, quoted: bool) -> bool {
    let length = text.chars().count();
    let least = if quoted { LEAST_QUOTED } else { LEAST_PASSWORD };
    let classes = Classes::of(text);
    (least..=LONGEST_PASSWORD).contains(&length)
        && classes.letters
        && (classes.digits || classes.signs)
        && !is_placeholder(text)
        && !is_stand_in(text)
        && !is_insertion(text)
        && !is_expression(text, quoted)
        && !shape::is_something_else(text)
        && !is_name(text)
}

/// True if a text is a password though the word before it need not announce one.
pub(super) fn is_strong_password(text: &str, quoted: bool) -> bool {
    let classes = Classes::of(text);
    let count = [classes.lower, classes.upper, classes.digits, classes.signs];
    let count = count.into_iter().filter(|class| *class).count();
    is_plausible_password(text, quoted) && (quoted || count >= 3 && text.len() >= LEAST_STRONG)
}

/// Classes of characters that a text has.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says whether a class occurs; a text may have any of them beside any other"
)]
struct Classes {
    letters: bool,
    lower: bool,
    upper: bool,
    digits: bool,
    /// Signs that names do not have.
    signs: bool,
}

impl Classes {
    fn of(text: &str) -> Self {
        let sign = |letter: char| {
            !letter.is_alphanumeric() && !matches!(letter, '-' | '_' | '.' | '/' | ':')
        };
        Self {
            letters: text.chars().any(char::is_alphabetic),
            lower: text.chars().any(char::is_lowercase),
            upper: text.chars().any(char::is_uppercase),
            digits: text.chars().any(char::is_numeric),
            signs: text.chars().any(sign),
        }
    }
}

/// True if a text stands for a password: `s3cr3t`, `super_secret`, `my-password-123`.
fn is_stand_in(text: &str) -> bool {
    let lower = text.to_lowercase();
    let stands = |word: &str| {
        STAND_INS.contains(&word) || STAND_INS.contains(&spelled_plainly(word).as_str())
    };
    let filler = |word: &str| FILLERS.contains(&word) || word.is_empty();
    let mut parts = lower.split(['_', '-', '.']);
    stands(&lower) || parts.clone().any(stands) && parts.all(|part| stands(part) || filler(part))
}

fn is_insertion(text: &str) -> bool {
    INSERTIONS.iter().any(|mark| text.contains(mark))
}

/// True if a text is code rather than a value.
fn is_expression(text: &str, quoted: bool) -> bool {
    let marks = ['(', ')', '{', '}', '[', ']', '<', '>', '=', '\\', ';'];
    !quoted && text.contains(marks)
        || text.contains('\\')
        || text.contains("->")
        || text.contains('/') && text.split('/').filter(|part| is_lower_word(part)).count() > 0
        // Operators of conditions: `password!==other`.
        || text.starts_with(['!', '=', '+', '&', '?', '$', '%', '*', ':', ',', '.'])
        || text.contains("&&")
}

fn is_lower_word(part: &str) -> bool {
    part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// True for names made of words and numbers, but for the passwords that people make of them.
fn is_name(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let passphrase = parts.len() > LEAST_HYPHENS
        && parts
            .iter()
            .any(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        && parts.iter().filter(|part| is_lower_word(part)).count() >= 2;
    is_made_of_words(text) && !passphrase
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
        || text.starts_with(['/', '.', '@', '-', '#']) && !is_encoded(text)
        || text.split('/').filter(is_word).count() > 1
        || text.len() < LONG_NUMBER && text.bytes().all(is_number)
}

/// True for base64 that begins with a sign by chance: longer and more random than a path.
fn is_encoded(text: &str) -> bool {
    text.len() >= LEAST_ENCODED && bits_per_byte(text) >= ENCODED_FLOOR
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
    // A version is a part of names: `profile_v2`.
    let is_version = |part: &str| {
        let digits = part.strip_prefix('v').unwrap_or_default();
        !digits.is_empty() && is_number(digits)
    };
    // A UUID has parts as well, and may be a key.
    !is_hexadecimal
        && parts.clone().count() > 1
        && parts.all(|part| is_word(part) || is_number(part) || is_version(part))
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
