//! JSON at the level of bytes, where serde would change them.
//!
//! Providers hash the prompt's bytes, so a value that came from outside is never parsed and
//! serialised again. This module removes white space, removes a member and joins raw members. It
//! does not validate: callers pass in text that serde has accepted.

use bytes::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

thread_local! {
    static SERIALISED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes of prompt content that this thread has serialised so far.
///
/// All code that turns values into prompt bytes goes through [`to_bytes`], so the difference
/// between two readings shows whether a turn serialised more than its new content. The
/// benchmarks of `context` print it.
pub fn serialised_bytes() -> u64 {
    SERIALISED.get()
}

/// Serialises a value, without white space, and counts the bytes.
///
/// # Errors
/// When the value cannot be serialised, for example a map with keys that are not text.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Bytes, serde_json::Error> {
    let bytes = serde_json::to_vec(value)?;
    SERIALISED.set(SERIALISED.get() + bytes.len() as u64);
    Ok(Bytes::from(bytes))
}

/// Index of the byte after the string that opens at `start` (`text[start] == b'"'`).
pub(crate) fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    // Only these two bytes matter: no byte of a multi-byte character equals either.
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        if text[at + found] == b'"' {
            return at + found + 1;
        }
        // Skips the escaped byte as well: after `\"` the string goes on.
        at += found + 2;
    }
    text.len()
}

/// Removes insignificant white space from JSON text; shares the input if there is none.
pub fn compact(raw: &Bytes) -> Bytes {
    match without_space(raw) {
        Cow::Borrowed(_) => raw.clone(),
        Cow::Owned(compact) => Bytes::from(compact),
    }
}

/// [`compact`] for borrowed text.
pub fn without_space(text: &[u8]) -> Cow<'_, [u8]> {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at = string_end(text, at),
            b' ' | b'\n' | b'\r' | b'\t' => return Cow::Owned(compact_from(text, at)),
            _ => at += 1,
        }
    }
    Cow::Borrowed(text)
}

fn compact_from(text: &[u8], first_space: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    out.extend_from_slice(&text[..first_space]);
    let mut at = first_space;
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

/// Members of a JSON object in their order, values as raw text.
#[derive(Debug)]
pub struct RawMembers<'a>(
    /// Name and raw value of each member.
    pub Vec<(Cow<'a, str>, &'a RawValue)>,
);

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
            type Value = RawMembers<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    members.push((key.unwrap_or_default(), map.next_value::<&'de RawValue>()?));
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

/// Writer of one JSON object from members that are serialised or raw.
#[derive(Debug)]
pub struct ObjectWriter {
    out: Vec<u8>,
}

impl ObjectWriter {
    /// Empty object with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.push(b'{');
        Self { out }
    }

    /// Appends a member and serialises its value.
    ///
    /// # Errors
    /// When the value cannot be serialised.
    pub fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.name(name);
        serde_json::to_writer(&mut self.out, value)
    }

    /// Appends a member if there is a value; an absent one leaves no trace in the object.
    ///
    /// # Errors
    /// When the value cannot be serialised.
    pub fn optional<T: Serialize>(
        &mut self,
        name: &str,
        value: Option<&T>,
    ) -> Result<(), serde_json::Error> {
        value.map_or(Ok(()), |value| self.field(name, value))
    }

    /// Begins a member; the caller appends the JSON of its value to the returned buffer.
    pub fn raw(&mut self, name: &str) -> &mut Vec<u8> {
        self.name(name);
        &mut self.out
    }

    /// Closes the object and returns its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    fn name(&mut self, name: &str) {
        // One byte is the opening brace: the first member has no comma.
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.out.push(b'"');
        // Written without escapes: names are literals, or escaped by the caller.
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

/// JSON text carried through unchanged, for example the parameters of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Serialises a value into JSON text.
    ///
    /// # Errors
    /// When the value cannot be serialised.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        to_bytes(value).map(Self)
    }

    pub(crate) fn of_canonical(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// JSON text without insignificant white space.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        let text = value.to_string();
        // Counted as in `to_bytes`, which this cannot use: a `Value` always serialises.
        SERIALISED.set(SERIALISED.get() + text.len() as u64);
        Self(Bytes::from(text))
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = String::from_utf8(self.0.to_vec()).map_err(ser::Error::custom)?;
        RawValue::from_string(text)
            .map_err(ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        // One form for equal values, so that hashes and comparisons of stored parameters are
        // stable.
        Ok(Self(compact(&Bytes::from(text.into_string()))))
    }
}

