//! Bytes that are not an index, or not any more.

use bytes::Bytes;
use dormouse_recall::{Document, OpenError, Query, Scratch, Searcher, Segment};
use dormouse_text::words::Language;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use twox_hash::XxHash3_128;

fn sample() -> Vec<u8> {
    let long = "a line of words that go on\n".repeat(60);
    let document = |body, payload, order| Document {
        name: "name",
        description: "what it says",
        body,
        payload,
        parent: Some("p"),
        order,
        ..Document::default()
    };
    let documents = [
        document("alpha beta gamma", b"1".as_slice(), 0),
        document(long.as_str(), b"2", 1),
        document("always use beta", b"3", 2),
    ];
    Segment::build(Language::English, documents).unwrap()
}

/// Makes the checksums those of the content, as far as the sizes in the header permit.
fn seal(bytes: &mut [u8]) {
    const HEADER: usize = 72;
    const PAGE: usize = 4096;
    let length = u32::from_le_bytes(bytes[68..72].try_into().unwrap()) as usize;
    let body = HEADER + 8 * length.div_ceil(PAGE);
    if body > bytes.len() {
        return;
    }
    let (head, pages) = bytes.split_at_mut(body);
    for (sum, page) in head[HEADER..].chunks_exact_mut(8).zip(pages.chunks(PAGE)) {
        sum.copy_from_slice(&XxHash3_128::oneshot(page).to_le_bytes()[..8]);
    }
    let checksum = XxHash3_128::oneshot(&head[24..]).to_le_bytes();
    head[8..24].copy_from_slice(&checksum);
}

#[test]
fn a_sealed_index_is_opened() {
    let mut bytes = sample();
    // The last byte is one of a payload.
    *bytes.last_mut().unwrap() ^= 1;
    assert!(Segment::open(Bytes::from(bytes.clone())).is_err());
    seal(&mut bytes);
    assert!(Segment::open(Bytes::from(bytes)).is_ok());
}

fn search_everything(bytes: Vec<u8>) {
    let Ok(segment) = Segment::open(Bytes::from(bytes)) else {
        return;
    };
    // A forged index of a billion documents would only prove that memory is finite.
    if segment.len() > 1_000 {
        return;
    }
    let searcher = Searcher::with_changes(segment, &[1], [Document::default()]).unwrap();
    for text in [
        "beta",
        "how do I use words lines gamma alphabet",
        "name what",
    ] {
        let query = Query {
            text,
            top: 5,
            ..Query::default()
        };
        searcher.search(&query, &mut Scratch::default());
    }
    assert!(searcher.payloads().count() <= 1_000);
}

#[test]
fn what_is_no_index_is_refused() {
    let open = |bytes: Vec<u8>| Segment::open(Bytes::from(bytes)).map(|segment| segment.len());
    assert_eq!(open(Vec::new()), Err(OpenError::NotAnIndex));
    assert_eq!(open(b"DMRI".to_vec()), Err(OpenError::NotAnIndex));
    assert_eq!(
        open(b"something else that is long enough".to_vec()),
        Err(OpenError::NotAnIndex)
    );
    let mut newer = sample();
    newer[4] = 9;
    assert_eq!(open(newer), Err(OpenError::OtherVersion { found: 9 }));
    assert_eq!(open(sample()), Ok(3));
}

#[test]
fn no_truncation_is_opened() {
    let whole = sample();
    for length in 0..whole.len() {
        let cut = Bytes::copy_from_slice(&whole[..length]);
        assert!(Segment::open(cut).is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn a_flipped_bit_is_noticed(place in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let mut bytes = sample();
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        prop_assert!(Segment::open(Bytes::from(bytes)).is_err());
    }

    /// Damage with a checksum to match does no harm either.
    #[test]
    fn a_forged_index_never_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = sample();
        for (place, value) in changes {
            let place = 24 + place.index(bytes.len() - 24);
            bytes[place] = value;
        }
        seal(&mut bytes);
        search_everything(bytes);
    }
}
