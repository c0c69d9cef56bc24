//! The disturbances that real clients make, one by one.

use crate::clients::{Client, caller};
use dormouse_recognise::{Caller, Recognised, Recogniser, Relation};
use pretty_assertions::assert_eq;
use serde_json::json;

fn recogniser() -> Recogniser {
    Recogniser::new(1_000)
}

fn send(recogniser: &mut Recogniser, caller: &Caller, client: &Client) -> Recognised {
    recogniser.take(caller, &client.seen())
}

#[test]
fn a_conversation_goes_on_and_its_retries_are_seen() {
    let (mut known, me) = (recogniser(), caller("key", None));
    let mut client = Client::new("fix the test");
    let first = send(&mut known, &me, &client);
    assert_eq!((first.relation, first.known), (Relation::New, 0));
    let again = send(&mut known, &me, &client);
    assert_eq!(
        (again.relation, again.conversation, again.known),
        (Relation::Retries, first.conversation, 1)
    );
    for turn in 0..5 {
        let before = client.seen().len();
        client.call(&format!("t{turn}"), "output");
        // Markers move with the end of the history.
        let mut marked = client.clone();
        marked.mark(client.messages.len() - 1);
        let next = send(&mut known, &me, &marked);
        assert_eq!(
            (next.relation, next.conversation, next.known),
            (Relation::Continues, first.conversation, before)
        );
    }
}

#[test]
fn a_rewind_is_a_branch_and_both_ends_go_on() {
    let (mut known, me) = (recogniser(), caller("key", Some("s")));
    let mut client = Client::new("fix the test");
    let first = send(&mut known, &me, &client);
    client.call("t1", "one");
    send(&mut known, &me, &client);
    let mut rewound = client.clone();
    client.words("done", "now the docs");
    send(&mut known, &me, &client);
    rewound.words("done", "now the changelog");
    let branch = send(&mut known, &me, &rewound);
    assert_eq!(
        (branch.relation, branch.conversation, branch.known),
        (Relation::Branches, first.conversation, 5)
    );
    // Both ends get the same reply.
    for end in [&mut client, &mut rewound] {
        end.words(
            "Done, with all that you have asked me for, and more.",
            "good",
        );
        let next = send(&mut known, &me, end);
        assert_eq!(
            (next.relation, next.conversation),
            (Relation::Continues, first.conversation)
        );
    }
}

#[test]
fn a_line_deleted_from_an_old_message_is_an_edit() {
    let (mut known, me) = (recogniser(), caller("key", None));
    let mut client = Client::new("unused");
    let dated = |prompt: &str| {
        json!({"role": "user", "content": [{"type": "text", "text": "Today is Tuesday."},
            {"type": "text", "text": prompt}]})
    };
    client.messages = vec![dated("fix the test")];
    let first = send(&mut known, &me, &client);
    for turn in 0..4 {
        // The client drops the date of the prompt before, then goes on.
        let last = client.messages.len() - 1;
        client.messages[last]["content"]
            .as_array_mut()
            .unwrap()
            .remove(0);
        let reply = format!("Reply {turn}, which is long enough to be no accident at all.");
        let reply = json!({"type": "text", "text": reply});
        known.replied(
            &me,
            &before(&client, last),
            [reply.to_string().as_bytes()].into_iter(),
        );
        client
            .messages
            .push(json!({"role": "assistant", "content": [reply]}));
        client.messages.push(dated(&format!("prompt {turn}")));
        let next = send(&mut known, &me, &client);
        assert_eq!(
            (next.relation, next.conversation),
            (Relation::Edits, first.conversation),
            "turn {turn}"
        );
    }
}

/// The request before, whose last message still had its date.
fn before(client: &Client, last: usize) -> dormouse_recognise::Seen {
    let mut before = client.clone();
    before.messages.truncate(last + 1);
    let content = before.messages[last]["content"].as_array_mut().unwrap();
    content.insert(0, json!({"type": "text", "text": "Today is Tuesday."}));
    before.seen()
}

#[test]
fn few_words_prove_nothing_without_a_session() {
    for (session, expected) in [(None, Relation::New), (Some("s"), Relation::Edits)] {
        let (mut known, me) = (recogniser(), caller("key", session));
        let client = Client::new("say OK");
        send(&mut known, &me, &client);
        let ok = br#"{"type":"text","text":"OK"}"#;
        known.replied(&me, &client.seen(), [&ok[..]].into_iter());
        let mut other = Client::new("do you agree?");
        other.words("OK", "fine");
        assert_eq!(
            send(&mut known, &me, &other).relation,
            expected,
            "{session:?}"
        );
    }
}

