//! Limits of the tools. Each is named in the message that tells the model about it.

use std::time::Duration;

/// Most bytes of a path argument: the limit of Linux.
pub const LONGEST_PATH: usize = 4_096;

/// Most bytes of a regular expression or glob; longer ones are a pasted text.
pub const LONGEST_PATTERN: usize = 4_096;

/// Most bytes of a compiled regular expression: far above a usual one; nested repetitions would
/// otherwise ask for gigabytes.
pub const LARGEST_REGEX: usize = 4 << 20;

/// Most bytes of any tool's result: about fifteen thousand tokens, which one step of a task can
/// bear.
pub const LONGEST_RESULT: usize = 60_000;

/// Lines that Read shows unless it is told; lines of usual length fill a result before that.
pub const LINES_READ: usize = 2_000;

/// Most bytes of a line that Read and Grep show: minified files have lines of megabytes.
pub const LONGEST_LINE: usize = 2_000;

/// Bytes into a file that Read goes to find a line: all before it are read on the way, so this
/// bounds the time.
pub const DEEPEST_READ: u64 = 256 << 20;

/// Most bytes of a file that Grep looks into, as for Read.
pub const LARGEST_SEARCHED: u64 = 256 << 20;

/// Most bytes that Grep holds of one file: its longest line. Lines of transcripts can have some
/// megabytes.
pub const SEARCH_MEMORY: usize = 16 << 20;

/// Lines or files that Grep shows unless it is told: a few screens.
pub const MATCHES_SHOWN: usize = 250;

/// Most lines around a match; for more there is Read.
pub const MOST_CONTEXT: usize = 50;

/// Most files that Glob shows; more do not help to choose one.
pub const FILES_SHOWN: usize = 200;

/// Most directory entries that a search looks at: a large repository with its dependencies.
pub const MOST_ENTRIES: usize = 200_000;

/// Most levels of directories that a search goes down; deeper trees are generated, or a loop of
/// mounts.
pub const DEEPEST_SEARCH: usize = 48;

/// Most bytes of a file with names to ignore; a longer one is not such a file.
pub const LARGEST_IGNORE_FILE: u64 = 256 << 10;

/// Longest search. A task waits for it, and a narrower one answers in seconds.
pub const LONGEST_SEARCH: Duration = Duration::from_secs(30);

/// Timeout of a command line unless the call says otherwise.
pub const COMMAND_TIME: Duration = Duration::from_secs(30);

/// Longest timeout that a call may ask for; a reading command that takes longer is better narrowed.
pub const LONGEST_COMMAND_TIME: Duration = Duration::from_mins(2);

/// Bytes of a command line's output that are kept, both streams together: half of the longest
/// result, because Read and Grep are the better way to see more.
pub const COMMAND_OUTPUT: usize = 30_000;

/// Most bytes of a file that Edit and Write make; the memory's own limit is far below.
pub const LARGEST_WRITTEN: usize = 1 << 20;

/// Denials that are kept; later ones are counted only.
pub const MOST_DENIALS: usize = 1_000;

/// Bytes of a denied target that are kept, enough to recognise it in the log.
pub const LONGEST_TARGET: usize = 500;
