//! Rules between the parts of a request: turns, pairs of calls and results, placement, options.
//!
//! The shape has been checked while reading; rules that need tokens (windows) are checked later.
//!
//! # Not here
//! The shape ([`crate::request`]) and the markers ([`crate::markers`]).

use crate::blocks::{Kind, Place, RawObject};
use crate::config::ThreadRefusal;
use crate::error::{ApiError, ErrorKind};
use crate::request::{Message, Purpose, Request, Role, Thinking, ToolChoice, Version};
use dormouse_core::models::{ModelInfo, ThinkingBinding};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Least budget for thinking, in tokens, by the provider's rule.
const MIN_THINKING_BUDGET: u64 = 1_024;

/// Checks every rule that needs no counting.
pub(crate) fn check(
    request: &Request<'_>,
    model: &ModelInfo,
    version: Version,
    purpose: Purpose,
) -> Result<(), ApiError> {
    // A compaction may end with an answer: that is where the kept part begins.
    let may_end_open = request.compaction.is_some() && purpose == Purpose::Message;
    turns(&request.messages, model, may_end_open)?;
    pairs(&request.messages)
        .and_then(|open| missing(&open, &BTreeSet::new()))
        // For a compaction an open call has a code of its own, on which clients act.
        .map_err(|error| {
            if may_end_open && ends_in_a_call(request) {
                ApiError::invalid("compaction: the conversation ends with an open assistant turn")
                    .code("compaction_incomplete_turn")
            } else {
                error
            }
        })?;
    if version == Version::October2026 {
        october_blocks(request)?;
    }
    options(request, model)?;
    if purpose == Purpose::Message {
        answer_length(request, model)?;
    }
    Ok(())
}

/// Refuses a thread in one of the two documented ways.
pub(crate) fn thread(refusal: ThreadRefusal) -> ApiError {
    match refusal {
        ThreadRefusal::Unsupported => ApiError::invalid(
            "capability_rejected: beta_header:message-threads-2026-08-12 is not available here",
        )
        .code("thread_unsupported_request"),
        ThreadRefusal::NotFound => ApiError::new(
            ErrorKind::NotFound,
            "The thread was not found or has expired.",
        )
        .code("thread_not_found"),
    }
}

/// Models from before 4.6 continue an assistant message.
pub(crate) fn allows_prefill(model: &ModelInfo) -> bool {
    model.retired || model.id.ends_with("-4-5")
}

/// Models that refuse to have their thinking turned off.
pub(crate) fn always_thinks(model: &ModelInfo) -> bool {
    model.id.starts_with("claude-fable-5") || model.id.starts_with("claude-opus-5-5")
}

fn ends_in_a_call(request: &Request<'_>) -> bool {
    request.messages.last().is_some_and(|last| {
        last.role == Role::Assistant && last.content.iter().any(|block| block.kind == Kind::ToolUse)
    })
}

fn turns(messages: &[Message<'_>], model: &ModelInfo, may_end_open: bool) -> Result<(), ApiError> {
    let starts_compacted = messages.first().is_some_and(|message| {
        message.role == Role::Assistant
            && message
                .content
                .first()
                .is_some_and(|block| block.kind == Kind::Compaction)
    });
    // A compacted conversation begins with the summary, which is the assistant's.
    if messages.first().map(|message| message.role) == Some(Role::Assistant) && !starts_compacted {
        return Err(ApiError::invalid(
            "messages: the first message must use the \"user\" role",
        ));
    }
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::System {
            system_placement(messages, at, model)?;
        } else if message.content.is_empty() && at + 1 < messages.len() {
            return Err(ApiError::invalid(format!(
                "messages.{at}: all messages must have non-empty content except for the optional \
                 final assistant message"
            )));
        }
    }
    let last = messages.iter().rev().find(|each| each.role != Role::System);
    if last.is_some_and(|last| last.role == Role::Assistant) {
        let open_call = last.is_some_and(|last| {
            let mut kinds = last.content.iter().map(|block| block.kind);
            kinds.any(|kind| kind == Kind::ToolUse)
        });
        // A call without a result has its own text, see `pairs`, which is more useful.
        if !allows_prefill(model) && !may_end_open && !open_call && !ends_a_server_turn(last) {
            return Err(ApiError::prefill());
        }
    }
    Ok(())
}

