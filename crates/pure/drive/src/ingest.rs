//! Recognition of a conversation in a client's history.
//!
//! A client that keeps its own history sends all of it with every request. The history is compared
//! with the messages on the log's path, block by block. Previews, clearings and boundaries of this
//! side are left out of the comparison, because the client has never seen them.

use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId};
use dormouse_core::record::{Body, MessageOrigin, Record, Replacement, ReplacementDecision, Role};
use std::collections::HashMap;

/// Relation of a client's history to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ingested {
    /// Continuation: the history begins with the whole conversation.
    Extends {
        /// Number of blocks at the start that are known.
        known: usize,
    },
    /// Branch: the history shares a beginning and continues differently.
    BranchesAt {
        /// Last record that both share.
        record: RecordId,
        /// Number of blocks at the start that are known.
        known: usize,
    },
    /// Edit: one earlier block differs, and everything after it agrees again.
    EditsAt {
        /// Last record before the change.
        record: RecordId,
        /// Number of blocks before the change.
        known: usize,
    },
    /// No common beginning: another conversation.
    Unknown,
}

/// Block of the conversation on the log's path.
struct Own<'a> {
    record: &'a Record,
    role: Role,
    block: &'a Block,
    /// Hash of the original text, if the block is a preview.
    whole: Option<Hash>,
}

impl Own<'_> {
    fn is(&self, role: Role, block: &Block) -> bool {
        if self.role != role {
            return false;
        }
        let text = || Hash::of(block.readable_text().unwrap_or_default().as_bytes());
        // The client still has the whole result where the log has its preview.
        self.block.hash() == block.hash()
            || self.block.call() == block.call() && self.whole.is_some_and(|whole| whole == text())
    }
}

fn own_blocks<'a>(path: &[&'a Record]) -> Vec<Own<'a>> {
    let replaced = path.iter().filter_map(|record| match &record.body {
        Body::Replacement(Replacement {
            key,
            decision: ReplacementDecision::Replaced { blob, .. },
        }) => Some((*key, *blob)),
        _ => None,
    });
    let replaced: HashMap<BlockKey, Hash> = replaced.collect();
    let mut own = Vec::new();
    for record in path {
        let Body::Message(message) = &record.body else {
            continue;
        };
        if message.origin != MessageOrigin::Conversation {
            continue;
        }
        own.extend((0..).zip(&message.content).map(|(index, block)| Own {
            record,
            role: message.role,
            block,
            whole: replaced.get(&BlockKey::new(record.seq, index)).copied(),
        }));
    }
    own
}

/// Last record of the message that `last` belongs to: stop reason and usage follow its blocks, and
/// a branch before them would leave the answer unfinished.
fn closing<'a>(path: &[&'a Record], last: &'a Record) -> &'a Record {
    let behind = path.iter().skip_while(|record| record.seq <= last.seq);
    let of_message = behind.take_while(|record| match &record.body {
        Body::Message(message) => message.role == Role::Assistant && message.content.is_empty(),
        Body::Usage(_) => true,
        _ => false,
    });
    of_message.last().copied().unwrap_or(last)
}

/// Relates a client's history to the records of a path.
pub fn ingest(path: &[&Record], history: &[(Role, Block)]) -> Ingested {
    let own = own_blocks(path);
    let same = |at: usize| {
        let pair = own.get(at).zip(history.get(at));
        pair.is_some_and(|(own, (role, block))| own.is(*role, block))
    };
    let matching = (0..own.len().min(history.len()))
        .take_while(|at| same(*at))
        .count();
    if matching == own.len() && matching > 0 {
        return Ingested::Extends { known: matching };
    }
    // A branch starts after a whole record: of a partly shared record nothing counts as shared.
    let cut = own.get(matching).map(|own| own.record.seq);
    let shared = own[..matching].iter();
    let known = shared.filter(|own| Some(own.record.seq) != cut).count();
    let Some(last) = known.checked_sub(1).and_then(|last| own.get(last)) else {
        return Ingested::Unknown;
    };
    let record = closing(path, last.record).id.clone();
    // After a changed block, the rest of the conversation has to follow unchanged.
    let rest = matching + 1..own.len();
    let edited = !rest.is_empty() && history.len() >= own.len() && rest.clone().all(same);
    if edited {
        Ingested::EditsAt { record, known }
    } else {
        Ingested::BranchesAt { record, known }
    }
}
