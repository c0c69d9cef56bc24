//! Streams with random damage: no panic, no hang, one typed outcome.

use crate::material::{ANSWER, BLOCKS, ask, bytes, chat, client};
use crate::server::{Reply, Server, Step};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone, Debug)]
enum Damage {
    Flip(usize, u8),
    Insert(usize, Vec<u8>),
    Remove(usize, usize),
    Repeat(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 1..8),
        Just(b"\n\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\"}".to_vec()),
        Just(b"data: {}\n\n".to_vec()),
        Just(b"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":4294967295}\n\n".to_vec()),
        Just(b"data: [DONE]\n\n".to_vec()),
    ];
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (any::<usize>(), piece).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        (any::<usize>(), 1_usize..200).prop_map(|(at, count)| Damage::Remove(at, count)),
        (any::<usize>(), 1_usize..400).prop_map(|(at, count)| Damage::Repeat(at, count)),
    ]
}

fn apply(mut stream: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let place = |at: &usize| at % stream.len().max(1);
        match damage {
            Damage::Flip(at, byte) => {
                let at = place(at);
                if let Some(found) = stream.get_mut(at) {
                    *found ^= byte;
                }
            }
            Damage::Insert(at, piece) => {
                let at = place(at).min(stream.len());
                stream.splice(at..at, piece.iter().copied());
            }
            Damage::Remove(at, count) => {
                let at = place(at).min(stream.len());
                let end = (at + count).min(stream.len());
                stream.drain(at..end);
            }
            Damage::Repeat(at, count) => {
                let at = place(at).min(stream.len());
                let end = (at + count).min(stream.len());
                let piece = stream[at..end].to_vec();
                stream.splice(end..end, piece);
            }
        }
    }
    stream
}

const CHAT: &str = r#"data: {"id":"c","model":"m","choices":[{"delta":{"role":"assistant","content":"Hello"}}]}

data: {"id":"c","choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"Read","arguments":""}}]}}]}

data: {"id":"c","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":1}"}}]}}]}

data: {"id":"c","choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}

data: [DONE]

"#;

/// Runs on the paused clock, so that a hang becomes a timeout at once.
fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let limit = Duration::from_hours(24);
        tokio::time::timeout(limit, future).await.expect("it hangs")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn of_the_messages_wire(
        damages in proptest::collection::vec(damage(), 0..5),
        size in 1_usize..500,
    ) {
        let stream = apply(ANSWER.as_bytes().to_vec(), &damages);
        let reply = stream.chunks(size).fold(Reply::stream(), Reply::chunk);
        let server = Server::new([reply.step(Step::Close)]);
        let result = run(ask(&client(&server)));
        if let (Ok(response), true) = (&result, damages.is_empty()) {
            prop_assert_eq!(bytes(response), BLOCKS);
        }
        prop_assert!(result.is_ok() || !damages.is_empty());
        prop_assert_eq!(server.requests().len(), 1);
    }

    #[test]
    fn of_chat_completions(
        damages in proptest::collection::vec(damage(), 0..5),
        size in 1_usize..500,
    ) {
        let stream = apply(CHAT.as_bytes().to_vec(), &damages);
        let reply = stream.chunks(size).fold(Reply::stream(), Reply::chunk);
        let server = Server::new([reply.step(Step::Close)]);
        let result = run(ask(&chat(&server)));
        prop_assert!(result.is_ok() || !damages.is_empty());
        prop_assert_eq!(server.requests().len(), 1);
    }
}