/// Text where a text is expected; none where another type is found.
///
/// Other tools change the types of their fields between versions, and one odd field must not make
/// the whole line unreadable.
#[derive(Debug, Default)]
pub struct Text<'a>(
    /// Text of the value, if it was a string.
    pub Option<Cow<'a, str>>,
);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Lenient::deserialize(deserializer).map(|value| match value {
            Lenient::Text(text) => Self(Some(text)),
            _ => Self(None),
        })
    }
}

/// Flag that a JSON `true`, or the same word as text, sets; any other value, and absence, is false.
#[derive(Debug, Default, Clone, Copy)]
pub struct Flag(
    /// True if the value was `true`.
    pub bool,
);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Lenient::deserialize(deserializer).map(|value| {
            let is_word = matches!(&value, Lenient::Text(text) if text == "true");
            Self(is_word || matches!(value, Lenient::Bool(true)))
        })
    }
}

/// Whole number where one is expected; none where anything else is found.
#[derive(Debug, Default, Clone, Copy)]
pub struct Number(
    /// Number, if it was whole and not negative.
    pub Option<u64>,
);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Lenient::deserialize(deserializer).map(|value| match value {
            Lenient::Number(number) => Self(Some(number)),
            _ => Self(None),
        })
    }
}

/// Object of type `T`, or a value of any other JSON type.
///
/// Deserialising in place avoids a second pass over text that may be megabytes long.
#[derive(Debug)]
pub enum OrElse<T> {
    /// Value that was an object.
    Object(T),
    /// Value of any other type, skipped.
    Other,
}

impl<T> OrElse<T> {
    /// Object, if the value was one.
    pub const fn object(&self) -> Option<&T> {
        match self {
            Self::Object(object) => Some(object),
            Self::Other => None,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrElse<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Any<T> {
            type Value = OrElse<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(OrElse::Object)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(OrElse::Other)
            }
            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(OrElse::Other)
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(OrElse::Other)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(OrElse::Other)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(OrElse::Other)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(OrElse::Other)
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(OrElse::Other)
            }
        }
        deserializer.deserialize_any(Any(std::marker::PhantomData))
    }
}

/// Value of any type, reduced to what the lenient readers accept.
enum Lenient<'a> {
    Text(Cow<'a, str>),
    Bool(bool),
    Number(u64),
    Other,
}

impl<'de: 'a, 'a> Deserialize<'de> for Lenient<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Any<'a> {
            type Value = Lenient<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }
            // Borrowed where the string has no escapes: scans read transcripts of many megabytes.
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Lenient::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Lenient::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Lenient::Bool(value))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Lenient::Number(value))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Lenient::Other)
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be a whole number that fits"
            )]
            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                // Some writers print counts as `12.0`. 9e15 is below 2^53, the last exact integer
                // of a double.
                let whole = value.fract() == 0.0 && (0.0..9e15).contains(&value);
                Ok(if whole {
                    Lenient::Number(value as u64)
                } else {
                    Lenient::Other
                })
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Lenient::Other)
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<Self::Value, A::Error> {
                // Consumed, because serde fails on elements that are left over.
                while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(Lenient::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map
                    .next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?
                    .is_some()
                {}
                Ok(Lenient::Other)
            }
        }
        deserializer.deserialize_any(Any(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_compact(input: &str, expected: &str) {
        let raw = Bytes::copy_from_slice(input.as_bytes());
        assert_eq!(compact(&raw), expected.as_bytes());
    }

    #[test]
    fn white_space_goes_and_strings_stay() {
        check_compact(r#"{"a":1}"#, r#"{"a":1}"#);
        check_compact("{ \"a b\" : [1, 2 ,\n3] }", r#"{"a b":[1,2,3]}"#);
        check_compact(r#"{"a":"x \" y \\" }"#, r#"{"a":"x \" y \\"}"#);
    }

    #[test]
    fn compact_shares_what_is_already_compact() {
        let raw = Bytes::from_static(br#"{"type":"text","text":"a b"}"#);
        assert_eq!(compact(&raw).as_ptr(), raw.as_ptr());
    }

    #[test]
    fn lenient_values_never_fail() {
        for input in [
            "1",
            "-1",
            "1.5",
            "\"x\"",
            "null",
            "true",
            "[1,{\"a\":2}]",
            "{\"a\":[]}",
        ] {
            assert!(serde_json::from_str::<Text<'_>>(input).is_ok(), "{input}");
            assert!(serde_json::from_str::<Flag>(input).is_ok(), "{input}");
            assert!(serde_json::from_str::<Number>(input).is_ok(), "{input}");
        }
    }
}
