//! Figures about memory that no other file holds: what recall looked at, what was rejected.
//!
//! # Model
//! Lines in the folder of caches, one an event. A lost line costs a figure and nothing else, so
//! writing never fails a caller.
//!
//! # Not here
//! How useful single memories were (`dormouse_recall::usage`); changes of memories (the journal).

use dormouse_core::units::Millis;
use dormouse_memdir::MemoryDir;
use dormouse_system::Access;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// File of the lines, below the memory directory.
const FILE: &str = ".cache/figures.jsonl";
/// Bytes above which the older half goes. A line has some sixty: about two years of daily use.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Something about memory that is worth counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    /// Time of the event.
    pub at: Millis,
    /// Memories that recall considered for a prompt: those above the bar and those left to a model.
    #[serde(skip_serializing_if = "is_zero")]
    pub candidates: u64,
    /// Memories among them that were shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub chosen: u64,
    /// Memories that waited and were rejected by the user.
    #[serde(skip_serializing_if = "is_zero")]
    pub rejected: u64,
    /// Answers to hooks of other agents that brought something in.
    #[serde(skip_serializing_if = "is_zero")]
    pub answers: u64,
    /// Memories that went into conversations of other agents with them.
    #[serde(skip_serializing_if = "is_zero")]
    pub given: u64,
    /// Tokens of these answers, estimated.
    #[serde(skip_serializing_if = "is_zero")]
    pub given_tokens: u64,
    /// Tokens of them that later requests read again.
    #[serde(skip_serializing_if = "is_zero")]
    pub carried_tokens: u64,
    /// Price of writing and reading them, in millionths of a dollar, where it is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub carried_micros: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Adds a line. A directory that cannot be written to loses it.
pub fn note(memory: &MemoryDir, figure: &Figure) {
    if memory.make_cache_folder().is_err() {
        return;
    }
    let files = memory.handle();
    let Ok(mut line) = serde_json::to_vec(figure) else {
        return;
    };
    line.push(b'\n');
    let path = Path::new(FILE);
    if files
        .metadata(path)
        .is_ok_and(|facts| facts.len > MOST_BYTES)
    {
        let kept = newer_half(&read_bytes(memory));
        // Not replaced means that the file grows until it can be.
        files.replace(path, &kept, Access::Private).ok();
    }
    let _noted = files
        .append(path, Access::Private)
        .and_then(|mut file| file.append(&line));
}

/// All lines that can be read, oldest first.
pub fn read(memory: &MemoryDir) -> Vec<Figure> {
    let bytes = read_bytes(memory);
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn read_bytes(memory: &MemoryDir) -> Vec<u8> {
    // Twice the bound: a line of another process may have come between measuring and writing.
    let read = memory.handle().read(Path::new(FILE), 2 * MOST_BYTES);
    read.map(|bytes| bytes.to_vec()).unwrap_or_default()
}

/// The later half of the lines, from a whole one on.
fn newer_half(bytes: &[u8]) -> Vec<u8> {
    let half = &bytes[bytes.len() / 2..];
    let start = half.iter().position(|byte| *byte == b'\n');
    start.map_or_else(Vec::new, |at| half[at + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_half_begins_with_a_whole_line() {
        assert_eq!(
            newer_half(b"{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"),
            b"{\"c\":3}\n"
        );
        assert_eq!(newer_half(b"no newline at all"), b"");
    }
}
