//! Blocks of the prompt that the client never sees: reads of the model, and recalled memories.
//!
//! # Model
//! A client that cannot open our files gets one more tool, [`READ`], from the first request of its
//! conversation on. Calls of it are answered by the gateway within the client's own request, so that the
//! client's history lacks them. An [`Aside`] holds the missing blocks of one reply: it names the history
//! that was asked with and the visible blocks around each missing one, and the next requests put them
//! back where the model has them in its cache.
//!
//! A recalled memory is an aside, too: one block behind the user's words that it was recalled for.
//!
//! # Not here
//! The files that are read (`dormouse-relay`), the events of a streamed reply ([`crate::reply`]).

use crate::body::{Body, Role};
use crate::line::Line;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::CallId;
use dormouse_recognise::{Seen, handle_of};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the tool.
pub const READ: &str = "dormouse_read";

/// Folder of the files as the model names them. Paths are this, a slash and a file's name.
pub const FOLDER: &str = "dormouse:/";

/// Definition of the tool, behind those of the client.
pub(crate) const DEFINITION: &str = concat!(
    r#"{"name":"dormouse_read","description":"Opens or searches texts that were moved out of this "#,
    r#"conversation to keep it short. Their paths begin with dormouse:// and stand where the text "#,
    r#"was. Use it when an excerpt or a summary lacks something you need.","input_schema":"#,
    r#"{"type":"object","properties":{"path":{"type":"string","description":"Path of the text; "#,
    r#"without it all texts are searched."},"pattern":{"type":"string","description":"Regular "#,
    r#"expression; only lines that match are returned, with their numbers."},"offset":{"type":"#,
    r#""integer","description":"First line, from 1."},"limit":{"type":"integer","description":"#,
    r#""Most lines."}}}}"#
);

/// Blocks around one reply that the client does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// Number of the client's blocks in front of the reply.
    pub at: usize,
    /// Chain of these blocks.
    pub chain: Hash,
    /// Missing blocks in order.
    pub items: Vec<Item>,
    /// Texts that were fetched again.
    pub reads: u32,
}

/// A block that is put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Place among the blocks that the client has.
    pub spot: Spot,
    /// True for a call of the model, false for our result.
    pub is_call: bool,
    /// Bytes of the block.
    pub block: String,
}

/// Place of a missing block in the client's copy of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spot {
    /// Behind so many blocks that have an identity, the last of them this one, and then so many blocks
    /// of thinking.
    Behind {
        /// Blocks with an identity.
        blocks: usize,
        /// Identity of the last of them; none at the reply's beginning.
        last: Option<Hash>,
        /// Blocks of thinking behind it.
        thinking: usize,
    },
    /// Behind the whole reply.
    End,
    /// In front of the reply, with the words that it answers.
    Words,
}

/// Upstream's answers to one request of a client, as far as they have come.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    items: Vec<Item>,
    blocks: usize,
    last: Option<Hash>,
    thinking: usize,
    reads: u32,
}

/// Outcome of one of these answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Round {
    /// Nothing of ours was called: the reply is over.
    Over,
    /// Only our tool was called: the model goes on once it has the results.
    Again,
    /// Tools of the client were called as well: it goes on with the client's next request.
    Shared,
}

/// True for a call of our tool.
pub fn is_read(block: &Block) -> bool {
    block.kind() == BlockKind::ToolUse && block.tool() == Some(READ)
}

impl Rounds {
    /// Judges an answer by its blocks.
    pub fn round(blocks: &[Block]) -> Round {
        let calls = || {
            blocks
                .iter()
                .filter(|block| block.kind() == BlockKind::ToolUse)
        };
        match (calls().any(is_read), calls().all(is_read)) {
            (false, _) => Round::Over,
            (true, true) => Round::Again,
            (true, false) => Round::Shared,
        }
    }

    /// Takes an answer and the results of its calls of our tool.
    pub fn take(&mut self, blocks: &[Block], results: &[Block]) {
        let goes_on = Self::round(blocks) == Round::Again;
        for block in blocks {
            if is_read(block) {
                self.reads += 1;
                self.put(self.here(), true, block);
            } else if let Some(handle) = handle_of(block.bytes()) {
                self.blocks += 1;
                (self.last, self.thinking) = (Some(handle), 0);
            } else {
                self.thinking += 1;
            }
        }
        let spot = if goes_on { self.here() } else { Spot::End };
        for result in results {
            self.put(spot, false, result);
        }
    }

