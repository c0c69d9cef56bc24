//! An index read by parts gives the answers of the whole one, reads little of it, and notices damage.

use bytes::Bytes;
use dormouse_recall::{Document, Query, Ranked, Scratch, Searcher, Segment, Source};
use dormouse_text::words::Language;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Index in memory that counts the bytes and calls of its readers.
#[derive(Debug, Default)]
struct Counted {
    bytes: Bytes,
    read: AtomicUsize,
    calls: AtomicUsize,
}

impl Source for Counted {
    fn read(&self, at: u64, length: usize) -> Option<Bytes> {
        let at = usize::try_from(at).ok()?;
        self.calls.fetch_add(1, Ordering::Relaxed);
        let end = self.bytes.len().min(at + length);
        let bytes = (at <= end).then(|| self.bytes.slice(at..end))?;
        self.read.fetch_add(bytes.len(), Ordering::Relaxed);
        Some(bytes)
    }
}

/// Texts of a directory: each has a word of its own, some rare and some common ones.
fn texts(count: usize, seed: usize) -> Vec<(String, String, String)> {
    let text = |number: usize| {
        let mut body = String::new();
        for word in 0..60 + (number * seed) % 400 {
            let _ = write!(body, "w{:x} ", (number * 31 + word * (7 + seed)) % 1_999);
            if word % 40 == 39 {
                body.push('\n');
            }
        }
        body.push_str("\nAlways deploy the server from the north wing.\n");
        (
            format!("Gadget u{number:x}z"),
            format!("Place of u{number:x}z"),
            body,
        )
    };
    (0..count).map(text).collect()
}

fn bytes(texts: &[(String, String, String)]) -> Bytes {
    let payloads: Vec<String> = (0..texts.len())
        .map(|at| format!("p{:07}", at * 7_919 % texts.len()))
        .collect();
    let documents = texts
        .iter()
        .zip(&payloads)
        .map(|((name, description, body), payload)| Document {
            name,
            description,
            body,
            payload: payload.as_bytes(),
            ..Document::default()
        });
    Segment::build(Language::English, documents).unwrap().into()
}

fn parts(bytes: &Bytes) -> (Arc<Counted>, Segment) {
    let source = Arc::new(Counted {
        bytes: bytes.clone(),
        ..Counted::default()
    });
    let segment = Segment::open_parts(Arc::clone(&source) as _).unwrap();
    (source, segment)
}

fn search(searcher: &Searcher, text: &str) -> Vec<(Ranked, Vec<u8>)> {
    let query = Query {
        text,
        top: 20,
        now: 0,
    };
    let found = searcher.search(&query, &mut Scratch::default());
    let with_payload = |hit: Ranked| (hit, searcher.payload(hit.document).into_owned());
    found.into_iter().map(with_payload).collect()
}

#[test]
fn a_question_reads_a_small_share_and_no_byte_twice() {
    let whole = bytes(&texts(1_500, 3));
    let (source, segment) = parts(&whole);
    let searcher = Searcher::new(segment.clone());
    let found = search(&searcher, "Where is the gadget u1234z?");
    assert!(found[0].1.starts_with(b"p"));
    assert_eq!(
        found,
        search(
            &Searcher::new(Segment::open(whole.clone()).unwrap()),
            "Where is the gadget u1234z?"
        )
    );
    assert!(!segment.is_damaged());
    let (read, calls) = (
        source.read.load(Ordering::Relaxed),
        source.calls.load(Ordering::Relaxed),
    );
    // A fifth of a small index: the facts of all documents, the postings of a few words, and the
    // words of a hundred documents, which do not grow with it.
    assert!(read * 5 < whole.len(), "{read} of {} bytes", whole.len());
    assert!(calls < 500, "{calls} reads");
    // The same question again needs nothing more.
    search(&searcher, "Where is the gadget u1234z?");
    assert_eq!(source.read.load(Ordering::Relaxed), read);
}

#[test]
fn a_damaged_page_is_noticed_by_the_answer_that_needs_it() {
    let whole = bytes(&texts(500, 3));
    let (source, segment) = parts(&whole);
    let right = search(&Searcher::new(segment), "gadget u7bz north wing");
    let needed = source.read.load(Ordering::Relaxed);
    assert!(needed < whole.len());
    let mut noticed = 0;
    // Every third page, from behind the head on.
    for at in (8_192..whole.len()).step_by(3 * 4_096) {
        let mut broken = whole.to_vec();
        broken[at] ^= 0x10;
        assert!(Segment::open(Bytes::from(broken.clone())).is_err(), "{at}");
        let (_, segment) = parts(&Bytes::from(broken));
        let answer = search(&Searcher::new(segment.clone()), "gadget u7bz north wing");
        // An answer that does not need the page is right, and one that needs it is marked.
        assert!(segment.is_damaged() || answer == right, "{at}");
        noticed += usize::from(segment.is_damaged());
    }
    assert!(noticed > 0);
    for length in [0, 3, 71, 72, 100, 5_000] {
        let cut = Counted {
            bytes: whole.slice(..length),
            ..Counted::default()
        };
        let opened = Segment::open_parts(Arc::new(cut));
        let silent = opened.is_ok_and(|segment| {
            search(&Searcher::new(segment.clone()), "gadget");
            !segment.is_damaged()
        });
        assert!(!silent, "{length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn parts_answer_like_the_whole(
        count in 1_usize..150,
        seed in 1_usize..40,
        words in prop::collection::vec((0_usize..2_400, 0_u8..4), 1..9),
        removed in prop::collection::vec(0_usize..150, 0..5),
    ) {
        let whole = bytes(&texts(count, seed));
        let word = |(number, sort): &(usize, u8)| match sort {
            0 => format!("u{number:x}z"),
            1 => format!("w{number:x}"),
            2 => "deploying".to_owned(),
            _ => "gadgets".to_owned(),
        };
        let text: Vec<String> = words.iter().map(word).collect();
        let text = text.join(" ");
        let (_, segment) = parts(&whole);
        let added = || [Document { name: "gadget", body: "w1f new", payload: b"p0000003x", ..Document::default() }];
        let by_parts = Searcher::with_changes(segment.clone(), &removed, added()).unwrap();
        let at_once = Searcher::with_changes(Segment::open(whole).unwrap(), &removed, added()).unwrap();
        prop_assert_eq!(search(&by_parts, &text), search(&at_once, &text));
        for document in 0..=count {
            prop_assert_eq!(by_parts.payload(document), at_once.payload(document));
        }
        for (hit, _) in search(&at_once, &text).into_iter().take(2) {
            prop_assert_eq!(by_parts.grounds(&text, hit.document), at_once.grounds(&text, hit.document));
        }
        prop_assert!(!segment.is_damaged());
    }
}
