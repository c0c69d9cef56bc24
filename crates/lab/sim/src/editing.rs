//! Context editing: the provider clears old tool results or thinking before the model reads.
//!
//! The client keeps sending its whole history. Edits work on the items of one request, oldest
//! first, and report the tokens they took.
//!
//! # Not here
//! The compaction edit: [`crate::compaction`].

use crate::blocks::Kind;
use crate::digest::Digest;
use crate::error::ApiError;
use crate::keys::Level;
use crate::prompt::Item;
use crate::tokens::{Counter, Weight};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Name of the edit that clears tool results, as the wire spells it.
const CLEAR_TOOL_USES: &str = "clear_tool_uses_20250919";
/// Name of the edit that clears thinking, as the wire spells it.
const CLEAR_THINKING: &str = "clear_thinking_20251015";
/// Name of the edit that compacts at a threshold; handled elsewhere, known here.
const COMPACT: &str = "compact_20260112";
/// Input tokens above which tool uses are cleared, unless the edit names another trigger: the
/// documented default.
const DEFAULT_TRIGGER: u64 = 100_000;
/// Newest tool uses that stay, unless the edit names another number: the documented default.
const DEFAULT_KEEP: u64 = 3;
/// Text in place of a cleared result; its length is counted, so it must be fixed.
const PLACEHOLDER: &str = "[cleared]";

/// Amount of thinking that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeepThinking {
    /// No edit: the model does as it always does.
    Unasked,
    /// An edit that leaves it to the model.
    Default,
    All,
    Turns(u64),
}

/// Result of the edits of a request.
#[derive(Debug, Default)]
pub(crate) struct Edited {
    /// Records for the response; `None` if no edits were asked for.
    pub(crate) applied: Option<Vec<Value>>,
    /// Tokens before any edit.
    pub(crate) original_tokens: u64,
}

/// Applies the edits. Thinking that the model would strip anyway is stripped here, unless an edit
/// names the turns to keep.
pub(crate) fn apply(
    items: &mut Vec<Item<'_>>,
    context_management: Option<&Value>,
    strips_prior_thinking: bool,
    counter: &Counter,
) -> Result<Edited, ApiError> {
    if context_management.is_some_and(|asked| !asked.is_object()) {
        return Err(ApiError::invalid(
            "context_management: Input should be an object",
        ));
    }
    let edits = match context_management.map(|asked| &asked["edits"]) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(edits)) => edits.as_slice(),
        Some(_) => {
            return Err(ApiError::invalid(
                "context_management.edits: Input should be a valid list",
            ));
        }
    };
    let thinking = thinking_edit(edits)?;
    if strips_prior_thinking && thinking == KeepThinking::Unasked {
        crate::prompt::strip_prior_thinking(items);
    }
    let mut edited = Edited {
        // An empty list tells the client that its edits were seen and not due.
        applied: context_management.map(|_| Vec::new()),
        original_tokens: total(items),
    };
    let mut applied = Vec::new();
    let keep = match thinking {
        KeepThinking::Default if strips_prior_thinking => KeepThinking::Turns(1),
        other => other,
    };
    if let KeepThinking::Turns(keep) = keep {
        applied.extend(clear_thinking(items, keep));
    }
    for (at, edit) in edits.iter().enumerate() {
        if edit["type"] == CLEAR_TOOL_USES {
            applied.extend(clear_tool_uses(items, edit, at, counter)?);
        }
    }
    if let Some(records) = &mut edited.applied {
        *records = applied;
    }
    Ok(edited)
}

