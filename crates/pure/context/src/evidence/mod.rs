//! Facts that a compaction keeps without a model: the user's messages and the evidence.
//!
//! # Model
//! [`observe`] folds one record of a path into the [`Chronicle`], at a cost that depends on the
//! record and not on the session. A call records its subject when it is made and its outcome when
//! the result arrives; in between it is an open call, so that a session resumed within a turn ends
//! up with the same chronicle. User messages are stored without the parts that a client inserted
//! ([`spoken`]).
//!
//! - [`user_messages`]: the user's messages for a summary, exact as long as they fit.
//! - [`accounts_for_all`]: the gate: no user message is missing.
//! - [`render`]: the evidence as a short list in Markdown.
//! - `pages`: entries written down once, for manifests that name them.
//!
//! All evidence is untrusted data. It is cut and sanitised when it is recorded: one line, no
//! control characters, no tags. User messages stay exact and stand in fences instead.
//!
//! # Not here
//! When to compact, and where the texts stand in the prompt. Nothing is read from disk.

mod account;
mod calls;
mod clean;
pub(crate) mod mine;
mod note;
pub(crate) mod pages;
mod render;
mod section;
mod spoken;
mod words;

pub use account::{MissingMessage, accounts_for_all};
pub use render::{render, render_beside};
pub use section::{Accounted, Form, UserSection, user_messages};
pub use spoken::{Spoken, spoken};

use crate::tokens;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::instructions::stands_in_prompt;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Act, Body, Chronicle, Message, MessageOrigin, Record, Role};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// Capacity of the chronicle. A resume reads all of it, so all of it is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceLimits {
    /// Most user messages listed one by one; older ones become a range of the log.
    pub user_messages: usize,
    /// Most bytes of user messages; beyond it pasted bulk and then the oldest are cut.
    pub user_bytes: usize,
    /// Length in bytes from which a message counts as pasted bulk.
    pub bulk: usize,
    /// Characters kept from the beginning of a message that is cut.
    pub head: usize,
    /// Characters kept from its end.
    pub tail: usize,
    /// Most files read or changed.
    pub files: usize,
    /// Most distinct commands, with their outcomes.
    pub commands: usize,
    /// Most distinct searches, with their outcomes.
    pub searches: usize,
    /// Most lines with test results.
    pub tests: usize,
    /// Most distinct error lines.
    pub errors: usize,
    /// Most URLs fetched or mentioned.
    pub urls: usize,
    /// Most numbers and identifiers given by the user.
    pub values: usize,
    /// Most decisions of user and assistant.
    pub decisions: usize,
    /// Most calls without a result; a log that never answers them must not grow the state.
    pub open_calls: usize,
    /// Most characters of a path or URL.
    pub path_chars: usize,
    /// Most characters of a command.
    pub command_chars: usize,
    /// Most characters of any other line.
    pub line_chars: usize,
    /// Most numbers and identifiers taken from one message, so that a pasted table leaves room.
    pub values_per_message: usize,
    /// Most decisions taken from one message, and most test lines from one result.
    pub lines_per_record: usize,
}

impl Default for EvidenceLimits {
    fn default() -> Self {
        // A full chronicle takes about a megabyte of JSON, small enough for every resume, and a
        // session of several days fits. The prompt shows less of it (`compact.*_limit`).
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

/// Folds one record of a path. Records outside the conversation change nothing.
pub fn observe(chronicle: &mut Chronicle, record: &Record, limits: &EvidenceLimits) {
    match &record.body {
        Body::Session(start) if !start.project.is_empty() => {
            chronicle.project = Some(clean::line(&start.project, limits.path_chars));
        }
        Body::Message(message) if message.reaches_the_model() => {
            // Messages are counted instead of record numbers, which differ between writers.
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
    // Summaries, repairs and other machine-made messages are not the user's words; nor are the
    // directives of an agent that another client recorded beside the conversation.
    let aside = record.side_chain || (record.agent.is_some() && !record.own);
    if message.origin != MessageOrigin::Conversation || aside {
        return;
    }
    let words: Vec<Spoken> = message
        .content
        .iter()
        .filter(of_kind(BlockKind::Text))
        .filter_map(Block::readable_text)
        .map(|text| spoken(&text))
        .filter(|words| !words.sent.is_empty())
        .collect();
    if !words.is_empty() {
        let join = |part: fn(&Spoken) -> &str| {
            let parts: Vec<&str> = words.iter().map(part).collect();
            parts.join("\n\n")
        };
        let text = join(|words| &words.sent);
        note::user_message(&mut chronicle.user, record, &text, limits);
        mine::user(chronicle, record.seq, &text, limits);
        mine::rules(chronicle, record.seq, &join(|words| &words.typed), limits);
    }
}

/// Paths of files to restore: those that were read successfully, most recent first. The session's
/// log (`history`) and files that stand in the prompt by themselves would be shown twice.
pub(crate) fn recent_files(chronicle: &Chronicle, history: &str, most: usize) -> Vec<String> {
    let files = chronicle.files.recent_first().into_iter();
    let shown = files.filter(|(path, entry)| {
        let read = entry.fact.reads > 0 && !entry.fact.failed;
        read && *path != history && !stands_in_prompt(path)
    });
    shown.take(most).map(|(path, _)| path.to_owned()).collect()
}

/// Weight of the results in a record that fetch a file again after it was read before
/// `forgotten_until` (the chronicle's clock at the last compaction). Call it before observing the
/// record.
pub(crate) fn read_again(chronicle: &Chronicle, record: &Record, forgotten_until: u64) -> Weight {
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
            // The open call itself counts as a sighting: without the second case every file read
            // again would look as if it had never left the prompt.
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

/// Estimated tokens of a text in a prompt.
fn cost(text: &str, bytes: BytesPerToken) -> Tokens {
    tokens::estimate(Block::text(text).weight(), bytes)
}

#[cfg(test)]
mod tests;
