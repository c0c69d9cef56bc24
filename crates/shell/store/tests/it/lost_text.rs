//! A boundary names lines that an older one wrote first. If the older one is damaged, those lines are
//! lost, which is said; everything else of the session is as before.

use crate::kit::{LOG, open, push, request, resume, says, session};
use dormouse_context::boundary::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::validate;
use dormouse_context::view::ViewIssue;
use dormouse_core::block::Block;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Boundary, BoundaryKind, Message, Record, SeqRange, Trigger};
use dormouse_store::{LogWriter, Resumed};
use dormouse_system::MemorySystem;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

/// Compactions of a session: the newest refers to the text of all before it.
const ROUNDS: usize = 4;
/// Lines that each boundary writes first, beside its heading.
const FACTS: usize = 5;
/// Mark in place of lines that are lost.
const LOST: &str = "damaged record";

fn target() -> Target {
    Target::new(&Arc::new(ModelTable::builtin().clone()), "model")
}

fn fact(number: usize) -> String {
    format!("- fact number {number}, in some more words than a few")
}

/// Boundary whose summary is a heading and all facts so far, as the next record of a log.
fn boundary(records: &[Record], id: &str, round: usize) -> Body {
    let conversation = Conversation::fold(&path(records, Leaf::Newest), target());
    following(&conversation, records.last().unwrap(), id, round)
}

fn following(conversation: &Conversation, last: &Record, id: &str, round: usize) -> Body {
    let seq = last.seq.next();
    let facts: Vec<String> = (0..FACTS * (round + 1)).map(fact).collect();
    let text = format!(
        "Compaction number {round} of this session\n{}",
        facts.join("\n")
    );
    let summary = [Block::text(&text)];
    let spliced = conversation.view().spliced(seq, &summary);
    let manifest = conversation.compacted(&Compaction {
        seq,
        id: id.into(),
        summary: &summary,
        restored: &[],
        spliced: &spliced.blocks,
        // The newest message stays in the prompt.
        keep: &[SeqRange {
            first: last.seq,
            last: last.seq,
        }],
        place: SummaryPlace::Front,
    });
    Body::Boundary(Box::new(Boundary {
        trigger: Trigger::Auto,
        kind: BoundaryKind::Full,
        pre_tokens: None,
        post_tokens: None,
        fixed_tokens: None,
        summary_tokens: None,
        summary: spliced.whole,
        restored: Vec::new(),
        text: spliced.text,
        spliced: spliced.blocks,
        previous: None,
        manifest: Some(manifest),
        preserved: None,
    }))
}

/// Request with everything so far: from then on a compaction may remove it.
fn sent(records: &[Record]) -> Body {
    let conversation = Conversation::fold(&path(records, Leaf::Newest), target());
    let Body::Request(mut request) = request() else {
        unreachable!("a request");
    };
    (request.segments, request.chain) = conversation.view().extent();
    request.model = "model".into();
    Body::Request(request)
}

/// A session that was compacted [`ROUNDS`] times and went on, with so many bytes of old messages
/// between two boundaries.
fn compacted(filler: usize) -> (MemorySystem, Vec<Record>) {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    let mut records = vec![push(&mut writer, "s", session())];
    for round in 0..ROUNDS {
        let old = says(&"x".repeat(filler));
        records.push(push(&mut writer, &format!("old{round}"), old));
        let sent = sent(&records);
        records.push(push(&mut writer, &format!("sent{round}"), sent));
        let text = Block::text(&format!("said before {round}"));
        let id = format!("kept{round}");
        let answer = Message::assistant(id.as_str().into(), "model", vec![text]);
        records.push(push(&mut writer, &id, Body::Message(answer)));
        let id = format!("b{round}");
        let body = boundary(&records, &id, round);
        records.push(push(&mut writer, &id, body));
    }
    for id in ["later", "latest"] {
        records.push(push(&mut writer, id, says(id)));
    }
    (memory, records)
}

/// Damage of a line, or of the text in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Garbage,
    Zeroed,
    Torn,
    /// Torn, and the next line follows without a line feed.
    TornInto,
    Gone,
    /// Sound record with less text than others refer to.
    Emptied,
    Shortened,
    /// Text of another type than the format has.
    Mistyped,
}

