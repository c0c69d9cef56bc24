//! Chronicles that go through pages and manifests, with limits so tight that entries are evicted.

use super::*;
use crate::evidence::{EvidenceLimits, observe};
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Record};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use proptest::prelude::*;
use serde_json::json;

const TIGHT: EvidenceLimits = EvidenceLimits {
    user_messages: 5,
    user_bytes: 400,
    bulk: 80,
    head: 20,
    tail: 10,
    files: 6,
    commands: 5,
    searches: 4,
    tests: 3,
    errors: 3,
    urls: 3,
    values: 6,
    decisions: 3,
    open_calls: 4,
    path_chars: 80,
    command_chars: 80,
    line_chars: 80,
    values_per_message: 4,
    lines_per_record: 2,
};

#[derive(Clone, Debug)]
enum Event {
    Says(u8),
    Reads(u8),
    Runs { command: u8, fails: bool },
    Page,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => any::<u8>().prop_map(Event::Says),
        4 => (0_u8..12).prop_map(Event::Reads),
        4 => (0_u8..9, any::<bool>()).prop_map(|(command, fails)| Event::Runs { command, fails }),
        3 => Just(Event::Page),
    ];
    prop::collection::vec(event, 1..80)
}

fn said(number: u8) -> String {
    let tail = "and so on, ".repeat(usize::from(number % 16));
    format!(
        "Use port {number} at https://host{}.example/x. We always use tabs. {tail}",
        number % 5
    )
}

/// Records of one event, applied to the chronicle.
fn happen(log: &mut LogBuilder, event: &Event, chronicle: &mut Chronicle) {
    let from = log.records().len();
    match event {
        Event::Says(number) => {
            log.user(&said(*number));
        }
        Event::Reads(file) => ask(
            log,
            "Read",
            &json!({ "file_path": format!("/p/{file}.rs") }),
            "fine",
        ),
        Event::Runs { command, fails } => {
            let output = if *fails {
                "Exit code 1\nerror: it broke\n3 failed"
            } else {
                "12 passed"
            };
            ask(
                log,
                "Bash",
                &json!({ "command": format!("make {command}") }),
                output,
            );
        }
        Event::Page => {}
    }
    for record in &log.records()[from..] {
        observe(chronicle, record, &TIGHT);
    }
}

fn ask(log: &mut LogBuilder, tool: &str, input: &serde_json::Value, output: &str) {
    let id = format!("call_{}", log.next_seq());
    log.assistant(&format!("m_{id}"), vec![call(&id, tool, input)]);
    log.user_blocks(vec![result(&id, output)]);
}

proptest! {
    /// At every moment the manifest and the pages it names give the chronicle back, and so does the
    /// manifest met by a session that holds it.
    #[test]
    fn manifest_and_pages_are_the_chronicle(events in events()) {
        let mut log = LogBuilder::new();
        let mut chronicle = Chronicle::default();
        let mut sizes: BTreeMap<Seq, usize> = BTreeMap::new();
        for event in &events {
            happen(&mut log, event, &mut chronicle);
            if matches!(event, Event::Page)
                && let Some(page) = due(&chronicle, &sizes, 1)
            {
                let seq = log.next_seq();
                turn(&mut chronicle, &page, seq);
                sizes.insert(seq, weight(&page));
                log.push(Body::Chronicle(Box::new(page)));
            }
            let stored = in_manifest(&chronicle);
            let page = |seq: Seq| page_of(log.records(), seq);
            prop_assert_eq!(&from_pages(&stored, page), &chronicle);
            prop_assert_eq!(&from_live(&stored, &chronicle), &chronicle);
            // Nothing that a page holds stands in the manifest again.
            if let Some(paged) = &stored.paged {
                prop_assert!(stored.files.entries.is_empty() && stored.user.listed.is_empty());
                prop_assert!(paged.pages.iter().all(|seq| sizes.contains_key(seq)));
            }
        }
    }

    /// However long a session is, its pages are read at most about twice over.
    #[test]
    fn pages_are_mostly_live(events in prop::collection::vec((0_u8..40).prop_map(Event::Reads), 200..300)) {
        let mut log = LogBuilder::new();
        let mut chronicle = Chronicle::default();
        let mut sizes: BTreeMap<Seq, usize> = BTreeMap::new();
        for event in &events {
            happen(&mut log, event, &mut chronicle);
            if let Some(page) = due(&chronicle, &sizes, 300) {
                let seq = log.next_seq();
                turn(&mut chronicle, &page, seq);
                sizes.insert(seq, weight(&page));
                log.push(Body::Chronicle(Box::new(page)));
                let named: usize = homes(&chronicle).iter().map(|seq| sizes[seq]).sum();
                let live = weight(&select(&chronicle, |home| home.is_some()));
                prop_assert!(named <= 2 * live + 600, "{named} bytes for {live}");
            }
        }
    }
}

fn page_of(records: &[Record], seq: Seq) -> Option<&ChroniclePage> {
    let record = records.iter().find(|record| record.seq == seq)?;
    match &record.body {
        Body::Chronicle(page) => Some(page),
        _ => None,
    }
}

#[test]
fn a_lost_page_costs_its_entries_only() {
    let mut log = LogBuilder::new();
    let mut chronicle = Chronicle::default();
    happen(&mut log, &Event::Says(1), &mut chronicle);
    let page = due(&chronicle, &BTreeMap::new(), 1).unwrap();
    turn(&mut chronicle, &page, Seq::new(90));
    happen(&mut log, &Event::Reads(1), &mut chronicle);
    let found = from_pages(&in_manifest(&chronicle), |_| None);
    assert!(found.user.listed.is_empty());
    assert_eq!(found.files, chronicle.files);
    assert_eq!(found.clock, chronicle.clock);
}

#[test]
fn a_manifest_of_an_earlier_version_is_taken_as_it_is() {
    let mut chronicle = Chronicle::default();
    let mut log = LogBuilder::new();
    happen(&mut log, &Event::Says(1), &mut chronicle);
    log.user_blocks(vec![Block::text("no page yet")]);
    assert_eq!(from_pages(&chronicle, |_| None), chronicle);
    assert_eq!(in_manifest(&chronicle), chronicle);
}
