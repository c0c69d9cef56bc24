//! Cost of a stream between the socket and the reader.

use divan::Bencher;
use divan::counter::BytesCount;
use dormouse_model::sse::SseDecoder;

fn main() {
    divan::main();
}

/// A stream of about four million bytes in deltas of the usual size.
fn stream() -> Vec<u8> {
    let delta = r#"event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few words of it"}}

"#;
    delta.repeat(4_000_000 / delta.len()).into_bytes()
}

/// Framing alone, in chunks of the size that sockets give.
#[divan::bench(args = [64, 1_400, 16_384])]
fn frame(bencher: Bencher<'_, '_>, size: usize) {
    let stream = stream();
    bencher
        .counter(BytesCount::of_slice(&stream))
        .bench_local(|| {
            let (mut decoder, mut events) = (SseDecoder::default(), Vec::new());
            let mut count = 0;
            for chunk in stream.chunks(size) {
                if decoder.feed(chunk, &mut events).is_err() {
                    break;
                }
                count += events.drain(..).count();
            }
            count
        });
}