const HARMS: [Harm; 8] = [
    Harm::Garbage,
    Harm::Zeroed,
    Harm::Torn,
    Harm::TornInto,
    Harm::Gone,
    Harm::Emptied,
    Harm::Shortened,
    Harm::Mistyped,
];

impl Harm {
    fn apply(self, line: &str) -> Vec<u8> {
        let half = &line.as_bytes()[..line.len() / 2];
        let edited = |edit: &dyn Fn(&mut Value)| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            edit(&mut value);
            format!("{value}\n").into_bytes()
        };
        match self {
            Self::Garbage => [b"#".repeat(line.len()), b"\n".to_vec()].concat(),
            Self::Zeroed => [vec![0; line.len()], b"\n".to_vec()].concat(),
            Self::Torn => [half, b"\n"].concat(),
            Self::TornInto => half.to_vec(),
            Self::Gone => Vec::new(),
            Self::Emptied => edited(&|value| *text_of(value) = json!([])),
            Self::Shortened => edited(&|value| {
                text_of(value).as_array_mut().unwrap().truncate(2);
            }),
            Self::Mistyped => edited(&|value| *text_of(value) = json!(7)),
        }
    }
}

/// List of lines in a boundary, wherever the format puts it.
fn text_of(value: &mut Value) -> &mut Value {
    fn find(value: &mut Value) -> Option<&mut Value> {
        let Value::Object(members) = value else {
            return None;
        };
        if members.get("text").is_some_and(Value::is_array) {
            return members.get_mut("text");
        }
        members.values_mut().find_map(find)
    }
    find(value).unwrap()
}

/// The same log with one line damaged.
fn damaged(memory: &MemorySystem, record: &Record, harm: Harm) -> MemorySystem {
    let content = memory.files.content(LOG).unwrap();
    let text = String::from_utf8(content.to_vec()).unwrap();
    let start = usize::try_from(record.offset).unwrap();
    let end = start + text[start..].find('\n').unwrap();
    let mut changed = text.as_bytes()[..start].to_vec();
    changed.extend(harm.apply(&text[start..end]));
    changed.extend_from_slice(&text.as_bytes()[end + 1..]);
    let memory = MemorySystem::new();
    memory.files.put(LOG, changed);
    memory
}

fn conversation(resumed: &Resumed) -> Conversation {
    let kept = resumed.kept.iter();
    let kept = kept.map(|(session, record)| (session.as_ref(), record));
    Conversation::resumed(resumed.carrier.as_ref(), kept, &resumed.tail, target())
}

/// Lines of the summary, and the text of every other segment.
fn view(conversation: &Conversation) -> (Vec<String>, Vec<String>) {
    let segments = conversation.view().segments();
    let mut texts = segments
        .iter()
        .map(|segment| segment.block.readable_text().unwrap());
    let summary = texts.next().unwrap();
    (
        summary.split('\n').map(str::to_owned).collect(),
        texts.collect(),
    )
}

/// True if the view says that something of it is lost.
fn is_said(conversation: &Conversation) -> bool {
    let missing = |issue: &ViewIssue| matches!(issue, ViewIssue::MissingBlocks { .. });
    conversation.view().issues().iter().any(missing)
}

