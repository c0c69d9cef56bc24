//! The decoder against a reference that sees the whole input at once.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

/// The standard, written down without thought for chunks.
fn reference(input: &[u8]) -> Vec<SseEvent> {
    let input = input.strip_prefix(BOM).unwrap_or(input);
    let text = String::from_utf8_lossy(input)
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    // Text behind the last line end is a line only when its own end comes.
    lines.pop();
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), Vec::new());
    for line in lines {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut name), std::mem::take(&mut data));
            if !data.is_empty() {
                events.push(SseEvent {
                    name,
                    data: data.join("\n"),
                });
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "data" => data.push(value.to_owned()),
            _ => {}
        }
    }
    events
}

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<SseEvent> {
    let (mut decoder, mut events) = (SseDecoder::default(), Vec::new());
    for chunk in chunks {
        decoder.feed(chunk, &mut events).unwrap();
    }
    events
}

fn event(name: &str, data: &str) -> SseEvent {
    SseEvent {
        name: name.to_owned(),
        data: data.to_owned(),
    }
}

#[test]
fn the_forms_of_the_standard() {
    let cases: [(&[u8], Vec<SseEvent>); 12] = [
        (b"event: a\ndata: 1\n\n", vec![event("a", "1")]),
        (b"event: a\r\ndata: 1\r\n\r\n", vec![event("a", "1")]),
        (b"event: a\rdata: 1\r\r", vec![event("a", "1")]),
        (b"\xEF\xBB\xBFdata: 1\n\n", vec![event("", "1")]),
        (b"data: 1\ndata: 2\n\n", vec![event("", "1\n2")]),
        (b"data:1\ndata:  2\n\n", vec![event("", "1\n 2")]),
        (b": comment\n\ndata: 1\n\n", vec![event("", "1")]),
        (b"data\n\n", vec![event("", "")]),
        (b"event: lost\n\ndata: 1\n\n", vec![event("", "1")]),
        (b"id: 7\nretry: 9\nodd\ndata: 1\n\n", vec![event("", "1")]),
        (b"data: cut off\n", vec![]),
        (b"data: \xFF\n\n", vec![event("", "\u{FFFD}")]),
    ];
    for (input, expected) in cases {
        assert_eq!(decode([input]), expected, "{}", input.escape_ascii());
        assert_eq!(
            decode(input.chunks(1)),
            expected,
            "{}",
            input.escape_ascii()
        );
        assert_eq!(reference(input), expected, "{}", input.escape_ascii());
    }
}

#[test]
fn an_event_that_does_not_end_is_refused_for_good() {
    let (mut decoder, mut events) = (SseDecoder::new(100), Vec::new());
    decoder.feed(b"data: fine\n\ndata: ", &mut events).unwrap();
    let mut fed = 0;
    let error = loop {
        match decoder.feed(b"xxxxxxxxxx", &mut events) {
            Ok(()) => fed += 10,
            Err(error) => break error,
        }
        assert!(fed <= 100, "no bound");
    };
    assert_eq!(error, SseError::TooLong { limit: 100 });
    assert_eq!(decoder.buffered(), 0);
    assert_eq!(decoder.feed(b"\n\n", &mut events), Err(error));
    assert_eq!(events, [event("", "fine")]);
}

#[test]
fn many_short_lines_of_one_event_are_bounded_too() {
    let (mut decoder, mut events) = (SseDecoder::new(1_000), Vec::new());
    let refused = (0..1_000).any(|_| decoder.feed(b"data: x\n", &mut events).is_err());
    assert!(refused);
}

/// Pieces that matter to the format, and some that do not.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"event: ".to_vec()),
        Just(b":".to_vec()),
        Just("é€𝄞".as_bytes().to_vec()),
        Just(BOM.to_vec()),
        Just(b"\xE2\x82".to_vec()),
        Just(br#"{"type":"ping"}"#.to_vec()),
        any::<u8>().prop_map(|byte| vec![byte]),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Cuts the input at the given places, wrapped into its length.
fn cut<'a>(input: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|at| at % (input.len() + 1)).collect();
    places.extend([0, input.len()]);
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| &input[pair[0]..pair[1]])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn chunks_cannot_be_seen_in_the_events(
        input in stream(),
        places in proptest::collection::vec(any::<usize>(), 0..40),
    ) {
        let expected = reference(&input);
        prop_assert_eq!(decode([&input[..]]), expected.clone());
        prop_assert_eq!(decode(cut(&input, &places)), expected.clone());
        prop_assert_eq!(decode(input.chunks(1)), expected);
    }

    #[test]
    fn memory_stays_below_the_limit_whatever_comes(
        input in stream(),
        limit in 0_usize..200,
        places in proptest::collection::vec(any::<usize>(), 0..40),
    ) {
        let (mut decoder, mut events) = (SseDecoder::new(limit), Vec::new());
        for chunk in cut(&input, &places) {
            if decoder.feed(chunk, &mut events).is_err() {
                break;
            }
            prop_assert!(decoder.buffered() <= limit);
        }
        let whole = reference(&input);
        prop_assert_eq!(&events[..], &whole[..events.len()]);
    }
}
