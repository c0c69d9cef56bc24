//! Damaged lines cost their own content and nothing else.
//!
//! # Bound
//! With any line damaged in any of the ways of [`Harm`], the path of the newest record
//! - keeps every record of the sound log's path but that of the damaged line, and the results of
//!   calls that stood on it, which no request may carry without their call;
//! - gains nothing of an abandoned branch or a side chain, unless the damaged line began a branch and
//!   not even its parent can be read;
//! - may follow the wrong one of two branches that were written in turns, if a line of the other one
//!   stands between the damaged line, which shows no id, and its child or its parent;
//! - makes a view that the API accepts.

use crate::kit::LOG;
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path, trace};
use dormouse_context::target::Target;
use dormouse_context::validate;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Record};
use dormouse_core::usage_book::UsageBook;
use dormouse_store::{LogFile, scan_usage, summarise};
use dormouse_system::MemorySystem;
use dormouse_testkit::material::{material, sample};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Ways in which a line is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// Replaced by text that is no JSON.
    Garbage,
    /// Removed with its newline.
    Gone,
    /// Cut after this share of its bytes, in per cent.
    Torn(usize),
    /// Cut like that, and without a newline: the next line follows the tear.
    TornInto(usize),
    /// Replaced by zero bytes.
    Zeroed,
    /// A third of its bytes in the middle are zero.
    Holed,
    /// Zero bytes around it.
    Padded,
    /// No newline behind it: two objects on one line.
    Joined,
    /// A byte order mark in front of it.
    Marked,
    /// A carriage return before its newline.
    Returned,
    /// Its parent is itself.
    SelfParent,
    /// Its parent is the newest record.
    Cycle,
    /// Its id is that of the first record.
    SameId,
}

const HARMS: [Harm; 15] = [
    Harm::Garbage,
    Harm::Gone,
    Harm::Torn(3),
    Harm::Torn(50),
    Harm::Torn(97),
    Harm::TornInto(60),
    Harm::Zeroed,
    Harm::Holed,
    Harm::Padded,
    Harm::Joined,
    Harm::Marked,
    Harm::Returned,
    Harm::SelfParent,
    Harm::Cycle,
    Harm::SameId,
];

impl Harm {
    /// True if nothing of the line is lost.
    fn is_harmless(self) -> bool {
        matches!(
            self,
            Self::Padded | Self::Joined | Self::Marked | Self::Returned
        )
    }

    /// True if the line keeps its content and loses its place.
    fn keeps_content(self) -> bool {
        matches!(self, Self::SelfParent | Self::Cycle | Self::SameId)
    }

    /// The line as it stands in the file afterwards, with its newline if it keeps it.
    fn apply(self, line: &str, first: &str, newest: &str) -> Vec<u8> {
        let cut = |share: usize| {
            let mut at = line.len() * share / 100;
            while !line.is_char_boundary(at) {
                at -= 1;
            }
            &line[..at]
        };
        let with = |name: &str, id: &str| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            value[name] = json!(id);
            format!("{value}\n")
        };
        let text = match self {
            Self::Garbage => "##!! lost\n".to_owned(),
            Self::Gone => String::new(),
            Self::Torn(share) => format!("{}\n", cut(share)),
            Self::TornInto(share) => cut(share).to_owned(),
            Self::Zeroed => format!("{}\n", "\0".repeat(line.len())),
            Self::Holed => {
                let mut bytes = line.as_bytes().to_vec();
                let third = bytes.len() / 3;
                bytes[third..2 * third].fill(0);
                bytes.push(b'\n');
                return bytes;
            }
            Self::Padded => format!("\0\0{line}\0\0\n"),
            Self::Joined => line.to_owned(),
            Self::Marked => format!("\u{feff}{line}\n"),
            Self::Returned => format!("{line}\r\n"),
            Self::SelfParent => {
                let value: Value = serde_json::from_str(line).unwrap();
                let id = value["uuid"].as_str().unwrap_or_default().to_owned();
                with("parentUuid", &id)
            }
            Self::Cycle => with("parentUuid", newest),
            Self::SameId => with("uuid", first),
        };
        text.into_bytes()
    }
}

fn open(content: &[u8]) -> LogFile {
    let memory = MemorySystem::new();
    memory.files.put(LOG, content);
    LogFile::open(&memory.files, LOG.as_ref()).unwrap()
}

