//! A session of Dormouse's own, written the way the agent will write it, and the commands on it.

use crate::program::Machine;
use dormouse_context::boundary::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::ledger::{Ledger, MarkerTtls};
use dormouse_context::plan::{RequestInputs, SendVerdict, plan_request};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_context::target::Target;
use dormouse_context::window::{Relief, Thresholds};
use dormouse_core::block::Block;
use dormouse_core::id::{BlockKey, RecordId, Seq, SessionId};
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, ClearedBlock, Clearing, FORMAT, LineContext, Message, Record,
    SeqRange, SessionStart, Trigger, Ttl,
};
use dormouse_core::settings::WindowSettings;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_store::{Blobs as _, Draft, FileBlobs, LogWriter};
use dormouse_system::System;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A model of the built-in table, so that prices are known.
const MODEL: &str = "claude-sonnet-4-5";
/// Start of the session, in milliseconds: fixed, so that screens are the same in every run.
const START: i64 = 1_770_000_000_000;

/// Writes a session to disk and keeps the bytes of every request.
struct Writer {
    log: LogWriter,
    conversation: Conversation,
    ledger: Ledger,
    prefix: Arc<RenderedPrefix>,
    params: RawJson,
    now: i64,
    sent: Vec<Vec<u8>>,
}

impl Writer {
    fn new(path: &Path) -> Self {
        let system = System::real();
        let session = SessionId::from("0192-session");
        let context = LineContext {
            cwd: "/project".to_owned(),
            version: "test".to_owned(),
            git_branch: "main".to_owned(),
        };
        let tool = json!({ "name": "Read", "description": "reads a file", "input_schema": { "type": "object" } });
        let prefix = RenderedPrefix::new(
            vec![Part::tool(&tool).unwrap()],
            vec![Part::block(
                "system",
                &Block::text(&"Be careful. ".repeat(400)),
            )],
            vec![Part::block("AGENTS.md", &Block::text("Tests first."))],
        );
        let blobs = FileBlobs::new(Arc::clone(&system.files), &path.with_extension(""));
        for (_, bytes) in prefix.blobs() {
            blobs.put(bytes).unwrap();
        }
        let models = Arc::new(ModelTable::builtin().clone());
        let params = json!({ "model": MODEL, "max_tokens": 1_000, "stream": true });
        let mut writer = Self {
            log: LogWriter::open(&system, path, context, session).unwrap(),
            conversation: Conversation::new(Target::new(&models, MODEL)),
            ledger: Ledger::default(),
            prefix: Arc::new(prefix),
            params: RawJson::from_value(&params).unwrap(),
            now: START,
            sent: Vec::new(),
        };
        writer.write(Body::Session(Box::new(SessionStart {
            format: FORMAT,
            project: "/project".to_owned(),
            lineage: None,
        })));
        writer.write(Body::Prefix(writer.prefix.to_record()));
        writer
    }

    fn next_seq(&self) -> Seq {
        self.log.head().map_or(Seq::new(1), |head| head.seq.next())
    }

    fn next_id(&self) -> RecordId {
        RecordId::new(format!("0192-{:04}", self.next_seq().get()))
    }

    fn write(&mut self, body: Body) -> Record {
        self.now += 1_000;
        let draft = Draft::new(self.next_id(), Millis(self.now), body);
        let expected = self.log.head().map(|head| head.id.clone());
        let record = self.log.append(expected.as_ref(), draft).unwrap();
        self.conversation.apply(&record);
        record
    }

    fn user(&mut self, text: &str) -> Record {
        self.write(Body::Message(Message::user(vec![Block::text(text)])))
    }

    fn request(&mut self) {
        let plan = plan_request(&RequestInputs {
            conversation: &self.conversation,
            ledger: &self.ledger,
            prefix: &self.prefix,
            params: &self.params,
            thresholds: &Thresholds::new(
                Tokens(200_000),
                Tokens(64_000),
                &WindowSettings::default(),
            ),
            relief: Relief::Available,
            ttls: MarkerTtls {
                prefix: Ttl::OneHour,
                messages: Ttl::FiveMinutes,
            },
            now: Millis(self.now),
            cached: dormouse_context::plan::CachedPart::Whole,
            ending: dormouse_context::plan::Ending::User,
            distil: &[],
        });
        assert_eq!(plan.verdict, SendVerdict::Send);
        self.sent.push(plan.body());
        if let Some(repair) = plan.repairs.clone() {
            self.write(Body::Message(repair));
        }
        self.write(plan.record());
        let markers = plan.markers.clone();
        self.ledger
            .sent(plan.into_shape(), markers, Millis(self.now));
    }

    fn answer(&mut self, id: &str, prompt: u64, blocks: Vec<Block>) {
        let mut message = Message::assistant(id.into(), MODEL, blocks);
        message.usage = Some(TokenUsage {
            cache_read: Tokens(prompt - 100),
            input: Tokens(100),
            output: Tokens(50),
            ..TokenUsage::default()
        });
        self.write(Body::Message(message));
    }