/// A paused server-tool turn is sent again as it is.
fn ends_a_server_turn(message: Option<&Message<'_>>) -> bool {
    message
        .and_then(|message| message.content.last())
        .is_some_and(|block| block.kind == Kind::ServerToolResult)
}

fn system_placement(
    messages: &[Message<'_>],
    at: usize,
    model: &ModelInfo,
) -> Result<(), ApiError> {
    let refuse = |why: &str| {
        Err(ApiError::invalid(format!(
            "messages.{at}: a message with role \"system\" {why}"
        )))
    };
    if !model.mid_conversation_system {
        return refuse(&format!("is not supported by {}", model.id));
    }
    let before = messages[..at]
        .iter()
        .rev()
        .find(|message| message.role != Role::System);
    match before {
        None => return refuse("cannot be the first message"),
        Some(before) if before.role == Role::Assistant && !ends_a_server_turn(Some(before)) => {
            return refuse("must come after a user message");
        }
        Some(_) => {}
    }
    let after = messages[at..]
        .iter()
        .find(|message| message.role != Role::System);
    if after.is_some_and(|after| after.role != Role::Assistant) {
        return refuse("must be the last message or be followed by an assistant message");
    }
    Ok(())
}

/// A call: index of its message, and its id.
type Call<'a> = (usize, Cow<'a, str>);

/// Every call is answered in the next turn, first thing; every answer has its call. Gives back the
/// calls that stand open at the end.
fn pairs<'a>(messages: &[Message<'a>]) -> Result<Vec<Call<'a>>, ApiError> {
    let mut calls: Vec<Call<'a>> = Vec::new();
    let mut at = 0;
    while at < messages.len() {
        let role = messages[at].role;
        // Consecutive messages of one role are one turn to the provider.
        let len = messages[at..]
            .iter()
            .take_while(|message| message.role == role)
            .count();
        let turn = messages.iter().enumerate().skip(at).take(len);
        match role {
            Role::System => {}
            Role::Assistant => {
                calls = turn
                    .flat_map(|(index, message)| {
                        let uses = message.content.iter();
                        let uses = uses.filter(|block| block.kind == Kind::ToolUse);
                        uses.filter_map(move |block| Some((index, block.names.call.clone()?)))
                    })
                    .collect();
            }
            Role::User => {
                user_turn(turn, &calls)?;
                calls.clear();
            }
        }
        at += len;
    }
    Ok(calls)
}

fn user_turn<'m, 'a: 'm>(
    turn: impl Iterator<Item = (usize, &'m Message<'a>)>,
    calls: &[Call<'a>],
) -> Result<(), ApiError> {
    let mut answered = BTreeSet::new();
    let mut leading = true;
    for (message, each) in turn {
        for (block, part) in each.content.iter().enumerate() {
            if part.kind != Kind::ToolResult {
                leading = false;
                continue;
            }
            let id = part.names.call.clone().unwrap_or_default();
            if !calls.iter().any(|(_, call)| *call == id) {
                return Err(ApiError::orphan_result(message, block, &id));
            }
            // A result behind other blocks is known but counts as missing: results must come first.
            if leading {
                answered.insert(id);
            }
        }
    }
    missing(calls, &answered)
}