    const fn here(&self) -> Spot {
        Spot::Behind {
            blocks: self.blocks,
            last: self.last,
            thinking: self.thinking,
        }
    }

    fn put(&mut self, spot: Spot, is_call: bool, block: &Block) {
        self.items.push(Item {
            spot,
            is_call,
            block: String::from_utf8_lossy(block.bytes()).into_owned(),
        });
    }

    /// Number of reads so far.
    pub const fn reads(&self) -> u32 {
        self.reads
    }

    /// The record of all of it; `None` if nothing was read.
    pub fn aside(self, seen: &Seen) -> Option<Aside> {
        let chain = seen.chain(seen.len())?;
        (!self.items.is_empty()).then_some(Aside {
            at: seen.len(),
            chain,
            items: self.items,
            reads: self.reads,
        })
    }
}

/// Result of a read.
pub fn result(call: &CallId, text: &str, is_error: bool) -> Block {
    Block::tool_result(call, text, is_error)
}

/// True if the tool is to be offered in a conversation whose first request this is. A conversation that
/// has an answer already is left as it is: another list of tools would cost its whole cache.
pub fn offers(body: &Body, line: &Line) -> bool {
    // The provider refuses two tools of one name, as behind a second gateway.
    let is_known = memmem::find(&body.bytes, READ.as_bytes()).is_some();
    body.has_tools && !is_known && body.round() == 0 && line.is_fresh()
}

/// Missing blocks by the client's part that they stand in front of.
pub(crate) type Inserted = BTreeMap<usize, Vec<(Role, Arc<Aside>, usize)>>;

impl Aside {
    /// A text behind everything that a history says so far.
    pub fn behind(seen: &Seen, text: &str) -> Option<Self> {
        let block = Block::text(text);
        Some(Self {
            at: seen.len(),
            chain: seen.chain(seen.len())?,
            items: vec![Item {
                spot: Spot::Words,
                is_call: false,
                block: String::from_utf8_lossy(block.bytes()).into_owned(),
            }],
            reads: 0,
        })
    }

    /// True for memories, false for reads.
    pub(crate) fn is_recalled(&self) -> bool {
        self.items.iter().all(|item| item.spot == Spot::Words)
    }

    /// Puts the missing blocks at their places in a history; nothing at all if one has no place.
    pub(crate) fn insert(self: &Arc<Self>, body: &Body, seen: &Seen, inserted: &mut Inserted) {
        if self.is_recalled() {
            let items = (0..self.items.len()).map(|number| (Role::User, Arc::clone(self), number));
            inserted.entry(self.at).or_default().extend(items);
            return;
        }
        let reply = body.turns.iter().find(|turn| turn.parts.start == self.at);
        let Some(reply) = reply.filter(|turn| turn.role == Role::Assistant) else {
            return;
        };
        let parts = reply.parts.clone();
        let place = |spot: Spot| match spot {
            Spot::End => Some(parts.end),
            Spot::Words => Some(parts.start),
            Spot::Behind {
                blocks,
                last,
                thinking,
            } => {
                let mut known = parts.clone().filter(|at| seen.handle(*at).is_some());
                let after = match blocks.checked_sub(1) {
                    Some(before) => known.nth(before).filter(|at| seen.handle(*at) == last)? + 1,
                    None => parts.start,
                };
                // A client that drops thinking drops all of it.
                let has_none = |at: &usize| seen.handle(*at).is_none();
                let skipped = (after..parts.end).take(thinking).take_while(has_none);
                Some(after + skipped.count())
            }
        };
        let places: Option<Vec<usize>> = self.items.iter().map(|item| place(item.spot)).collect();
        for (number, at) in places.unwrap_or_default().into_iter().enumerate() {
            let is_call = self.items.get(number).is_some_and(|item| item.is_call);
            let role = if is_call { Role::Assistant } else { Role::User };
            let one = (role, Arc::clone(self), number);
            inserted.entry(at).or_default().push(one);
        }
    }
}
