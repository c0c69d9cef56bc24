//! From another tool's transcript to our log and back.

use crate::kit::{LOG, checkpoint, ids, log, open, push, says};
use dormouse_core::id::Seq;
use dormouse_core::record::LineContext;
use dormouse_core::units::Millis;
use dormouse_store::{
    ConvertError, Converted, LogFile, NewLog, ReadError, Trouble, convert, export,
};
use dormouse_system::MemorySystem;
use pretty_assertions::assert_eq;

const SOURCE: &str = "/source.jsonl";

fn run(memory: &MemorySystem) -> Result<Converted, ConvertError> {
    let source = LogFile::open(&memory.files, SOURCE.as_ref()).unwrap();
    let new = NewLog {
        session: "s".into(),
        id: "start".into(),
        at: Millis(0),
        project: "/p".into(),
        context: LineContext::default(),
    };
    convert(&source, &memory.system(), LOG.as_ref(), new)
}

fn exported(memory: &MemorySystem, path: &str) -> Vec<String> {
    let log = log(memory, path);
    let mut lines = Vec::new();
    let each = |line: &[u8]| -> Result<(), ReadError> {
        lines.push(String::from_utf8(line.to_vec()).unwrap());
        Ok(())
    };
    export(&log, each).unwrap();
    lines
}

#[test]
fn a_converted_log_has_every_byte_a_start_and_numbers() {
    let memory = MemorySystem::new();
    let lines = [
        r#"{ "type": "user", "uuid": "a", "message": {"role":"user","content":"hi"} }"#,
        "no json",
        r#"{"type":"summary","summary":"s"}"#,
        r#"{"type":"user","uuid":"n","seq":4,"message":{"role":"user","content":"numbered"}}"#,
        r#"{"parentUuid":"a","type":"assistant","uuid":"b","message":{"role":"assistant","content":[]}}"#,
        "{\"torn",
    ];
    memory.files.put(SOURCE, lines.join("\n"));
    let converted = run(&memory).unwrap();
    assert_eq!((converted.lines, converted.left.total()), (3, 3));
    assert!(matches!(
        converted.left.list()[2].what,
        Trouble::Torn { bytes: 6 }
    ));
    let read = log(&memory, LOG).read_all().unwrap();
    assert!(read.issues.is_empty());
    let numbers: Vec<Seq> = read.records.iter().map(|record| record.seq).collect();
    assert_eq!(numbers, [1, 2, 3, 4].map(Seq::new));
    assert_eq!(
        (read.records[0].id.as_str(), read.records[3].id.as_str()),
        ("start", "b")
    );
    let content = String::from_utf8(memory.files.content(LOG).unwrap().to_vec()).unwrap();
    let first = content.lines().nth(1).unwrap();
    assert!(first.starts_with(lines[0].trim_end_matches('}')), "{first}");

    // It can be gone on with, and given back without what is ours.
    let mut writer = open(&memory).unwrap();
    assert_eq!(writer.head(), Some(&converted.head));
    push(&mut writer, "c", says("more"));
    push(&mut writer, "cp", checkpoint(Vec::new()));
    let back = exported(&memory, LOG);
    assert_eq!(back.len(), 4);
    memory.files.put("/back.jsonl", back.join("\n"));
    let again = log(&memory, "/back.jsonl").read_all().unwrap();
    let names = ids(&again.records);
    assert_eq!((names[0], names[2], names[3]), ("a", "b", "c"));
}

#[test]
fn what_exists_or_is_ours_is_not_converted() {
    let memory = MemorySystem::new();
    memory.files.put(
        SOURCE,
        "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
    );
    run(&memory).unwrap();
    assert!(matches!(run(&memory), Err(ConvertError::Exists { .. })));
    let own = memory.files.content(LOG).unwrap();
    let other = MemorySystem::new();
    other.files.put(SOURCE, own);
    assert!(matches!(run(&other), Err(ConvertError::AlreadyOwn { .. })));
}

#[test]
fn exporting_a_foreign_transcript_changes_nothing() {
    let memory = MemorySystem::new();
    let lines = [
        r#"{"type":"user","note":"dormouse","message":{"role":"user","content":"hi"}}"#,
        "{\"a\":1}",
    ];
    memory.files.put(SOURCE, lines.join("\n"));
    assert_eq!(exported(&memory, SOURCE), lines);
}
