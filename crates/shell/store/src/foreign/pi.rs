//! Sessions of pi.
//!
//! # Model
//! A header, then entries. Newer sessions are trees: an entry has an id and names its parent; in
//! older ones each entry follows the one before. A compaction names the first entry it kept, by id
//! or by its place in the file.
//!
//! # Not here
//! Data that extensions store for themselves, and the leaf the user looked at last: the newest
//! message is taken for it.

use super::Translator;
use super::divide::{divide_blocks, origin};
use super::scribe::{Scribe, boundary, user_side, without_effect};
use super::value::{call, number, parts, readable, result, text, time};
use dormouse_core::block::Block;
use dormouse_core::fragment::record::RecordFields;
use dormouse_core::id::{MessageId, RecordId, SessionId};
use dormouse_core::record::{Body, Message, MessageOrigin, Preserved, Purpose, Role, UsageReport};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use serde_json::Value;
use std::collections::HashMap;
use std::iter::successors;
use std::sync::Arc;

/// Translates a session, entry by entry.
#[derive(Debug, Default)]
pub(super) struct Pi {
    entries: Vec<Entry>,
    /// Index of each id among the entries.
    places: HashMap<String, usize>,
}

/// An entry that was written down.
#[derive(Debug)]
struct Entry {
    record: RecordId,
    is_message: bool,
    /// Index of the entry it hangs on; always smaller than its own.
    parent: Option<usize>,
}

impl Translator for Pi {
    fn line(&mut self, line: &Value, scribe: &mut Scribe) {
        scribe.at = time(line, &["timestamp"]);
        let kind = text(line, "type").unwrap_or_default();
        let parent = self.parent(line);
        let hangs_on = parent.and_then(|parent| self.entries.get(parent));
        scribe.last = hangs_on.map(|entry| entry.record.clone());
        let bodies = match kind {
            "session" => {
                begin(line, scribe);
                Vec::new()
            }
            "message" => {
                bill(line, scribe);
                message(line.get("message").unwrap_or(&Value::Null), scribe)
            }
            "compaction" => self.compaction(line, parent),
            "branch_summary" => told(line, "summary", MessageOrigin::Summary),
            "custom_message" => told(line, "content", MessageOrigin::Meta),
            _ => Vec::new(),
        };
        let is_message = matches!(bodies.last(), Some(Body::Message(_)));
        let id = text(line, "id").filter(|_| kind != "session");
        let title = text(line, "name").filter(|_| kind == "session_info");
        write(bodies, without_effect(kind, None, title), id, scribe);
        if let Some(id) = id {
            self.places.insert(id.to_owned(), self.entries.len());
        }
        self.entries.extend(scribe.last.clone().map(|record| Entry {
            record,
            is_message,
            parent,
        }));
    }
}

/// Writes the records of an entry. The last one gets the entry's id, since the next entries name it
/// as their parent.
fn write(mut bodies: Vec<Body>, otherwise: Body, id: Option<&str>, scribe: &mut Scribe) {
    let last = bodies.pop().unwrap_or(otherwise);
    for body in bodies {
        scribe.write(body);
    }
    match id {
        Some(id) => scribe.write_as(id, last),
        None => scribe.write(last),
    }
}

fn begin(header: &Value, scribe: &mut Scribe) {
    // Only the first header counts; a later one must not rename the session.
    if scribe.about.session.is_none() {
        scribe.about.session = text(header, "id").map(SessionId::from);
        scribe.about.cwd = text(header, "cwd").map(Into::into);
    }
}

impl Pi {
    /// Index of the parent entry. If it was lost, the entry before stands in, so that the branch
    /// stays connected.
    fn parent(&self, entry: &Value) -> Option<usize> {
        let named = match entry.get("parentId") {
            Some(Value::Null) => return None,
            Some(Value::String(parent)) => self.places.get(parent).copied(),
            _ => None,
        };
        named.or_else(|| self.entries.len().checked_sub(1))
    }

    fn compaction(&self, entry: &Value, parent: Option<usize>) -> Vec<Body> {
        let mut bodies = told(entry, "summary", MessageOrigin::Summary);
        // Without a readable summary the boundary would drop messages and put nothing in their
        // place.
        if !bodies.is_empty() {
            let tokens = number(entry, "tokensBefore");
            bodies.insert(0, boundary(tokens, self.kept(entry, parent)));
        }
        bodies
    }

    /// The messages that a compaction kept: those on its branch, from the entry it names on.
    fn kept(&self, compaction: &Value, parent: Option<usize>) -> Option<Preserved> {
        let by_id = || {
            self.places
                .get(text(compaction, "firstKeptEntryId")?)
                .copied()
        };
        // Older sessions have no ids and count entries instead.
        let by_place = || usize::try_from(number(compaction, "firstKeptEntryIndex")?).ok();
        let first = by_id().or_else(by_place)?;
        let branch = successors(parent, |at| self.entries.get(*at)?.parent);
        let mut kept = branch
            // Parents stand before their children, so the walk back ends at the first kept entry.
            .take_while(|at| *at >= first)
            .filter_map(|at| self.entries.get(at))
            .filter(|entry| entry.is_message)
            .map(|entry| entry.record.clone());
        let tail = kept.next()?;
        let head = kept.last().unwrap_or_else(|| tail.clone());
        Some(Preserved { head, tail })
    }
}

