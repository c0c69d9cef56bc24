//! Card in the form in which the index stores it.
//!
//! # Model
//! A card lies in the index beside the words, as the payload of its document: first the stamp and
//! the path in a fixed form, which a scan compares with the directory without decoding anything,
//! then the card as JSON.
//!
//! # Not here
//! The card itself (`dormouse_memory::card`); the words (`dormouse-recall`).

use dormouse_memory::card::Card;
use dormouse_system::Stamp;

/// Bytes of a stamp: inode and length (8 each), two times in nanoseconds (16 each).
const STAMP: usize = 48;
/// Bytes before the path: the stamp and the path's length.
const HEAD: usize = STAMP + 4;

/// Payload of a card whose file was in the state of a stamp.
pub(crate) fn encode(card: &Card, stamp: Stamp) -> Vec<u8> {
    let path = card.path.as_str().as_bytes();
    let mut payload = Vec::with_capacity(HEAD + path.len() + 128);
    payload.extend_from_slice(&stamp_bytes(stamp));
    let length = u32::try_from(path.len()).unwrap_or(u32::MAX);
    payload.extend_from_slice(&length.to_le_bytes());
    payload.extend_from_slice(path);
    // Numbers and text always serialise; an empty payload would only cost a read of the file.
    payload.extend(serde_json::to_vec(card).unwrap_or_default());
    payload
}

/// Card in a payload; `None` for a payload of another version.
pub(crate) fn decode(payload: &[u8]) -> Option<Card> {
    let path = path_in(payload)?;
    serde_json::from_slice(payload.get(HEAD + path.len()..)?).ok()
}

/// Path in a payload, without decoding the card.
pub(crate) fn path_in(payload: &[u8]) -> Option<&[u8]> {
    let length = payload.get(STAMP..HEAD)?.try_into().ok()?;
    let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
    payload.get(HEAD..HEAD.checked_add(length)?)
}

/// True if a payload is of the state of a stamp.
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
    use dormouse_core::units::Millis;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn a_card_survives_its_encoding() {
        let text =
            "---\nname: Tests\ntype: feedback\ntriggers:\n  tools: [Bash]\n---\nNever mock.\n";
        let card = Card::read(path("sub/a.md"), text, Millis(7));
        let stamp = Stamp {
            inode: 1,
            len: 2,
            modified_ns: -3,
            changed_ns: 4,
        };
        let payload = encode(&card, stamp);
        assert_eq!(decode(&payload), Some(card));
        assert_eq!(path_in(&payload), Some(&b"sub/a.md"[..]));
        assert!(is_of(&payload, stamp) && !is_of(&payload, Stamp::default()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_card_or_none(payload in proptest::collection::vec(any::<u8>(), 0..200)) {
            // Neither panics, and a card has a path.
            let card = decode(&payload);
            prop_assert!(card.is_none() || path_in(&payload).is_some());
        }
    }
}
