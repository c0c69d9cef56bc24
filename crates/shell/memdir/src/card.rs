//! What recall has to know of a memory without opening its file.
//!
//! # Model
//! A card lies in the index beside the words, as the payload of its document: first what tells
//! whether the file is still the same (its stamp and its path, in a fixed form that is compared
//! without being decoded), then the facts.
//!
//! # Not here
//! The words (`dormouse-recall`); whether a memory is shown (`dormouse_memory::surface`).

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::snapshot::StoredFile;
use dormouse_memory::surface;
use dormouse_memory::topic::{Kind, Topic, Triggers};
use dormouse_memory::trust::Trust;
use dormouse_system::Stamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Bytes of a stamp.
const STAMP: usize = 48;
/// Bytes before the path: the stamp and the path's length.
const HEAD: usize = STAMP + 4;

/// A memory, as recall knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// The file.
    pub path: SafePath,
    /// What is known of it.
    pub facts: Facts,
}

/// What is known of a memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Its name; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it says of itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// What the file says of its trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// When it changed last.
    pub modified: Millis,
    /// How long the file is.
    pub bytes: u64,
    /// When it applies.
    #[serde(skip_serializing_if = "Triggers::is_empty")]
    pub triggers: Triggers,
    /// The file that overtook it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The last day it holds, as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// When its claims were last checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Millis>,
    /// It explains how to use a tool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub manual: bool,
}

impl Card {
    /// The card of a file, and where the body of its text begins.
    pub(crate) fn read(path: SafePath, text: &str, file: &StoredFile) -> (Self, usize) {
        let topic = Topic::read(text);
        let body = topic.body;
        let entry = surface::Entry::read(path, text, file.modified, Date::MIN);
        let facts = Facts {
            name: topic.name,
            description: topic.description,
            kind: topic.kind,
            trust: topic.trust,
            modified: file.modified,
            bytes: u64::try_from(file.content.len()).unwrap_or(u64::MAX),
            triggers: topic.triggers,
            superseded_by: topic.superseded_by,
            valid_until: topic.valid_until,
            verified: topic.verified,
            manual: entry.manual,
        };
        let path = entry.path;
        (Self { path, facts }, body)
    }

    /// The memory as the plan of recall sees it.
    pub fn entry(&self, today: Date) -> surface::Entry {
        let facts = self.facts.clone();
        let topic = Topic {
            superseded_by: facts.superseded_by,
            valid_until: facts.valid_until,
            ..Topic::default()
        };
        surface::Entry {
            path: self.path.clone(),
            name: facts.name,
            description: facts.description,
            kind: facts.kind,
            trust: facts.trust,
            approved: false,
            modified: facts.modified,
            bytes: facts.bytes,
            over: topic.is_over(today),
            triggers: facts.triggers,
            manual: facts.manual,
        }
    }

    /// The payload of the file in the state of a stamp.
    pub(crate) fn encode(&self, stamp: Stamp) -> Vec<u8> {
        let path = self.path.as_str().as_bytes();
        let mut payload = Vec::with_capacity(HEAD + path.len() + 128);
        payload.extend_from_slice(&stamp_bytes(stamp));
        let length = u32::try_from(path.len()).unwrap_or(u32::MAX);
        payload.extend_from_slice(&length.to_le_bytes());
        payload.extend_from_slice(path);
        // Facts are numbers and text; they can always be written.
        payload.extend(serde_json::to_vec(&self.facts).unwrap_or_default());
        payload
    }

    /// Reads a payload.
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let path = path_in(payload)?;
        let facts = payload.get(HEAD + path.len()..)?;
        Some(Self {
            path: SafePath::parse(std::str::from_utf8(path).ok()?).ok()?,
            facts: serde_json::from_slice(facts).ok()?,
        })
    }
}

/// The path in a payload.
pub(crate) fn path_in(payload: &[u8]) -> Option<&[u8]> {
    let length = payload.get(STAMP..HEAD)?.try_into().ok()?;
    let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
    payload.get(HEAD..HEAD.checked_add(length)?)
}

/// Whether a payload is of the state of a stamp.
pub(crate) fn is_of(payload: &[u8], stamp: Stamp) -> bool {
    payload.get(..STAMP) == Some(&stamp_bytes(stamp)[..])
}

fn stamp_bytes(stamp: Stamp) -> [u8; STAMP] {
    let mut bytes = [0; STAMP];
    bytes[..8].copy_from_slice(&stamp.inode.to_le_bytes());
    bytes[8..16].copy_from_slice(&stamp.len.to_le_bytes());
    bytes[16..32].copy_from_slice(&stamp.modified_ns.to_le_bytes());
    bytes[32..].copy_from_slice(&stamp.changed_ns.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::path;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    const TEXT: &str = "---\nname: Tests\ndescription: how to test\ntype: feedback\ntrust: user\nvalid_until: 2026-01-31\ntriggers:\n  tools: [Bash]\n---\nNever mock the database.\n";

    fn card() -> Card {
        let file = StoredFile {
            content: TEXT.into(),
            modified: Millis(7),
        };
        Card::read(path("sub/a.md"), TEXT, &file).0
    }

    #[test]
    fn a_card_is_what_the_plan_would_read_from_the_file() {
        for today in ["2026-01-31", "2026-02-01"] {
            let today: Date = today.parse().unwrap();
            let read = surface::Entry::read(path("sub/a.md"), TEXT, Millis(7), today);
            assert_eq!(card().entry(today), read);
        }
    }

    #[test]
    fn a_card_survives_its_encoding() {
        let stamp = Stamp {
            inode: 1,
            len: 2,
            modified_ns: -3,
            changed_ns: 4,
        };
        let payload = card().encode(stamp);
        assert_eq!(Card::decode(&payload), Some(card()));
        assert_eq!(path_in(&payload), Some(&b"sub/a.md"[..]));
        assert!(is_of(&payload, stamp) && !is_of(&payload, Stamp::default()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_card_or_none(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            // Neither panics, and a card has a path.
            let card = Card::decode(&payload);
            prop_assert!(card.is_none() || path_in(&payload).is_some());
        }
    }
}
