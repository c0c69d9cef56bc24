//! Rollouts of Codex.
//!
//! # Model
//! A line is an envelope with a payload: what the session is (`session_meta`, `turn_context`), an
//! item of the conversation as the model saw it (`response_item`), or what the screen was told
//! (`event_msg`). Old rollouts have the items without an envelope. The same words are often told
//! twice or three times, as an item and as events, in either order; they are written down once, at
//! the first telling. The items of one response are lines of one message.
//!
//! # Not here
//! Events that repeat the items about tools, and the history that a compaction keeps: its messages
//! were written down where they were said. Calls and results: [`super::codex_tools`].

use super::Translator;
use super::codex_tools::{self as tools, OpenCalls};
use super::divide::{divide_blocks, origin};
use super::scribe::{Scribe, boundary, user_side, without_effect};
use super::value::{number, parts, readable, text, time};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::record::RecordFields;
use dormouse_core::hash::Hash;
use dormouse_core::id::{MessageId, RecordId, SessionId};
use dormouse_core::record::{
    Body, Message, MessageOrigin, NAMED_WINDOW, NamedWindow, Purpose, Role, StateChange,
    UsageReport,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Kind of line that reports a message; each kind may report every message once.
#[derive(Clone, Copy)]
enum Teller {
    Item,
    Event,
    Completion,
}

/// Translates a rollout, line by line.
#[derive(Debug, Default)]
pub(super) struct Codex {
    begun: bool,
    model: Option<Arc<str>>,
    /// The response that is being written down.
    response: Option<MessageId>,
    /// The response that the next usage figures belong to.
    answered: Option<MessageId>,
    /// Window that was last named, with the model it was named for.
    window: Option<(Arc<str>, u64)>,
    /// Total usage when it was last reported: the same figures are reported again and again.
    used: Option<Value>,
    /// Hash of the model's latest words or calls, which a fork repeats byte for byte.
    latest: Option<Hash>,
    /// Number of times each text was told, by kind of line.
    told: HashMap<Hash, [u32; 3]>,
    calls: OpenCalls,
    /// For each message of the user its parent: the record a rollback goes back to.
    turns: Vec<Option<RecordId>>,
}

impl Translator for Codex {
    fn line(&mut self, line: &Value, scribe: &mut Scribe) {
        scribe.at = time(line, &["timestamp", "created_at"]);
        let kind = text(line, "type").unwrap_or_default();
        let payload = line.get("payload").filter(|payload| payload.is_object());
        let before = scribe.written();
        match (kind, payload) {
            ("session_meta", Some(payload)) => self.begin(payload, scribe),
            ("turn_context", Some(payload)) => self.set_model(payload),
            ("response_item", Some(item)) => self.item(item, scribe),
            ("event_msg", Some(event)) => self.event(event, scribe),
            ("compacted", Some(payload)) => self.compacted(payload, scribe),
            (_, Some(_)) => {}
            ("", None) if line.get("role").is_none() => self.begin(line, scribe),
            (_, None) => {
                self.set_model(line);
                self.item(line, scribe);
            }
        }
        // Every line leaves a record, so that the numbers of lines stay known.
        if scribe.written() == before {
            let subtype = payload.and_then(|payload| text(payload, "type"));
            let title = payload.and_then(|payload| text(payload, "thread_name"));
            scribe.write(without_effect(kind, subtype, title));
        }
    }
}

impl Codex {
    /// The first header is the session's; a fork repeats those of its ancestors behind it.
    fn begin(&mut self, header: &Value, scribe: &mut Scribe) {
        let Some(id) = text(header, "id").filter(|_| !self.begun) else {
            return;
        };
        self.begun = true;
        let about = &mut scribe.about;
        about.session = Some(SessionId::from(id));
        about.cwd = text(header, "cwd").map(Into::into);
        let branch = header.get("git").and_then(|git| text(git, "branch"));
        about.git_branch = branch.map(Into::into);
        // In a session led by another agent, the "user" is that agent.
        let source = header.get("source");
        scribe.side_chain = source.is_some_and(|source| source.get("subagent").is_some())
            || text(header, "thread_source") == Some("subagent")
            || text(header, "parent_thread_id").is_some();
    }

    fn set_model(&mut self, context: &Value) {
        if let Some(model) = text(context, "model") {
            self.model = Some(Arc::from(model));
        }
    }

    /// An item of the conversation.
    fn item(&mut self, item: &Value, scribe: &mut Scribe) {
        let kind = text(item, "type").unwrap_or("message");
        if kind == "message" {
            return self.message(item, scribe);
        }
        if kind == "agent_message" {
            // Another agent's words, not the user's.
            let blocks = parts(item.get("content").unwrap_or(&Value::Null));
            let fields = RecordFields {
                role: "user",
                kind,
                ..RecordFields::default()
            };
            return self.user(blocks, origin(&fields), scribe);
        }
        if tools::is_call(kind) {
            if let Some(block) = self.calls.call(kind, item, &scribe.place()) {
                self.assistant(vec![block], scribe);
            }
        } else if tools::is_result(kind)
            && let Some(block) = self.calls.result(kind, item)
        {
            // A result ends the response: the next words of the model are another one.
            self.response = None;
            scribe.write(user_side(vec![block], MessageOrigin::Conversation));
        }
    }

    fn message(&mut self, item: &Value, scribe: &mut Scribe) {
        let content = ["content", "message", "text"];
        let content = content.iter().find_map(|name| item.get(name));
        let blocks = parts(content.unwrap_or(&Value::Null));
        let Some(role) = text(item, "role") else {
            return;
        };
        let fields = RecordFields {
            role,
            kind: "message",
            origin: text(item, "kind").or_else(|| text(item, "origin")),
            ..RecordFields::default()
        };
        match origin(&fields) {
            MessageOrigin::Conversation => self.said(blocks, Role::User, Teller::Item, scribe),
            _ if role == "assistant" => self.said(blocks, Role::Assistant, Teller::Item, scribe),
            // `developer` and `system`: the host's instructions.
            meta => self.user(blocks, meta, scribe),
        }
    }

    /// An event, as the screen was told it.
    fn event(&mut self, event: &Value, scribe: &mut Scribe) {
        let blocks = |value: &Value, name| parts(value.get(name).unwrap_or(&Value::Null));
        match text(event, "type").unwrap_or_default() {
            "user_message" => {
                let blocks = blocks(event, "message");
                // Early versions also reported the host's additions, and named their kind.
                let fields = RecordFields {
                    role: "user",
                    kind: "user_message",
                    origin: text(event, "kind"),
                    ..RecordFields::default()
                };
                match origin(&fields) {
                    MessageOrigin::Conversation => {
                        self.said(blocks, Role::User, Teller::Event, scribe);
                    }
                    meta if self.is_news(&blocks, "meta", Teller::Event) => {
                        self.user(blocks, meta, scribe);
                    }
                    _ => {}
                }
            }
            "agent_message" => {
                let blocks = blocks(event, "message");
                self.said(blocks, Role::Assistant, Teller::Event, scribe);
            }
            "item_completed" => {
                let Some(item) = event.get("item") else {
                    return;
                };
                let role = match text(item, "type") {
                    Some("UserMessage") => Role::User,
                    Some("AgentMessage") => Role::Assistant,
                    _ => return,
                };
                self.said(blocks(item, "content"), role, Teller::Completion, scribe);
            }
            "token_count" => self.token_count(event, scribe),
            "task_started" | "turn_started" => self.name_window(event, scribe),
            "turn.completed" => {
                if let Some(used) = event.get("usage").and_then(usage) {
                    let identity = scribe.place_anywhere();
                    self.report(used, &identity, scribe);
                }
            }
            "thread_rolled_back" => self.roll_back(event, scribe),
            _ => {}
        }
    }

    fn said(&mut self, blocks: Vec<Block>, role: Role, teller: Teller, scribe: &mut Scribe) {
        if role == Role::Assistant {
            if !blocks.is_empty() && self.is_news(&blocks, "answer", teller) {
                self.assistant(blocks, scribe);
            }
            return;
        }
        let (hosts, own) = divide_blocks(blocks);
        for (blocks, origin, what) in [
            (hosts, MessageOrigin::Meta, "meta"),
            (own, MessageOrigin::Conversation, "said"),
        ] {
            if !blocks.is_empty() && self.is_news(&blocks, what, teller) {
                self.user(blocks, origin, scribe);
            }
        }
    }

    /// True if this kind of line has now told a text more often than any other had before.
    /// Counting, not a set: a user may say the same thing twice.
    fn is_news(&mut self, blocks: &[Block], what: &str, teller: Teller) -> bool {
        let texts = blocks
            .iter()
            .filter(|block| block.kind() == BlockKind::Text);
        let texts: Vec<String> = texts.filter_map(Block::readable_text).collect();
        let key = Hash::of(format!("{what}\n{}", texts.join("\n").trim()).as_bytes());
        let told = self.told.entry(key).or_default();
        let most = told.iter().copied().max().unwrap_or(0);
        told[teller as usize] += 1;
        told[teller as usize] > most
    }

    fn user(&mut self, blocks: Vec<Block>, origin: MessageOrigin, scribe: &mut Scribe) {
        if blocks.is_empty() {
            return;
        }
        self.response = None;
        if origin == MessageOrigin::Conversation {
            self.turns.push(scribe.last.clone());
        }
        scribe.write(user_side(blocks, origin));
    }

    fn assistant(&mut self, content: Vec<Block>, scribe: &mut Scribe) {
        let place = || MessageId::new(scribe.place());
        let id = self.response.get_or_insert_with(place).clone();
        self.answered = Some(id.clone());
        self.latest = content.last().map(|block| Hash::of(block.bytes()));
        scribe.write(Body::Message(Message {
            role: Role::Assistant,
            id: Some(id),
            model: self.model.clone(),
            ..Message::user(content)
        }));
    }

    /// Usage since the last report. The totals only grow, so their difference counts a response
    /// whose own report was lost too; the first totals of a fork are its parent's, and a full window
    /// sets them to nothing: then the figures of the last response count.
    fn token_count(&mut self, event: &Value, scribe: &mut Scribe) {
        let Some(info) = event.get("info").filter(|info| info.is_object()) else {
            return;
        };
        self.name_window(info, scribe);
        let total = info.get("total_token_usage").filter(|it| it.is_object());
        // The same totals are reported again and again; each time would be billed.
        if total.is_some() && total == self.used.as_ref() {
            return;
        }
        let before = std::mem::replace(&mut self.used, total.cloned());
        let last = info.get("last_token_usage").and_then(usage);
        let grown = total.and_then(usage).zip(before.as_ref().and_then(usage));
        let grown = grown.and_then(|(total, before)| difference(&total, &before));
        let used = match (grown, last) {
            (Some(grown), Some(last)) if covers(&grown, &last) => Some(grown),
            (Some(grown), None) => Some(grown),
            (_, last) => last,
        };
        if let Some(used) = used {
            // A fork repeats the events with new times; figures and words stay the same.
            let words = self
                .latest
                .map_or_else(String::new, |hash| hash.to_string());
            let identity = match total {
                Some(total) => format!("{total}{words}"),
                None => scribe.place_anywhere(),
            };
            self.report(used, &identity, scribe);
        }
    }

    /// Writes down the window that Codex names for the model in use, where it is a new one.
    fn name_window(&mut self, named: &Value, scribe: &mut Scribe) {
        let Some(model) = self.model.clone() else {
            return;
        };
        // Zero stands for a window that it does not know.
        let tokens = number(named, "model_context_window").filter(|tokens| *tokens > 0);
        let Some(tokens) = tokens else {
            return;
        };
        let window = NamedWindow {
            model: model.to_string(),
            tokens: Tokens(tokens),
        };
        if self.window.replace((Arc::clone(&model), tokens)) == Some((model, tokens)) {
            return;
        }
        scribe.write(Body::State(StateChange::Fact {
            name: NAMED_WINDOW.to_owned(),
            value: serde_json::to_value(window).unwrap_or_default(),
        }));
    }

    fn report(&mut self, usage: TokenUsage, identity: &str, scribe: &mut Scribe) {
        // Reported before the first request; a bill of nothing would belong to no answer.
        if usage.prompt() == Tokens::ZERO {
            return;
        }
        self.response = None;
        let model = self.model.as_deref().unwrap_or_default().to_owned();
        scribe.bill(identity, &model, usage);
        scribe.write(Body::Usage(Box::new(UsageReport {
            message: self.answered.take(),
            model,
            usage,
            purpose: Purpose::Turn,
            cache: None,
        })));
    }

    /// The summary, if it is readable: only the provider can read some. Then the messages stay
    /// as they are.
    fn compacted(&mut self, payload: &Value, scribe: &mut Scribe) {
        let summary = readable(payload.get("message").unwrap_or(&Value::Null));
        if summary.is_empty() {
            return;
        }
        self.response = None;
        scribe.write(boundary(None, None));
        let blocks = vec![Block::text(&summary)];
        scribe.write(user_side(blocks, MessageOrigin::Summary));
    }

    /// The user took the last messages back: the next record hangs on the one before them.
    fn roll_back(&mut self, event: &Value, scribe: &mut Scribe) {
        let turns = number(event, "num_turns").and_then(|turns| usize::try_from(turns).ok());
        let left = self.turns.len().saturating_sub(turns.unwrap_or(0));
        if let Some(before) = self.turns.get(left) {
            self.response = None;
            scribe.last.clone_from(before);
            self.turns.truncate(left);
        }
    }
}

/// Codex counts cached tokens among the input, Dormouse beside it; hence the subtraction.
fn usage(value: &Value) -> Option<TokenUsage> {
    let input = Tokens(number(value, "input_tokens")?);
    let of = |name| Tokens(number(value, name).unwrap_or(0));
    let (read, written) = (of("cached_input_tokens"), of("cache_write_input_tokens"));
    Some(TokenUsage {
        input: input - read - written,
        cache_read: read,
        cache_write_5m: written,
        cache_write_1h: Tokens::ZERO,
        output: of("output_tokens"),
    })
}

/// Growth of the totals; none if one of them shrank.
fn difference(total: &TokenUsage, before: &TokenUsage) -> Option<TokenUsage> {
    let of = |now: Tokens, then: Tokens| now.get().checked_sub(then.get()).map(Tokens);
    Some(TokenUsage {
        input: of(total.input, before.input)?,
        cache_read: of(total.cache_read, before.cache_read)?,
        cache_write_5m: of(total.cache_write_5m, before.cache_write_5m)?,
        cache_write_1h: Tokens::ZERO,
        output: of(total.output, before.output)?,
    })
}

/// True if the growth of the totals holds at least the last response.
fn covers(grown: &TokenUsage, last: &TokenUsage) -> bool {
    grown.prompt() >= last.prompt() && grown.output >= last.output
}
