//! Conversion of another tool's transcript: the checkpoint at its end.

use dormouse_context::segment::Segment;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Body;
use dormouse_host::{Host, Transcripts};
use dormouse_store::LogFile;
use dormouse_system::MemorySystem;
use pretty_assertions::assert_eq;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

const SOURCE: &str = "/other/s.jsonl";
const TARGET: &str = "/converted/s.jsonl";

/// A session with a rewind, and a line of bookkeeping behind its last message.
fn transcript() -> String {
    let mut text = String::new();
    for turn in 0..200 {
        let parent = match turn {
            0 => "null".to_owned(),
            // Turns 50 to 59 were taken back.
            60 => "\"a49\"".to_owned(),
            _ => format!("\"a{}\"", turn - 1),
        };
        let filling = "words of a long session ".repeat(10);
        writeln!(text, r#"{{"parentUuid":{parent},"type":"user","uuid":"u{turn}","sessionId":"s","cwd":"/p","message":{{"role":"user","content":"task {turn}: {filling}"}}}}"#).unwrap();
        writeln!(text, r#"{{"parentUuid":"u{turn}","type":"assistant","uuid":"a{turn}","sessionId":"s","message":{{"role":"assistant","id":"m{turn}","model":"claude-opus-4-6","content":[{{"type":"text","text":"done {turn}"}}],"usage":{{"input_tokens":100,"output_tokens":50}}}}}}"#).unwrap();
    }
    text.push_str("{\"type\":\"file-history-snapshot\",\"messageId\":\"a199\"}\n");
    text
}

fn prompt(memory: &MemorySystem, file: &str) -> Vec<String> {
    let models = Arc::new(ModelTable::builtin().clone());
    let transcripts = Transcripts::new(&memory.system(), models);
    let live = transcripts.live(Path::new(file)).unwrap();
    assert_eq!(transcripts.take_remarks(), []);
    let segments = live.conversation.view().segments();
    let text = |segment: &Segment| segment.block.readable_text().unwrap();
    segments.iter().map(text).collect()
}

fn host(memory: &MemorySystem, every: &str) -> Host {
    let settings = vec![format!("log.checkpoint={every}")];
    Host::open_with(&memory.system(), "/managed.toml".as_ref(), settings).unwrap()
}

#[test]
fn a_long_transcript_is_resumed_from_a_checkpoint() {
    let memory = MemorySystem::new();
    memory.files.put(SOURCE, transcript());
    let converted = host(&memory, "10_000").convert(SOURCE.as_ref(), Some(TARGET.as_ref()));
    assert_eq!(converted.unwrap().lines, 401);
    let log = LogFile::open(&memory.files, TARGET.as_ref()).unwrap();
    let resumed = log.resume(&|_| None).unwrap();
    let carrier = resumed.carrier.expect("a record to start from");
    assert!(matches!(carrier.body, Body::Checkpoint(_)));
    assert_eq!(resumed.tail.len(), 0);
    assert_eq!(resumed.issues.total(), 0);
    let before = prompt(&memory, SOURCE);
    assert_eq!(before.len(), 2 * (200 - 10));
    assert_eq!(prompt(&memory, TARGET), before);
    // Folding the whole log leads to the same place: the checkpoint hangs on the last message.
    let transcripts = Transcripts::new(&memory.system(), Arc::new(ModelTable::builtin().clone()));
    let records = transcripts.records(TARGET.as_ref()).unwrap();
    let folded = transcripts.fold(TARGET.as_ref(), &records, None);
    let folded = folded.conversation.view().segments();
    assert_eq!(folded.len(), before.len());
}

#[test]
fn a_short_transcript_gets_no_checkpoint() {
    let memory = MemorySystem::new();
    memory.files.put(SOURCE, transcript());
    host(&memory, "10_000_000")
        .convert(SOURCE.as_ref(), Some(TARGET.as_ref()))
        .unwrap();
    let content = memory.files.content(TARGET).unwrap();
    assert!(!String::from_utf8_lossy(&content).contains("\"checkpoint\""));
}
