//! The book under faults: damaged lines, a full disk, another day, another installation.

use dormouse_core::hash::Hash;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Millis;
use dormouse_relay::{Caller, Ended, Entry, Exchange, Relation, Relay, Seen, read_book};
use dormouse_system::MemorySystem;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const FOLDER: &str = "/home/u/.dormouse/gateway";

fn relay(machine: &MemorySystem) -> Relay {
    let models = Arc::new(ModelTable::builtin().clone());
    Relay::open(&machine.system(), Path::new(FOLDER), models).unwrap()
}

fn caller(relay: &Relay) -> Caller {
    Caller {
        credential: relay.mac(b"sk-secret"),
        session: None,
        agent: None,
    }
}

/// Passes one request of a conversation, at a time.
fn pass(relay: &Relay, turns: usize, at: Millis) -> Entry {
    let mut messages = vec![json!({"role": "user", "content": "begin"})];
    for turn in 0..turns {
        messages.push(json!({"role": "assistant", "content": format!("reply {turn}")}));
        messages.push(json!({"role": "user", "content": "go on"}));
    }
    let body = json!({"model": "claude-sonnet-4-5", "messages": messages}).to_string();
    let seen = Seen::read(body.as_bytes()).unwrap();
    let recognition = relay.recognise(&caller(relay), seen);
    let exchange = Exchange {
        request: format!("r{turns}"),
        at,
        ms: 5,
        status: 200,
        ended: Ended::Whole,
        sent: body.len() as u64,
        received: 10,
        beside: None,
        untouched: None,
    };
    relay.book(&caller(relay), recognition, None, exchange)
}

fn requests(machine: &MemorySystem) -> (u64, u64, u64) {
    let models = ModelTable::builtin();
    let report = read_book(&machine.system(), Path::new(FOLDER), models).unwrap();
    (
        report.all.requests,
        report.conversation_count,
        report.skipped_lines,
    )
}

#[test]
fn a_book_over_days_is_one_also_with_damaged_lines() {
    let machine = MemorySystem::new();
    let day = 24 * 60 * 60 * 1_000;
    for (turns, days) in (0..3).zip([0, 1, 2]) {
        let relay = relay(&machine);
        let entry = pass(&relay, turns, Millis(days * day));
        let expected = if turns == 0 {
            Relation::New
        } else {
            Relation::Continues
        };
        assert_eq!(entry.relation, Some(expected), "{turns}");
        drop(relay);
        // A line that a crash cut off, and the next one written behind it.
        let file = format!("{FOLDER}/requests-1970-01-0{}.jsonl", turns + 1);
        let mut bytes = machine.files.content(&file).unwrap().to_vec();
        bytes.extend_from_slice(b"{\"v\":1,\"at\":1,\"reque\nnot json\n{\"v\":1");
        machine.files.put(&file, bytes);
    }
    assert_eq!(requests(&machine), (3, 1, 9));
}

#[test]
fn a_full_disk_costs_lines_and_no_request() {
    let machine = MemorySystem::new();
    let relay = relay(&machine);
    machine.files.set_free_space(Some(0));
    assert_eq!(pass(&relay, 0, Millis(0)).relation, Some(Relation::New));
    dormouse_testkit::processes::until(|| relay.figures(None).lost == 1, "the loss is not counted");
    machine.files.set_free_space(None);
    // Recognition does not depend on the disk, and the book goes on.
    assert_eq!(
        pass(&relay, 1, Millis(0)).relation,
        Some(Relation::Continues)
    );
    drop(relay);
    assert_eq!(requests(&machine).0, 1);
}

#[test]
fn the_secret_stays_and_no_credential_is_written() {
    let machine = MemorySystem::new();
    let first = relay(&machine).mac(b"sk-secret");
    assert_eq!(relay(&machine).mac(b"sk-secret"), first);
    assert_ne!(first, Hash::of(b"sk-secret"));
    assert!(!format!("{:?}", relay(&machine)).contains(&first.to_string()));
    // A damaged secret is replaced: conversations start anew, and nothing else happens.
    machine.files.put(format!("{FOLDER}/secret"), "half");
    let second = relay(&machine).mac(b"sk-secret");
    assert_ne!(second, first);
    let entry = pass(&relay(&machine), 0, Millis(0));
    let line = serde_json::to_string(&entry).unwrap();
    assert!(
        !line.contains("sk-secret") && !line.contains("begin"),
        "{line}"
    );
}
