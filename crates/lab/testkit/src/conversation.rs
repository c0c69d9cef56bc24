//! A long conversation for benchmarks and scale tests.

use crate::LogBuilder;
use crate::blocks::{call, result};
use dormouse_core::block::Block;
use serde_json::json;

/// The shape of a generated conversation.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Messages, user and assistant together.
    pub messages: usize,
    /// Characters of a tool result.
    pub result_chars: usize,
    /// Characters of a text.
    pub text_chars: usize,
}

impl Shape {
    /// About a million tokens, 5,000 messages and 7,500 blocks.
    pub const MILLION_TOKENS: Self = Self {
        messages: 5_000,
        result_chars: 1_150,
        text_chars: 240,
    };
}

/// Every thirtieth character or so needs an escape in JSON, as in real tool output.
const WORDS: [&str; 16] = [
    "the",
    "buffer",
    "returns",
    "when",
    "a",
    "request",
    "fails",
    "without",
    "\"config\"",
    "path",
    "and",
    "test",
    "line",
    "value",
    "of",
    "index",
];

/// Text of about `chars` characters, different for every `seed`, with line ends like code.
pub fn prose(seed: usize, chars: usize) -> String {
    let mut text = String::with_capacity(chars + 16);
    // A plain congruential generator: only sameness on every machine matters.
    let mut state = seed.wrapping_mul(0x9E37_79B9).wrapping_add(12_345);
    let mut column = 0;
    while text.len() < chars {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS[(state >> 33) % WORDS.len()];
        text.push_str(word);
        column += word.len() + 1;
        text.push(if column > 72 { '\n' } else { ' ' });
        if column > 72 {
            column = 0;
        }
    }
    text
}

/// A session of tool loops: each response says something and calls a tool, each user turn brings
/// the result. Assistant messages have two blocks, user messages one.
pub fn session(shape: Shape) -> LogBuilder {
    let mut log = LogBuilder::new();
    log.user(&prose(0, shape.text_chars));
    for turn in 1..=shape.messages / 2 {
        let id = format!("toolu_{turn:06}");
        log.assistant(
            &format!("msg_{turn:06}"),
            vec![
                Block::text(&prose(turn, shape.text_chars)),
                call(
                    &id,
                    "Read",
                    &json!({ "file_path": format!("/src/file_{}.rs", turn % 97) }),
                ),
            ],
        );
        if turn < shape.messages / 2 {
            log.user_blocks(vec![result(
                &id,
                &prose(turn + 1_000_000, shape.result_chars),
            )]);
        } else {
            log.user_blocks(vec![result(&id, "done")]);
        }
    }
    log
}