#[test]
fn side_calls_and_sub_agents_of_a_session_are_conversations_of_their_own() {
    let (mut known, me) = (recogniser(), caller("key", Some("s")));
    let mut main = Client::new("fix the test");
    let first = send(&mut known, &me, &main);
    // A title for the same first message, without tools and with other instructions.
    let mut title = Client::new("fix the test");
    title.tools.clear();
    title.system = json!("Write a title.");
    let aside = send(&mut known, &me, &title);
    assert_eq!(
        (aside.relation, aside.of),
        (Relation::Aside, Some(first.conversation))
    );
    assert_ne!(aside.conversation, first.conversation);
    // Two sub-agents at once under the same session, with the same prompt and tools.
    let mut workers = Vec::new();
    for agent in ["a1", "a2"] {
        let me = Caller {
            agent: Some(agent.to_owned()),
            ..me.clone()
        };
        let client = Client::new("look at the logs");
        let begun = send(&mut known, &me, &client);
        assert_eq!(begun.relation, Relation::New, "{agent}");
        workers.push((me, client, begun.conversation));
    }
    assert_ne!(workers[0].2, workers[1].2);
    main.call("t1", "out");
    assert_eq!(send(&mut known, &me, &main).relation, Relation::Continues);
    for (me, client, conversation) in &mut workers {
        client.call("t1", "out");
        let next = send(&mut known, me, client);
        assert_eq!(
            (next.relation, next.conversation),
            (Relation::Continues, *conversation)
        );
    }
}

#[test]
fn tools_that_change_for_one_request_do_not_lose_the_conversation() {
    let (mut known, me) = (recogniser(), caller("key", Some("s")));
    let mut client = Client::new("fix the test");
    let first = send(&mut known, &me, &client);
    client.call("t1", "out");
    client.tools.pop();
    assert_eq!(send(&mut known, &me, &client).relation, Relation::Aside);
    client.tools.push("Bash");
    client.call("t2", "out");
    let back = send(&mut known, &me, &client);
    assert_eq!(
        (back.relation, back.conversation, back.known),
        (Relation::Continues, first.conversation, 1)
    );
}

#[test]
fn a_compaction_of_the_client_restarts_its_session() {
    let (mut known, me) = (recogniser(), caller("key", Some("s")));
    let mut client = Client::new("fix the test");
    let first = send(&mut known, &me, &client);
    client.call("t1", "out");
    send(&mut known, &me, &client);
    client.words("Done.", "and the docs");
    send(&mut known, &me, &client);
    // Without the last reply, and with a line end behind the last prompt, as Claude Code does.
    let mut asked = client.clone();
    let last = asked.messages.len() - 1;
    asked.messages[last]["content"] = json!("and the docs\n");
    asked.user("Summarise the conversation so far.");
    assert_eq!(send(&mut known, &me, &asked).relation, Relation::Continues);
    let after = Client::new("This session continues an earlier one: …");
    let restarted = send(&mut known, &me, &after);
    assert_eq!(
        (restarted.relation, restarted.of),
        (Relation::Restarts, Some(first.conversation))
    );
    assert_ne!(restarted.conversation, first.conversation);
}

#[test]
fn keys_sessions_and_bodies_of_others_never_meet() {
    let mut known = recogniser();
    let mut client = Client::new("fix the test");
    client.call("t1", "out");
    let mine = send(&mut known, &caller("key", Some("s")), &client);
    // The same session id under another key is forged, and finds nothing.
    for other in [
        caller("other", Some("s")),
        caller("other", None),
        caller("key", Some("s2")),
    ] {
        let theirs = send(&mut known, &other, &client);
        assert_eq!(
            (theirs.relation, theirs.of),
            (Relation::New, None),
            "{other:?}"
        );
        assert_ne!(theirs.conversation, mine.conversation);
    }
}

#[test]
fn footprints_restore_what_was_known_and_the_oldest_are_forgotten() {
    let (mut known, me) = (recogniser(), caller("key", None));
    let mut client = Client::new("fix the test");
    let first = send(&mut known, &me, &client);
    let stored = serde_json::to_string(&first.footprint).unwrap();
    client.call("t1", "out");
    let mut restarted = Recogniser::new(2);
    restarted.restore(serde_json::from_str(&stored).unwrap());
    let next = send(&mut restarted, &me, &client);
    assert_eq!(
        (next.relation, next.conversation),
        (Relation::Continues, first.conversation)
    );
    // Two others push both out; the conversation is new again, under the id of its first request.
    for other in ["one", "two"] {
        send(&mut restarted, &me, &Client::new(other));
    }
    assert_eq!(restarted.len(), 2);
    assert_eq!(send(&mut restarted, &me, &client).relation, Relation::New);
}