#[test]
fn an_old_boundary_that_is_damaged_costs_its_lines_and_says_so() {
    // Near ones are read as one stretch, far ones each by itself.
    for filler in [10, 200_000] {
        let (memory, records) = compacted(filler);
        let sound = resume(&memory);
        assert!(sound.issues.is_empty());
        let sound = conversation(&sound);
        let (summary, rest) = view(&sound);
        assert_eq!(
            rest,
            [&format!("said before {}", ROUNDS - 1), "later", "latest"]
        );
        for round in 0..ROUNDS - 1 {
            let own: Vec<String> = (FACTS * round..FACTS * (round + 1)).map(fact).collect();
            let id = format!("b{round}");
            let old = records.iter().find(|record| record.id.as_str() == id);
            for harm in HARMS {
                let what = format!("{harm:?} of {id}, {filler} bytes between");
                let memory = damaged(&memory, old.unwrap(), harm);
                let resumed = resume(&memory);
                // A line that is gone, or says less, leaves no trace in the file: the view tells.
                let traceless = matches!(harm, Harm::Gone | Harm::Emptied | Harm::Shortened);
                assert!(traceless || !resumed.issues.is_empty(), "{what}");
                let found = conversation(&resumed);
                assert!(is_said(&found), "{what}");
                let (lines, others) = view(&found);
                assert_eq!(others, rest, "{what}");
                // One mark where the lines stood, and every other line in its place.
                let at = lines.iter().position(|line| line.contains(LOST)).unwrap();
                let from = summary.iter().position(|line| *line == own[0]).unwrap();
                assert_eq!(at, from, "{what}");
                let left: Vec<&String> = lines.iter().filter(|line| !line.contains(LOST)).collect();
                let kept: Vec<&String> =
                    summary.iter().filter(|line| !own.contains(line)).collect();
                assert_eq!(left, kept, "{what}");
                assert_eq!(lines.len(), kept.len() + 1, "{what}: one mark");
                assert_eq!(
                    serde_json::to_value(found.state()).unwrap(),
                    serde_json::to_value(sound.state()).unwrap(),
                    "{what}"
                );
                let consistent = validate::consistent(found.view().segments().iter());
                assert!(consistent.is_ok(), "{what}: {consistent:?}");
                heals(&memory, &found, filler > 10, &what);
            }
        }
    }
}

/// The next compaction refers to nothing that is lost: from then on the session is sound.
fn heals(memory: &MemorySystem, found: &Conversation, far: bool, what: &str) {
    let mut writer: LogWriter = open(memory).unwrap();
    let said = push(&mut writer, "on", says("going on"));
    let mut found = found.clone();
    found.apply(&said);
    let next = following(&found, &said, "next", ROUNDS);
    push(&mut writer, "next", next);
    let resumed = resume(memory);
    // A damaged line between two that are read in one stretch is met, though nothing needs it.
    assert!(
        resumed.issues.is_empty() || !far,
        "{what}: {:?}",
        resumed.issues.list()
    );
    let found = conversation(&resumed);
    assert!(found.view().issues().is_empty(), "{what}");
    let (lines, rest) = view(&found);
    let facts: Vec<String> = (0..FACTS * (ROUNDS + 1)).map(fact).collect();
    assert_eq!(lines[1..], facts, "{what}");
    assert_eq!(rest, ["later", "latest", "going on"], "{what}");
}

/// Everything after a lost record is not looked through for it once its number has passed.
#[test]
fn a_lost_boundary_brings_no_record_that_is_not_in_use() {
    let (memory, records) = compacted(200_000);
    let sound = resume(&memory);
    let first = records.iter().find(|record| record.id.as_str() == "b0");
    for harm in [Harm::Garbage, Harm::Zeroed, Harm::Torn] {
        let resumed = resume(&damaged(&memory, first.unwrap(), harm));
        let kept = |resumed: &Resumed| -> Vec<String> {
            let kept = resumed.kept.iter();
            kept.map(|(_, record)| record.id.to_string()).collect()
        };
        let expected: Vec<String> = kept(&sound).into_iter().filter(|id| id != "b0").collect();
        assert_eq!(kept(&resumed), expected, "{harm:?}");
        assert_eq!(
            resumed.issues.total(),
            1,
            "{harm:?}: {:?}",
            resumed.issues.list()
        );
    }
}

/// A reader of the whole log meets the same damage and does not fail either.
#[test]
fn folding_the_whole_log_survives_the_damage() {
    let (memory, records) = compacted(10);
    for round in 0..ROUNDS {
        let id = format!("b{round}");
        let old = records.iter().find(|record| record.id.as_str() == id);
        for harm in HARMS {
            let what = format!("{harm:?} of {id}");
            let memory = damaged(&memory, old.unwrap(), harm);
            let all = crate::kit::log(&memory, LOG).read_all().unwrap();
            let folded = Conversation::fold(&path(&all.records, Leaf::Newest), target());
            let (_, rest) = view(&folded);
            assert!(rest.ends_with(&["later".into(), "latest".into()]), "{what}");
            let consistent = validate::consistent(folded.view().segments().iter());
            assert!(consistent.is_ok(), "{what}: {consistent:?}");
        }
    }
}
