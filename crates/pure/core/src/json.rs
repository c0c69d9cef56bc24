//! JSON at the level of bytes: what serde cannot do without changing them.
//!
//! The prompt's bytes are what providers hash, so a value that came from outside is never parsed
//! and printed again. This module only takes white space away, takes a member out, and puts raw
//! members together. It does not validate: callers hand in text that serde has accepted.

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

/// How many bytes of prompt content this thread has serialised so far.
///
/// Every path that turns values into prompt bytes goes through [`to_bytes`], so the difference
/// between two readings shows whether a turn serialised more than what was new.
pub fn serialised_bytes() -> u64 {
    SERIALISED.get()
}

/// Serialises a value once, without white space.
///
/// # Errors
/// When the value refuses to be serialised, for example a map with keys that are not text.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Bytes, serde_json::Error> {
    let bytes = serde_json::to_vec(value)?;
    SERIALISED.set(SERIALISED.get() + bytes.len() as u64);
    Ok(Bytes::from(bytes))
}

/// Finds the byte after the string that opens at `start` (`text[start] == b'"'`).
pub(crate) fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        if text[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

/// Takes insignificant white space out of JSON text; shares the input when there is none.
pub fn compact(raw: &Bytes) -> Bytes {
    match without_space(raw) {
        Cow::Borrowed(_) => raw.clone(),
        Cow::Owned(compact) => Bytes::from(compact),
    }
}

/// The same for borrowed text.
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

/// The members of a JSON object in their order, values untouched.
#[derive(Debug)]
pub struct RawMembers<'a>(
    /// Name and value of each.
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

/// Builds one JSON object from members whose values are serialised or raw.
#[derive(Debug)]
pub struct ObjectWriter {
    out: Vec<u8>,
}

impl ObjectWriter {
    /// An object with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut out = Vec::with_capacity(capacity);
        out.push(b'{');
        Self { out }
    }

    /// Adds a member and serialises its value.
    ///
    /// # Errors
    /// When the value refuses to be serialised.
    pub fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        value: &T,
    ) -> Result<(), serde_json::Error> {
        self.name(name);
        serde_json::to_writer(&mut self.out, value)
    }

    /// Adds a member if there is a value.
    ///
    /// # Errors
    /// When the value refuses to be serialised.
    pub fn optional<T: Serialize>(
        &mut self,
        name: &str,
        value: Option<&T>,
    ) -> Result<(), serde_json::Error> {
        value.map_or(Ok(()), |value| self.field(name, value))
    }

    /// Starts a member; the caller appends its value to the buffer returned.
    pub fn raw(&mut self, name: &str) -> &mut Vec<u8> {
        self.name(name);
        &mut self.out
    }

    /// The finished object.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }

    fn name(&mut self, name: &str) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }
}

/// JSON text carried through as it is, for example the parameters of a request.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Serialises a value.
    ///
    /// # Errors
    /// When the value refuses to be serialised.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        to_bytes(value).map(Self)
    }

    pub(crate) fn of_canonical(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The JSON text.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

impl From<&Value> for RawJson {
    fn from(value: &Value) -> Self {
        let text = value.to_string();
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
        Ok(Self(compact(&Bytes::from(text.into_string()))))
    }
}

/// A text value where one is expected, and nothing where something else stands.
///
/// Transcripts of other tools change their types between versions; one odd field must not cost
/// the line.
#[derive(Debug, Default)]
pub struct Text<'a>(
    /// The text, if it was one.
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

/// A flag that is set only by a JSON `true`.
#[derive(Debug, Default, Clone, Copy)]
pub struct Flag(
    /// Whether it was `true`.
    pub bool,
);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Lenient::deserialize(deserializer).map(|value| Self(matches!(value, Lenient::Bool(true))))
    }
}

/// A whole number where one is expected.
#[derive(Debug, Default, Clone, Copy)]
pub struct Number(
    /// The number, if it was a whole one that is not negative.
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

/// An object of a certain shape, or anything else.
///
/// Reading it in place spares a second pass over text that may be long.
#[derive(Debug)]
pub enum OrElse<T> {
    /// An object.
    Object(T),
    /// Something else, skipped.
    Other,
}

impl<T> OrElse<T> {
    /// The object, if it is one.
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