fn fold(records: &[Record]) -> Conversation {
    let target = Target::new(&Arc::new(ModelTable::builtin().clone()), "claude-opus-4-6");
    Conversation::fold(&path(records, Leaf::Newest), target)
}

/// Messages on the path of the newest record, by what they say: ids may be what was damaged.
fn visible(records: &[Record]) -> BTreeSet<String> {
    let on_path = path(records, Leaf::Newest);
    on_path.into_iter().filter_map(words).collect()
}

fn words(record: &Record) -> Option<String> {
    let Body::Message(message) = &record.body else {
        return None;
    };
    let blocks = message.content.iter();
    let blocks: Vec<String> = blocks
        .map(|block| String::from_utf8_lossy(block.bytes()).into_owned())
        .collect();
    Some(format!("{:?} {}", message.role, blocks.join("\n")))
}

/// A sound session, line by line.
struct Sound {
    lines: Vec<String>,
    records: Vec<Record>,
    visible: BTreeSet<String>,
    /// Lines whose parent is not the record before them in the file, or that have none.
    begins: BTreeSet<usize>,
    /// Lines that have no child among the next lines of the chain.
    parted: BTreeSet<usize>,
}

impl Sound {
    fn new(lines: Vec<String>) -> Self {
        let text = lines.join("\n") + "\n";
        let read = open(text.as_bytes()).read_all().unwrap();
        assert_eq!(read.records.len(), lines.len(), "a line is a record");
        let mut begins = BTreeSet::new();
        let mut before: Option<(usize, &Record)> = None;
        let mut parted = BTreeSet::new();
        for (at, record) in read.records.iter().enumerate() {
            if record.side_chain || (record.parent.is_none() && words(record).is_none()) {
                continue;
            }
            if record.parent.as_ref() != before.map(|(_, record)| &record.id) {
                begins.insert(at);
                parted.extend(before.map(|(at, _)| at));
            }
            before = Some((at, record));
        }
        Self {
            visible: visible(&read.records),
            records: read.records,
            lines,
            begins,
            parted,
        }
    }

    /// Damages lines and holds what is left against the bound.
    fn check(&self, harms: &[(usize, Harm)]) {
        let first = self.records[0].id.as_str();
        let newest = self.records.last().unwrap().id.as_str();
        let mut content = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            match harms.iter().find(|(harmed, _)| *harmed == at) {
                Some((_, harm)) => content.extend(harm.apply(line, first, newest)),
                None => content.extend(format!("{line}\n").into_bytes()),
            }
        }
        let what = format!("{harms:?} of {} lines", self.lines.len());
        let read = open(&content).read_all().unwrap();
        let left = visible(&read.records);
        let own: BTreeSet<String> = harms
            .iter()
            .filter(|(_, harm)| !harm.is_harmless())
            .filter_map(|(at, _)| words(&self.records[*at]))
            .collect();
        let calls = lost_calls(&own);
        // Where branches were written in turns, nothing but the ids tells them apart.
        let parted = harms.iter().any(|(at, harm)| {
            let unlinked = self.begins.contains(at) && harm.keeps_content();
            !harm.is_harmless() && (self.parted.contains(at) || unlinked)
        });
        for message in self.visible.iter().filter(|_| !parted) {
            let is_own = own.contains(message) || calls.iter().any(|call| message.contains(call));
            assert!(left.contains(message) || is_own, "{what}: lost {message}");
        }
        // Several lines may take each other's evidence away; one line takes only its own.
        let began = harms
            .iter()
            .any(|(at, harm)| self.begins.contains(at) && !harm.is_harmless());
        if !began && !parted && harms.len() == 1 {
            let news: Vec<&String> = left.difference(&self.visible).collect();
            assert!(news.is_empty(), "{what}: gained {news:?}");
        }
        if harms.iter().all(|(_, harm)| harm.is_harmless()) {
            assert_eq!(left, self.visible, "{what}");
        }
        let view = fold(&read.records);
        let consistent = validate::consistent(view.view().segments().iter());
        assert!(consistent.is_ok(), "{what}: {consistent:?}");
        // Every reader finds the same damage.
        let unread = read.issues.total();
        let log = open(&content);
        assert_eq!(summarise(&log).unwrap().skipped.total(), unread, "{what}");
        let usage = scan_usage(&log, &mut UsageBook::new()).unwrap();
        assert_eq!(usage.issues.total(), unread, "{what}");
        let lost_lines = harms
            .iter()
            .any(|(_, harm)| !harm.is_harmless() && !harm.keeps_content() && *harm != Harm::Gone);
        assert!(unread > 0 || !lost_lines, "{what}: not said");
    }
}

