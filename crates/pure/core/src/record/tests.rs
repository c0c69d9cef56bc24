use super::*;
use crate::hash::Hash;
use crate::id::{BlockKey, MessageId};
use crate::json::RawJson;
use crate::units::Tokens;
use crate::usage::TokenUsage;
use bytes::Bytes;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

fn parse(line: &str) -> ParsedLine {
    Record::parse(&Bytes::copy_from_slice(line.as_bytes()), 7).unwrap()
}

fn record(body: Body) -> Record {
    Record {
        seq: Seq::new(3),
        offset: 0,
        id: "r3".into(),
        parent: Some("r2".into()),
        session: Some("s1".into()),
        at: Some(Millis(1_770_905_516_103)),
        caused_by: Some("b1".into()),
        side_chain: false,
        agent: Some("a1".into()),
        own: true,
        body,
    }
}

fn manifest() -> Manifest {
    let run = LayoutRun {
        record: Seq::new(1),
        last_record: Some(Seq::new(2)),
        index: 0,
        count: 1,
        role: Some(Role::System),
        origin: Some(BlockKey::new(Seq::new(1), 2)),
        derived: Some(Derived::MissingResult),
    };
    Manifest {
        ranges: vec![KeptRange {
            session: Some("other".into()),
            first: Seq::new(1),
            last: Seq::new(2),
            offset: 10,
            last_offset: 20,
            first_id: "r1".into(),
        }],
        frozen: vec![run.clone()],
        response: vec![run.clone()],
        response_id: Some("m".into()),
        awaiting: true,
        incoming: vec![run],
        state: FoldedState::default(),
    }
}

