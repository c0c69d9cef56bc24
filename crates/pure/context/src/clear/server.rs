//! Clearing that the provider does: the conversation's own bytes stay as they are.
//!
//! Two forms. *Context editing* is asked for with parameters that every later request repeats.
//! *Cache edits* delete single spans from a cached prefix: results carry a reference from the
//! start, and a block of the conversation names those that go.

use crate::results::ResultIndex;
use crate::view::View;
use dormouse_core::block::{Block, BlockError};
use dormouse_core::id::{BlockKey, CallId};
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;
use serde_json::json;

/// Figures and switches of both forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Context editing is wished for.
    pub api: bool,
    /// Prompt length from which the provider clears results.
    pub trigger: Tokens,
    /// The least it clears at once.
    pub at_least: Tokens,
    /// Turns whose thinking stays after an idle gap.
    pub idle_thinking: u64,
    /// Windows above this are large.
    pub large_window: Tokens,
    /// Cache edits are wished for.
    pub cache_edits: bool,
    /// Live results above which the oldest are deleted.
    pub live: usize,
    /// Newest results that stay.
    pub keep: usize,
}

impl ServerSettings {
    /// Reads them from the settings.
    pub fn new(settings: &Settings) -> Self {
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self {
            api: settings.switch(keys::MICROCOMPACT_API).is_on(),
            trigger: settings.get(keys::MICROCOMPACT_API_TRIGGER),
            at_least: settings.get(keys::MICROCOMPACT_API_CLEAR_AT_LEAST),
            idle_thinking: settings.get(keys::MICROCOMPACT_API_IDLE_THINKING),
            large_window: settings.get(keys::CONTEXT_DEFAULT_WINDOW),
            cache_edits: settings.switch(keys::MICROCOMPACT_CACHE_EDITS).is_on(),
            live: count(settings.get(keys::MICROCOMPACT_CACHE_EDITS_TRIGGER)),
            keep: count(settings.get(keys::MICROCOMPACT_CACHE_EDITS_KEEP)),
        }
    }
}

/// What the provider is asked to clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiEdits {
    /// Turns whose thinking stays; `None` keeps all.
    pub thinking_turns: Option<u64>,
    /// Prompt length from which results are cleared.
    pub trigger: Tokens,
    /// The least cleared at once.
    pub at_least: Tokens,
}

/// What is known of provider and session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerInputs {
    /// The provider offers it.
    pub offered: bool,
    /// Compaction is automatic.
    pub auto_compact: bool,
    /// The model's window.
    pub window: Tokens,
    /// The cache has lapsed.
    pub cold: bool,
}

/// Whether the next request asks for context editing, and if not, why.
pub fn api_edits(settings: &ServerSettings, inputs: ServerInputs) -> Result<ApiEdits, String> {
    if !settings.api {
        return Err("clearing by the provider is switched off".to_owned());
    }
    if !inputs.offered {
        return Err("the provider offers no context editing".to_owned());
    }
    if inputs.auto_compact && inputs.window <= settings.large_window {
        return Err(format!(
            "compaction is automatic and the window of {} is not large",
            inputs.window
        ));
    }
    Ok(ApiEdits {
        thinking_turns: inputs.cold.then_some(settings.idle_thinking),
        trigger: settings.trigger,
        at_least: settings.at_least,
    })
}

/// Results to delete from the provider's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEdit {
    /// Their calls, which are also their references.
    pub calls: Vec<CallId>,
    /// Their places.
    pub keys: Vec<BlockKey>,
}

impl CacheEdit {
    /// The block that deletes them. It stays in the conversation: later requests repeat it.
    ///
    /// # Errors
    /// Never in practice: the value is an object with a type.
    pub fn block(&self) -> Result<Block, BlockError> {
        let edits: Vec<_> = self
            .calls
            .iter()
            .map(|call| json!({ "type": "delete", "cache_reference": call.as_str() }))
            .collect();
        Block::from_value(&json!({ "type": "cache_edits", "edits": edits }))
    }
}

/// Whether results are deleted from the cache now. `gone` says which were deleted
/// before.
pub fn cache_edit(
    settings: &ServerSettings,
    offered: bool,
    view: &View,
    index: &ResultIndex,
    gone: impl Fn(&BlockKey) -> bool,
) -> Result<CacheEdit, String> {
    if !settings.cache_edits {
        return Err("editing the provider's cache is switched off".to_owned());
    }
    if !offered {
        return Err("the provider's cache cannot be edited".to_owned());
    }
    let live: Vec<_> = index
        .results()
        .iter()
        .filter(|entry| !gone(&entry.key))
        .collect();
    if live.len() <= settings.live {
        return Err(format!(
            "{} results are live; it takes more than {}",
            live.len(),
            settings.live
        ));
    }
    let newest_round = index.results().len() - index.old_results(view.tail()).len();
    let staying = settings.keep.max(1).max(newest_round);
    let going = &live[..live.len().saturating_sub(staying)];
    if going.is_empty() {
        return Err("all live results are of the newest round".to_owned());
    }
    let calls = going
        .iter()
        .filter_map(|entry| view.frozen().get(entry.position)?.block.call().cloned());
    Ok(CacheEdit {
        calls: calls.collect(),
        keys: going.iter().map(|entry| entry.key).collect(),
    })
}
