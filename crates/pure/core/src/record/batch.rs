//! Batch of records, the unit of an append.

use super::Record;
use crate::id::RecordId;
use bytes::Bytes;

/// Longest line in bytes that a reader accepts; the driver refuses a longer record before folding
/// it, since the log could not be resumed. 64 MiB hold the largest media a provider accepts, four
/// times over.
pub const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// Records that are appended atomically, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// Head of the log that the records were made for; none for an empty log. A store with another
    /// head refuses the batch, which detects a second writer.
    pub expected: Option<RecordId>,
    /// Records, oldest first. Their offsets assume that the first line begins at [`Batch::offset`].
    pub records: Vec<Record>,
    /// Length of the log in bytes before the batch.
    pub offset: u64,
    /// Records as lines, newlines included; serialised once, by the driver.
    pub lines: Bytes,
    /// True if an effect waits for the batch to be durable, so that the store has to sync.
    pub sync: bool,
}