/// Text at `name` that the user did not type.
fn told(entry: &Value, name: &str, origin: MessageOrigin) -> Vec<Body> {
    let blocks = parts(entry.get(name).unwrap_or(&Value::Null));
    if blocks.is_empty() {
        return Vec::new();
    }
    vec![user_side(blocks, origin)]
}

fn message(message: &Value, scribe: &Scribe) -> Vec<Body> {
    let content = message.get("content").unwrap_or(&Value::Null);
    let role = text(message, "role").unwrap_or_default();
    let fields = RecordFields {
        role,
        kind: "message",
        origin: text(message, "origin"),
        ..RecordFields::default()
    };
    match role {
        "user" if origin(&fields) == MessageOrigin::Conversation => user(parts(content)),
        "assistant" => assistant(message, scribe),
        "toolResult" => {
            let failed = message.get("isError") == Some(&Value::Bool(true));
            let id = text(message, "toolCallId");
            let block = id.and_then(|id| result(id, content, failed));
            let body = |block| user_side(vec![block], MessageOrigin::Conversation);
            block.map(body).into_iter().collect()
        }
        "bashExecution" => ran(message),
        "branchSummary" | "compactionSummary" => told(message, "summary", MessageOrigin::Summary),
        _ => told(message, "content", MessageOrigin::Meta),
    }
}

/// The user's words, and before them the host's additions.
fn user(blocks: Vec<Block>) -> Vec<Body> {
    let (hosts, own) = divide_blocks(blocks);
    let sides = [
        (hosts, MessageOrigin::Meta),
        (own, MessageOrigin::Conversation),
    ];
    let said = sides.into_iter().filter(|(blocks, _)| !blocks.is_empty());
    said.map(|(blocks, origin)| user_side(blocks, origin))
        .collect()
}

/// A command that the user ran by hand: its output is not the user's words.
fn ran(message: &Value) -> Vec<Body> {
    let command = text(message, "command").unwrap_or_default();
    let output = readable(message.get("output").unwrap_or(&Value::Null));
    let hidden = message.get("excludeFromContext") == Some(&Value::Bool(true));
    let origin = if hidden {
        MessageOrigin::TranscriptOnly
    } else {
        MessageOrigin::Meta
    };
    vec![user_side(
        vec![Block::text(&format!("$ {command}\n{output}"))],
        origin,
    )]
}

fn assistant(message: &Value, scribe: &Scribe) -> Vec<Body> {
    let stopped = text(message, "stopReason");
    // Calls of a response that was cut off were never run, and some are not even whole.
    let cut_off = matches!(stopped, Some("aborted" | "error"));
    let model = text(message, "model");
    let used = message.get("usage").and_then(usage);
    let content = message.get("content").and_then(Value::as_array);
    let blocks: Vec<Block> = content
        .into_iter()
        .flatten()
        .filter_map(|part| match text(part, "type")? {
            "text" => text(part, "text").map(Block::text),
            "toolCall" if !cut_off => {
                let input = part.get("arguments").cloned().unwrap_or_default();
                call(text(part, "id")?, text(part, "name")?, input)
            }
            _ => None,
        })
        .collect();
    // Nothing to show, but the tokens were paid for.
    if blocks.is_empty() {
        let used = used.filter(|used| used.total() > Tokens::ZERO);
        let report = used.map(|usage| UsageReport {
            message: None,
            model: model.unwrap_or_default().to_owned(),
            usage,
            purpose: Purpose::Turn,
            cache: None,
        });
        let body = |report| Body::Usage(Box::new(report));
        return report.map(body).into_iter().collect();
    }
    vec![Body::Message(Message {
        role: Role::Assistant,
        // Ids of providers can be missing or repeated, so the place is the id.
        id: Some(MessageId::new(scribe.place())),
        model: model.map(Arc::from),
        usage: used,
        stop_reason: stopped.map(stop_reason).map(Arc::from),
        ..Message::user(blocks)
    })]
}

/// Notes what a response used. A request that failed before it was billed has figures of zero.
fn bill(entry: &Value, scribe: &mut Scribe) {
    let message = entry.get("message").unwrap_or(&Value::Null);
    if text(message, "role") != Some("assistant") {
        return;
    }
    let used = message.get("usage").and_then(usage);
    let Some(used) = used.filter(|used| used.total() > Tokens::ZERO) else {
        return;
    };
    // A branch that became a session of its own repeats its entries with their ids and times.
    let told = |name| entry.get(name).map(Value::to_string).unwrap_or_default();
    let sent = message.get("timestamp").map(Value::to_string);
    let (id, at) = (told("id"), told("timestamp"));
    let identity = if id.is_empty() && at.is_empty() {
        scribe.place_anywhere()
    } else {
        format!("{id}{at}{}", sent.unwrap_or_default())
    };
    let model = text(message, "model").unwrap_or_default();
    scribe.bill(&identity, model, used);
}

fn stop_reason(name: &str) -> &str {
    match name {
        "stop" => "end_turn",
        "toolUse" => "tool_use",
        "length" => "max_tokens",
        other => other,
    }
}

fn usage(value: &Value) -> Option<TokenUsage> {
    let of = |name| number(value, name).map(Tokens);
    Some(TokenUsage {
        input: of("input")?,
        cache_read: of("cacheRead").unwrap_or_default(),
        cache_write_5m: of("cacheWrite").unwrap_or_default(),
        cache_write_1h: Tokens::ZERO,
        output: of("output").unwrap_or_default(),
    })
}
