//! Passwords that people state in sentences, lists and assignments, in any language of the
//! vocabulary.
//!
//! # Model
//! A noun ("password", "mot de passe", "密码") announces a value. Up to [`MOST_WORDS`] words after
//! it are candidates; one counts if a link stands directly before it ("is", "lautet", "：", "=") and
//! it is plausible as a password. Without a link, only the word directly after the noun counts. The
//! weaker the link, the stronger the value has to be. `use … as the password` is read backwards.
//!
//! # Not here
//! Passwords without a noun, known by their position (addresses, options of programs): the rules of
//! [`table`](super::table).

use super::characters::{is_of_value, is_unspaced, opens_quote};
use super::entropy::bits_per_byte;
use super::filter;
use super::vocabulary::{Link, Noun, Vocabulary};
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;
use std::sync::LazyLock;

/// Bytes after a noun in which its value is sought: a long clause, or a phrase of 24 words.
const WINDOW: usize = 256;
/// Words after a noun that may be its value: "of the database on the second server in Lyon is".
const MOST_WORDS: usize = 14;
/// Length up to which a noun in Latin letters counts only as a word of its own: `pw` and `pass` are
/// parts of many words.
const SHORT_NOUN: usize = 5;
/// Letters that an ending adds to a noun: "lösenordet", "şifresi", "passwords".
const LONGEST_ENDING: usize = 4;
/// Least length of a token in a sentence. Vendors make none shorter, and words rarely look so.
const LEAST_TOKEN: usize = 16;
/// Least entropy of a token in a sentence, below that of random hexadecimal digits.
const TOKEN_FLOOR: f64 = 3.0;
/// Digits of a number that unlocks.
const PIN: std::ops::RangeInclusive<usize> = 4..=8;
/// Words of a phrase in quotes. Fewer are a title or a quotation.
const LEAST_WORDS_IN_QUOTES: usize = 3;
/// Words of a phrase without quotes: what wallets make.
const LEAST_WORDS: usize = 12;
/// Words between a value and the noun in "use … as the password".
const MOST_WORDS_BEFORE: usize = 4;

/// Nouns that are verbs as well ("pass the flag"): only a sign makes the next word their value.
const VERBS: [&str; 1] = ["pass"];

/// Statement of a credential.
#[derive(Debug)]
pub(super) struct Stated {
    pub(super) noun: Noun,
    pub(super) range: Range<usize>,
}

/// Noun in a line, with the text after it.
#[derive(Clone, Copy)]
struct Hit<'a> {
    noun: Noun,
    language: usize,
    /// True for a noun that is also a verb.
    verb: bool,
    rest: &'a str,
}

/// Word that may be the value of a noun.
struct Candidate<'a> {
    /// Place in the text after the noun.
    range: Range<usize>,
    text: &'a str,
    quoted: bool,
}

/// Reason to take a word for the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// A colon, an equals sign or an arrow stands before it.
    Sign,
    /// A link stands before it.
    Link(Link),
    /// It follows the noun directly.
    Adjacent,
    /// It is not there.
    Absent,
}

/// Credentials that a line states.
pub(super) fn find(line: &str) -> Vec<Stated> {
    let mut found = Vec::new();
    let Some((finder, nouns)) = finder() else {
        return found;
    };
    for hit in finder.find_iter(line) {
        let (noun, language) = nouns[hit.pattern().as_usize()];
        let Some(end) = end_of_noun(line, hit.start()..hit.end(), noun) else {
            continue;
        };
        let until = line.floor_char_boundary(end.saturating_add(WINDOW).min(line.len()));
        let rest = &line[end..until];
        if let Some(range) = phrase(noun, rest, language) {
            found.push(Stated {
                noun,
                range: end + range.start..end + range.end,
            });
            continue;
        }
        let announced = Hit {
            noun,
            language,
            verb: VERBS.contains(&line[hit.start()..hit.end()].to_ascii_lowercase().as_str()),
            rest,
        };
        for candidate in candidates(rest) {
            if convinces(&announced, &candidate) {
                let range = end + candidate.range.start..end + candidate.range.end;
                found.push(Stated { noun, range });
                // Recovery codes come in lists.
                if noun != Noun::Code {
                    break;
                }
            }
        }
        if let (Noun::Password, Some(range)) = (noun, used_as(&line[..hit.start()])) {
            found.push(Stated { noun, range });
        }
    }
    found
}

