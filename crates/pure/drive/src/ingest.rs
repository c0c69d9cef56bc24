//! Recognising a conversation in a client's history.
//!
//! A client that keeps its own history sends all of it with every request. The history is compared
//! with what the log's path says, block by block and by hash chain, whatever this side has
//! rewritten since: previews, clearings and boundaries are no part of the client's history.

use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId};
use dormouse_core::record::{Body, MessageOrigin, Record, Replacement, ReplacementDecision, Role};
use std::collections::HashMap;

/// How a client's history relates to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ingested {
    /// It goes on where the conversation ends: so many of its blocks are known.
    Extends {
        /// Blocks that are known.
        known: usize,
    },
    /// It leaves the conversation behind this record and goes on otherwise.
    BranchesAt {
        /// The last record that both share.
        record: RecordId,
        /// Blocks that are known.
        known: usize,
    },
    /// It is the conversation with an earlier block changed: behind the change both agree again.
    EditsAt {
        /// The last record in front of the change.
        record: RecordId,
        /// Blocks in front of the change.
        known: usize,
    },
    /// It is another conversation.
    Unknown,
}

/// The chain over a history, as [`ingest`] compares it.
pub fn history_chain<'a>(history: impl IntoIterator<Item = (Role, &'a Block)>) -> Hash {
    history
        .into_iter()
        .fold(Hash::START, |chain, (role, block)| link(chain, role, block))
}

fn link(chain: Hash, role: Role, block: &Block) -> Hash {
    let tag = match role {
        Role::User => b'u',
        Role::Assistant => b'a',
        Role::System => b's',
    };
    chain.link(tag, block.hash())
}

/// A block that the log's path says.
struct Own<'a> {
    record: &'a Record,
    role: Role,
    block: &'a Block,
    /// The hash of the text that a preview stands for.
    whole: Option<Hash>,
}

impl Own<'_> {
    fn is(&self, role: Role, block: &Block) -> bool {
        if self.role != role {
            return false;
        }
        let text = || Hash::of(block.readable_text().unwrap_or_default().as_bytes());
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

/// The last record that belongs to the message of `last`: its stop reason and its usage follow
/// the blocks, and a branch in front of them would count the answer as unfinished.
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
    // A branch begins behind a whole record: of one that is shared in part, nothing is.
    let cut = own.get(matching).map(|own| own.record.seq);
    let shared = own[..matching].iter();
    let known = shared.filter(|own| Some(own.record.seq) != cut).count();
    let Some(last) = known.checked_sub(1).and_then(|last| own.get(last)) else {
        return Ingested::Unknown;
    };
    let record = closing(path, last.record).id.clone();
    // Behind a changed block the rest of the conversation follows as it was.
    let rest = matching + 1..own.len();
    let edited = !rest.is_empty() && history.len() >= own.len() && rest.clone().all(same);
    if edited {
        Ingested::EditsAt { record, known }
    } else {
        Ingested::BranchesAt { record, known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_tells_roles_and_order_apart() {
        let (a, b) = (Block::text("a"), Block::text("b"));
        let chains = [
            history_chain([(Role::User, &a), (Role::Assistant, &b)]),
            history_chain([(Role::Assistant, &a), (Role::User, &b)]),
            history_chain([(Role::User, &b), (Role::Assistant, &a)]),
            history_chain([(Role::User, &a)]),
        ];
        for (at, chain) in chains.iter().enumerate() {
            assert!(!chains[..at].contains(chain), "{at}");
        }
    }
}
