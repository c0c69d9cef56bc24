//! Session files in the four formats, written as their tools write them and read by the store.

use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::record::{Body, LineContext, Message, MessageOrigin, Record, encode};
use dormouse_store::LogFile;
use dormouse_system::MemoryFiles;
use dormouse_testkit::LogBuilder;
use serde_json::{Value, json};

/// Time of every record: the tests are not about time.
const AT: &str = "2026-03-02T12:00:00.000Z";

/// Tools whose sessions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Claude,
    Codex,
    Pi,
    Own,
}

impl Format {
    pub(super) const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Pi, Self::Own];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::Own => "own",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// A session in which the user's side says `text`.
pub(super) fn text_session(format: Format, text: &str) -> Vec<Record> {
    match format {
        Format::Own => own(|log| {
            log.user(text);
        }),
        _ => read(&session(format, user(format, text))),
    }
}

/// A session with a line as it stands in the template; of Dormouse's own, with a message whose
/// origin is named in the first line.
pub(super) fn record_session(format: Format, body: &str) -> Vec<Record> {
    if format == Format::Own {
        let (origin, text) = body.split_once('\n').unwrap();
        return own(|log| {
            let mut message = Message::user(vec![Block::text(text)]);
            message.origin = match origin {
                "meta" => MessageOrigin::Meta,
                "summary" => MessageOrigin::Summary,
                _ => MessageOrigin::Conversation,
            };
            log.push(Body::Message(message));
        })
        .into_iter()
        .map(|mut record| {
            let holds = record
                .body
                .blocks()
                .iter()
                .any(|block| block.readable_text().is_some_and(|found| found == text));
            record.side_chain |= origin == "side" && holds;
            record
        })
        .collect();
    }
    let line = serde_json::from_str(body).unwrap();
    read(&session(format, line))
}

/// Lines around one that is examined: a greeting, a call of a tool, and an answer behind it.
fn session(format: Format, examined: Value) -> Vec<Value> {
    let lines = match format {
        Format::Codex => vec![
            json!({"type": "session_meta", "payload": {"id": "s", "cwd": "/p"}}),
            user(format, "hello"),
            json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell",
                "call_id": "c1", "arguments": "{\"command\":\"cat notes.txt\"}"}}),
            examined,
            json!({"type": "response_item", "payload": {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "Done."}]}}),
        ],
        Format::Pi => vec![
            json!({"type": "session", "id": "s", "cwd": "/p"}),
            user(format, "hello"),
            json!({"type": "message", "message": {"role": "assistant", "content": [
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "cat notes.txt"}}]}}),
            examined,
            json!({"type": "message", "message": {"role": "assistant", "content": [
                {"type": "text", "text": "Done."}]}}),
        ],
        Format::Claude | Format::Own => vec![
            user(format, "hello"),
            json!({"type": "assistant", "message": {"role": "assistant", "id": "m1", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cat notes.txt"}}]}}),
            examined,
            json!({"type": "assistant", "message": {"role": "assistant", "id": "m2", "content": [
                {"type": "text", "text": "Done."}]}}),
        ],
    };
    let mut parent = Value::Null;
    let chained = lines.into_iter().enumerate().map(|(number, mut line)| {
        let object = line.as_object_mut().unwrap();
        object.insert("timestamp".into(), json!(AT));
        let id = json!(format!("l{number}"));
        let names = match format {
            Format::Codex => None,
            Format::Pi => Some(("id", "parentId")),
            Format::Claude | Format::Own => Some(("uuid", "parentUuid")),
        };
        if let Some((own, above)) = names.filter(|_| object["type"] != "session") {
            object.insert(own.into(), id.clone());
            object.insert(above.into(), std::mem::replace(&mut parent, id));
        }
        if format == Format::Claude {
            for (name, value) in [
                ("sessionId", json!("s")),
                ("version", json!("2.1.0")),
                ("userType", json!("external")),
                ("isSidechain", json!(false)),
            ] {
                object.entry(name).or_insert(value);
            }
        }
        line
    });
    chained.collect()
}

/// A line in which a person says something.
fn user(format: Format, text: &str) -> Value {
    match format {
        Format::Codex => json!({"type": "response_item", "payload": {"type": "message",
            "role": "user", "content": [{"type": "input_text", "text": text}]}}),
        Format::Pi => json!({"type": "message", "message": {"role": "user",
            "content": [{"type": "text", "text": text}]}}),
        Format::Claude | Format::Own => {
            json!({"type": "user", "message": {"role": "user", "content": text}})
        }
    }
}

fn read(lines: &[Value]) -> Vec<Record> {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    read_text(&(lines.join("\n") + "\n"))
}

fn read_text(text: &str) -> Vec<Record> {
    let files = MemoryFiles::default();
    files.put("/session.jsonl", text);
    let log = LogFile::open(&files, "/session.jsonl".as_ref()).unwrap();
    log.read_any().unwrap().records
}

/// A log of Dormouse's own, written by its encoder.
fn own(say: impl FnOnce(&mut LogBuilder)) -> Vec<Record> {
    let mut log = LogBuilder::new();
    log.user("hello");
    log.assistant("m1", vec![Block::text("Hi.")]);
    say(&mut log);
    log.assistant("m2", vec![Block::text("Done.")]);
    let context = LineContext {
        cwd: "/p".into(),
        version: "0.1.0".into(),
        git_branch: String::new(),
    };
    let lines = log.records().iter().map(|record| {
        let mut record = record.clone();
        record.session = Some(SessionId::from("s"));
        encode(&record, &context).unwrap()
    });
    read_text(&String::from_utf8(lines.flatten().collect()).unwrap())
}
