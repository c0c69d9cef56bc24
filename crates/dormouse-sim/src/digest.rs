//! Hashes of canonical content, and chains of them.
//!
//! Model: a block's digest covers its members sorted by name, values as they were sent but without
//! insignificant white space, without any cache marker. What the model reads is the same however a
//! client orders `type` and `text`, or spaces its JSON; inside values (a tool call's input, a
//! schema) order counts, as it does at the provider.
//!
//! A chain's link depends on everything before it. 128 bits of BLAKE3: no accidents.

use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A digest of a block, or of a chain up to a position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Digest(pub(crate) u128);

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::from_hash(&blake3::hash(bytes))
    }

    fn from_hash(hash: &blake3::Hash) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        Self(u128::from_be_bytes(half))
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

/// Digest of an object's members, without cache markers.
pub(crate) fn of_members(members: &Members<'_>) -> Digest {
    let mut hasher = blake3::Hasher::new();
    feed_members(&mut hasher, members);
    Digest::from_hash(&hasher.finalize())
}

/// Digest of the text block that a plain string stands for.
pub(crate) fn of_string(raw: &RawValue) -> Digest {
    let mut hasher = blake3::Hasher::new();
    feed_member(&mut hasher, "text", raw);
    feed(&mut hasher, "type", b"\"text\"");
    Digest::from_hash(&hasher.finalize())
}

fn feed_members(hasher: &mut blake3::Hasher, members: &Members<'_>) {
    let sorted = members.is_sorted_by(|a, b| a.0 <= b.0);
    if sorted {
        for (name, value) in members {
            feed_member(hasher, name, value);
        }
    } else {
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|a, b| members[*a].0.cmp(&members[*b].0));
        for at in order {
            feed_member(hasher, &members[at].0, members[at].1);
        }
    }
}

fn feed_member(hasher: &mut blake3::Hasher, name: &str, value: &RawValue) {
    if name == "cache_control" {
        return;
    }
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'{' | b'[') => {
            let compact = compact(text, name == "content");
            feed(hasher, name, &compact);
        }
        _ => feed(hasher, name, text.as_bytes()),
    }
}

fn feed(hasher: &mut blake3::Hasher, name: &str, value: &[u8]) {
    // Lengths first, so that no two different lists of members feed the same bytes.
    hasher.update(&(name.len() as u64).to_le_bytes());
    hasher.update(name.as_bytes());
    hasher.update(&(value.len() as u64).to_le_bytes());
    hasher.update(value);
}

/// Takes white space out; an array of blocks becomes the list of their digests, so that markers
/// and the order of members do not count there either.
fn compact(text: &str, of_blocks: bool) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if of_blocks && let Ok(parts) = serde_json::from_str::<Vec<crate::blocks::RawObject<'_>>>(text)
    {
        let mut out = Vec::with_capacity(parts.len() * 16);
        for part in &parts {
            out.extend_from_slice(&of_members(&part.0).0.to_be_bytes());
        }
        return Cow::Owned(out);
    }
    without_space(bytes)
}

fn without_space(text: &[u8]) -> Cow<'_, [u8]> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at = string_end(text, at),
            b' ' | b'\n' | b'\r' | b'\t' => return Cow::Owned(squeeze(text, at)),
            _ => at += 1,
        }
    }
    Cow::Borrowed(text)
}

fn squeeze(text: &[u8], from: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..from]);
    let mut at = from;
    while at < text.len() {
        match text[at] {
            b'"' => {
                let end = string_end(text, at);
                out.extend_from_slice(&text[at..end]);
                at = end;
            }
            b' ' | b'\n' | b'\r' | b'\t' => at += 1,
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    out
}

/// The byte after the string that opens at `start`.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        if text[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::RawObject;

    fn digest(text: &str) -> Digest {
        of_members(&serde_json::from_str::<RawObject<'_>>(text).unwrap().0)
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
        let raw: &RawValue = serde_json::from_str(r#""hello""#).unwrap();
        assert_eq!(of_string(raw), digest(r#"{"type":"text","text":"hello"}"#));
    }

    #[test]
    fn a_digest_reads_back() {
        let digest = Digest::of(b"x");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse("x"), None);
    }
}