/// Sample with one record of every kind; a new kind without a sample fails the round-trip test.
#[expect(clippy::too_many_lines, reason = "a list, not logic")]
fn every_body() -> Vec<Body> {
    let key = BlockKey::new(Seq::new(1), 0);
    let block = Block::text("x \"y\"\n日");
    let usage = TokenUsage {
        input: Tokens(1),
        cache_read: Tokens(2),
        cache_write_5m: Tokens(3),
        cache_write_1h: Tokens(4),
        output: Tokens(5),
    };
    let mut answer = Message::assistant(MessageId::from("msg"), "model", vec![block.clone()]);
    answer.usage = Some(usage);
    answer.stop_reason = Some("end_turn".into());
    let repair = Message {
        origin: MessageOrigin::Repair,
        ..Message::user(vec![block.clone()])
    };
    let lineage = Lineage {
        session: "parent".into(),
        record: "r".into(),
        seq: Seq::new(9),
        prefix: Some(Hash::of(b"p")),
        directive: "do".to_owned(),
        manifest: manifest(),
    };
    vec![
        Body::Session(Box::new(SessionStart {
            format: FORMAT,
            project: "/p".to_owned(),
            lineage: Some(lineage),
        })),
        Body::Message(Message::user(vec![block.clone(), Block::text("")])),
        Body::Message(answer),
        Body::Message(repair),
        Body::Prefix(Prefix {
            id: Hash::of(b"1"),
            system: vec![PrefixPart {
                name: "s".to_owned(),
                blob: Hash::of(b"2"),
                bytes: 3,
            }],
            ..Prefix::default()
        }),
        Body::Request(Box::new(Request {
            prefix: None,
            model: "m".to_owned(),
            segments: 4,
            chain: Hash::START,
            markers: vec![
                Marker {
                    place: MarkerPlace::Tool(1),
                    ttl: Ttl::OneHour,
                },
                Marker {
                    place: MarkerPlace::Segment(3),
                    ttl: Ttl::FiveMinutes,
                },
            ],
            params: RawJson::from_value(&json!({ "max_tokens": 10, "model": "m" })).unwrap(),
            decisions: vec!["because".to_owned()],
            distil: vec![BlockKey::new(Seq::new(3), 1)],
            marked: Some(Hash::of(b"marked")),
        })),
        Body::Usage(Box::new(UsageReport {
            message: Some("msg".into()),
            model: "m".to_owned(),
            usage,
            purpose: Purpose::Turn,
            cache: Some(CacheObservation {
                predicted: Tokens(9),
                broken: Some("system changed".to_owned()),
                expected: false,
            }),
        })),
        Body::Fragment(Fragment {
            kind: FragmentKind::Memory,
            block: block.clone(),
        }),
        Body::Replacement(Replacement {
            key,
            decision: ReplacementDecision::Replaced {
                preview: block.clone(),
                blob: Hash::of(b"b"),
                file: None,
            },
        }),
        Body::Replacement(Replacement {
            key,
            decision: ReplacementDecision::Left,
        }),
        Body::Distilled(Box::new(Distillation {
            blocks: vec![DistilledBlock {
                key: BlockKey::new(Seq::new(4), 0),
                block: Block::text("short"),
                blob: Hash::of(b"whole"),
                file: Some("a.txt".to_owned()),
            }],
            thinking: vec![BlockKey::new(Seq::new(5), 0)],
            reason: "it pays".to_owned(),
            freed: Tokens(900),
        })),
        Body::Cleared(Clearing {
            place: ClearingPlace::Server,
            blocks: vec![ClearedBlock {
                key,
                block: block.clone(),
            }],
            thinking: vec![key],
            reason: "idle".to_owned(),
            freed: Tokens(8),
            blob: Some(Hash::of(b"c")),
        }),
        Body::Notes(Notes {
            last_summarised: Seq::new(2),
            tokens: Tokens(3),
            blob: Hash::of(b"n"),
            conversation: Tokens(10_000),
            sent: Tokens(900),
            edits: Tokens(300),
        }),
        Body::Boundary(Box::new(Boundary {
            trigger: Trigger::Economic,
            kind: BoundaryKind::Partial,
            pre_tokens: Some(Tokens(10)),
            post_tokens: Some(Tokens(5)),
            fixed_tokens: Some(Tokens(7)),
            summary_tokens: Some(Tokens(8)),
            summary: vec![block.clone()],
            restored: vec![block.clone()],
            text: vec!["a line".to_owned()],
            spliced: vec![vec![LineRun(Seq::new(3), 0, 1), LineRun(Seq::new(1), 7, 2)]],
            previous: Some("b0".into()),
            manifest: Some(manifest()),
            preserved: None,
        })),
        Body::Snip(Snip {
            ranges: vec![SeqRange {
                first: Seq::new(1),
                last: Seq::new(2),
            }],
            thinking: vec![],
        }),
        Body::Fold(Folding {
            spans: vec![FoldSpan {
                range: SeqRange {
                    first: Seq::new(1),
                    last: Seq::new(2),
                },
                block,
            }],
            thinking: vec![],
        }),
        Body::Undo(Box::new(Undo {
            targets: vec!["b1".into()],
            thinking: vec![key],
            manifest: manifest(),
        })),
        Body::Checkpoint(Box::new(Checkpoint {
            manifest: manifest(),
        })),
        Body::State(StateChange::Surfaced {
            memories: vec![("a.md".to_owned(), 12)],
        }),
        Body::State(StateChange::ReadState {
            path: "/f".to_owned(),
            detail: json!({ "n": 1 }),
        }),
        Body::State(StateChange::MemorySaved {
            detail: json!({ "file": "x" }),
        }),
        Body::State(StateChange::Cursor {
            name: "notes".to_owned(),
            at: Seq::new(2),
        }),
        Body::State(StateChange::Dream { detail: json!({}) }),
        Body::State(StateChange::Fact {
            name: "title".to_owned(),
            value: json!("T"),
        }),
        Body::Agent(AgentEvent {
            agent: "a".into(),
            ended: true,
            detail: json!(null),
        }),
        Body::Mail(MailEvent {
            from: "a".into(),
            to: "b".into(),
            detail: json!({ "id": 1 }),
        }),
    ]
}

#[test]
fn every_kind_of_record_round_trips() {
    for body in every_body() {
        let written = record(body);
        let mut line = encode(&written, &LineContext::default()).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        assert!(!line.contains(&b'\n'), "one line: {}", written.body.kind());
        let read = Record::parse(&Bytes::from(line), 0).unwrap();
        assert!(read.issues.is_empty(), "{:?}", read.issues);
        assert_eq!(read.record, written);
    }
}

#[test]
fn a_message_of_claude_code_is_read() {
    let read = parse(
        r#"{"parentUuid":"p","isSidechain":true,"type":"assistant","uuid":"u","timestamp":"2026-02-12T14:11:56.103Z","sessionId":"s","message":{"model":"claude-x","id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}],"usage":{"input_tokens":3,"cache_creation_input_tokens":30,"cache_read_input_tokens":10,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":7}}}"#,
    );
    assert!(read.record.side_chain);
    assert_eq!(read.record.seq, Seq::from_offset(7));
    let Body::Message(message) = read.record.body else {
        panic!("not a message")
    };
    let usage = message.usage.unwrap();
    assert_eq!(usage.prompt(), Tokens(43));
    assert_eq!(
        (usage.cache_write_5m, usage.cache_write_1h),
        (Tokens(10), Tokens(20))
    );
}

