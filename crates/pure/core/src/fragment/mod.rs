//! Authorship of text on the user's side: one table of wrappers and markers.
//!
//! # Model
//! Clients put text of their own into the user's messages, and so does Dormouse: reminders, output
//! of commands, editor selections, other agents' messages, summaries. [`recognise`] divides a text
//! into [`Span`]s, each with its [`Speaker`]; [`render`] writes a fragment that recognition gives
//! back; [`record::speaker`] judges a whole record by its fields. Every other crate asks these and
//! keeps no list of its own.
//!
//! Recognition assumes an adversary inside every wrapper. A wrapper reaches from its first opening
//! tag to the *last* closing tag of its name: content that closes the wrapper early cannot remove
//! the genuine closing tag behind it. Text around a wrapper that clients send alone belongs to the
//! client. An element that the table lacks, on lines of its own, is taken for the client's. In
//! doubt words are not the user's.
//!
//! # Not here
//! Meaning: sentences that announce a paste (`dormouse-memory`, extraction). Terminal escapes
//! (`dormouse-context`, evidence).

mod heads;
mod machine;
mod marked;
mod neutral;
mod pasted;
mod quoted;
mod recognise;
pub mod record;
mod render;
mod table;
mod tag;

pub use neutral::{
    begins_turn, has_boundary, has_prompt_mark, neutralise, one_line, without_half_tag,
};
pub use quoted::reported;
pub use recognise::{command, recognise, sent};
pub use render::{close, defuse, open, render};
pub use table::*;

use std::ops::Range;

/// Author of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// Person who uses the agent.
    User,
    /// Client around the model: reminders, hooks, editor state, notices.
    Host,
    /// Tool or command, also one that the user ran.
    Tool,
    /// Model, sub-agent, teammate or channel.
    OtherAgent,
    /// Dormouse itself: memories, summaries, evidence.
    Dormouse,
}

/// Surroundings of a wrapper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a message with the user's words around it.
    Beside,
    /// In a message of the client's: text behind it is the client's too.
    Alone,
    /// Turn or call in a dialect of some model. The word is common, so it counts on lines of its
    /// own only; no memory may contain it.
    Role,
    /// Part of a prompt or an answer. The word is common, so it counts on lines of its own only.
    Section,
}

/// Row of the table: a pair of tags and their meaning.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// Name of its tags, in small letters.
    pub tag: &'static str,
    /// Author of its content.
    pub speaker: Speaker,
    /// Bytes of content at most when Dormouse renders it.
    pub cap: usize,
    /// Surroundings that it may have.
    pub place: Place,
}

/// Reason for a span's speaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// No marker: typed by the user.
    Typed,
    /// Wrapper of the table.
    Wrapped(&'static Wrapper),
    /// Element or block on lines of its own that the table lacks.
    Unlisted,
    /// Marker without tags, or text in a message that is the client's.
    Noted,
    /// Sent by the user, written by others: terminal, chat, mail, log, markup, quotation.
    Pasted,
}

/// Piece of a text with one author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Bytes between the tags; the whole range where there are none.
    pub content: Range<usize>,
    /// Author of the bytes.
    pub speaker: Speaker,
    /// Reason for this speaker.
    pub how: How,
}

impl Span {
    /// True if the user sent these words, typed or pasted.
    pub fn is_sent(&self) -> bool {
        self.speaker == Speaker::User || self.how == How::Pasted
    }
}

/// True if the name is an element of HTML or SVG.
fn is_markup(name: &str) -> bool {
    table::MARKUP.split('|').any(|known| known == name)
}

#[cfg(test)]
mod tests;
