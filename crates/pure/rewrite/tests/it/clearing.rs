//! Old results that give way to their paths.

use crate::kit::{Client, FOLDER, Gateway, output};
use dormouse_rewrite::Act;
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Six minutes: longer than the provider keeps a prompt.
const LAPSED: i64 = 360_000;

/// A client that has read ten files of some length, each answered.
fn reader(gateway: &mut Gateway, model: &'static str) -> Client {
    let mut client = Client::new("look around");
    client.model = model;
    for at in 0..10 {
        client.round("Read", &output(40, at));
        let passed = gateway.pass(&client.body());
        assert!(!passed.composed.acts.has(Act::Clear), "the cache is warm");
    }
    client
}

/// Numbers of the files whose text is still in a prompt.
fn shown(messages: &[Value]) -> Vec<usize> {
    let text = Value::from(messages.to_vec()).to_string();
    let line = |at: &usize| output(40, *at).lines().nth(20).unwrap().to_owned();
    (0..11).filter(|at| text.contains(&line(at))).collect()
}

#[test]
fn a_lapsed_cache_lets_old_results_go_and_keeps_the_newest() {
    let mut gateway = Gateway::new();
    let mut client = reader(&mut gateway, "claude-sonnet-4-5");
    client.round("Read", &output(40, 10));
    gateway.silence = LAPSED;
    let passed = gateway.pass(&client.body());
    assert!(
        passed.composed.acts.has(Act::Clear),
        "{:?}",
        passed.plan.reasons
    );
    let kept = shown(&passed.messages());
    assert_eq!(kept, [6, 7, 8, 9, 10], "{:?}", passed.plan.reasons);
    // Their texts are on disk, under the paths that the prompt names.
    for at in 0..6 {
        assert!(gateway.saved.contains(&output(40, at)));
    }
    let text = Value::from(passed.messages()).to_string();
    assert_eq!(text.matches(&format!("full text: {FOLDER}/")).count(), 6);
    // The same bytes on, also after a restart, and nothing more goes while the cache is warm.
    gateway.silence = 0;
    let mut restarted = gateway.restarted();
    client.round("Read", &output(2, 11));
    let next = gateway.pass(&client.body()).messages();
    assert_eq!(restarted.pass(&client.body()).messages(), next);
    assert_eq!(shown(&next), kept);
}

#[test]
fn a_client_that_cannot_open_files_keeps_its_results() {
    let mut gateway = Gateway::new();
    gateway.local = false;
    let mut client = reader(&mut gateway, "claude-sonnet-4-5");
    client.round("Read", &output(40, 10));
    gateway.silence = LAPSED;
    let passed = gateway.pass(&client.body());
    assert_eq!(shown(&passed.messages()).len(), 11);
}
