//! Hashes of canonical content, and chains of them.
//!
//! Model: a block's digest covers its members sorted by name, values as they were sent but without
//! insignificant white space, without any cache marker. The model reads the same in any order of
//! `type` and `text` and with any spacing of the JSON; inside values (a tool call's input, a
//! schema) order counts, as it does at the provider.
//!
//! Strings count by their text: `\u00e9` and `é` are the same.
//!
//! A chain's link depends on everything before it. Digests are 128 bits of XXH3: no accidents, and
//! hashing a prompt costs less than reading it. Nothing here keeps an adversary out.
//!
//! # Not here
//! Positions and levels of a prompt: [`crate::prompt`].

use crate::blocks::RawObject;
use dormouse_core::json::without_space;
use memchr::memmem::Finder;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;
use twox_hash::XxHash3_128;

/// A digest of a block, or of a chain up to a position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Digest(pub(crate) u128);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(XxHash3_128::oneshot(bytes))
    }

    /// The chain `self` continued by one more element; `tag` keeps kinds of elements apart.
    pub(crate) fn then(self, tag: u8, next: Self) -> Self {
        let mut input = [0; 33];
        input[..16].copy_from_slice(&self.0.to_be_bytes());
        input[16] = tag;
        input[17..].copy_from_slice(&next.0.to_be_bytes());
        Self::of(&input)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        (text.len() == 32)
            .then(|| u128::from_str_radix(text, 16).ok())
            .flatten()
            .map(Self)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}…", self.0 >> 96)
    }
}

/// Members of an object as the parser found them.
pub(crate) type Members<'a> = [(Cow<'a, str>, &'a RawValue)];

/// Digests an object's members, without cache markers.
///
/// Also counts the bytes that canonical strings save against the sent ones: a caller that measures
/// strings by their length can subtract them, and no string is looked at twice.
pub(crate) fn of_members(members: &Members<'_>) -> (Digest, usize) {
    let mut saved = 0;
    let mut digest = START;
    // Clients that write members in order, as ours does, pay for no sort.
    if members.is_sorted_by(|a, b| a.0 <= b.0) {
        for (name, value) in members {
            digest = member(digest, name, value, &mut saved);
        }
    } else {
        let mut short = [0; SMALL];
        let mut long;
        let order: &mut [usize] = if members.len() <= SMALL {
            &mut short[..members.len()]
        } else {
            long = vec![0; members.len()];
            &mut long
        };
        for (at, place) in order.iter_mut().enumerate() {
            *place = at;
        }
        order.sort_by(|a, b| members[*a].0.cmp(&members[*b].0));
        for at in order {
            digest = member(digest, &members[*at].0, members[*at].1, &mut saved);
        }
    }
    (digest, saved)
}

/// Members up to which an object is sorted without an allocation; blocks have fewer.
const SMALL: usize = 12;
/// Bytes below which a string is searched byte by byte: preparing a search costs more.
const SHORT: usize = 512;
/// Beginning of every chain; any fixed value would do.
const START: Digest = Digest(0);

/// Digest of the text block that says this, given as it stands between the quotes.
pub(crate) fn of_text(canonical: &str) -> Digest {
    let text = START.then(b'k', Digest::of(b"text"));
    let text = text.then(b'v', Digest::of(canonical.as_bytes()));
    let kind = text.then(b'k', Digest::of(b"type"));
    kind.then(b'v', Digest::of(b"text"))
}

fn member(digest: Digest, name: &str, value: &RawValue, saved: &mut usize) -> Digest {
    // A marker moves from request to request and must not change the prefix.
    if name == "cache_control" {
        return digest;
    }
    let text = value.get();
    let value = match text.as_bytes().first() {
        Some(b'[') if name == "content" => of_parts(text, saved),
        // Order inside counts: the model reads a tool's input as it was written.
        Some(b'{' | b'[') => Digest::of(&without_space(text.as_bytes())),
        Some(b'"') => of_long_plain(text).unwrap_or_else(|| {
            let canonical = canonical(text);
            *saved += text.len() - 2 - canonical.len();
            Digest::of(canonical.as_bytes())
        }),
        // Tagged, so that the number 1 and the string "1" have different digests.
        _ => Digest::of(text.as_bytes()).then(b'n', START),
    };
    digest
        .then(b'k', Digest::of(name.as_bytes()))
        .then(b'v', value)
}

