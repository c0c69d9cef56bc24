//! Spans: who said what in a session.

use super::cut::{Part, cut, without_private};
use crate::trust::{Origin, Speaker, Trust};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::{COMMAND_NAME, How, recognise};
use dormouse_core::id::{CallId, Seq};
use dormouse_core::record::{Body, Message, MessageOrigin, Record, Role, StateChange};
use dormouse_core::units::Millis;
use std::collections::HashMap;

/// How a text came into the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// It was said: typed by a person, or answered by the model.
    Said,
    /// A tool brought it, or a person pasted it.
    ToolResult {
        /// The tool, where it is known; `None` for what was pasted.
        tool: Option<String>,
        /// Whether it comes from outside the project.
        external: bool,
    },
    /// It was put there: recalled memory, reminders, instructions, summaries.
    Fragment,
}

/// A piece of a conversation with one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The session whose log has it.
    pub session: Option<String>,
    /// The record that has it.
    pub record: String,
    /// The record's place in the log.
    pub seq: u64,
    /// Who spoke.
    pub speaker: Speaker,
    /// The words.
    pub text: String,
    /// When.
    pub time: Millis,
    /// How it came into the conversation.
    pub kind: SpanKind,
}

impl Span {
    /// How far a memory may be believed that stems from here; `None` where none may stem from.
    pub const fn trust(&self) -> Option<Trust> {
        match &self.kind {
            SpanKind::Said => Some(self.speaker.trust()),
            SpanKind::ToolResult { external: true, .. } => Some(Trust::External),
            SpanKind::ToolResult { .. } => Some(Trust::ToolOutput),
            SpanKind::Fragment => None,
        }
    }

    /// Whether a person typed it.
    pub const fn is_users(&self) -> bool {
        matches!((&self.kind, self.speaker), (SpanKind::Said, Speaker::User))
    }

    /// The place in the log.
    pub fn origin(&self) -> Origin {
        Origin {
            session: self.session.clone(),
            message: Some(self.record.clone()),
            speaker: self.speaker,
            time: self.time,
        }
    }
}

/// Tools that bring what somebody outside wrote.
const OUTSIDE: &str = "browser|crawl|curl|download|fetch|http|internet|mail|mcp__|scrape|slack|web";

/// Whether a tool looks outside the project. One that is not known does.
pub(super) fn is_external(tool: Option<&str>, command: Option<&str>) -> bool {
    let Some(tool) = tool else { return true };
    let tool = tool.to_lowercase();
    let fetches = |text: &str| {
        ["curl", "wget", "http://", "https://", "gh ", "glab "]
            .iter()
            .any(|sign| text.contains(sign))
    };
    OUTSIDE.split('|').any(|sign| tool.contains(sign)) || command.is_some_and(fetches)
}

/// The spans of a session's records on the path, in order; with `after`, of the records behind it.
pub fn spans(records: &[Record], after: Option<Seq>) -> Vec<Span> {
    let calls = calls(records);
    let wanted = records
        .iter()
        .filter(|record| after.is_none_or(|seq| record.seq > seq));
    wanted
        .flat_map(|record| spans_of(record, &calls))
        .filter(|span| !span.text.trim().is_empty())
        .collect()
}

/// A tool call as far as its result's source depends on it.
struct Call {
    tool: String,
    command: Option<String>,
}

fn calls(records: &[Record]) -> HashMap<CallId, Call> {
    let messages = records.iter().filter_map(|record| match &record.body {
        Body::Message(message) => Some(message),
        _ => None,
    });
    let blocks = messages.flat_map(|message| &message.content);
    let call = |block: &Block| {
        let tool = block.tool()?.to_owned();
        let command = block.input_text("command");
        Some((block.call()?.clone(), Call { tool, command }))
    };
    blocks
        .filter(|block| block.kind() == BlockKind::ToolUse)
        .filter_map(call)
        .collect()
}

fn spans_of(record: &Record, calls: &HashMap<CallId, Call>) -> Vec<Span> {
    let template = Span {
        session: record.session.as_ref().map(ToString::to_string),
        record: record.id.to_string(),
        seq: record.seq.get(),
        speaker: Speaker::Tool,
        text: String::new(),
        time: record.at.unwrap_or_default(),
        kind: SpanKind::Fragment,
    };
    let fragment = |block: &Block| Span {
        text: without_private(&block.readable_text().unwrap_or_default()),
        ..template.clone()
    };
    match &record.body {
        Body::Message(message) if message.reaches_the_model() => {
            let aside = record.side_chain || record.agent.is_some();
            of_message(message, aside, &template, calls)
        }
        Body::Fragment(found) => vec![fragment(&found.block)],
        Body::Boundary(boundary) => boundary
            .summary
            .iter()
            .chain(&boundary.restored)
            .map(fragment)
            .collect(),
        _ => Vec::new(),
    }
}

