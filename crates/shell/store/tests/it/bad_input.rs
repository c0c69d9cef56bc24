//! Files that are no logs, or not quite.

use crate::kit::{LOG, ids, log};
use dormouse_core::record::LineError;
use dormouse_core::usage_book::UsageBook;
use dormouse_store::{
    FirstBytes, LogFile, MAX_ISSUES, MAX_LINE, ReadError, Trouble, scan_usage, summarise,
};
use dormouse_system::{Fault, Files, MemorySystem, Operation, RealFiles};
use pretty_assertions::assert_eq;
use std::error::Error as _;
use std::io::{ErrorKind, Write as _};
use std::ops::ControlFlow;
use std::path::Path;

const GOOD: &str = r#"{"type":"user","uuid":"u","message":{"role":"user","content":"hello"}}"#;

fn open(memory: &MemorySystem, path: &str) -> Result<LogFile, ReadError> {
    LogFile::open(&memory.files, Path::new(path))
}

#[test]
fn what_cannot_be_read_at_all_says_why() {
    let memory = MemorySystem::new();
    memory.files.put("/d/empty", "");
    memory
        .files
        .put("/d/letter", "Dear all,\nthis is a letter.\n");
    memory.files.put("/d/array", "[1]\n2\n");
    memory
        .files
        .put("/d/elf", b"\x7fELF\x02\x01\0\0\0\n\xff\xfe");
    memory.files.put("/d/secret", GOOD);
    memory.files.inject(
        Fault::fail(ErrorKind::PermissionDenied)
            .on(Operation::Open)
            .at("/d/secret"),
    );
    let cases = [
        ("/d/none", "there is no file `/d/none`"),
        ("/d", "`/d` is a directory, not a transcript"),
        ("/d/empty", "`/d/empty` is empty"),
        ("/d/secret", "no permission to read `/d/secret`"),
        (
            "/d/letter",
            "`/d/letter` is not a transcript: no line is a JSON object; it begins with \"Dear all,\\nthis is a letter.\\n\"",
        ),
        (
            "/d/elf",
            "`/d/elf` is not a transcript: no line is a JSON object; it holds binary data",
        ),
    ];
    for (path, message) in cases {
        assert_eq!(open(&memory, path).unwrap_err().to_string(), message);
    }
    let array = open(&memory, "/d/array").unwrap_err();
    let looks = FirstBytes::Text("[1]\n2\n".into());
    assert!(matches!(array, ReadError::NotATranscript { looks: found, .. } if found == looks));
    assert!(memory.files.waiting_faults().is_empty());
}

#[test]
fn the_real_files_refuse_in_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| LogFile::open(&RealFiles, &folder.path().join(name));
    assert!(matches!(open(""), Err(ReadError::Directory { .. })));
    assert!(matches!(open("none"), Err(ReadError::Missing { .. })));
    tempfile::Builder::new()
        .prefix("empty")
        .rand_bytes(0)
        .tempfile_in(folder.path())
        .unwrap()
        .keep()
        .unwrap();
    assert!(matches!(open("empty"), Err(ReadError::Empty { .. })));
}

