//! Prompts from the standard input, one JSON object a line.

use dormouse_core::block::Block;
use serde::Deserialize;
use serde_json::Value;
use std::io::BufRead as _;
use tokio::sync::mpsc;

/// Lines that may wait; a program that sends more is slowed down by its pipe.
const WAITING: usize = 64;

/// A line, or the reason in words why it cannot be used.
pub(super) type Line = Result<Incoming, String>;

/// Something that a program sent.
#[derive(Debug)]
pub(super) enum Incoming {
    /// Words of the user.
    Prompt {
        content: Vec<Block>,
        /// The line as it came, to be repeated.
        frame: Value,
    },
    /// A request of the program that awaits an answer.
    Request { id: String, request: Value },
    /// The program's answer to a request of ours.
    Answer {
        id: String,
        answer: Result<Value, String>,
    },
    /// Nothing for this version.
    Nothing,
    /// No more lines come.
    End,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    request_id: String,
    #[serde(default)]
    request: Value,
    #[serde(default)]
    response: Value,
}

/// Lines of the standard input, read on a thread of their own.
pub(super) fn lines() -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::channel(WAITING);
    // Not joined: it may wait for input for ever, and ends with the program.
    std::thread::spawn(move || {
        for (at, line) in std::io::stdin().lock().lines().enumerate() {
            let read = match line {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => parse(&line).map_err(|why| format!("line {}: {why}", at + 1)),
                Err(error) => Err(format!("the standard input cannot be read: {error}")),
            };
            let failed = read.is_err();
            if sender.blocking_send(read).is_err() || failed {
                return;
            }
        }
    });
    lines
}

fn parse(line: &str) -> Line {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let frame: Frame = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    match frame.kind.as_str() {
        "user" => Ok(Incoming::Prompt {
            content: content(&frame.message["content"])?,
            frame: value,
        }),
        "control_request" => Ok(Incoming::Request {
            id: frame.request_id,
            request: frame.request,
        }),
        "control_response" => {
            let response = &frame.response;
            let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let answer = match response["subtype"].as_str() {
                Some("error") => Err(words(&response["error"])),
                _ => Ok(response["response"].clone()),
            };
            Ok(Incoming::Answer {
                id: words(&response["request_id"]),
                answer,
            })
        }
        _ => Ok(Incoming::Nothing),
    }
}

/// Content of a message: text, or blocks in the shape of the Messages API.
fn content(content: &Value) -> Result<Vec<Block>, String> {
    let blocks = match content {
        Value::String(text) => vec![Block::text(text)],
        Value::Array(blocks) => {
            let read: Result<Vec<Block>, _> = blocks.iter().map(Block::from_value).collect();
            read.map_err(|error| error.to_string())?
        }
        _ => return Err("the message has no content".to_owned()),
    };
    if blocks.is_empty() {
        return Err("the message is empty".to_owned());
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(line: &str) -> Vec<Block> {
        match parse(line) {
            Ok(Incoming::Prompt { content, .. }) => content,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn text_and_blocks_are_prompts_and_nonsense_is_named() {
        let text = prompt(r#"{"type":"user","message":{"role":"user","content":"hi"}}"#);
        let blocks =
            prompt(r#"{"type":"user","message":{"content":[{"type":"text","text":"hi"}]}}"#);
        assert_eq!(text, blocks);
        for wrong in [
            "no json",
            "[]",
            r#"{"type":"user"}"#,
            r#"{"type":"user","message":{"content":[]}}"#,
            r#"{"type":"user","message":{"content":["x"]}}"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let alive = parse(r#"{"type":"keep_alive"}"#);
        assert!(matches!(alive, Ok(Incoming::Nothing)));
    }
}
