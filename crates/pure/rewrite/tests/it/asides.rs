//! Reads that the client does not have, put back for random conversations.

use crate::kit::{models, rules};
use bytes::Bytes;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::units::Millis;
use dormouse_recognise::Seen;
use dormouse_rewrite::{
    Body, Line, READ, Record, Round, Rounds, Surroundings, compose, continued, is_read, result,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A block of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece {
    Thinking,
    Text,
    /// The same words every time.
    Phrase,
    Own,
    Client,
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        2 => Just(Piece::Thinking),
        2 => Just(Piece::Text),
        1 => Just(Piece::Phrase),
        3 => Just(Piece::Own),
        1 => Just(Piece::Client),
    ]
}

/// Answers of the upstream in a whole conversation; each has something in it.
fn answers() -> impl Strategy<Value = Vec<Vec<Piece>>> {
    prop::collection::vec(prop::collection::vec(piece(), 1..5), 1..12)
}

fn block(piece: Piece, number: usize) -> Value {
    match piece {
        Piece::Thinking => {
            json!({"type": "thinking", "thinking": "", "signature": format!("s{number}")})
        }
        Piece::Text => json!({"type": "text", "text": format!("These are the words {number}.")}),
        Piece::Phrase => json!({"type": "text", "text": "Let me look."}),
        Piece::Own => {
            json!({"type": "tool_use", "id": format!("r{number}"), "name": READ, "input": {}})
        }
        Piece::Client => {
            json!({"type": "tool_use", "id": format!("c{number}"), "name": "Bash", "input": {}})
        }
    }
}

fn parsed(value: &Value) -> Block {
    Block::parse(&Bytes::from(value.to_string())).unwrap()
}

fn body(messages: &[Value]) -> Bytes {
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages,
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]});
    body.to_string().into()
}

fn composed(line: &Line, messages: &[Value]) -> Bytes {
    let (bytes, rules, models) = (body(messages), rules(), models());
    let around = Surroundings {
        rules: &rules,
        models: &models,
        folder: None,
        betas: &[],
        now: Millis(0),
        refused: false,
    };
    let (read, seen) = (Body::read(&bytes).unwrap(), Seen::read(&bytes).unwrap());
    compose(&read, &seen, line, &[], &around).body
}

/// Roles and blocks of a body in order, without markers.
fn flat(body: &[u8]) -> Vec<(String, String)> {
    let value: Value = serde_json::from_slice(body).unwrap();
    let mut flat = Vec::new();
    for message in value["messages"].as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            let role = message["role"].as_str().unwrap().to_owned();
            let bytes = parsed(block).bytes().to_vec();
            flat.push((role, String::from_utf8(bytes).unwrap()));
        }
    }
    flat
}

/// Calls have their results in the very next message, and roles alternate.
fn assert_acceptable(body: &[u8]) {
    let value: Value = serde_json::from_slice(body).unwrap();
    let messages = value["messages"].as_array().unwrap();
    let ids = |message: &Value, kind: &str, name: &str| -> Vec<String> {
        let blocks = message["content"].as_array().unwrap().iter();
        let ids = blocks.filter(|block| block["type"] == kind);
        let mut ids: Vec<String> = ids.map(|block| block[name].to_string()).collect();
        ids.sort_unstable();
        ids
    };
    for pair in messages.windows(2) {
        assert_ne!(pair[0]["role"], pair[1]["role"]);
        assert_eq!(
            ids(&pair[0], "tool_use", "id"),
            ids(&pair[1], "tool_result", "tool_use_id")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_upstream_finds_its_own_turns_again(answers in answers(), drops_thinking: bool) {
        let mut line = Line::default();
        line.apply(Record::Offered);
        let mut client = vec![json!({"role": "user", "content": [{"type": "text", "text": "Begin."}]})];
        let mut rounds = Rounds::default();
        let mut visible: Vec<Value> = Vec::new();
        let mut sent = composed(&line, &client);
        for (number, pieces) in answers.iter().enumerate() {
            let values: Vec<Value> = pieces
                .iter()
                .enumerate()
                .map(|(at, piece)| block(*piece, number * 10 + at))
                .collect();
            let blocks: Vec<Block> = values.iter().map(parsed).collect();
            let own = blocks.iter().filter(|block| is_read(block));
            let results: Vec<Block> = own
                .map(|call| result(&CallId::new(call.call().unwrap().as_str()), "read", false))
                .collect();
            let round = Rounds::round(&blocks);
            if round != Round::Over {
                rounds.take(&blocks, &results);
            }
            let shown = values.iter().zip(&blocks).filter(|(_, block)| !is_read(block));
            visible.extend(shown.map(|(value, _)| value.clone()));
            // The prompt that the upstream has in its cache.
            let mut known = flat(&sent);
            known.extend(blocks.iter().map(|block| {
                ("assistant".to_owned(), String::from_utf8_lossy(block.bytes()).into_owned())
            }));
            if round == Round::Again {
                sent = continued(&sent, &blocks, &results).unwrap();
                assert_acceptable(&sent);
                prop_assert_eq!(&flat(&sent)[..known.len()], &known[..]);
                continue;
            }
            // The client gets its one reply, and goes on.
            let seen = Seen::read(&body(&client)).unwrap();
            if let Some(aside) = std::mem::take(&mut rounds).aside(&seen) {
                let record = serde_json::to_string(&Record::Aside(Box::new(aside))).unwrap();
                line.apply(serde_json::from_str(&record).unwrap());
            }
            if drops_thinking {
                visible.retain(|block| block["type"] != "thinking");
            }
            let answer = std::mem::take(&mut visible);
            if answer.is_empty() {
                break;
            }
            let mut next: Vec<Value> = answer
                .iter()
                .filter(|block| block["type"] == "tool_use")
                .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}))
                .collect();
            if next.is_empty() {
                next.push(json!({"type": "text", "text": "Go on."}));
            }
            client.push(json!({"role": "assistant", "content": answer}));
            client.push(json!({"role": "user", "content": next}));
            sent = composed(&line, &client);
            assert_acceptable(&sent);
            if drops_thinking {
                known.retain(|(_, block)| !block.contains("\"thinking\""));
            }
            prop_assert_eq!(&flat(&sent)[..known.len()], &known[..]);
        }
    }
}

#[test]
fn a_reply_that_the_client_changed_is_sent_without_its_reads() {
    let mut line = Line::default();
    line.apply(Record::Offered);
    let begin = json!({"role": "user", "content": [{"type": "text", "text": "Begin."}]});
    let mut rounds = Rounds::default();
    let answer = [block(Piece::Text, 1), block(Piece::Own, 2)].map(|value| parsed(&value));
    rounds.take(&answer, &[result(&CallId::new("r2"), "read", false)]);
    let seen = Seen::read(&body(std::slice::from_ref(&begin))).unwrap();
    let aside = rounds.aside(&seen).unwrap();
    line.apply(Record::Aside(Box::new(aside)));
    let next = json!({"role": "user", "content": [{"type": "text", "text": "Go on."}]});
    let said = |words: &str| {
        let answer = json!({"role": "assistant", "content": [{"type": "text", "text": words}]});
        let sent = composed(&line, &[begin.clone(), answer, next.clone()]);
        assert_acceptable(&sent);
        flat(&sent).len()
    };
    assert_eq!(said("These are the words 1."), 5);
    assert_eq!(said("Other words."), 3);
    // A tool's name in an old log is kept, too.
    let offered = serde_json::to_string(&Record::Offered).unwrap();
    assert_eq!(
        serde_json::from_str::<Record>(&offered).unwrap(),
        Record::Offered
    );
}
