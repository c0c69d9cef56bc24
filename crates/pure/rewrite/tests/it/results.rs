//! Results that become shorter, and stay what they became.

use crate::kit::{Client, Gateway, blocks, cached, markers, output};
use dormouse_rewrite::Act;
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Runs a client for some rounds of these lengths and returns the messages of each request.
fn run(gateway: &mut Gateway, client: &mut Client, lengths: &[usize]) -> Vec<Vec<Value>> {
    let mut sent = Vec::new();
    for (at, lines) in lengths.iter().enumerate() {
        client.round("Bash", &output(*lines, at));
        let passed = gateway.pass(&client.body());
        let json = passed.json();
        assert!(markers(&json) <= 4, "{json}");
        assert_eq!(json["unknown"].to_string(), "[1,2.5]");
        sent.push(passed.messages());
    }
    sent
}

/// Every request begins with what the one before had up to its last marker.
fn assert_cached(sent: &[Vec<Value>]) {
    for pair in sent.windows(2) {
        let kept = cached(&pair[0]);
        assert!(kept > 0);
        let (before, after) = (blocks(&pair[0]), blocks(&pair[1]));
        assert_eq!(before[..kept], after[..kept]);
    }
}

#[test]
fn a_result_that_is_too_long_is_never_sent_and_stays_its_preview() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new("look around"));
    let sent = run(&mut gateway, &mut client, &[10, 2_000, 10, 10]);
    let long = output(2_000, 1);
    assert!(gateway.saved.contains(&long));
    for messages in &sent[1..] {
        let text = Value::from(messages.clone()).to_string();
        assert!(text.contains("<persisted-output>"));
        assert!(!text.contains(long.lines().nth(1_500).unwrap()));
    }
    assert_cached(&sent);
}

#[test]
fn a_long_result_is_seen_once_behind_the_last_marker_and_then_distilled() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new("look around"));
    let sent = run(&mut gateway, &mut client, &[10, 10, 120, 120, 10, 10]);
    let line = output(120, 2).lines().nth(60).unwrap().to_owned();
    let has = |messages: &Vec<Value>| Value::from(messages.clone()).to_string().contains(&line);
    let seen: Vec<bool> = sent.iter().map(has).collect();
    assert_eq!(seen, [false, false, true, false, false, false]);
    // Unmarked while it is whole: the last marker stands in front of it.
    assert_eq!(cached(&sent[2]), blocks(&sent[2]).len() - 1);
    assert_cached(&sent);
    assert_eq!(gateway.line.replacements(), 2);
    assert!(gateway.saved.contains(&output(120, 2)));
}

#[test]
fn a_restart_at_any_request_gives_the_same_bytes() {
    let lengths = [10, 120, 2_000, 120, 10, 120, 60, 10];
    let (mut whole, mut client) = (Gateway::new(), Client::new("look around"));
    let unbroken = run(&mut whole, &mut client, &lengths);
    for at in 1..lengths.len() {
        let (mut gateway, mut client) = (Gateway::new(), Client::new("look around"));
        let mut sent = run(&mut gateway, &mut client, &lengths[..at]);
        let mut gateway = gateway.restarted();
        let rest = lengths[at..].iter().enumerate().map(|(next, lines)| {
            client.round("Bash", &output(*lines, at + next));
            gateway.pass(&client.body()).messages()
        });
        sent.extend(rest.collect::<Vec<_>>());
        assert_eq!(sent, unbroken, "restarted after {at}");
    }
}

#[test]
fn a_branch_and_an_edited_message_get_only_what_is_theirs() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new("look around"));
    run(&mut gateway, &mut client, &[10, 120, 10]);
    let stem = client.messages.len();
    run(&mut gateway, &mut client, &[2_000, 10]);
    // Back to the third round, and another result in place of the long one, at the same position.
    let mut branch = client.clone();
    branch.messages.truncate(stem);
    branch.calls = 3;
    branch.round("Bash", "nothing to see here");
    let text = String::from_utf8(gateway.pass(&branch.body()).composed.body.to_vec()).unwrap();
    assert!(text.contains("nothing to see here"));
    assert_eq!(
        text.matches("<persisted-output>").count(),
        1,
        "the distillate of the stem"
    );
    // The client rewrites the distilled result itself: that one is sent.
    let mut edited = client.clone();
    edited.messages[4]["content"][0]["content"] = "cut by the client".into();
    let text = String::from_utf8(gateway.pass(&edited.body()).composed.body.to_vec()).unwrap();
    assert!(text.contains("cut by the client"));
}

#[test]
fn a_retry_is_sent_in_the_same_bytes() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new("look around"));
    run(&mut gateway, &mut client, &[10, 10]);
    client.round("Bash", &output(120, 7));
    let first = gateway.send(&client.body());
    let again = gateway.send(&client.body());
    assert!(!first.plan.due.is_empty());
    assert_eq!(first.composed.body, again.composed.body);
}

#[test]
fn thinking_that_is_bound_keeps_the_results_before_it() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new("look around"));
    client.model = "claude-opus-5-5";
    for at in 0..4 {
        client.round("Bash", &output(120, at));
        let answer = client.messages.len() - 2;
        let thinking = serde_json::json!({"type": "thinking", "thinking": "so", "signature": "s"});
        let content = client.messages[answer]["content"].as_array_mut().unwrap();
        content.insert(0, thinking);
        let body = client.body();
        assert_eq!(gateway.pass(&body).composed.body, body);
    }
    // Before it is ever sent, a result can still become a file.
    client.round("Bash", &output(2_000, 9));
    let passed = gateway.pass(&client.body());
    assert!(passed.composed.acts.has(Act::Offload) && !passed.composed.acts.has(Act::Distil));
}

#[test]
fn a_client_without_markers_gets_some() {
    let (mut gateway, mut client) = (Gateway::new(), Client::new("look around"));
    let bare = |client: &Client| {
        let mut body: Value = serde_json::from_slice(&client.body()).unwrap();
        body["system"] = "Be brief. ".repeat(800).into();
        let last = body["messages"].as_array_mut().unwrap().last_mut().unwrap();
        let blocks = last["content"].as_array_mut().unwrap();
        blocks
            .last_mut()
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove("cache_control");
        bytes::Bytes::from(body.to_string())
    };
    let mut sent = Vec::new();
    for at in 0..5 {
        client.round("Bash", &output(10, at));
        let passed = gateway.pass(&bare(&client));
        assert!(passed.composed.acts.has(Act::Markers));
        assert_eq!(markers(&passed.json()), if at == 0 { 2 } else { 3 });
        // One stands behind system prompt and tools, for the client's next conversation.
        assert!(passed.json()["system"][0]["cache_control"].is_object());
        sent.push(passed.messages());
    }
    assert_cached(&sent);
}
