//! Errors of mail.
//!
//! # Not here
//! Errors of files: `dormouse-system`.

use dormouse_system::FileError;
use std::path::PathBuf;

/// Result of sending and reading.
pub type MailResult<T> = Result<T, MailError>;

/// Reasons why a letter was not sent or an inbox not read.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// Name that cannot be a file's name or would be taken for another kind of address.
    #[error("`{0}` is no name of an agent: letters, digits, `-`, `_` and `.`, at most 64")]
    BadName(String),
    /// Address of a kind that this build cannot reach.
    #[error("`{0}` leads to another machine, and no bridge is set up")]
    NoBridge(String),
    /// Name without an inbox in the team.
    #[error("there is no agent `{name}` in this team; its members: {members}")]
    NoMember {
        /// Name that was asked for.
        name: String,
        /// Names that exist, as shown.
        members: String,
    },
    /// Letter longer than an inbox takes.
    #[error("the message has {len} bytes, and {most} are the most: write it to a file and name it")]
    TooLong {
        /// Bytes of the letter as a line.
        len: usize,
        /// Most bytes of a line.
        most: usize,
    },
    /// Inbox whose owner does not read.
    #[error(
        "the inbox of {name} is full ({len} bytes): its owner does not read, or the team is over"
    )]
    Full {
        /// Owner of the inbox.
        name: String,
        /// Bytes of the file.
        len: u64,
    },
    /// Another writer kept the lock.
    #[error("the inbox {path} is locked by another process; nothing was sent")]
    Locked {
        /// File of the inbox.
        path: PathBuf,
    },
    /// Letter that cannot be written as a line.
    #[error("the message cannot be written as JSON: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// Failure of the disk.
    #[error(transparent)]
    File(#[from] FileError),
    /// Socket that cannot be made or reached.
    #[error("the socket {path} {what}: {source}")]
    Socket {
        /// Path of the socket.
        path: PathBuf,
        /// Step that failed, behind the path in a sentence.
        what: &'static str,
        /// Error of the system.
        source: std::io::Error,
    },
    /// Session that answered with a refusal, or not at all.
    #[error("the session behind {path} did not take the message: {reason}")]
    Refused {
        /// Path of the socket.
        path: PathBuf,
        /// Words of the session.
        reason: String,
    },
}
