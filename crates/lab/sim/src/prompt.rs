//! The prompt as the provider would render it: a flat list of positions.
//!
//! Model: tools, then system, then messages become [`Item`]s. Steps between (stripped thinking,
//! compaction, editing) take items out or replace them. Then the items are chained: each
//! [`Position`] has the digest and the tokens of everything up to it.
//!
//! Tools that are deferred are not there; the web tools stand with the system prompt, since
//! switching them leaves the tools' cache alone.
//!
//! # Not here
//! Lookups and billing: [`crate::cache`].

use crate::blocks::{Kind, Names, Place, Ttl};
use crate::digest::Digest;
use crate::keys::{Keys, Level};
use crate::request::{Request, Role};

/// A block on its way into the prompt.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) place: Place,
    pub(crate) level: Level,
    pub(crate) kind: Kind,
    pub(crate) digest: Digest,
    pub(crate) tokens: u64,
    pub(crate) marker: Option<Ttl>,
    /// Counts among the positions of a lookback.
    pub(crate) counts: bool,
    /// Separates roles in the chain.
    pub(crate) tag: u8,
    /// Number of the turn, which begins with a user's own words.
    pub(crate) turn: u32,
    pub(crate) names: Names<'a>,
}

/// Tag of a user's block in the chain; with another tag the same bytes are another prefix.
pub(crate) const USER: u8 = b'u';
/// Tag of an assistant's block in the chain.
pub(crate) const ASSISTANT: u8 = b'a';
/// Tag of a system message between turns.
const MIDDLE_SYSTEM: u8 = b'm';
/// Tag of the system prompt.
const SYSTEM: u8 = b's';
/// Tag of a tool definition.
const TOOL: u8 = b't';
/// Tag of a level's key, mixed in where the level begins.
const LEVEL: u8 = b'=';

/// All items of a request, as sent.
pub(crate) fn items<'a>(
    request: &Request<'a>,
    tools_take_positions: bool,
    hidden_tool_tokens: u64,
) -> Vec<Item<'a>> {
    let blocks: usize = request.messages.iter().map(|each| each.content.len()).sum();
    let mut items = Vec::with_capacity(request.tools.len() + request.system.len() + blocks);
    // Two passes, because web tools are rendered behind all others.
    for web in [false, true] {
        for (at, tool) in request.tools.iter().enumerate() {
            if tool.deferred || tool.web != web {
                continue;
            }
            items.push(Item {
                level: if web { Level::System } else { Level::Tools },
                counts: tools_take_positions,
                ..item(Place::Tool(at), Level::Tools, &tool.block, TOOL)
            });
        }
    }
    // The hidden prompt for tools stands before them all, so the first one carries it.
    if let Some(first) = items.first_mut() {
        first.tokens += hidden_tool_tokens;
    }
    for (at, block) in request.system.iter().enumerate() {
        items.push(item(Place::System(at), Level::System, block, SYSTEM));
    }
    let mut turn = 0;
    for (at, message) in request.messages.iter().enumerate() {
        let tag = match message.role {
            Role::User => USER,
            Role::Assistant => ASSISTANT,
            Role::System => MIDDLE_SYSTEM,
        };
        // Results belong to the turn that called for them.
        let own_words = message.role == Role::User
            && message
                .content
                .iter()
                .any(|block| block.kind != Kind::ToolResult);
        turn += u32::from(own_words);
        for (index, block) in message.content.iter().enumerate() {
            let place = Place::Block {
                message: at,
                block: index,
            };
            items.push(Item {
                turn,
                ..item(place, Level::Messages, block, tag)
            });
        }
    }
    items
}

fn item<'a>(place: Place, level: Level, block: &crate::blocks::Block<'a>, tag: u8) -> Item<'a> {
    Item {
        place,
        level,
        kind: block.kind,
        digest: block.digest,
        tokens: block.tokens,
        marker: block.marker,
        counts: true,
        tag,
        turn: 0,
        names: block.names.clone(),
    }
}

/// A place of the rendered prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// Everything up to and including this position.
    pub(crate) digest: Digest,
    /// Tokens up to and including this position.
    pub(crate) tokens: u64,
    pub(crate) marker: Option<Ttl>,
    pub(crate) counts: bool,
    pub(crate) level: Level,
    pub(crate) place: Place,
}

/// A rendered prompt, ready for the cache.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) positions: Vec<Position>,
    /// Tokens of the whole prompt.
    pub(crate) tokens: u64,
    /// The chain at the end of the tools, even if there are none.
    pub(crate) tools_end: Digest,
    /// The chain at the end of the system prompt.
    pub(crate) system_end: Digest,
}

/// Chains items under the keys of their levels.
pub(crate) fn chain(items: &[Item<'_>], keys: &Keys) -> Prompt {
    let mut digest = keys.tools;
    let mut level = Level::Tools;
    let (mut tools_end, mut system_end) = (digest, digest);
    let mut tokens = 0;
    let mut positions = Vec::with_capacity(items.len());
    let mut enter = |digest: &mut Digest, from: &mut Level, to: Level| {
        // Also when a level is empty: its key must still be part of the chain.
        if *from < Level::System && to >= Level::System {
            tools_end = *digest;
            *digest = digest.then(LEVEL, keys.system);
        }
        if *from < Level::Messages && to >= Level::Messages {
            system_end = *digest;
            *digest = digest.then(LEVEL, keys.messages);
        }
        *from = to;
    };
    for item in items {
        enter(&mut digest, &mut level, item.level);
        digest = digest.then(item.tag, item.digest);
        tokens += item.tokens;
        positions.push(Position {
            digest,
            tokens,
            marker: item.marker,
            counts: item.counts,
            level: item.level,
            place: item.place,
        });
    }
    // Also without messages: the ends of tools and system are compared by diagnostics.
    enter(&mut digest, &mut level, Level::Messages);
    Prompt {
        positions,
        tokens,
        tools_end,
        system_end,
    }
}

/// Takes out the thinking of earlier turns, as some models do.
pub(crate) fn strip_prior_thinking(items: &mut Vec<Item<'_>>) {
    let last = items.last().map_or(0, |item| item.turn);
    // The current turn keeps its thinking: its calls refer to it.
    items.retain(|item| item.kind != Kind::Thinking || item.turn == last);
}