/// Digest of a long string without any escape: searched and hashed piece by piece, so that memory
/// is read once and not twice.
fn of_long_plain(quoted: &str) -> Option<Digest> {
    /// Bytes of a piece: it stays in the first-level cache between search and hash.
    const PIECE: usize = 32 * 1024;
    let inner = quoted.as_bytes().get(1..quoted.len().checked_sub(1)?)?;
    // Short strings are in the cache anyway; one pass for each purpose is faster.
    if inner.len() < 4 * PIECE {
        return None;
    }
    let mut hasher = XxHash3_128::new();
    for piece in inner.chunks(PIECE) {
        // An escape may be one that JSON does not ask for; the slow way looks closer.
        if memchr::memchr(b'\\', piece).is_some() {
            return None;
        }
        hasher.write(piece);
    }
    Some(Digest(hasher.finish_128()))
}

/// Blocks inside a block: markers and the order of members do not count there either.
fn of_parts(text: &str, saved: &mut usize) -> Digest {
    match serde_json::from_str::<Vec<RawObject<'_>>>(text) {
        Err(_) => Digest::of(&without_space(text.as_bytes())),
        Ok(parts) => parts.iter().fold(START, |digest, part| {
            let (part, more) = of_members(&part.0);
            *saved += more;
            digest.then(b'p', part)
        }),
    }
}

/// The characters between the quotes of a JSON string, escaped only where they must be. Never
/// longer than they were sent.
fn canonical(quoted: &str) -> Cow<'_, str> {
    let inner = quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default();
    if !is_escaped_too_much(inner.as_bytes()) {
        return Cow::Borrowed(inner);
    }
    let again = serde_json::from_str::<String>(quoted)
        .and_then(|text| serde_json::to_string(&text))
        .unwrap_or_else(|_| quoted.to_owned());
    Cow::Owned(again[1..again.len() - 1].to_owned())
}

/// True if there may be an escape that JSON does not ask for. Errs on the side of true after an
/// escaped backslash, which costs time but changes nothing.
fn is_escaped_too_much(text: &[u8]) -> bool {
    static UNICODE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\u"));
    static SLASH: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(b"\\/"));
    if text.len() < SHORT {
        let mut pairs = text.windows(2);
        return pairs.any(|pair| pair == b"\\u" || pair == b"\\/");
    }
    memchr::memchr(b'\\', text).is_some_and(|first| {
        let rest = &text[first..];
        UNICODE.find(rest).is_some() || SLASH.find(rest).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        of_members(&serde_json::from_str::<RawObject<'_>>(text).unwrap().0).0
    }

    #[test]
    fn order_of_members_spaces_and_markers_do_not_count() {
        let plain = digest(r#"{"type":"text","text":"a b"}"#);
        for same in [
            r#"{"text":"a b","type":"text"}"#,
            r#"{ "type" : "text", "text" : "a b" }"#,
            r#"{"type":"text","text":"a b","cache_control":{"type":"ephemeral"}}"#,
        ] {
            assert_eq!(digest(same), plain, "{same}");
        }
        assert_ne!(digest(r#"{"type":"text","text":"ab"}"#), plain);
    }

    #[test]
    fn markers_inside_a_tool_result_do_not_count_either() {
        assert_eq!(
            digest(
                r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}"#
            ),
            digest(
                r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}"#
            ),
        );
    }

    #[test]
    fn key_order_inside_an_input_counts() {
        assert_ne!(
            digest(r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1,"b":2}}"#),
            digest(r#"{"type":"tool_use","id":"t","name":"n","input":{"b":2,"a":1}}"#),
        );
        assert_eq!(
            digest(r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1}}"#),
            digest(r#"{"type":"tool_use","id":"t","name":"n","input":{ "a": 1 }}"#),
        );
    }

    #[test]
    fn a_string_is_a_text_block() {
        assert_eq!(
            of_text("hello"),
            digest(r#"{"type":"text","text":"hello"}"#)
        );
    }

    #[test]
    fn escapes_that_need_not_be_do_not_count() {
        let plain = digest(r#"{"type":"text","text":"é/\\n\n"}"#);
        assert_eq!(
            digest(r#"{"type":"text","text":"\u00e9\/\\n\u000a"}"#),
            plain
        );
        assert_ne!(digest(r#"{"type":"text","text":"é/n\n"}"#), plain);
        assert_eq!(of_text(&canonical(r#""\u00e9\/\\n\n""#)), plain);
    }

    #[test]
    fn long_strings_have_the_same_digest() {
        for len in [131_071, 131_072, 200_000] {
            let text = "plain ".repeat(len / 6 + 1);
            let long = digest(&format!(r#"{{"type":"text","text":"{text}"}}"#));
            assert_eq!(long, of_text(&text));
        }
    }

    #[test]
    fn a_digest_reads_back() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse("x"), None);
    }
}
