//! Transcripts of Codex and pi: real ones, broken ones, and logs made of them.

use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_core::block::BlockKind;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, LineContext, MessageOrigin, Record, Role};
use dormouse_core::units::Millis;
use dormouse_store::{ConvertError, ForeignFormat, ForeignLog, LogFile, NewLog, import};
use dormouse_system::{Files as _, MemorySystem, RealFiles};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::sync::Arc;

const CODEX: &str = include_str!("../data/codex.jsonl");
const PI: &str = include_str!("../data/pi.jsonl");
const SOURCE: &str = "/source.jsonl";
const TARGET: &str = "/home/projects/p/t.jsonl";

/// Number of messages the user spoke.
fn spoken(records: &[Record]) -> usize {
    let speaks = |record: &&Record| match &record.body {
        Body::Message(message) => {
            message.role == Role::User
                && message.origin == MessageOrigin::Conversation
                && !record.side_chain
                && message
                    .content
                    .iter()
                    .any(|block| block.kind() == BlockKind::Text)
        }
        _ => false,
    };
    records.iter().filter(speaks).count()
}

/// The calls that were made and those that were answered, each once.
fn calls(records: &[Record]) -> (Vec<String>, Vec<String>) {
    let of = |kind| {
        let blocks = records.iter().flat_map(|record| record.body.blocks());
        let ids = blocks.filter(|block| block.kind() == kind);
        let mut ids: Vec<String> = ids
            .filter_map(|block| Some(block.call()?.to_string()))
            .collect();
        ids.sort();
        ids.dedup();
        ids
    };
    (of(BlockKind::ToolUse), of(BlockKind::ToolResult))
}

fn read(memory: &MemorySystem, content: &[u8]) -> Option<ForeignLog> {
    memory.files.put(SOURCE, content);
    let log = LogFile::open(&memory.files, SOURCE.as_ref()).ok()?;
    log.read_foreign().unwrap()
}

fn new_log() -> NewLog {
    NewLog {
        session: "s".into(),
        id: "start".into(),
        at: Millis(0),
        project: "/p".into(),
        context: LineContext::default(),
    }
}

fn fold(records: &[Record]) -> Conversation {
    let models = Arc::new(ModelTable::builtin().clone());
    Conversation::fold(&path(records, Leaf::Newest), Target::new(&models, "m"))
}

/// Invariants of every reading, also of a broken file.
fn check(log: &ForeignLog) {
    let read = &log.read;
    assert_eq!(read.records.len(), read.line_of.len());
    assert!(read.line_of.is_sorted());
    assert!(read.records.is_sorted_by(|one, next| one.seq < next.seq));
    fold(&read.records);
}

/// A file of the material.
fn material(name: &str) -> Option<Vec<u8>> {
    let path = dormouse_testkit::material::material(&format!("transcripts/{name}"))?;
    Some(RealFiles.read(&path, u64::MAX).unwrap().to_vec())
}

/// Real transcripts with their format and the number of messages their users spoke.
const REAL: [(&str, ForeignFormat, usize); 10] = [
    (
        "pi-mono-mit/packages/coding-agent/test/fixtures/large-session.jsonl",
        ForeignFormat::Pi,
        88,
    ),
    (
        "pi-mono-mit/packages/coding-agent/test/fixtures/before-compaction.jsonl",
        ForeignFormat::Pi,
        55,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/stage0/agents/pi/small.jsonl",
        ForeignFormat::Pi,
        2,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/stage0/agents/codex/small.jsonl",
        ForeignFormat::Codex,
        2,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/stage0/agents/codex/large.jsonl",
        ForeignFormat::Codex,
        6,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/stage0/agents/codex/schema_drift.jsonl",
        ForeignFormat::Codex,
        1,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/codex_050_legacy.jsonl",
        ForeignFormat::Codex,
        0,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/codex_051_usage.jsonl",
        ForeignFormat::Codex,
        0,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/codex_052_raw.jsonl",
        ForeignFormat::Codex,
        0,
    ),
    (
        "agent-sessions-mit/Resources/Fixtures/codex_053_rate_limit.jsonl",
        ForeignFormat::Codex,
        0,
    ),
];