/// Ids of the calls in messages.
fn lost_calls(messages: &BTreeSet<String>) -> Vec<String> {
    let parts = messages.iter().flat_map(|it| it.split("\"id\":\"").skip(1));
    let ids = parts.filter_map(|part| part.split('"').next());
    ids.filter(|id| id.starts_with("toolu_"))
        .map(str::to_owned)
        .collect()
}

/// Events of a generated session.
#[derive(Clone, Debug)]
enum Event {
    Words,
    /// A response with so many parallel calls, a line for each, and their results beside the chain.
    Calls(usize),
    /// A line of a side conversation.
    Side,
    /// A line of bookkeeping without an id.
    Bookkeeping,
    /// The user goes back so many records.
    Rewind(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Words),
        3 => (1_usize..4).prop_map(Event::Calls),
        1 => Just(Event::Side),
        1 => Just(Event::Bookkeeping),
        1 => (1_usize..6).prop_map(Event::Rewind),
    ]
}

/// Lines of a session as Claude Code writes them.
struct Lines {
    written: Vec<String>,
    chain: Vec<String>,
    side: Option<String>,
    next: usize,
}

impl Lines {
    fn of(events: &[Event]) -> Vec<String> {
        let mut lines = Self {
            written: Vec::new(),
            chain: Vec::new(),
            side: None,
            next: 0,
        };
        lines.turn("begin");
        for event in events {
            match event {
                Event::Words => lines.turn("go on"),
                Event::Calls(calls) => lines.calls(*calls),
                Event::Side => lines.side(),
                Event::Bookkeeping => {
                    let title = json!({"type": "summary", "summary": "t", "leafUuid": "x"});
                    lines.written.push(title.to_string());
                }
                Event::Rewind(back) => {
                    let left = lines.chain.len().saturating_sub(*back).max(1);
                    lines.chain.truncate(left);
                    lines.turn("instead");
                }
            }
        }
        lines.turn("end");
        lines.written
    }

    fn id(&mut self) -> String {
        self.next += 1;
        format!("u-{:04}", self.next)
    }

    fn push(&mut self, role: &str, parent: Option<&str>, message: &Value) -> String {
        let id = self.id();
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": role,
            "message": message, "uuid": id, "timestamp": "2026-01-01T00:00:00.000Z",
        });
        self.written.push(line.to_string());
        id
    }

    fn on_chain(&mut self, role: &str, message: &Value) {
        let parent = self.chain.last().cloned();
        let id = self.push(role, parent.as_deref(), message);
        self.chain.push(id);
    }

    fn turn(&mut self, words: &str) {
        let number = self.next;
        let said = format!("{words} {number}");
        self.on_chain("user", &json!({"role": "user", "content": said}));
        let text = json!([{"type": "text", "text": format!("answer to {said}")}]);
        let usage = json!({"input_tokens": 10, "output_tokens": 5});
        let id = format!("msg_{number}");
        self.on_chain(
            "assistant",
            &json!({"role": "assistant", "id": id, "content": text, "usage": usage}),
        );
    }

    fn calls(&mut self, calls: usize) {
        let number = self.next;
        self.on_chain(
            "user",
            &json!({"role": "user", "content": format!("look {number}")}),
        );
        let id = format!("msg_{number}");
        let mut made = Vec::new();
        for call in 0..calls {
            let call = format!("toolu_{number}_{call}");
            let block = json!([{"type": "tool_use", "id": call, "name": "Read", "input": {}}]);
            self.on_chain(
                "assistant",
                &json!({"role": "assistant", "id": id, "content": block}),
            );
            made.push((call, self.chain.last().cloned()));
        }
        let mut last = None;
        for (call, line) in made {
            let text = format!("result of {call}");
            let block = json!([{"type": "tool_result", "tool_use_id": call, "content": text}]);
            let message = json!({"role": "user", "content": block});
            last = Some(self.push("user", line.as_deref(), &message));
        }
        self.chain.extend(last);
        let text = json!([{"type": "text", "text": format!("seen {number}")}]);
        self.on_chain(
            "assistant",
            &json!({"role": "assistant", "id": format!("{id}b"), "content": text}),
        );
    }

    fn side(&mut self) {
        let id = self.id();
        let parent = self.side.replace(id.clone());
        let line = json!({
            "parentUuid": parent, "isSidechain": true, "sessionId": "s", "type": "user",
            "message": {"role": "user", "content": format!("side {id}")}, "uuid": id,
        });
        self.written.push(line.to_string());
    }
}

