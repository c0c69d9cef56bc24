//! Recognising a conversation in a client's history.
//!
//! A client that keeps its own history sends all of it with every request. The history is compared
//! with what the log's path says, block by block and by hash chain, whatever this side has
//! rewritten since: previews, clearings and boundaries are no part of the client's history.

use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, MessageOrigin, Record, Role};

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

/// Relates a client's history to the records of a path.
pub fn ingest(path: &[&Record], history: &[(Role, Block)]) -> Ingested {
    let own: Vec<(&RecordId, Role, &Block)> = path
        .iter()
        .filter_map(|record| match &record.body {
            Body::Message(message) if message.origin == MessageOrigin::Conversation => {
                let blocks = message.content.iter();
                Some(blocks.map(|block| (&record.id, message.role, block)))
            }
            _ => None,
        })
        .flatten()
        .collect();
    let same = |at: usize| {
        own.get(at)
            .zip(history.get(at))
            .is_some_and(|((_, role, block), (theirs, their_block))| {
                role == theirs && block.hash() == their_block.hash()
            })
    };
    let known = (0..own.len().min(history.len()))
        .take_while(|at| same(*at))
        .count();
    if known == own.len() && known <= history.len() && known > 0 {
        return Ingested::Extends { known };
    }
    let Some((record, _, _)) = known.checked_sub(1).and_then(|last| own.get(last)) else {
        return Ingested::Unknown;
    };
    let record = (*record).clone();
    // Behind a changed block the rest of the conversation follows as it was.
    let rest = known + 1..own.len();
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