/// Finder of nouns, with the kind and the language of each.
type Finder = (AhoCorasick, Vec<(Noun, usize)>);

fn finder() -> Option<&'static Finder> {
    static FINDER: LazyLock<Option<Finder>> = LazyLock::new(|| {
        let (mut words, mut nouns) = (Vec::new(), Vec::new());
        for (word, noun, language) in &Vocabulary::shared().nouns {
            // Case is ignored for ASCII only: a sentence may begin with another letter.
            let mut letters = word.chars();
            let first = letters.next().into_iter().flat_map(char::to_uppercase);
            let capital: String = first.chain(letters).collect();
            if !capital.is_ascii() && capital != *word {
                words.push(capital);
                nouns.push((*noun, *language));
            }
            words.push(word.clone());
            nouns.push((*noun, *language));
        }
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(words);
        Some((finder.ok()?, nouns))
    });
    FINDER.as_ref()
}

/// End of the word or name that a noun is part of; `None` if it is another word.
fn end_of_noun(line: &str, hit: Range<usize>, noun: Noun) -> Option<usize> {
    let word = &line[hit.clone()];
    if noun == Noun::Pin && !word.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let before = line[..hit.start].chars().next_back();
    let short = word.len() <= SHORT_NOUN || noun != Noun::Password;
    if short && word.is_ascii() && before.is_some_and(char::is_alphabetic) {
        return None;
    }
    let mut end = hit.end;
    let after = |end: usize| line[end..].chars().next();
    let ending: String = line[end..]
        .chars()
        .take_while(|letter| letter.is_lowercase() && !is_unspaced(*letter))
        .collect();
    if ending.chars().count() > if short { 1 } else { LONGEST_ENDING } {
        return None;
    }
    end += ending.len();
    // `DB_PASSWORD_PROD` is a password still, `password_hash` and `passwordField` are not.
    let tail: String = line[end..]
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
        .collect();
    let mut parts = tail.split(['_', '-']).filter(|part| !part.is_empty());
    if parts.any(|part| Vocabulary::shared().is_compound(&part.to_lowercase())) {
        return None;
    }
    if tail.starts_with(|first: char| first.is_ascii_alphanumeric()) && ending.is_empty() && short {
        return None;
    }
    end += tail.len();
    let next = line[end..]
        .trim_start()
        .split(|letter: char| !letter.is_alphanumeric())
        .next();
    if after(end) == Some(' ')
        && next.is_some_and(|next| Vocabulary::shared().is_compound(&next.to_lowercase()))
    {
        return None;
    }
    Some(end)
}

/// Words after a noun, up to the end of the sentence.
fn candidates(rest: &str) -> Vec<Candidate<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = rest[from..].find(is_of_value).map(|at| from + at) {
        let end = rest[start..]
            .find(|letter| !is_of_value(letter))
            .map_or(rest.len(), |at| start + at);
        from = end;
        if ends_sentence(&rest[..start]) || found.len() == MOST_WORDS {
            break;
        }
        // `password:x` and `password=x` have no space behind the link.
        let link_inside = if found.is_empty() {
            rest[start..end].find(|letter| !matches!(letter, ':' | '='))
        } else {
            None
        };
        let start = start + link_inside.unwrap_or(0);
        let text = rest[start..end]
            .trim_end_matches(['.', ':', '?', '*'])
            .trim_start_matches("**");
        let start = start + rest[start..end].find(text).unwrap_or(0);
        let quoted = rest[..start].chars().next_back().is_some_and(opens_quote);
        found.push(Candidate {
            range: start..start + text.len(),
            text,
            quoted,
        });
    }
    found
}

fn ends_sentence(before: &str) -> bool {
    before.contains(['。', '！', '？', '；', '\n'])
        || before.contains(". ") && !before.contains("e.g. ")
        || before.contains("; ")
        || before.contains("! ")
        || before.contains("? ")
}