#[test]
fn bad_lines_cost_themselves_alone_and_are_named() {
    let memory = MemorySystem::new();
    let mut text = Vec::new();
    for line in [
        GOOD.as_bytes(),
        b"",
        b"garbage",
        b"  \t\r",
        b"[\"an\",\"array\"]",
        b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"\xff\xfe\"}}",
        b"{\"type\":\"user\",\"type\":\"user\"}",
        b"{\"type\":\"user\",\"uuid\":\"v\",\"message\":{\"role\":\"user\",\"content\":[1,\"x\"]}}\r",
    ] {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(&GOOD.as_bytes()[..30]);
    memory.files.put(LOG, &text);
    let read = log(&memory, LOG).read_all().unwrap();
    assert_eq!(ids(&read.records), ["u", "v"]);
    assert_eq!(
        (read.lines, read.bytes, read.torn_tail),
        (9, text.len() as u64, true)
    );
    assert_eq!(read.line_of, [1, 8]);
    let issues: Vec<(Option<u64>, String)> = read
        .issues
        .list()
        .iter()
        .map(|issue| {
            let cause = issue.what.source().map(|cause| format!(" / {cause}"));
            (
                issue.line,
                format!("{}{}", issue.what, cause.unwrap_or_default()),
            )
        })
        .collect();
    let expected = [
        (3, "the line was skipped / the line is not JSON"),
        (
            5,
            "the line was skipped / the line is JSON, but not an object",
        ),
        (6, "the line was skipped: it is not valid UTF-8"),
        (
            7,
            "the line was skipped / the line is a JSON object that cannot be read as a record",
        ),
        (
            8,
            "a part of the line was left out / content block 0 was left out",
        ),
        (9, "the last line was skipped: it is torn after 30 bytes"),
    ];
    let expected = expected.map(|(line, what)| (Some(line), what.to_owned()));
    assert_eq!(issues, expected);
    assert!(matches!(
        read.issues.list()[0].what,
        Trouble::NotARecord(LineError::NotJson(_))
    ));
    let summary = summarise(&log(&memory, LOG)).unwrap();
    assert_eq!((summary.lines, summary.skipped.total()), (9, 5));
}

#[test]
fn a_record_without_its_newline_is_read() {
    let memory = MemorySystem::new();
    memory.files.put(LOG, GOOD);
    let read = log(&memory, LOG).read_all().unwrap();
    assert_eq!((read.records.len(), read.torn_tail), (1, false));
}

#[test]
fn the_list_of_issues_is_bounded_and_their_number_is_not() {
    let memory = MemorySystem::new();
    memory
        .files
        .put(LOG, format!("{GOOD}\n{}", "bad\n".repeat(1_000)));
    let read = log(&memory, LOG).read_all().unwrap();
    assert_eq!(
        (read.issues.list().len(), read.issues.total()),
        (MAX_ISSUES, 1_000)
    );
}

#[test]
fn a_scan_can_be_left_early() {
    let memory = MemorySystem::new();
    memory.files.put(LOG, format!("{GOOD}\n").repeat(10));
    let mut seen = Vec::new();
    let each = |_, line| {
        seen.push(line);
        if line == 3 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    log(&memory, LOG).for_each_record(each).unwrap();
    assert_eq!(seen, [1, 2, 3]);
}

/// A file of the operating system with a line of 200 MB between two good ones.
fn huge() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let filler = vec![b'x'; 1_000_000];
    writeln!(file, "{GOOD}").unwrap();
    write!(file, "{{\"type\":\"user\",\"usage\":\"").unwrap();
    for _ in 0..200 {
        file.write_all(&filler).unwrap();
    }
    writeln!(file, "\",\"subtype\":\"checkpoint\"}}").unwrap();
    writeln!(file, "{}", GOOD.replace("\"u\"", "\"w\"")).unwrap();
    file
}

#[test]
fn a_line_of_two_hundred_megabytes_is_passed_over() {
    let file = huge();
    let log = LogFile::open(&RealFiles, file.path()).unwrap();
    let read = log.read_all().unwrap();
    assert_eq!(
        (ids(&read.records), read.line_of),
        (vec!["u", "w"], vec![1, 3])
    );
    let what = &read.issues.list()[0].what;
    assert!(matches!(what, Trouble::Overlong { bytes } if *bytes > MAX_LINE as u64));
    let resumed = log.resume(&|_| None).unwrap();
    assert_eq!(
        (ids(&resumed.tail), resumed.issues.total()),
        (vec!["u", "w"], 1)
    );
    assert_eq!(summarise(&log).unwrap().skipped.total(), 1);
    let scan = scan_usage(&log, &mut UsageBook::new()).unwrap();
    assert_eq!(scan.issues.total(), 1);
}

#[test]
fn a_single_endless_line_is_no_transcript() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let filler = vec![b'{'; 1_000_000];
    for _ in 0..100 {
        file.write_all(&filler).unwrap();
    }
    let error = LogFile::open(&RealFiles, file.path()).unwrap_err();
    assert!(matches!(error, ReadError::NotATranscript { .. }));
}

#[test]
fn an_error_of_the_disk_in_the_middle_is_an_error_with_the_path() {
    let memory = MemorySystem::new();
    memory.files.put(LOG, format!("{GOOD}\n").repeat(10_000));
    let log = log(&memory, LOG);
    for nth in 1..3 {
        memory
            .files
            .inject(Fault::fail(ErrorKind::Other).on(Operation::ReadAt).nth(nth));
        let error = if nth == 1 {
            log.read_all().map(drop)
        } else {
            log.resume(&|_| None).map(drop)
        };
        assert!(matches!(error, Err(ReadError::File { path, .. }) if path == Path::new(LOG)));
    }
    let files: &dyn Files = &memory.files;
    assert!(files.metadata(LOG.as_ref()).is_ok());
}
