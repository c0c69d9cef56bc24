//! Compactions in front of a client that re-sends everything.

use crate::kit::{Client, Gateway, blocks, markers, output, tokens};
use dormouse_core::units::Tokens;
use pretty_assertions::assert_eq;
use serde_json::Value;

const RULE: &str = "Never write to /srv/ledger-7731, and sign with QX-58213-LIMA.";

/// A long session of results that no other layer shortens.
fn long(gateway: &mut Gateway, client: &mut Client, rounds: usize) -> Vec<crate::kit::Passed> {
    let passed = (0..rounds).map(|_| {
        client.round("Read", &output(150, client.calls));
        gateway.pass(&client.body())
    });
    passed.collect()
}

#[test]
fn a_long_session_stays_short_and_keeps_the_users_words() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new(RULE));
    let passed = long(&mut gateway, &mut client, 120);
    assert!(
        gateway.line.boundaries() >= 3,
        "{}",
        gateway.line.boundaries()
    );
    assert!(tokens(&client.body()) > Tokens(250_000));
    for one in &passed {
        assert!(
            one.composed.estimate < Tokens(150_000),
            "{}",
            one.composed.estimate
        );
        assert!(markers(&one.json()) <= 4);
        let text = Value::from(one.messages()).to_string();
        assert!(text.contains("QX-58213-LIMA"));
        valid(&one.messages());
    }
    // Every text that went is in a file.
    let saved = gateway.saved.concat();
    for at in [3, 40, 80] {
        let line = output(150, at);
        let line = line.lines().nth(70).unwrap();
        let shown = passed.last().unwrap();
        assert!(saved.contains(line) || Value::from(shown.messages()).to_string().contains(line));
    }
}

/// Calls and results are paired, and the user begins.
fn valid(messages: &[Value]) {
    assert_eq!(messages[0]["role"], "user");
    let mut open: Vec<String> = Vec::new();
    for (role, block) in blocks(messages) {
        match block["type"].as_str().unwrap() {
            "tool_use" => open.push(block["id"].as_str().unwrap().to_owned()),
            "tool_result" => {
                let id = block["tool_use_id"].as_str().unwrap();
                assert_eq!(open.pop().as_deref(), Some(id));
                assert_eq!(role, "user");
            }
            _ => {}
        }
    }
    assert!(open.is_empty());
}

#[test]
fn the_question_rides_the_cache_and_has_room_for_its_answer() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new(RULE));
    let mut before: Option<Vec<Value>> = None;
    let mut asked = 0;
    for at in 0..100 {
        client.round("Read", &output(150, at));
        let passed = gateway.pass(&client.body());
        if let (Some((Some(question), _)), Some(before)) = (&passed.compacted, &before) {
            let question: Value = serde_json::from_slice(question).unwrap();
            let messages = question["messages"].as_array().unwrap();
            let (was, is) = (blocks(before), blocks(messages));
            assert_eq!(
                was[..],
                is[..is.len() - 1],
                "the same blocks and a directive"
            );
            assert_eq!(question["max_tokens"], 8_192);
            assert_eq!(question["unknown"].to_string(), "[1,2.5]");
            assert!(markers(&question) <= 4);
            asked += 1;
        }
        before = Some(passed.messages());
    }
    assert!(asked >= 2, "{asked}");
}

#[test]
fn a_boundary_survives_restarts_and_full_re_sends_in_the_same_bytes() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new(RULE));
    long(&mut gateway, &mut client, 60);
    assert!(gateway.line.boundaries() > 0);
    client.round("Read", "short");
    let (mut twin, body) = (gateway.restarted(), client.body());
    let (one, other) = (gateway.send(&body), twin.send(&body));
    assert!(one.composed.acts.has(dormouse_rewrite::Act::Compaction));
    assert_eq!(one.composed.body, other.composed.body);
}

#[test]
fn a_history_that_was_changed_before_the_boundary_loses_it() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new(RULE));
    long(&mut gateway, &mut client, 60);
    client.messages[0]["content"] = "Something else altogether.".into();
    client.round("Read", "short");
    let body = client.body();
    let passed = gateway.send(&body);
    let text = Value::from(passed.messages()).to_string();
    // Either everything is sent, or a new summary of what the client says now.
    assert!(!text.contains("QX-58213-LIMA"));
    assert!(text.contains("Something else altogether."));
}

#[test]
fn models_that_fail_are_done_without() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new(RULE));
    for _ in 0..3 {
        gateway.line.apply(dormouse_rewrite::Record::Failed);
    }
    let passed = long(&mut gateway, &mut client, 90);
    let compacted = passed.iter().filter_map(|one| one.compacted.as_ref());
    let first = compacted.into_iter().next().unwrap();
    assert!(first.0.is_none(), "no question");
    assert!(first.1.boundary.front[0].contains("conversation-summary"));
}

#[test]
fn thinking_that_is_bound_waits_for_the_end_of_a_turn() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new(RULE));
    client.model = "claude-opus-5-5";
    let mut compacted_inside = 0;
    for at in 0..60 {
        client.round("Read", &output(150, at));
        let answer = client.messages.len() - 2;
        let thinking = serde_json::json!({"type": "thinking", "thinking": "so", "signature": "s"});
        client.messages[answer]["content"]
            .as_array_mut()
            .unwrap()
            .insert(0, thinking);
        let passed = gateway.pass(&client.body());
        compacted_inside += usize::from(passed.compacted.is_some());
    }
    assert_eq!(compacted_inside, 0);
    client.say("Done with it.", "And now the second part.");
    let passed = gateway.pass(&client.body());
    assert!(passed.compacted.is_some(), "{:?}", passed.plan.reasons);
    let text = Value::from(passed.messages()).to_string();
    assert!(!text.contains("\"thinking\"") && text.contains("And now the second part."));
}
