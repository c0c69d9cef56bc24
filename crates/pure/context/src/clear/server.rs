//! Clearing by the provider: the conversation's own bytes stay as they are.
//!
//! Two forms. *Context editing* is requested with parameters that every later request repeats.
//! *Cache edits* delete single spans from a cached prefix: results carry a reference from the
//! start, and a block in the conversation names the deleted ones.
//!
//! Not here: sending the parameters, and local clearing ([`crate::clear`]).

use crate::clearable::ResultIndex;
use crate::view::View;
use dormouse_core::block::{Block, BlockError};
use dormouse_core::id::{BlockKey, CallId};
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;
use serde_json::json;

/// Number of turns whose thinking stays after the cache has expired. The least the provider takes:
/// the thinking of the last turn may belong to a call that is still open.
const IDLE_THINKING: u64 = 1;

/// Settings of both forms (`microcompact.api.*`, `microcompact.cache_edits.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// True if context editing is switched on.
    pub api: bool,
    /// Prompt length in tokens from which the provider clears results.
    pub trigger: Tokens,
    /// Least tokens the provider is asked to clear at once, so that the cache is rewritten rarely.
    pub at_least: Tokens,
    /// Window in tokens above which context editing is used beside automatic compaction.
    pub large_window: Tokens,
    /// True if cache edits are switched on.
    pub cache_edits: bool,
    /// Number of live results above which the oldest are deleted.
    pub live: usize,
    /// Number of newest results that stay.
    pub keep: usize,
}

impl ServerSettings {
    /// Reads the values from the settings table.
    pub fn new(settings: &Settings) -> Self {
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self {
            api: settings.switch(keys::MICROCOMPACT_API).is_on(),
            trigger: settings.get(keys::MICROCOMPACT_API_TRIGGER),
            at_least: settings.get(keys::MICROCOMPACT_API_CLEAR_AT_LEAST),
            large_window: settings.get(keys::CONTEXT_DEFAULT_WINDOW),
            cache_edits: settings.switch(keys::MICROCOMPACT_CACHE_EDITS).is_on(),
            live: count(settings.get(keys::MICROCOMPACT_CACHE_EDITS_TRIGGER)),
            keep: count(settings.get(keys::MICROCOMPACT_CACHE_EDITS_KEEP)),
        }
    }
}

/// Parameters of context editing for the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiEdits {
    /// Number of turns whose thinking stays; `None` keeps all.
    pub thinking_turns: Option<u64>,
    /// Prompt length in tokens from which results are cleared.
    pub trigger: Tokens,
    /// Least tokens cleared at once.
    pub at_least: Tokens,
}

/// Facts about provider and session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerInputs {
    /// True if the provider offers context editing.
    pub offered: bool,
    /// True if compaction is automatic.
    pub auto_compact: bool,
    /// Window of the model.
    pub window: Tokens,
    /// True if the cache has expired.
    pub cold: bool,
}

/// Parameters of context editing for the next request, or the reason for none.
pub fn api_edits(settings: &ServerSettings, inputs: ServerInputs) -> Result<ApiEdits, String> {
    if !settings.api {
        return Err("clearing by the provider is switched off".to_owned());
    }
    if !inputs.offered {
        return Err("the provider offers no context editing".to_owned());
    }
    // In a small window automatic compaction comes first, and both would rewrite the prefix.
    if inputs.auto_compact && inputs.window <= settings.large_window {
        return Err(format!(
            "compaction is automatic and the window of {} is not large",
            inputs.window
        ));
    }
    Ok(ApiEdits {
        // On a warm cache removing thinking would break the prefix; on a cold one it is free.
        thinking_turns: inputs.cold.then_some(IDLE_THINKING),
        trigger: settings.trigger,
        at_least: settings.at_least,
    })
}

/// Results to delete from the provider's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheEdit {
    /// Ids of their calls, which are also their cache references.
    pub calls: Vec<CallId>,
    /// Keys of the results, for the record.
    pub keys: Vec<BlockKey>,
}

impl CacheEdit {
    /// Block that deletes them. It stays in the conversation, because later requests must repeat
    /// it.
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

/// Results to delete from the cache now, or the reason for none. `gone` tells which were deleted
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
    // The model has not answered the newest round yet, so all of it stays.
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
