//! Parsing a stretch of a log into records, on as many threads as are worth it.
//!
//! # Model
//! The stretch is read block by block; parsing a block is independent of all others and takes
//! many times as long as reading it. So the blocks are shared out among a few threads, and the
//! results put together in the order of the file: the outcome does not depend on the threads.
//!
//! # Not here
//! Scans that keep nothing and need no records ([`crate::scan_usage`], [`crate::summarise`]).

use crate::chunks::{Chunks, Piece};
use crate::issue::Issues;
use crate::lines::{BlockLines, Line};
use crate::read::read_line;
use dormouse_core::record::Record;
use dormouse_system::{FileResult, RandomRead};
use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Upper bound on threads: with more, disk and memory bandwidth are shared and it gets no faster.
const MOST_THREADS: usize = 4;

/// Bytes parsed at a time: small enough to share out even a short stretch among the threads.
const BLOCK: usize = 256 * 1024;

/// Blocks parsed before the first of them is handed out: four megabytes, so that each thread has a
/// few and the memory stays small however long the stretch is.
const AT_ONCE: usize = 16;

/// Records and issues of one block.
#[derive(Default)]
struct Parsed {
    records: Vec<Record>,
    issues: Issues,
}

/// Reads all records of a range that begins at the beginning of a line.
pub(crate) fn read_records(
    file: &dyn RandomRead,
    range: Range<u64>,
    issues: &mut Issues,
) -> FileResult<Vec<Record>> {
    let mut chunks = Chunks::in_blocks(file, range, BLOCK);
    let mut pieces = Vec::new();
    while let Some(piece) = chunks.next_piece()? {
        pieces.push(piece);
    }
    let mut records = Vec::new();
    for parsed in parse_all(&pieces) {
        // In the order of the file, not of completion, so that the first [`crate::MAX_ISSUES`] kept
        // are the same on every run.
        issues.append(parsed.issues);
        // The usual case is one block; its vector is taken over and not copied.
        if records.is_empty() {
            records = parsed.records;
        } else {
            records.extend(parsed.records);
        }
    }
    Ok(records)
}

/// Hands out the records of a range one by one, in the order of the file. Only a few blocks are in
/// memory at a time, and those the caller keeps something of.
pub(crate) fn for_each_parsed(
    file: &dyn RandomRead,
    range: Range<u64>,
    issues: &mut Issues,
    mut each: impl FnMut(Record),
) -> FileResult<()> {
    let mut chunks = Chunks::in_blocks(file, range, BLOCK);
    let mut pieces = Vec::with_capacity(AT_ONCE);
    loop {
        let piece = chunks.next_piece()?;
        let ended = piece.is_none();
        pieces.extend(piece);
        if ended || pieces.len() == AT_ONCE {
            for parsed in parse_all(&pieces) {
                issues.append(parsed.issues);
                parsed.records.into_iter().for_each(&mut each);
            }
            pieces.clear();
        }
        if ended {
            return Ok(());
        }
    }
}

fn parse_all(pieces: &[Piece]) -> Vec<Parsed> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    // A thread without a block would only cost its start.
    let threads = cores.min(MOST_THREADS).min(pieces.len());
    let places: Vec<Mutex<Parsed>> = pieces.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        // Each thread takes the next block that no other has taken.
        while let Some((piece, place)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            pieces.get(at).zip(places.get(at))
        } {
            // A panic of another thread leaves its own block empty, not this one.
            *place.lock().unwrap_or_else(PoisonError::into_inner) = parse(piece);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If the system refuses a thread, the others do its share.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let parsed = places.into_iter().map(Mutex::into_inner);
    parsed
        .map(|parsed| parsed.unwrap_or_else(PoisonError::into_inner))
        .collect()
}

fn parse(piece: &Piece) -> Parsed {
    let mut parsed = Parsed::default();
    match piece {
        Piece::Lines { offset, bytes } => {
            for line in BlockLines::new(bytes.clone(), *offset) {
                let read = read_line(&line, None, &mut parsed.issues);
                parsed.records.extend(read.records);
            }
        }
        Piece::Overlong { offset, bytes } => {
            let (offset, bytes) = (*offset, *bytes);
            read_line(&Line::Overlong { offset, bytes }, None, &mut parsed.issues);
        }
    }
    parsed
}
