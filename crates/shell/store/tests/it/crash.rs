//! Logs after a crash at every byte, and the writer's repair of them.

use crate::kit::{
    LOG, boundary, branch, checkpoint, draft, id, log, open, push, request, says, session,
};
use dormouse_core::record::CHECKPOINT_EVERY;
use dormouse_core::record::Record;
use dormouse_store::{AppendError, OpenError, Repair};
use dormouse_system::{Fault, MemorySystem, Operation, Survives};
use pretty_assertions::assert_eq;
use std::io::ErrorKind;

/// Writes until the machine goes down; what was acknowledged.
fn write(memory: &MemorySystem) -> Vec<Record> {
    let Ok(mut writer) = open(memory) else {
        return Vec::new();
    };
    let bodies = [
        session(),
        says("one"),
        request(),
        says("two"),
        boundary(Vec::new()),
        says("three"),
    ];
    let mut written: Vec<Record> = Vec::new();
    for (number, body) in bodies.into_iter().enumerate() {
        let head = writer.head().map(|head| head.id.clone());
        match writer.append(head.as_ref(), draft(&format!("r{number}"), body)) {
            Ok(record) => written.push(record),
            Err(_) => break,
        }
    }
    written
}

fn read(memory: &MemorySystem) -> Vec<Record> {
    log(memory, LOG).read_all().unwrap().records
}

/// Opens after a crash, appends, and checks that everything readable is still there.
fn go_on(memory: &MemorySystem, bytes: u64) {
    let mut writer = open(memory).unwrap();
    let before = if memory.files.content(LOG).unwrap().is_empty() || writer.head().is_none() {
        Vec::new()
    } else {
        read(memory)
    };
    assert_eq!(
        writer.head().map(|head| &head.id),
        before.last().map(|record| &record.id)
    );
    let mut expected = before;
    if expected.is_empty() {
        expected.push(push(&mut writer, "again", session()));
    }
    expected.push(push(&mut writer, "later", says("later")));
    assert_eq!(read(memory), expected, "after a crash at byte {bytes}");
    drop(writer);
    assert_eq!(open(memory).unwrap().repair(), None, "repaired once");
}

#[test]
fn a_killed_process_loses_at_most_the_record_being_written() {
    let whole = MemorySystem::new();
    let all = write(&whole);
    let len = whole.files.content(LOG).unwrap().len() as u64;
    assert_eq!(all.len(), 6);
    for bytes in 0..=len {
        let memory = MemorySystem::new();
        memory.files.go_down_after(bytes);
        let acknowledged = write(&memory);
        memory.files.crash_with(Survives::Written);
        let torn = memory.files.content(LOG).unwrap_or_default();
        if torn.is_empty() {
            go_on(&memory, bytes);
            continue;
        }
        let fragment = torn.rsplit(|byte| *byte == b'\n').next().unwrap().len() as u64;
        let repair = open(&memory).unwrap().repair();
        match repair {
            None => assert_eq!(fragment, 0, "{bytes}"),
            Some(Repair {
                torn_bytes,
                kept_whole: false,
            }) => assert_eq!(torn_bytes, fragment),
            Some(Repair { torn_bytes, .. }) => assert_eq!(torn_bytes, 0),
        }
        if acknowledged.is_empty() && repair.is_some_and(|repair| !repair.kept_whole) {
            go_on(&memory, bytes);
            continue;
        }
        let records = read(&memory);
        // Everything acknowledged is there; the one being written may be.
        assert!(records.len() == acknowledged.len() || records.len() == acknowledged.len() + 1);
        assert_eq!(records[..], all[..records.len()]);
        go_on(&memory, bytes);
    }
}

#[test]
fn a_power_cut_keeps_everything_up_to_the_last_durable_record() {
    for more in 0..400 {
        let memory = MemorySystem::new();
        let all = write(&memory);
        memory.files.crash_with(Survives::SyncedAnd(more));
        let records = read(&memory);
        assert!(records.len() >= 5, "the boundary was synced");
        assert_eq!(records[..], all[..records.len()]);
        go_on(&memory, more as u64);
    }
}

#[test]
fn the_machine_may_go_down_at_any_operation_of_opening_and_appending() {
    for nth in 1..60 {
        let memory = MemorySystem::new();
        memory.files.put(LOG, "");
        let first = write(&memory);
        memory.files.crash();
        memory.files.inject(Fault::go_down().nth(nth));
        if let Ok(mut writer) = open(&memory) {
            let head = writer.head().map(|head| head.id.clone());
            drop(writer.append(head.as_ref(), draft("new", request())));
        }
        memory.files.crash();
        memory.files.clear_faults();
        assert!(read(&memory).starts_with(&first[..5]), "operation {nth}");
        go_on(&memory, nth);
    }
}