fn of_message(
    message: &Message,
    aside: bool,
    template: &Span,
    calls: &HashMap<CallId, Call>,
) -> Vec<Span> {
    let mut spans = Vec::new();
    for block in &message.content {
        let text = || block.readable_text().unwrap_or_default();
        match (message.role, block.kind()) {
            (_, BlockKind::ToolResult) => {
                let call = block.call().and_then(|id| calls.get(id));
                let tool = call.map(|call| call.tool.clone());
                let command = call.and_then(|call| call.command.as_deref());
                let external = is_external(tool.as_deref(), command);
                spans.push(Span {
                    text: without_private(&text()),
                    kind: SpanKind::ToolResult { tool, external },
                    ..template.clone()
                });
            }
            (Role::Assistant, BlockKind::Text) if !aside => spans.push(Span {
                speaker: Speaker::Assistant,
                text: without_private(&text()),
                kind: SpanKind::Said,
                ..template.clone()
            }),
            (Role::User, BlockKind::Text)
                if !aside && message.origin == MessageOrigin::Conversation =>
            {
                spans.extend(said_by_user(&text(), template));
            }
            // A sub-agent's words are tool output; meta messages, summaries and system messages
            // were put there.
            (Role::Assistant, BlockKind::Text) => spans.push(Span {
                text: without_private(&text()),
                kind: SpanKind::ToolResult {
                    tool: None,
                    external: false,
                },
                ..template.clone()
            }),
            (Role::User | Role::System, BlockKind::Text) | (_, BlockKind::Compaction) => {
                spans.push(Span {
                    text: without_private(&text()),
                    ..template.clone()
                });
            }
            _ => {}
        }
    }
    spans
}

/// Cuts a message of the user's side by who wrote its parts.
pub(super) fn said_by_user(text: &str, template: &Span) -> Vec<Span> {
    let part = |(part, text): (Part, String)| {
        let (speaker, kind) = match part {
            Part::Own => (Speaker::User, SpanKind::Said),
            Part::Pasted => {
                let (tool, external) = (None, true);
                (Speaker::Tool, SpanKind::ToolResult { tool, external })
            }
            Part::Injected => (Speaker::Tool, SpanKind::Fragment),
        };
        Span {
            speaker,
            text,
            kind,
            ..template.clone()
        }
    };
    cut(text).into_iter().map(part).collect()
}

/// Whether the main agent itself wrote to memory behind `after`: with a file tool on a path that
/// `is_memory` knows, with the memory tool, or because the user said `/remember`.
pub fn wrote_memory(
    records: &[Record],
    after: Option<Seq>,
    is_memory: impl Fn(&str) -> bool,
) -> bool {
    let writes = |block: &Block| {
        let path = || {
            let named = ["file_path", "path", "notebook_path"];
            named.iter().find_map(|name| block.input_text(name))
        };
        match block.tool() {
            Some("Edit" | "Write" | "MultiEdit") => path().is_some_and(|path| is_memory(&path)),
            Some("memory") => block
                .input_text("command")
                .is_some_and(|command| command != "view"),
            _ => false,
        }
    };
    let wanted = records
        .iter()
        .filter(|record| after.is_none_or(|seq| record.seq > seq));
    wanted.into_iter().any(|record| match &record.body {
        Body::Message(message) if message.role == Role::Assistant => {
            !record.side_chain
                && record.agent.is_none()
                && message
                    .content
                    .iter()
                    .any(|block| block.kind() == BlockKind::ToolUse && writes(block))
        }
        Body::Message(message) if message.role == Role::User => {
            message.content.iter().any(|block| {
                let text = block.readable_text().unwrap_or_default();
                block.kind() == BlockKind::Text && asks_to_remember(&text)
            })
        }
        // What extraction or a dream saved was not written by the main agent.
        Body::State(StateChange::MemorySaved { detail }) => detail
            .get("author")
            .and_then(serde_json::Value::as_str)
            .is_none_or(|author| !matches!(author, "extractor" | "dream")),
        _ => false,
    })
}

/// Whether a message is the command that saves at once.
fn asks_to_remember(text: &str) -> bool {
    text.trim_start().starts_with("/remember")
        || recognise(text).iter().any(|span| {
            span.how == How::Wrapped(&COMMAND_NAME)
                && text[span.content.clone()].trim() == "/remember"
        })
}

#[cfg(test)]
#[path = "span_tests.rs"]
mod tests;