fn evidence(before: &str, language: usize) -> Evidence {
    let before = before.trim_end_matches(|letter: char| {
        letter.is_whitespace() || opens_quote(letter) || matches!(letter, '(' | '*' | '[')
    });
    let bare = before.trim_start_matches(|letter: char| {
        letter.is_whitespace() || opens_quote(letter) || matches!(letter, ')' | ']' | '*')
    });
    if bare.is_empty() {
        return Evidence::Adjacent;
    }
    if bare.ends_with([':', '：', '=', '＝', '→', '—', '–'])
        || bare.ends_with("->")
        || bare.ends_with("=>")
        || bare.ends_with(" /")
    {
        return Evidence::Sign;
    }
    Vocabulary::shared()
        .link(bare, language)
        .map_or(Evidence::Absent, Evidence::Link)
}

/// True if a word is the value of the noun before it. Its shape is looked at first: most words have
/// none of a credential, and the text before them need not be read.
fn convinces(hit: &Hit<'_>, candidate: &Candidate<'_>) -> bool {
    let Hit {
        noun,
        language,
        verb,
        rest,
    } = *hit;
    let Candidate {
        range,
        text,
        quoted,
    } = candidate;
    let shape = match noun {
        Noun::Token => {
            text.len() >= LEAST_TOKEN
                && bits_per_byte(text) >= TOKEN_FLOOR
                && filter::is_random(text)
                // A part of an address, where anything may be encoded.
                && !text.contains("%2")
        }
        Noun::Pin => PIN.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()),
        Noun::Password | Noun::Code | Noun::Phrase => filter::is_plausible_password(text, *quoted),
    };
    // A bracket behind it makes it a call, an index or a type.
    if !shape || rest[range.end..].starts_with(['(', '[', '{', '<']) {
        return false;
    }
    match evidence(&rest[..range.start], language) {
        Evidence::Absent => false,
        Evidence::Link(Link::Loose) => {
            !verb
                && !matches!(noun, Noun::Token | Noun::Pin)
                && filter::is_strong_password(text, *quoted)
        }
        Evidence::Sign => true,
        Evidence::Link(Link::Firm) | Evidence::Adjacent => !verb,
    }
}

/// Phrase of several words that a noun announces.
fn phrase(noun: Noun, rest: &str, language: usize) -> Option<Range<usize>> {
    if noun != Noun::Phrase {
        return None;
    }
    if let Some(open) = rest.find(opens_quote) {
        let start = open + rest[open..].chars().next()?.len_utf8();
        let length = rest[start..].find(|letter| opens_quote(letter) || letter == '」')?;
        let inside = &rest[start..start + length];
        let linked = matches!(
            evidence(&rest[..open], language),
            Evidence::Sign | Evidence::Link(Link::Firm) | Evidence::Adjacent
        );
        let words = inside.split_whitespace().count();
        if linked && words >= LEAST_WORDS_IN_QUOTES && inside.split_whitespace().all(is_plain_word)
        {
            return Some(start..start + length);
        }
    }
    let start = rest.find(char::is_alphabetic)?;
    if !matches!(
        evidence(&rest[..start], language),
        Evidence::Sign | Evidence::Link(Link::Firm)
    ) {
        return None;
    }
    let words = rest[start..]
        .split(' ')
        .take_while(|word| is_plain_word(word));
    let (count, length) = words.fold((0, 0), |(count, length), word| {
        (count + 1, length + word.len() + 1)
    });
    (count >= LEAST_WORDS).then(|| start..(start + length - 1).min(rest.len()))
}

fn is_plain_word(word: &str) -> bool {
    (3..=10).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Value before "as the password", at the end of the text before the noun.
fn used_as(before: &str) -> Option<Range<usize>> {
    let mut end = before.len();
    for _ in 0..MOST_WORDS_BEFORE {
        let trimmed = before[..end].trim_end();
        let start = trimmed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = trimmed.get(start..)?;
        if matches!(word, "as" | "als" | "como" | "comme" | "come") {
            let value = trimmed[..start].trim_end();
            let quoted = value.chars().next_back().is_some_and(opens_quote);
            let value = value.trim_end_matches(opens_quote);
            let from = value.rfind(|letter| !is_of_value(letter)).map_or(0, |at| {
                at + value[at..].chars().next().map_or(1, char::len_utf8)
            });
            let text = &value[from..];
            return filter::is_plausible_password(text, quoted).then_some(from..value.len());
        }
        end = start;
    }
    None
}