/// Lines that can be damaged in their ids: those that have one.
fn applies(line: &str, harm: Harm, at: usize, lines: usize) -> bool {
    let has_id = line.contains("\"uuid\":");
    // The last line has no next one, and an id that only the newest record has moves the leaf.
    let is_last = at + 1 == lines;
    match harm {
        Harm::SelfParent | Harm::Cycle | Harm::SameId => has_id && at > 0 && !is_last,
        Harm::Joined | Harm::TornInto(_) => !is_last,
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_damaged_line_of_a_generated_session_costs_itself(
        events in prop::collection::vec(event(), 0..14),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0..HARMS.len()), 1..4),
    ) {
        let sound = Sound::new(Lines::of(&events));
        let lines = sound.lines.len();
        // Rewound sessions are left out: which branch a lost line was on is not always written down.
        prop_assume!(!events.iter().any(|event| matches!(event, Event::Rewind(_))));
        let mut harms: Vec<(usize, Harm)> = Vec::new();
        for (at, harm) in picks {
            let (at, harm) = (at.index(lines), HARMS[harm]);
            let near = |(other, _): &(usize, Harm)| other.abs_diff(at) <= 1;
            // Two neighbours that are joined or torn into each other are one damage of two lines.
            if applies(&sound.lines[at], harm, at, lines) && !harms.iter().any(near) {
                sound.check(&[(at, harm)]);
                harms.push((at, harm));
            }
        }
        sound.check(&harms);
    }
}

/// A real session: every harm at lines spread over it.
fn check_real(file: &std::path::Path, spread: usize) {
    #[expect(clippy::disallowed_methods, reason = "a test reads material by path")]
    let text = std::fs::read_to_string(file).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let sound = Sound::new(lines);
    let lines = sound.lines.len();
    for (number, harm) in HARMS.into_iter().enumerate() {
        for part in 0..spread {
            let at = (lines * (part * HARMS.len() + number)) / (spread * HARMS.len());
            if applies(&sound.lines[at], harm, at, lines) {
                sound.check(&[(at, harm)]);
            }
        }
    }
}

#[test]
fn a_damaged_line_of_the_sample_costs_itself() {
    let session = "transcripts/nest-box/0b7d1c52-4f0e-4c7e-9a39-6d2f0c5e8a11.jsonl";
    check_real(&sample(session), 4);
}

#[test]
fn a_damaged_line_of_a_real_session_costs_itself() {
    let Some(root) = material("transcripts") else {
        return;
    };
    for (file, spread) in [
        (
            "session-share-mit/samples/claude-code-projects/0ccf1a04-1b4c-43b6-8aa5-79e41db43a68.jsonl",
            3,
        ),
        (
            "claude-code-viewer-mit/mock-global-claude-dir/projects/sample-project/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl",
            1,
        ),
    ] {
        check_real(&root.join(file), spread);
    }
}

#[test]
fn one_torn_line_of_many_leaves_the_rest_and_is_bridged() {
    let events = vec![Event::Words; 100];
    let sound = Sound::new(Lines::of(&events));
    let mut lines = sound.lines.clone();
    lines[100].truncate(20);
    let read = open((lines.join("\n") + "\n").as_bytes())
        .read_all()
        .unwrap();
    let traced = trace(&read.records, Leaf::Newest);
    assert_eq!(traced.bridges.len(), 1);
    assert_eq!(
        (visible(&read.records).len(), read.issues.total()),
        (sound.visible.len() - 1, 1)
    );
}