#[test]
fn a_foreign_boundary_gives_its_figures() {
    let read = parse(
        r#"{"type":"system","subtype":"compact_boundary","uuid":"u","parentUuid":null,"compactMetadata":{"trigger":"auto","preTokens":167094,"preservedSegment":{"headUuid":"h","anchorUuid":"a","tailUuid":"t"}}}"#,
    );
    let Body::Boundary(boundary) = read.record.body else {
        panic!("not a boundary")
    };
    assert_eq!(boundary.trigger, Trigger::Auto);
    assert_eq!(boundary.pre_tokens, Some(Tokens(167_094)));
    assert_eq!(
        boundary.preserved,
        Some(Preserved {
            head: "h".into(),
            tail: "t".into()
        })
    );
}

#[test]
fn odd_lines_lose_only_what_is_odd() {
    let odd_types = parse(r#"{"type":"user","uuid":5,"timestamp":[],"message":{"content":"hi"}}"#);
    assert!(matches!(odd_types.record.body, Body::Message(_)));
    let odd_block = parse(
        r#"{"type":"user","message":{"role":"user","content":[1,{"type":"text","text":"x"}]}}"#,
    );
    assert_eq!(odd_block.issues.len(), 1);
    assert_eq!(odd_block.record.body.blocks().len(), 1);
    let no_content = parse(r#"{"type":"user","message":{"role":"user"}}"#);
    assert_eq!(no_content.issues.len(), 1);
    let newer = parse(r#"{"type":"dormouse","subtype":"hologram","dormouse":{}}"#);
    assert!(newer.issues.is_empty());
    assert_eq!(newer.record.body.kind(), "hologram");
    let damaged = parse(r#"{"type":"dormouse","subtype":"request","dormouse":{}}"#);
    assert!(matches!(damaged.issues[..], [LineIssue::Payload { .. }]));
}

#[test]
fn what_is_no_object_is_an_error_of_the_line() {
    let error =
        |line: &str| Record::parse(&Bytes::copy_from_slice(line.as_bytes()), 0).unwrap_err();
    assert!(matches!(error("garbage"), LineError::NotJson(_)));
    assert!(matches!(error("{\"type\":\"user\""), LineError::NotJson(_)));
    assert!(matches!(error("[1]"), LineError::NotAnObject));
    assert!(matches!(error("12"), LineError::NotAnObject));
}

#[test]
fn a_number_is_added_to_a_foreign_line_and_nothing_else_changes() {
    let line = br#"{"type":"user","message":{"content":"hi"},"odd":[1, 2] }"#;
    let numbered = with_seq(line, Seq::new(5)).unwrap();
    let text = String::from_utf8(numbered).unwrap();
    assert_eq!(
        text,
        "{\"type\":\"user\",\"message\":{\"content\":\"hi\"},\"odd\":[1, 2] ,\"seq\":5}\n"
    );
    assert_eq!(parse(text.trim()).record.seq, Seq::new(5));
    assert_eq!(with_seq(b"[]", Seq::new(1)), None);
    assert_eq!(with_seq(br#"{"seq":1}"#, Seq::new(2)), None);
    assert_eq!(with_seq(b"{}", Seq::new(2)).unwrap(), b"{\"seq\":2}\n");
}

proptest! {
    #[test]
    fn reading_anything_never_panics(line in "\\PC{0,120}") {
        let _parsed = Record::parse(&Bytes::from(line), 0);
    }

    #[test]
    fn reading_a_damaged_line_never_panics(
        which in 0_usize..25, cut in 0.0_f64..1.0, put in any::<u8>()
    ) {
        let bodies = every_body();
        let mut line = encode(&record(bodies[which % bodies.len()].clone()), &LineContext::default()).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a position in the line")]
        let at = (cut * line.len() as f64) as usize;
        line[at] = put;
        let _parsed = Record::parse(&Bytes::from(line.clone()), 0);
        line.truncate(at);
        let _parsed = Record::parse(&Bytes::from(line), 0);
    }
}
