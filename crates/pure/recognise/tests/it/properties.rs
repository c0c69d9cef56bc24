//! Generated histories of several clients at once, against a plain model of who said what.

use crate::clients::{Client, caller};
use dormouse_recognise::{Caller, Chain, Recogniser, Relation};
use proptest::prelude::*;
use serde_json::json;

/// One step of one of the clients.
#[derive(Clone, Debug)]
enum Step {
    /// The client appends a turn and sends.
    Go,
    /// It sends the same again.
    Retry,
    /// It goes back by some turns, and appends another one.
    Rewind(usize),
    /// It changes one of its old messages, appends and sends.
    Edit(usize),
    /// It asks something beside, with other tools.
    Aside,
    /// It replaces its history by a summary.
    Compact,
    /// It sends the same history with markers and plain strings written otherwise.
    Rewrite,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Go),
        1 => Just(Step::Retry),
        1 => (1_usize..4).prop_map(Step::Rewind),
        1 => (0_usize..4).prop_map(Step::Edit),
        1 => Just(Step::Aside),
        1 => Just(Step::Compact),
        1 => Just(Step::Rewrite),
    ]
}

/// A client and the conversation that the model says it is in.
struct Actor {
    me: Caller,
    client: Client,
    conversation: Option<Chain>,
    /// Lengths of the histories that were sent, in messages; the last is the newest.
    sent: Vec<usize>,
}

/// Callers that share a key, a session, or neither; all begin with the same words.
fn actors() -> Vec<Actor> {
    let with = |key: &str, session: Option<&str>, agent: Option<&str>, first: &str| Actor {
        me: Caller {
            agent: agent.map(str::to_owned),
            ..caller(key, session)
        },
        client: Client::new(first),
        conversation: None,
        sent: Vec::new(),
    };
    vec![
        with("k1", Some("s1"), None, "begin"),
        with("k1", Some("s1"), Some("a1"), "begin"),
        with("k1", Some("s2"), None, "begin"),
        with("k2", Some("s1"), None, "begin"),
        // Two clients without ids under one key, told apart by their first words alone.
        with("k3", None, None, "begin one"),
        with("k3", None, None, "begin two"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_request_finds_its_conversation(
        steps in proptest::collection::vec((0_usize..6, step()), 1..60),
    ) {
        let mut known = Recogniser::new(100_000);
        let mut actors = actors();
        for (number, (who, step)) in steps.into_iter().enumerate() {
            let actor = &mut actors[who];
            let turn = format!("t{number}");
            let begun = actor.conversation.is_some();
            let client = &mut actor.client;
            let expected = match step {
                _ if !begun => Relation::New,
                Step::Go => {
                    client.call(&turn, &turn);
                    Relation::Continues
                }
                Step::Retry | Step::Rewrite => Relation::Retries,
                Step::Rewind(turns) if actor.sent.len() > turns => {
                    actor.sent.truncate(actor.sent.len() - turns);
                    client.messages.truncate(actor.sent[actor.sent.len() - 1]);
                    client.call(&turn, &turn);
                    Relation::Branches
                }
                Step::Edit(nth) if actor.sent.len() > 1 => {
                    // Any message of the client that lies before the last reply.
                    let old = nth % (actor.sent.len() - 1);
                    let at = actor.sent[old] - 1;
                    client.messages[at] = edited(&client.messages[at], &turn);
                    client.call(&turn, &turn);
                    Relation::Edits
                }
                Step::Aside => {
                    let mut beside = client.clone();
                    beside.tools = vec!["Write"];
                    beside.user(&turn);
                    let aside = known.take(&actor.me, &beside.seen());
                    prop_assert_eq!(aside.relation, Relation::Aside);
                    prop_assert_eq!(aside.of, actor.conversation);
                    continue;
                }
                Step::Compact if actor.me.session.is_some() => {
                    actor.client = Client::new(&format!("summary {turn}"));
                    Relation::Restarts
                }
                _ => continue,
            };
            let mut sent = actor.client.clone();
            if matches!(step, Step::Rewrite | Step::Go) {
                sent.mark(sent.messages.len() - 1);
            }
            let found = known.take(&actor.me, &sent.seen());
            prop_assert_eq!(found.relation, expected, "{:?}", step);
            match expected {
                Relation::New | Relation::Restarts => {
                    prop_assert!(Some(found.conversation) != actor.conversation);
                    actor.conversation = Some(found.conversation);
                    actor.sent.clear();
                }
                _ => prop_assert_eq!(Some(found.conversation), actor.conversation),
            }
            if expected == Relation::Edits {
                // Earlier requests are no longer prefixes of this history.
                actor.sent.clear();
            }
            if expected != Relation::Retries {
                actor.sent.push(actor.client.messages.len());
            }
        }
        // No two callers ever share a conversation.
        let mut all: Vec<Chain> = actors.iter().filter_map(|actor| actor.conversation).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all.len(), count);
    }
}

/// The message with other words, and the results of its calls kept.
fn edited(message: &serde_json::Value, mark: &str) -> serde_json::Value {
    let mut message = message.clone();
    match message["content"].as_array_mut() {
        Some(content) => content.push(json!({"type": "text", "text": mark})),
        None => message["content"] = json!(format!("edited {mark}")),
    }
    message
}