    /// A round of one tool call.
    fn round(&mut self, number: u64, result: &str) -> Record {
        self.request();
        let id = format!("toolu_{number}");
        let call =
            json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": "/a" } });
        let call = Block::from_value(&call).unwrap();
        self.answer(&format!("msg_{number}"), 5_000 + number * 1_000, vec![call]);
        let result = Block::tool_result(&id.as_str().into(), result, false);
        self.write(Body::Message(Message::user(vec![result])))
    }
}

/// A session with two rounds, a clearing, a compaction and one more question.
fn session(machine: &Machine) -> (PathBuf, Writer) {
    let path = machine.home().join("logs/0192-session.jsonl");
    let mut writer = Writer::new(&path);
    writer.user("What is in /a?");
    let first = writer.round(1, &"old line\n".repeat(500));
    writer.round(2, "new line");
    writer.request();
    writer.answer("msg_3", 9_000, vec![Block::text("It holds a line.")]);
    writer.write(Body::Cleared(Clearing {
        blocks: vec![ClearedBlock {
            key: BlockKey::new(first.seq, 0),
            block: Block::tool_result(&"toolu_1".into(), "[cleared]", false),
        }],
        reason: "idle for 70 minutes".to_owned(),
        freed: Tokens(1_100),
        ..Clearing::default()
    }));
    writer.user("And in /b?");
    writer.request();
    writer.answer("msg_4", 8_000, vec![Block::text("Nothing.")]);
    let summary = vec![Block::text("The user asked about /a and /b.")];
    let manifest = writer.conversation.compacted(&Compaction {
        seq: writer.next_seq(),
        id: writer.next_id(),
        summary: &summary,
        restored: &[],
        spliced: &[],
        keep: &[SeqRange {
            first: writer.next_seq(),
            last: writer.next_seq(),
        }],
        place: SummaryPlace::Front,
    });
    writer.write(Body::Boundary(Box::new(Boundary {
        trigger: Trigger::Auto,
        kind: BoundaryKind::Full,
        pre_tokens: Some(Tokens(8_050)),
        post_tokens: Some(Tokens(4_000)),
        fixed_tokens: None,
        summary_tokens: None,
        summary,
        restored: Vec::new(),
        text: Vec::new(),
        spliced: Vec::new(),
        previous: None,
        manifest: Some(manifest),
        preserved: None,
    })));
    writer.user("Thanks. And /c?");
    writer.request();
    (path, writer)
}

#[test]
fn every_request_is_rebuilt_byte_for_byte() {
    let machine = Machine::new(&[]);
    let (path, writer) = session(&machine);
    assert_eq!(writer.sent.len(), 5);
    for (number, sent) in writer.sent.iter().enumerate() {
        let command = format!("view {} --request {} --raw", path.display(), number + 1);
        let output = machine.command(&command).output().unwrap();
        assert!(output.status.success());
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(sent)
        );
        let shown = machine.json(&format!(
            "view {} --request {} --json",
            path.display(),
            number + 1
        ));
        assert_eq!(shown["rebuilt"], true, "request {}", number + 1);
    }
    let missing = machine.run(&format!("view {} --request 6", path.display()));
    assert_eq!(missing.code, 2);
    assert!(
        missing.stderr.contains("requests count from 1 to 5"),
        "{}",
        missing.stderr
    );
}

#[test]
fn the_view_says_why_each_rewrite_happened() {
    let machine = Machine::new(&[]);
    let (path, _) = session(&machine);
    let cleared = machine.stdout(&format!("view {} --request 4", path.display()));
    assert!(cleared.contains("[cleared]"), "{cleared}");
    assert!(
        cleared.contains("↳ cleared: 1 results, 1100 tokens freed, idle for 70 minutes"),
        "{cleared}"
    );
    let now = machine.stdout(&format!("view {}", path.display()));
    assert_eq!(
        now,
        "\
2 segments · 8,031 tokens of 200,000 · for claude-sonnet-4-5

#  ROLE  TOKENS  WHAT
0  user       8  The user asked about /a and /b.
    ↳ compacted automatically by a summary, 8,050 to 4,000 tokens
1             4  Thanks. And /c?

Rewrites
  0192-001  compacted automatically by a summary, 8,050 to 4,000 tokens
"
    );
}

#[test]
fn the_context_takes_the_prefix_from_the_log() {
    let machine = Machine::new(&[]);
    let (path, _) = session(&machine);
    let report = machine.json(&format!("context {} --json", path.display()));
    assert_eq!(report["prefix_inferred"], false);
    assert_eq!(
        report["basis"], "estimated",
        "a rewrite has happened since the last response"
    );
    let sum: u64 = report["categories"]
        .as_object()
        .unwrap()
        .values()
        .map(|v| v.as_u64().unwrap())
        .sum();
    assert_eq!(report["used_tokens"], sum);
    assert!(report["categories"]["tools"].as_u64().unwrap() > 0);
    assert!(report["categories"]["instructions"].as_u64().unwrap() > 0);
    assert_eq!(report["window"], 200_000);
    assert_eq!(report["effective_window"], 180_000);
    assert_eq!(report["autocompact_target"], 167_000);
    assert_eq!(report["blocking_limit"], 177_000);
}

