//! Damaged lines cost their own content and nothing else.
//!
//! # Bound
//! With any line damaged in any of the ways of [`Harm`], or with several lines destroyed in a session
//! without rewinds, the path of the newest record
//! - keeps every record of the sound log's path but that of the damaged line, and the results of
//!   calls that stood on it, which no request may carry without their call;
//! - gains nothing of an abandoned branch or a side chain, with two exceptions, in which the only
//!   thing that told the branches apart is destroyed: the damaged line began a branch and not even
//!   its parent can be read, or it has the id of another record and no child that says otherwise;
//! - is that of the session in which the line stands where [`expected`] supposes it, exceptions
//!   included: a reader may not guess in any other way;
//! - makes a view that the API accepts, whatever was damaged.

mod expected;
mod harm;
mod session;

use self::harm::{HARMS, Harm, applies};
use self::session::{Event, Lines, event};
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
use std::collections::BTreeSet;
use std::sync::Arc;

fn open(content: &[u8]) -> LogFile {
    let memory = MemorySystem::new();
    memory.files.put(LOG, content);
    LogFile::open(&memory.files, LOG.as_ref()).unwrap()
}

fn records(lines: &[String]) -> Vec<Record> {
    let text = lines.join("\n") + "\n";
    open(text.as_bytes()).read_all().unwrap().records
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
}

impl Sound {
    fn new(lines: Vec<String>) -> Self {
        let records = records(&lines);
        assert_eq!(records.len(), lines.len(), "a line is a record");
        Self {
            visible: visible(&records),
            records,
            lines,
        }
    }

    /// True if a line continues another record than the one before it on the main chain, and is no
    /// result of a call.
    fn began_branch(&self, at: usize) -> bool {
        let record = &self.records[at];
        let before = self.records[..at].iter().rev().find(|it| !it.side_chain);
        let is_result = words(record).is_some_and(|words| words.contains("tool_result"));
        !is_result && record.parent.as_ref() != before.map(|before| &before.id)
    }

    fn has_branches(&self) -> bool {
        (1..self.records.len()).any(|at| {
            let record = &self.records[at];
            record.parent.is_some() && !record.side_chain && self.began_branch(at)
        })
    }

    /// Damages lines and holds what is left against the bound. True if it differs from the sound
    /// session by more than the damaged lines, because what they were is destroyed with them.
    fn check(&self, harms: &[(usize, Harm)]) -> bool {
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
        let own: BTreeSet<String> = harms
            .iter()
            .filter(|(_, harm)| !harm.is_harmless())
            .filter_map(|(at, _)| words(&self.records[*at]))
            .collect();
        let calls = lost_calls(&own);
        // Results of calls that stood on a damaged line go with it: no request may carry them.
        let others = |messages: BTreeSet<String>| -> BTreeSet<String> {
            let is_own =
                |it: &String| own.contains(it) || calls.iter().any(|call| it.contains(call));
            messages.into_iter().filter(|it| !is_own(it)).collect()
        };
        let left = others(visible(&read.records));
        let supposed = expected::supposed(&self.lines, &self.records, harms);
        let expected = match &supposed {
            Some(lines) => others(visible(&records(lines))),
            None => others(self.visible.clone()),
        };
        // Several damages of a session with branches may take each other's evidence away, and a false
        // id may be that of another lost line.
        let false_ids = harms.iter().any(|(_, harm)| harm.keeps_content());
        if harms.len() == 1 || !(self.has_branches() || false_ids) {
            assert_eq!(left, expected, "{what}");
            // A supposition may bring an abandoned branch back; it loses nothing.
            let lost: Vec<String> = others(self.visible.clone())
                .difference(&left)
                .cloned()
                .collect();
            assert!(lost.is_empty(), "{what}: lost {lost:?}");
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
        left != others(self.visible.clone())
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

proptest! {
    // Each case makes up to four damages; sessions with two rewinds are one in five.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_line_of_a_generated_session_costs_itself(
        events in prop::collection::vec(event(), 0..14),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0..HARMS.len()), 1..4),
    ) {
        let sound = Sound::new(Lines::of(&events));
        let lines = sound.lines.len();
        let mut harms: Vec<(usize, Harm)> = Vec::new();
        for (at, harm) in picks {
            let (at, harm) = (at.index(lines), HARMS[harm]);
            let near = |(other, _): &(usize, Harm)| other.abs_diff(at) <= 1;
            // An id is doubled only while the first record still has it.
            let renamed = |number: usize, harm: Harm| number == 0 || harm == Harm::SameId;
            let both = |(other, with): &(usize, Harm)| renamed(*other, *with) && renamed(at, harm);
            // Two neighbours that are joined or torn into each other are one damage of two lines.
            let apart = |other: &(usize, Harm)| !near(other) && !both(other);
            if applies(&sound.lines[at], harm, at, lines) && harms.iter().all(apart) {
                sound.check(&[(at, harm)]);
                harms.push((at, harm));
            }
        }
        sound.check(&harms);
    }
}

/// Every line of every short session with calls and rewinds, damaged in every way: where what is
/// left differs from the sound session, the damage destroyed the only thing that said so.
#[test]
fn an_abandoned_branch_comes_back_only_where_its_end_is_destroyed() {
    let kinds = [
        Event::Words,
        Event::Calls(3),
        Event::Rewind(1),
        Event::Rewind(4),
    ];
    let (mut damages, mut undecided) = (0, 0);
    for number in 0..kinds.len().pow(3) {
        let events = [number, number / 4, number / 16].map(|at| kinds[at % 4].clone());
        let sound = Sound::new(Lines::of(&events));
        let lines = sound.lines.len();
        for at in 0..lines {
            for harm in HARMS {
                if !applies(&sound.lines[at], harm, at, lines) {
                    continue;
                }
                damages += 1;
                if sound.check(&[(at, harm)]) {
                    undecided += 1;
                    let began = sound.began_branch(at);
                    let unnamed = harm == Harm::SameId;
                    assert!(began || unnamed, "{events:?}: {harm:?} of line {at}");
                }
            }
        }
    }
    // Three of four sessions have a rewind, so that one damage in 28 hits the line that began one, or
    // gives a doubled id to a line without a child.
    assert_eq!((damages, undecided), (13_408, 479));
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
