//! Thinking bound to its conversation.
//!
//! Model: the simulator signs each thinking block with a seal that names the model family and
//! account that made it, the content before it (without thinking), and the thinking block just
//! before. A seal can be checked without remembering anything. Leaving out thinking at the start of
//! the history breaks no seal, for the first block that is left is not asked for its predecessor;
//! leaving some out in the middle does, and so does any edit before a block.
//!
//! A compaction block carries the state at its cut, so that the turns kept after it stay valid.
//!
//! # Not here
//! Writing the seals: [`crate::spoken`].

use crate::blocks::{Kind, Place};
use crate::compaction::CompactionSeal;
use crate::digest::Digest;
use crate::error::ApiError;
use crate::keys::Level;
use crate::prompt::Item;
use crate::simulator::Account;
use dormouse_core::models::{ModelInfo, ThinkingBinding};
use serde::Serialize;
use std::fmt;

/// First field of a seal, so that a signature of another kind is not taken for one.
const NAME: &str = "simthink";

/// Content of a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThinkingSeal {
    pub(crate) family: String,
    pub(crate) account: Digest,
    pub(crate) prefix: Digest,
    pub(crate) previous: Digest,
    /// The whole reasoning, also where only a summary is shown.
    pub(crate) tokens: u64,
}

impl ThinkingSeal {
    fn fields(&self) -> String {
        format!(
            "{NAME}.{}.{}.{}.{}.{}",
            self.family, self.account, self.prefix, self.previous, self.tokens
        )
    }

    /// The block's identity, and the proof that the fields were not made up.
    pub(crate) fn id(&self) -> Digest {
        Digest::of(self.fields().as_bytes())
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(NAME)?.strip_prefix('.')?;
        let mut parts = rest.split('.');
        let seal = Self {
            family: parts.next()?.to_owned(),
            account: Digest::parse(parts.next()?)?,
            prefix: Digest::parse(parts.next()?)?,
            previous: Digest::parse(parts.next()?)?,
            // The width keeps a forged figure from overflowing any sum.
            tokens: u64::from(parts.next()?.parse::<u32>().ok()?),
        };
        (Digest::parse(parts.next()?)? == seal.id()).then_some(seal)
    }
}

impl fmt::Display for ThinkingSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.fields(), self.id())
    }
}

/// The state that new thinking is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bond {
    /// System and tools alone.
    pub(crate) base: Digest,
    /// Everything but thinking, which may be left out.
    pub(crate) prefix: Digest,
    /// The last thinking block.
    pub(crate) previous: Digest,
}

impl Bond {
    /// The state after one more block.
    pub(crate) fn follow(&mut self, tag: u8, digest: Digest) {
        self.prefix = self.prefix.then(tag, digest);
    }
}

/// Reason that a block was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Reason {
    #[serde(rename = "model_binding_mismatch")]
    Model,
    #[serde(rename = "prefix_binding_mismatch")]
    Prefix,
    #[serde(rename = "organization_binding_mismatch")]
    Organization,
}

/// A thinking block that was taken out.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Dropped {
    r#type: &'static str,
    reason: Reason,
    path: String,
}

/// Reaction to a block that is not where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnMismatch {
    Ignore,
    Refuse,
    Drop,
}

/// Follows the conversation and checks every seal on the way.
pub(crate) fn check(
    items: &mut Vec<Item<'_>>,
    model: &ModelInfo,
    account: &Account,
    on_mismatch: OnMismatch,
    compaction: Option<&CompactionSeal>,
) -> Result<(Bond, Vec<Dropped>), ApiError> {
    let mut bond = Bond {
        base: Digest::default(),
        prefix: Digest::default(),
        previous: Digest::default(),
    };
    let mut first = true;
    let mut inside = false;
    let mut dropped = Vec::new();
    let mut gone = Vec::new();
    for (at, item) in items.iter().enumerate() {
        if item.level == Level::Messages && !inside {
            inside = true;
            bond.base = bond.prefix;
        }
        match item.kind {
            Kind::Thinking => {
                let seal = item
                    .names
                    .signature
                    .as_deref()
                    .and_then(ThinkingSeal::parse);
                let wrong = mismatch(seal.as_ref(), model, account, &bond, first);
                match (wrong, on_mismatch) {
                    // The first one only: the provider names no second.
                    (Some(_), OnMismatch::Refuse) => return Err(refusal(item.place)),
                    (Some(reason), OnMismatch::Drop) => {
                        gone.push(at);
                        dropped.push(Dropped {
                            r#type: "thinking_dropped",
                            reason,
                            path: item.place.to_string(),
                        });
                        continue;
                    }
                    _ => {}
                }
                first = false;
                // An unsigned block still has a place in the chain, so that removing it is noticed.
                bond.previous = seal.map_or_else(|| item.digest, |seal| seal.id());
            }
            Kind::Compaction => match compaction.filter(|seal| seal.base == bond.base) {
                // The block stands for the conversation it replaced, so the chain goes on as if
                // that were there.
                Some(seal) => bond.prefix = seal.cut,
                None => bond.follow(item.tag, item.digest),
            },
            _ => bond.follow(item.tag, item.digest),
        }
    }
    // A request without messages ends with its base.
    if !inside {
        bond.base = bond.prefix;
    }
    let mut at = 0;
    // After the walk, so that indices in reports are those the client sent.
    items.retain(|_| {
        at += 1;
        !gone.contains(&(at - 1))
    });
    Ok((bond, dropped))
}

fn refusal(place: Place) -> ApiError {
    match place {
        Place::Block { message, block } => ApiError::moved_thinking(message, block),
        other => ApiError::extra(&other.to_string()),
    }
}

fn mismatch(
    seal: Option<&ThinkingSeal>,
    model: &ModelInfo,
    account: &Account,
    bond: &Bond,
    first: bool,
) -> Option<Reason> {
    if model.thinking_binding == ThinkingBinding::None {
        return None;
    }
    // Thinking of another provider, or a signature that was cut, belongs nowhere.
    let Some(seal) = seal else {
        return Some(Reason::Prefix);
    };
    if seal.account != account.digest() {
        return Some(Reason::Organization);
    }
    // Models of this kind accept their thinking anywhere within the account.
    if model.thinking_binding == ThinkingBinding::Account {
        return None;
    }
    if seal.family != model.thinking_family {
        return Some(Reason::Model);
    }
    // Thinking may be left out from the front, so the first one left has no known predecessor.
    let follows = first || seal.previous == bond.previous;
    (seal.prefix != bond.prefix || !follows).then_some(Reason::Prefix)
}
