//! Whatever comes in, something sensible goes out.

use crate::support::{World, assistant, block, body, marked, parse, tool, user, with};
use dormouse_sim::SimRequest;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A request with something of everything.
fn rich() -> Value {
    let call = json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "a"}});
    let result = json!({
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": "\u{e9}\n"}, {"type": "image", "source": {"type": "url", "url": "u"}}],
    });
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let request = body(json!([
        user("go"),
        assistant(json!([thinking, call])),
        {"role": "user", "content": [result, marked(block("b", 20), "5m")]},
    ]));
    let request = with(request, "tools", json!([marked(tool("read"), "1h")]));
    let request = with(request, "system", json!([block("s", 10)]));
    let request = with(request, "thinking", json!({"type": "adaptive"}));
    with(request, "cache_control", json!({"type": "ephemeral"}))
}

fn check(path: &str, bytes: Vec<u8>) {
    let response = World::new().send(&SimRequest::post(path, bytes));
    let answer = parse(&response);
    match response.status {
        200 => assert!(answer["usage"].is_object(), "{answer}"),
        400 | 404 => assert!(answer["error"]["message"].is_string(), "{answer}"),
        other => panic!("{other}: {answer}"),
    }
}

/// A value somewhere in the request is replaced by another.
fn replaced(value: &mut Value, way: &[prop::sample::Index], by: &Value) {
    let Some((first, rest)) = way.split_first() else {
        *value = by.clone();
        return;
    };
    match value {
        Value::Array(list) if !list.is_empty() => {
            let at = first.index(list.len());
            replaced(&mut list[at], rest, by);
        }
        Value::Object(members) if !members.is_empty() => {
            let at = first.index(members.len());
            let name = members.keys().nth(at).unwrap().clone();
            replaced(&mut members[&name], rest, by);
        }
        _ => *value = by.clone(),
    }
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!(u64::MAX)),
        Just(json!("")),
        Just(json!("text")),
        Just(json!([])),
        Just(json!([{}])),
        Just(json!({})),
        Just(json!({"type": "text"})),
        Just(json!({"type": "tool_result"})),
    ]
}

#[test]
fn the_request_itself_is_fine() {
    World::new().message(&rich());
}

proptest! {
    #[test]
    fn values_of_the_wrong_type_are_answered(
        way in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        by in odd_value(),
    ) {
        let mut request = rich();
        replaced(&mut request, &way, &by);
        check("/v1/messages", request.to_string().into_bytes());
        check("/v1/chat/completions", request.to_string().into_bytes());
    }

    #[test]
    fn broken_bytes_are_answered(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = rich().to_string().into_bytes();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        check("/v1/messages", bytes.clone());
        check("/v1/chat/completions", bytes);
    }
}

#[test]
fn moments_at_the_end_of_time_are_answered() {
    for now in [i64::MIN, -1, 0, i64::MAX] {
        let mut world = World::new();
        world.now = now;
        world.message(&rich());
        world.message(&rich());
    }
}