fn total(items: &[Item<'_>]) -> u64 {
    items.iter().map(|item| item.tokens).sum()
}

/// The edit about thinking among all edits.
fn thinking_edit(edits: &[Value]) -> Result<KeepThinking, ApiError> {
    let mut found = KeepThinking::Unasked;
    for (at, edit) in edits.iter().enumerate() {
        let path = format!("context_management.edits.{at}");
        match edit["type"].as_str() {
            Some(CLEAR_TOOL_USES | COMPACT) => {}
            Some(CLEAR_THINKING) if at > 0 => {
                return Err(ApiError::invalid(format!(
                    "{path}: `{CLEAR_THINKING}` must be the first edit"
                )));
            }
            Some(CLEAR_THINKING) => {
                let keep = &edit["keep"];
                found = match (keep.as_str(), keep["type"].as_str()) {
                    _ if keep.is_null() => KeepThinking::Default,
                    (Some("all"), _) | (_, Some("all")) => KeepThinking::All,
                    (_, Some("thinking_turns")) => match keep["value"].as_u64() {
                        Some(turns) if turns > 0 => KeepThinking::Turns(turns),
                        _ => {
                            return Err(ApiError::invalid(format!(
                                "{path}.keep.value: Input should be greater than 0"
                            )));
                        }
                    },
                    _ => {
                        return Err(ApiError::invalid(format!(
                            "{path}.keep: Input should be 'all' or a number of thinking turns"
                        )));
                    }
                };
            }
            _ => {
                return Err(ApiError::invalid(format!(
                    "{path}.type: Input should be '{CLEAR_TOOL_USES}', '{CLEAR_THINKING}' or \
                     '{COMPACT}'"
                )));
            }
        }
    }
    Ok(found)
}

fn clear_thinking(items: &mut Vec<Item<'_>>, keep: u64) -> Option<Value> {
    let turns: BTreeSet<u32> = items
        .iter()
        .filter(|item| item.kind == Kind::Thinking)
        .map(|item| item.turn)
        .collect();
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    // Turns, not blocks: a turn's thinking stays or goes as a whole.
    let cleared = turns.len().saturating_sub(keep);
    let gone: BTreeSet<u32> = turns.into_iter().take(cleared).collect();
    let before = total(items);
    items.retain(|item| item.kind != Kind::Thinking || !gone.contains(&item.turn));
    (cleared > 0).then(|| {
        json!({
            "type": CLEAR_THINKING,
            "cleared_thinking_turns": cleared,
            "cleared_input_tokens": before - total(items),
        })
    })
}

fn figure(
    edit: &Value,
    name: &str,
    kinds: &[&str],
    path: &str,
) -> Result<Option<(String, u64)>, ApiError> {
    let field = &edit[name];
    if field.is_null() {
        return Ok(None);
    }
    let kind = field["type"].as_str().filter(|kind| kinds.contains(kind));
    match (kind, field["value"].as_u64()) {
        (Some(kind), Some(value)) => Ok(Some((kind.to_owned(), value))),
        _ => Err(ApiError::invalid(format!(
            "{path}.{name}: Input should be a type of {} with a value",
            kinds.join(" or ")
        ))),
    }
}

fn clear_tool_uses(
    items: &mut [Item<'_>],
    edit: &Value,
    at: usize,
    counter: &Counter,
) -> Result<Option<Value>, ApiError> {
    let path = format!("context_management.edits.{at}");
    let trigger = figure(edit, "trigger", &["input_tokens", "tool_uses"], &path)?;
    let keep = figure(edit, "keep", &["tool_uses"], &path)?;
    let at_least = figure(edit, "clear_at_least", &["input_tokens"], &path)?;
    let (kind, limit) = trigger.unwrap_or_else(|| ("input_tokens".to_owned(), DEFAULT_TRIGGER));
    let keep = keep.map_or(DEFAULT_KEEP, |(_, keep)| keep);
    let excluded = names(&edit["exclude_tools"]);

    let tools: BTreeMap<String, String> = items
        .iter()
        .filter(|item| item.kind == Kind::ToolUse)
        .filter_map(|item| {
            Some((
                item.names.call.as_deref()?.to_owned(),
                item.names.tool.as_deref()?.to_owned(),
            ))
        })
        .collect();
    let size = match kind.as_str() {
        "tool_uses" => tools.len() as u64,
        _ => total(items),
    };
    // At the limit nothing happens yet: the trigger must be exceeded.
    if size <= limit {
        return Ok(None);
    }
    let clearable: Vec<usize> = (0..items.len())
        .filter(|at| items[*at].kind == Kind::ToolResult && items[*at].level == Level::Messages)
        .filter(|at| {
            let name = items[*at]
                .names
                .call
                .as_deref()
                .and_then(|call| tools.get(call));
            // A result without a known call cannot be excluded by name.
            name.is_none_or(|name| !excluded.contains(name))
        })
        .collect();
    let count = clearable
        .len()
        .saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    let cleared = &clearable[..count];
    let calls: BTreeSet<String> = cleared
        .iter()
        .filter_map(|at| Some(items[*at].names.call.as_deref()?.to_owned()))
        .collect();
    let clears_input = |item: &Item<'_>| {
        let named = || names(&edit["clear_tool_inputs"]);
        item.kind == Kind::ToolUse
            && item
                .names
                .call
                .as_deref()
                .is_some_and(|call| calls.contains(call))
            && (edit["clear_tool_inputs"] == true
                || item
                    .names
                    .tool
                    .as_deref()
                    .is_some_and(|tool| named().contains(tool)))
    };
    let inputs: Vec<usize> = (0..items.len())
        .filter(|at| clears_input(&items[*at]))
        .collect();

    let placeholder = counter.block(Weight::text(PLACEHOLDER.len()));
    let empty_input = counter.block(Weight::json(2));
    let mut freed = 0;
    for at in cleared {
        freed += items[*at].tokens.saturating_sub(placeholder);
    }
    for at in &inputs {
        freed += items[*at].tokens.saturating_sub(empty_input);
    }
    // A small clearing breaks the cache for little; the client set the least it accepts.
    if cleared.is_empty() || at_least.is_some_and(|(_, least)| freed < least) {
        return Ok(None);
    }
    for (list, text, tokens) in [
        (cleared, PLACEHOLDER, placeholder),
        (&inputs, "{}", empty_input),
    ] {
        for at in list {
            let item = &mut items[*at];
            let call = item.names.call.as_deref().unwrap_or_default();
            // The call is part of the digest, so that two cleared results are not the same content.
            item.digest = Digest::of(format!("{call}\n{text}").as_bytes());
            // A result shorter than the placeholder does not grow by being cleared.
            item.tokens = item.tokens.min(tokens);
        }
    }
    Ok(Some(json!({
        "type": CLEAR_TOOL_USES,
        "cleared_tool_uses": count,
        "cleared_input_tokens": freed,
    })))
}

fn names(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}
