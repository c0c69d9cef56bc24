//! What the tools stop at. Each limit is named in the message that tells the model about it.

use std::time::Duration;

/// The longest path argument, in bytes.
pub const LONGEST_PATH: usize = 4_096;

/// The longest regular expression or glob, in bytes.
pub const LONGEST_PATTERN: usize = 4_096;

/// The most bytes a compiled regular expression may take.
pub const LARGEST_REGEX: usize = 4 << 20;

/// The longest result of any tool, in bytes.
pub const LONGEST_RESULT: usize = 60_000;

/// How many lines Read shows unless it is told.
pub const LINES_READ: usize = 2_000;

/// How many bytes of a line Read and Grep show.
pub const LONGEST_LINE: usize = 2_000;

/// How far into a file Read goes to find a line, in bytes.
pub const DEEPEST_READ: u64 = 256 << 20;

/// The largest file that Grep looks into, in bytes.
pub const LARGEST_SEARCHED: u64 = 256 << 20;

/// The most memory that Grep takes for one file: its longest line, in bytes.
pub const SEARCH_MEMORY: usize = 16 << 20;

/// How many lines or files Grep shows unless it is told.
pub const MATCHES_SHOWN: usize = 250;

/// The most lines around a match.
pub const MOST_CONTEXT: usize = 50;

/// How many files Glob shows.
pub const FILES_SHOWN: usize = 200;

/// How many entries of directories a search looks at.
pub const MOST_ENTRIES: usize = 200_000;

/// How many directories deep a search goes.
pub const DEEPEST_SEARCH: usize = 48;

/// How large a file with names to ignore may be, in bytes.
pub const LARGEST_IGNORE_FILE: u64 = 256 << 10;

/// How long a search takes at most.
pub const LONGEST_SEARCH: Duration = Duration::from_secs(30);

/// How long a command line runs unless the call says otherwise.
pub const COMMAND_TIME: Duration = Duration::from_secs(30);

/// How long a command line runs at most.
pub const LONGEST_COMMAND_TIME: Duration = Duration::from_mins(2);

/// How much of a command line's output is kept, in bytes.
pub const COMMAND_OUTPUT: usize = 30_000;

/// The largest file that Edit and Write make, in bytes.
pub const LARGEST_WRITTEN: usize = 1 << 20;

/// How many denials are kept; later ones are counted only.
pub const MOST_DENIALS: usize = 1_000;

/// How much of a denied target is kept, in bytes.
pub const LONGEST_TARGET: usize = 500;