#[test]
fn usage_and_sessions_count_each_response_once() {
    let machine = Machine::new(&[]);
    let (path, _) = session(&machine);
    let usage = machine.json(&format!("usage {} --json", path.display()));
    assert_eq!(usage["requests"], 4);
    assert_eq!(
        usage["cache_read_input_tokens"],
        6_000 + 7_000 + 9_000 + 8_000 - 400
    );
    let folder = path.parent().unwrap().display().to_string();
    assert_eq!(
        machine.json(&format!("usage {folder} --json"))["requests"],
        4
    );
    let sessions = machine.json(&format!("sessions {folder} --json"));
    let row = &sessions["sessions"][0];
    assert_eq!(row["title"], "What is in /a?");
    assert_eq!(row["compactions"][0]["pre_tokens"], 8_050);
    assert_eq!(row["messages"], 7);
}

#[test]
fn the_log_lists_and_filters_records() {
    let machine = Machine::new(&[]);
    let (path, _) = session(&machine);
    let all = machine.json(&format!("log {} --json", path.display()));
    assert_eq!(all["kinds"]["request"], 5);
    assert_eq!(all["issue_count"], 0);
    let boundary = machine.stdout(&format!("log {} --kind boundary", path.display()));
    assert!(
        boundary.contains("compacted automatically by a summary"),
        "{boundary}"
    );
    assert_eq!(boundary.lines().count(), 2);
    let none = machine.stdout(&format!("log {} --kind dream", path.display()));
    assert!(
        none.starts_with("No record of kind dream. There are: assistant"),
        "{none}"
    );
}

#[test]
fn what_is_exported_is_read_by_others_and_converted_back() {
    let machine = Machine::new(&[]);
    let (path, _) = session(&machine);
    let exported = machine.stdout(&format!("export {}", path.display()));
    assert!(!exported.contains("\"type\":\"dormouse\""));
    assert_eq!(
        exported
            .lines()
            .filter(|line| line.contains("compact_boundary"))
            .count(),
        1
    );
    machine.write("exported.jsonl", &exported);
    let file = machine.home().join("exported.jsonl");
    assert_eq!(
        machine.json(&format!("usage {} --json", file.display()))["requests"],
        4
    );
}

#[test]
fn a_session_is_replayed_against_the_simulator() {
    let machine = Machine::new(&[]);
    let (path, _) = session(&machine);
    let report = machine.json(&format!("replay {} --turns --json", path.display()));
    let replayed = &report["policies"][0];
    assert_eq!(replayed["name"], "recorded");
    assert_eq!(replayed["requests"], 4);
    assert_eq!(
        replayed["rejected"], 0,
        "the simulator accepts what was sent"
    );
    assert_eq!(replayed["turns"].as_array().map(Vec::len), Some(4));
    for field in [
        "cost_usd",
        "prompt_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "uncached_tokens",
        "hit_rate",
        "compactions",
        "peak_tokens",
        "engine_ms",
    ] {
        assert!(replayed[field].is_number(), "{field} of {replayed}");
    }
    assert_eq!(report["recorded"]["cache_read_tokens"], 29_600);
    let text = machine.stdout(&format!("replay {}", path.display()));
    assert!(
        text.contains("recorded") && text.contains("billed"),
        "{text}"
    );
}

#[test]
fn credentials_become_marks_in_an_export_and_nothing_else_changes() {
    let machine = Machine::new(&[]);
    let key = ["AKIA", "IOSFODNN7EXAMPLX"].concat();
    let line = |uuid: u64, text: &str| {
        let content = json!([{"type": "text", "text": text}]);
        let message = json!({"role": "user", "content": content});
        json!({"type": "user", "uuid": uuid.to_string(), "parentUuid": null, "message": message})
            .to_string()
    };
    let lines = [
        // A blank more than a program would write: the line must come out as it is.
        line(1, "Nothing secret here.").replacen(':', ": ", 1),
        line(2, &format!("The key is {key}, keep it.")),
    ];
    let log = format!("{}\n{}\n", lines[0], lines[1]);
    machine.write("log.jsonl", &log);
    let run = machine.run(&format!("export {}/log.jsonl", machine.home().display()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let exported: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(exported[0], lines[0]);
    assert_eq!(
        exported[1],
        lines[1].replace(&key, "[secret: aws-access-key-id]")
    );
    assert!(
        run.stderr.contains("1 credential is replaced by a mark"),
        "{}",
        run.stderr
    );
    assert_eq!(
        machine.read("log.jsonl"),
        log,
        "the session itself is not touched"
    );
}
