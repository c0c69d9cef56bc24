//! A request as the cache sees it: positions with hashes.

use crate::prefix::RenderedPrefix;
use crate::segment::SegmentList;
use crate::tokens;
use dormouse_core::hash::Hash;
use dormouse_core::json::RawJson;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Calibration, MarkerPlace};
use dormouse_core::units::Tokens;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// Parameters that are part of the cache key, by the level that a change invalidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheKeys {
    /// Model name: a change invalidates everything.
    pub model: String,
    /// Hash of parameters whose change invalidates system and messages.
    pub system: Hash,
    /// Hash of parameters whose change invalidates the messages.
    pub messages: Hash,
}

impl CacheKeys {
    /// Reads the keyed parameters of a request; other parameters do not affect the cache.
    pub fn of(params: &RawJson) -> Self {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Keyed {
            model: String,
            speed: Value,
            tool_choice: Value,
            thinking: Value,
            output_config: Value,
        }
        // Unreadable parameters get a default key: the provider refuses such a request anyway.
        let keyed: Keyed = serde_json::from_slice(params.bytes()).unwrap_or_default();
        let effort = keyed
            .output_config
            .get("effort")
            .cloned()
            .unwrap_or_default();
        let hash = |values: &[&Value]| {
            values.iter().fold(Hash::START, |chain, value| {
                chain.link(b'k', Hash::of(value.to_string().as_bytes()))
            })
        };
        Self {
            model: keyed.model,
            // The levels are the provider's: speed invalidates from the system on, the others from
            // the messages on.
            system: hash(&[&keyed.speed]),
            messages: hash(&[&keyed.tool_choice, &keyed.thinking, &effort]),
        }
    }
}

/// Conversion from weight to tokens for this model and session.
#[derive(Clone, Copy, Debug)]
struct Measure {
    bytes: BytesPerToken,
    calibration: Calibration,
    minimum: Tokens,
}

/// Identity of everything up to a position. In two parts, so that a position is compared without
/// hashing: a session may have an entry for every request it made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Hash of the parameters that count at its level, and of the prefix before the level.
    front: Hash,
    /// Hash chain over the level's content up to the position.
    chain: Hash,
}

/// A front for each level of a request.
#[derive(Clone, Copy, Debug)]
struct Fronts {
    tools: Hash,
    system: Hash,
    fragments: Hash,
    messages: Hash,
}

impl Fronts {
    /// Each level mixes in only the parameters that invalidate it, so a change of thinking keeps
    /// tools and system.
    fn of(keys: &CacheKeys, prefix: &RenderedPrefix) -> Self {
        let tools = Hash::of(keys.model.as_bytes());
        let system = tools.link(b'y', keys.system);
        let fragments = system.link(b'm', keys.messages);
        Self {
            tools,
            system,
            fragments,
            // Messages depend on the whole prefix and on every keyed parameter.
            messages: fragments.link(b'p', prefix.id()),
        }
    }
}

/// A request as the cache sees it: keyed parameters, prefix and segments.
#[derive(Clone, Debug)]
pub struct Shape {
    fronts: Fronts,
    pub(crate) keys: CacheKeys,
    pub(crate) prefix: Arc<RenderedPrefix>,
    pub(crate) segments: SegmentList,
    measure: Measure,
}

impl Shape {
    /// Shape of a request. `measure` holds bytes per token, the learnt calibration, and the
    /// shortest prefix in tokens that the provider caches.
    pub fn new(
        keys: CacheKeys,
        prefix: Arc<RenderedPrefix>,
        segments: SegmentList,
        measure: (BytesPerToken, Calibration, Tokens),
    ) -> Self {
        let (bytes, calibration, minimum) = measure;
        Self {
            fronts: Fronts::of(&keys, &prefix),
            keys,
            prefix,
            segments,
            measure: Measure {
                bytes,
                calibration,
                minimum,
            },
        }
    }

    /// Number of positions: prefix parts and segments.
    pub fn len(&self) -> u64 {
        (self.prefix.len() + self.segments.len()) as u64
    }

    /// True if there are no positions, so nothing to cache.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shortest prefix that the provider caches, in tokens.
    pub(crate) fn minimum(&self) -> Tokens {
        self.measure.minimum
    }

    /// Position of a marker and the identity of everything up to it; `None` if the place does not
    /// exist.
    pub fn identity(&self, place: MarkerPlace) -> Option<(u64, Key)> {
        let prefix = &self.prefix;
        // A marker of an earlier request may name a part that no longer exists.
        let within = |index: u32, parts: usize| Some(index as usize).filter(|index| *index < parts);
        let position = match place {
            MarkerPlace::Tool(index) => within(index, prefix.tools().len())?,
            MarkerPlace::System(index) => {
                prefix.tools().len() + within(index, prefix.system().len())?
            }
            MarkerPlace::Fragment(index) => {
                let before = prefix.tools().len() + prefix.system().len();
                before + within(index, prefix.fragments().len())?
            }
            MarkerPlace::Segment(at) => {
                let at = usize::try_from(at)
                    .ok()
                    .filter(|at| *at < self.segments.len())?;
                prefix.len() + at
            }
        } as u64;
        Some((position, self.key_at(position)?))
    }

    /// Identity of everything up to and including a position.
    pub(crate) fn key_at(&self, position: u64) -> Option<Key> {
        let count = usize::try_from(position).ok()? + 1;
        let prefix = &self.prefix;
        let tools = prefix.tools().len();
        let system = tools + prefix.system().len();
        if count > prefix.len() {
            let segments = count - prefix.len();
            return (segments <= self.segments.len()).then(|| Key {
                front: self.fronts.messages,
                chain: self.segments.chain(segments),
            });
        }
        Some(Key {
            front: if count <= tools {
                self.fronts.tools
            } else if count <= system {
                self.fronts.system
            } else {
                self.fronts.fragments
            },
            chain: prefix.chain(count),
        })
    }

    /// True if a cache marker may stand on a segment.
    pub(crate) fn takes_marker(&self, segment: usize) -> bool {
        self.segments
            .get(segment)
            .is_some_and(|segment| segment.block.takes_marker())
    }

    /// Estimated tokens up to and including a position.
    pub(crate) fn tokens_upto(&self, position: u64) -> Tokens {
        let count = usize::try_from(position)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        let weight = if count > self.prefix.len() {
            *self.prefix.weight() + self.segments.weight(count - self.prefix.len())
        } else {
            self.prefix.weight_of(count)
        };
        self.measure
            .calibration
            .correct(tokens::estimate(&weight, self.measure.bytes))
    }
}