fn missing(calls: &[Call<'_>], answered: &BTreeSet<Cow<'_, str>>) -> Result<(), ApiError> {
    let open: Vec<&Call<'_>> = calls
        .iter()
        .filter(|(_, id)| !answered.contains(id))
        .collect();
    match open.first() {
        None => Ok(()),
        Some((message, _)) => {
            let ids: Vec<&str> = open.iter().map(|(_, id)| &**id).collect();
            Err(ApiError::missing_results(*message, &ids))
        }
    }
}

/// Members that version 2026-10-21 no longer accepts.
fn october_blocks(request: &Request<'_>) -> Result<(), ApiError> {
    for (place, block) in request.blocks() {
        let Place::Block { message, .. } = place else {
            continue;
        };
        let role = request.messages[message].role;
        match block.kind {
            Kind::Document if role == Role::Assistant => {
                return Err(ApiError::invalid(format!(
                    "{place}: a document block is not permitted in an assistant message"
                )));
            }
            Kind::Text if role == Role::User && cites(&block.members()) => {
                return Err(ApiError::extra(&format!("{place}.citations")));
            }
            Kind::SearchResult => {
                let content = block.members().get("content").map_or("[]", |raw| raw.get());
                let parts: Vec<RawObject<'_>> = serde_json::from_str(content).unwrap_or_default();
                if let Some(at) = parts.iter().position(cites) {
                    return Err(ApiError::extra(&format!("{place}.content.{at}.citations")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn cites(members: &RawObject<'_>) -> bool {
    members.get("citations").is_some_and(|raw| {
        serde_json::from_str::<Vec<serde_json::Value>>(raw.get())
            .is_ok_and(|citations| !citations.is_empty())
    })
}

fn options(request: &Request<'_>, model: &ModelInfo) -> Result<(), ApiError> {
    let forced = matches!(request.tool_choice, ToolChoice::Any | ToolChoice::Tool(_));
    if forced && request.tools.is_empty() {
        return Err(ApiError::invalid(
            "tool_choice: a tool can only be forced where tools are given",
        ));
    }
    if let ToolChoice::Tool(name) = &request.tool_choice
        && !request.tools.iter().any(|tool| tool.name == *name)
    {
        return Err(ApiError::invalid(format!(
            "tool_choice.name: there is no tool `{name}`"
        )));
    }
    let mut names = BTreeSet::new();
    for tool in request.tools.iter().filter(|tool| !tool.name.is_empty()) {
        if !names.insert(&*tool.name) {
            return Err(ApiError::invalid(format!(
                "tools: Tool names must be unique; `{}` is given twice",
                tool.name
            ))
            .code("tool_name_conflict"));
        }
    }
    if forced && model.thinking_binding == ThinkingBinding::Prefix {
        return Err(ApiError::invalid(format!(
            "tool_choice: {} does not support forcing a tool",
            model.id
        )));
    }
    if request.thinking == Thinking::Disabled && always_thinks(model) {
        return Err(ApiError::invalid(format!(
            "thinking: thinking cannot be disabled on {}",
            model.id
        )));
    }
    if request.compaction.is_some() && request.context_management.is_some() {
        return Err(ApiError::invalid(
            "compaction: cannot be combined with context_management",
        ));
    }
    if let Some(effort) = &request.effort
        && !["low", "medium", "high", "xhigh", "max"].contains(&effort.as_str())
    {
        return Err(ApiError::invalid(
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        ));
    }
    Ok(())
}

fn answer_length(request: &Request<'_>, model: &ModelInfo) -> Result<(), ApiError> {
    let cap = model.max_output.get();
    if request.max_tokens > cap {
        return Err(ApiError::max_tokens_over_cap(
            request.max_tokens,
            cap,
            &model.id,
        ));
    }
    // A request that only fills the cache.
    if request.max_tokens == 0 {
        return prewarm(request);
    }
    if let Thinking::Enabled { budget } = request.thinking {
        if budget < MIN_THINKING_BUDGET {
            return Err(ApiError::invalid(
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
            ));
        }
        // Thinking counts as output; an equal budget would leave no answer.
        if budget >= request.max_tokens {
            return Err(ApiError::invalid(
                "`max_tokens` must be greater than `thinking.budget_tokens`",
            ));
        }
    }
    Ok(())
}

/// `max_tokens: 0` only fills the cache, so nothing that shapes an answer may be asked for.
fn prewarm(request: &Request<'_>) -> Result<(), ApiError> {
    let offending = if request.stream {
        "stream"
    } else if matches!(
        request.thinking,
        Thinking::Enabled { .. } | Thinking::Adaptive | Thinking::BetweenTools
    ) {
        "thinking"
    } else if request.output_format {
        "an output format"
    } else if matches!(request.tool_choice, ToolChoice::Any | ToolChoice::Tool(_)) {
        "a forced tool_choice"
    } else {
        return Ok(());
    };
    Err(ApiError::invalid(format!(
        "max_tokens: 0 cannot be combined with {offending}"
    )))
}
