//! A batch: the records that one append writes.

use super::Record;
use crate::id::RecordId;
use bytes::Bytes;

/// The longest line a reader takes. A record whose line is longer is refused before it is folded:
/// 64 MiB hold the largest media a provider accepts, four times over.
pub const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// Records that are appended together: all of them, in this order, or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The head the records were made for; none for a log that is still empty. A store whose head
    /// is another one refuses the batch.
    pub expected: Option<RecordId>,
    /// The records, oldest first. Their offsets assume that the first begins at [`Batch::offset`].
    pub records: Vec<Record>,
    /// Length of the log in front of the batch.
    pub offset: u64,
    /// The records as lines, newlines included: serialised once, by the writer of the records.
    pub lines: Bytes,
    /// Whether an effect waits for the batch to be on disk, so that it must be synced.
    pub sync: bool,
}
