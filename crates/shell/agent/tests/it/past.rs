//! The past of a session, read from the end of its log.

use crate::kit::Kit;
use dormouse_agent::protocol::{Event, Side, Told};
use dormouse_agent::{Figures, Past};
use dormouse_core::id::SessionId;
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Messages of the long session.
const MESSAGES: usize = 3_000;

/// A long session in the log, with a usage for each answer.
fn long_session(kit: &Kit) -> SessionId {
    let id = SessionId::new("0199a2b3-0000-7000-8000-000000003000");
    let mut parent = Value::Null;
    let mut lines = String::new();
    for nth in 0..MESSAGES {
        let asks = nth % 2 == 0;
        let role = if asks { "user" } else { "assistant" };
        let mut message = json!({ "role": role, "content": [{ "type": "text", "text": format!("part {nth} ").repeat(20) }] });
        if !asks {
            message["id"] = json!(format!("msg_{nth}"));
            message["model"] = json!(crate::kit::MODEL);
            message["usage"] = json!({ "input_tokens": 10, "output_tokens": 9 });
        }
        let line = json!({
            "type": role, "uuid": format!("00000000-0000-4000-8000-{nth:012}"), "parentUuid": parent,
            "sessionId": id, "timestamp": "2026-01-05T09:00:00.000Z", "message": message,
        });
        parent = line["uuid"].clone();
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    kit.put("old.jsonl", &lines);
    let host = kit.host();
    let log = host.session_log(&id).unwrap();
    host.convert(&kit.path("old.jsonl"), Some(&log)).unwrap();
    id
}

fn figures(events: &[Told]) -> Figures {
    let mut figures = Figures::default();
    for told in events {
        figures.take(&told.event);
    }
    figures
}

#[tokio::test]
async fn the_end_comes_first_and_each_addition_costs_its_own_bytes() {
    let answers = (0..20).map(|turn| Answer::text(&format!("Answer {turn}.")));
    let kit = Kit::new(answers.fold(Script::new(), Script::then));
    let id = long_session(&kit);
    let host = kit.host();
    let log = host.session_log(&id).unwrap();
    let length = || host.system().files.metadata(&log).unwrap().len;
    let (mut past, end) = Past::end_of(&host, &log).unwrap();
    let all = kit.rebuilt(&id);
    // The same events as from the beginning, from a prompt on, for a small part of the bytes.
    assert!(all.ends_with(&end), "{} of {}", end.len(), all.len());
    assert!(matches!(end[0].event, Event::Said { by: Side::User, .. }));
    assert!(end.len() >= 60 && !past.is_whole());
    assert!(
        past.bytes_read() * 5 < length(),
        "{} of {}",
        past.bytes_read(),
        length()
    );
    // Figures of the rest are those of the whole.
    let mut sum = figures(&end);
    sum.absorb(past.earlier(&host).unwrap());
    assert_eq!(sum.all(), figures(&all).all());
    // A session that another process writes is followed.
    let mut client = kit.open_again().await;
    assert_eq!(client.session(), id);
    let mut told = all.len();
    let mut follow = |turn: &str| {
        let (from, read) = (past.read_to(), past.bytes_read());
        let added = past.added(&host).unwrap();
        // The agent may write on behind the end of a turn.
        let now = kit.rebuilt(&id);
        assert!(now[told..].starts_with(&added), "{turn}");
        told += added.len();
        let (grown, cost) = (past.read_to() - from, past.bytes_read() - read);
        // A line that is not whole yet is looked at, and read later.
        let unfinished = length() - past.read_to();
        assert!(cost <= 2 * (grown + unfinished), "{cost} for {grown}");
    };
    for turn in 0..20 {
        client.turn(&format!("question {turn}")).await;
        follow(&format!("turn {turn}"));
    }
    client.quit().await;
    follow("the end");
    assert_eq!(told, kit.rebuilt(&id).len());
    assert!(past.bytes_read() < length(), "{}", past.bytes_read());
}