#[test]
fn after_a_failed_write_or_sync_the_writer_gives_up_until_it_is_opened_anew() {
    for operation in [Operation::Write, Operation::SyncData] {
        let memory = MemorySystem::new();
        let mut writer = open(&memory).unwrap();
        push(&mut writer, "s", session());
        memory
            .files
            .inject(Fault::fail(ErrorKind::StorageFull).on(operation).at(LOG));
        let failed = writer.append(Some(&id("s")), draft("a", request()));
        assert!(matches!(failed, Err(AppendError::File { id, .. }) if id.as_str() == "a"));
        let refused = writer.append(Some(&id("s")), draft("b", says("b")));
        assert!(
            matches!(refused, Err(AppendError::Poisoned { path }) if path.to_str() == Some(LOG))
        );
        drop(writer);
        let mut writer = open(&memory).unwrap();
        push(&mut writer, "c", says("c"));
        assert_eq!(read(&memory).last().unwrap().id, id("c"));
    }
}

#[test]
fn each_record_is_one_write_and_only_what_must_last_is_synced() {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    push(&mut writer, "s", session());
    for (name, body, synced) in [
        ("a", says("a"), 0),
        ("b", request(), 1),
        ("c", boundary(Vec::new()), 1),
    ] {
        let before = memory.files.performed().len();
        push(&mut writer, name, body);
        let done: Vec<Operation> = memory.files.performed()[before..]
            .iter()
            .map(|done| done.operation)
            .collect();
        let count = |operation| done.iter().filter(|done| **done == operation).count();
        assert_eq!(
            (count(Operation::Write), count(Operation::SyncData)),
            (1, synced),
            "{name}"
        );
    }
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    let memory = MemorySystem::new();
    let first = open(&memory).unwrap();
    assert!(matches!(open(&memory), Err(OpenError::Busy { path }) if path.to_str() == Some(LOG)));
    drop(first);
    assert!(open(&memory).is_ok());
}

#[test]
fn a_newer_log_and_another_tools_are_not_written_to() {
    let memory = MemorySystem::new();
    push(&mut open(&memory).unwrap(), "s", session());
    let text = String::from_utf8(memory.files.content(LOG).unwrap().to_vec()).unwrap();
    let newer = text.replace("\"format\":1", "\"format\":99");
    memory.files.put(LOG, &newer);
    assert!(matches!(
        open(&memory),
        Err(OpenError::NewerFormat { found: 99, .. })
    ));
    assert_eq!(
        log(&memory, LOG).read_all().unwrap().records.len(),
        1,
        "but it is read"
    );
    let foreign =
        "{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}";
    memory.files.put(LOG, foreign);
    assert!(matches!(open(&memory), Err(OpenError::Foreign { .. })));
    assert_eq!(memory.files.content(LOG).unwrap(), foreign, "untouched");
    memory.files.put(LOG, "a letter, perhaps\n");
    assert!(matches!(open(&memory), Err(OpenError::Foreign { .. })));
}

#[test]
fn appending_compares_the_head_and_names_both() {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    let refused = writer.append(None, draft("a", says("a")));
    assert!(matches!(refused, Err(AppendError::OutOfPlace { .. })));
    push(&mut writer, "s", session());
    push(&mut writer, "a", says("a"));
    let moved = writer
        .append(Some(&id("s")), draft("b", says("b")))
        .unwrap_err();
    assert_eq!(
        moved.to_string(),
        "the log has moved on: expected s, found a"
    );
    let second = writer.append(Some(&id("a")), draft("b", session()));
    assert!(matches!(second, Err(AppendError::OutOfPlace { .. })));
    let side = branch(&mut writer, "b", "s", says("b"));
    assert_eq!((side.parent, side.seq.get()), (Some(id("s")), 3));
    let mode = |path: &str| {
        use dormouse_system::Files as _;
        memory.files.metadata(path.as_ref()).unwrap().mode.unwrap()
    };
    assert_eq!((mode(LOG), mode("/home/projects/p")), (0o600, 0o700));
}

#[test]
fn the_way_since_the_last_checkpoint_is_known_also_after_reopening() {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    push(&mut writer, "s", session());
    push(&mut writer, "c", checkpoint(Vec::new()));
    assert_eq!(writer.bytes_since_checkpoint(), 0);
    push(&mut writer, "a", says("a"));
    let since = writer.bytes_since_checkpoint();
    assert!(since > 0);
    drop(writer);
    let mut writer = open(&memory).unwrap();
    assert_eq!(writer.bytes_since_checkpoint(), since);
    let long = "x".repeat(usize::try_from(CHECKPOINT_EVERY).unwrap());
    push(&mut writer, "b", says(&long));
    assert!(writer.bytes_since_checkpoint() >= CHECKPOINT_EVERY);
    drop(writer);
    assert!(open(&memory).unwrap().bytes_since_checkpoint() >= CHECKPOINT_EVERY);
}
