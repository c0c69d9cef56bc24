//! What a compaction keeps without a model: the user's words and the evidence.
//!
//! # Model
//! [`observe`] folds one record of a path into the [`Chronicle`], at a cost that depends on the
//! record and not on the session. A call notes what it is about when it is made and how it went
//! when its result comes; between the two it stands among the open calls, so that a session resumed
//! in the middle of a turn ends up with the same chronicle. The user's messages are kept without
//! what a client put into them ([`spoken`]).
//!
//! - [`user_messages`]: the user's messages for a summary, exact as long as they fit.
//! - [`accounts_for_all`]: the gate: no message of the user is missing.
//! - [`render`]: the evidence as a short list in Markdown.
//!
//! Everything noted is data. It is cut to length and made harmless when it is noted: one line, no
//! control characters, no tags. The user's own messages stay exact and stand in fences instead.
//!
//! # Not here
//! When to compact, and where the texts stand in the prompt. Nothing is looked up on the disk.

mod account;
mod calls;
mod clean;
mod mine;
mod note;
mod render;
mod section;
mod spoken;
mod words;

pub use account::{MissingMessage, accounts_for_all};
pub use render::{render, render_beside};
pub use section::{Accounted, Form, UserSection, user_messages};
pub use spoken::spoken;

use crate::tokens;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Act, Body, Chronicle, Message, MessageOrigin, Record, Role};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// How much of a session the chronicle holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceLimits {
    /// Messages of the user that are listed one by one.
    pub user_messages: usize,
    /// Bytes of the user's messages; beyond them pasted bulk and the oldest are cut.
    pub user_bytes: usize,
    /// From this many bytes on a message counts as pasted bulk.
    pub bulk: usize,
    /// Characters kept of the beginning of a message that is cut.
    pub head: usize,
    /// Characters kept of its end.
    pub tail: usize,
    /// Files.
    pub files: usize,
    /// Commands.
    pub commands: usize,
    /// Searches.
    pub searches: usize,
    /// Test results.
    pub tests: usize,
    /// Errors.
    pub errors: usize,
    /// Addresses.
    pub urls: usize,
    /// Numbers and names that the user gave.
    pub values: usize,
    /// Decisions.
    pub decisions: usize,
    /// Calls that wait for a result.
    pub open_calls: usize,
    /// Characters of a path or an address.
    pub path_chars: usize,
    /// Characters of a command.
    pub command_chars: usize,
    /// Characters of any other line.
    pub line_chars: usize,
    /// Numbers and names taken from one message.
    pub values_per_message: usize,
    /// Decisions taken from one message, and lines from one result.
    pub lines_per_record: usize,
}

impl Default for EvidenceLimits {
    fn default() -> Self {
        Self {
            user_messages: 1_000,
            user_bytes: 128 * 1024,
            bulk: 4_000,
            head: 800,
            tail: 400,
            files: 600,
            commands: 400,
            searches: 100,
            tests: 50,
            errors: 80,
            urls: 100,
            values: 400,
            decisions: 100,
            open_calls: 256,
            path_chars: 400,
            command_chars: 800,
            line_chars: 240,
            values_per_message: 40,
            lines_per_record: 3,
        }
    }
}

/// Folds one record of a path. Records that are no part of the conversation change nothing.
pub fn observe(chronicle: &mut Chronicle, record: &Record, limits: &EvidenceLimits) {
    match &record.body {
        Body::Session(start) if !start.project.is_empty() => {
            chronicle.project = Some(clean::line(&start.project, limits.path_chars));
        }
        Body::Message(message) if message.reaches_the_model() => {
            chronicle.clock += 1;
            match message.role {
                Role::Assistant => assistant(chronicle, record, message, limits),
                Role::User => user(chronicle, record, message, limits),
                Role::System => {}
            }
        }
        _ => {}
    }
}

fn assistant(
    chronicle: &mut Chronicle,
    record: &Record,
    message: &Message,
    limits: &EvidenceLimits,
) {
    for block in &message.content {
        match block.kind() {
            BlockKind::ToolUse => calls::opened(chronicle, record.seq, block, limits),
            BlockKind::Text => mine::assistant(chronicle, record.seq, block, limits),
            _ => {}
        }
    }
}

fn user(chronicle: &mut Chronicle, record: &Record, message: &Message, limits: &EvidenceLimits) {
    let of_kind = |kind| move |block: &&Block| block.kind() == kind;
    for block in message
        .content
        .iter()
        .filter(of_kind(BlockKind::ToolResult))
    {
        calls::closed(chronicle, record.seq, block, limits);
    }
    if message.origin != MessageOrigin::Conversation {
        return;
    }
    let words: Vec<String> = message
        .content
        .iter()
        .filter(of_kind(BlockKind::Text))
        .filter_map(Block::readable_text)
        .map(|text| spoken(&text))
        .filter(|text| !text.is_empty())
        .collect();
    if !words.is_empty() {
        let text = words.join("\n\n");
        note::user_message(&mut chronicle.user, record, &text, limits);
        mine::user(chronicle, record.seq, &text, limits);
    }
}

/// Files that were read and could be read, the most recent first.
pub fn recent_files(chronicle: &Chronicle, most: usize) -> Vec<String> {
    let files = chronicle.files.recent_first().into_iter();
    let shown = files.filter(|(_, entry)| entry.fact.reads > 0 && !entry.fact.failed);
    shown.take(most).map(|(path, _)| path.to_owned()).collect()
}

/// What a record fetches again although it had been read before `forgotten_until`. Asked before
/// the record is observed.
pub fn read_again(chronicle: &Chronicle, record: &Record, forgotten_until: u64) -> Weight {
    let Body::Message(message) = &record.body else {
        return Weight::default();
    };
    let again = |block: &&Block| {
        let call = block.call().and_then(|call| chronicle.open_calls.get(call));
        let Some(Act::Read(path)) = call.map(|call| &call.act) else {
            return false;
        };
        let since = call.map_or(0, |call| call.since);
        let known = chronicle.files.entries.get(path);
        known.is_some_and(|entry| {
            let seen = &entry.seen;
            seen.first <= forgotten_until && (seen.last <= forgotten_until || seen.last >= since)
        })
    };
    let results = message
        .content
        .iter()
        .filter(|block| block.kind() == BlockKind::ToolResult);
    results
        .filter(again)
        .fold(Weight::default(), |sum, block| sum + *block.weight())
}

/// What a text takes in a prompt, as estimated.
fn cost(text: &str, bytes: BytesPerToken) -> Tokens {
    tokens::estimate(Block::text(text).weight(), bytes)
}

#[cfg(test)]
mod tests;