#[test]
fn real_transcripts_have_the_words_that_were_said() {
    for (name, format, expected) in REAL {
        let Some(content) = material(name) else {
            continue;
        };
        let log = read(&MemorySystem::new(), &content).unwrap();
        assert_eq!(
            (log.format, spoken(&log.read.records)),
            (format, expected),
            "{name}"
        );
        assert!(
            log.read.issues.is_empty(),
            "{name}: {:?}",
            log.read.issues.list()
        );
        check(&log);
    }
}

#[test]
fn every_answer_in_pi_s_sessions_has_its_call() {
    for (name, format, _) in REAL {
        let Some(content) = material(name).filter(|_| format == ForeignFormat::Pi) else {
            continue;
        };
        let log = read(&MemorySystem::new(), &content).unwrap();
        let (made, answered) = calls(&log.read.records);
        assert!(answered.iter().all(|id| made.contains(id)), "{name}");
        // One tool was running when the terminal was closed.
        assert!(made.len() - answered.len() <= 1, "{name}");
    }
}

#[test]
fn broken_copies_of_real_transcripts_are_read_as_far_as_they_go() {
    for (name, ..) in REAL {
        let Some(content) = material(name) else {
            continue;
        };
        for tenth in 0..10 {
            let at = content.len() * tenth / 10;
            let mut flipped = content.clone();
            flipped[at] ^= 0x15;
            for broken in [&flipped[..], &content[..at], &content[at..]] {
                if let Some(log) = read(&MemorySystem::new(), broken) {
                    check(&log);
                }
            }
        }
    }
}

#[test]
fn a_log_made_of_a_transcript_gives_the_same_view() {
    for content in [CODEX, PI] {
        let memory = MemorySystem::new();
        let foreign = read(&memory, content.as_bytes()).unwrap();
        let before = fold(&foreign.read.records);
        let said = spoken(&foreign.read.records);
        let made = import(foreign, &memory.system(), TARGET.as_ref(), new_log()).unwrap();
        assert!(made.left.is_empty());
        let log = LogFile::open(&memory.files, TARGET.as_ref()).unwrap();
        assert_eq!(log.foreign_format().unwrap(), None);
        let read = log.read_all().unwrap();
        assert!(read.issues.is_empty());
        assert_eq!(spoken(&read.records), said);
        let blocks = |conversation: &Conversation| -> Vec<_> {
            let view = conversation.view();
            view.segments()
                .iter()
                .map(|segment| segment.block.clone())
                .collect()
        };
        assert_eq!(blocks(&fold(&read.records)), blocks(&before));
    }
}

#[test]
fn a_log_that_is_there_is_not_written_over() {
    let memory = MemorySystem::new();
    for again in [false, true] {
        let foreign = read(&memory, PI.as_bytes()).unwrap();
        let made = import(foreign, &memory.system(), TARGET.as_ref(), new_log());
        assert_eq!(matches!(made, Err(ConvertError::Exists { .. })), again);
    }
}

proptest! {
    #[test]
    fn no_damage_makes_reading_fail(
        of_codex: bool,
        cut in 0.0..1.0_f64,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut content = if of_codex { CODEX } else { PI }.as_bytes().to_vec();
        for (at, byte) in flips {
            let at = at.index(content.len());
            content[at] = byte;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "any place will do"
        )]
        content.truncate((content.len() as f64 * cut) as usize + 1);
        let memory = MemorySystem::new();
        if let Some(log) = read(&memory, &content) {
            check(&log);
            let said = spoken(&log.read.records);
            prop_assert!(said <= content.len());
            import(log, &memory.system(), TARGET.as_ref(), new_log()).unwrap();
        }
    }
}
