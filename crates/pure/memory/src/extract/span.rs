//! Spans: the conversation cut by speaker.
//!
//! # Model
//! Records go in, [`Span`]s come out, each with one speaker and one way into the conversation. A
//! result inherits its source from the call it answers; a message of the user's side is cut
//! further, because clients and pastes share it with the user.
//!
//! # Not here
//! Cutting a message (`cut`); reading the log (`dormouse-keeper`).

use super::cut::{Part, cut, without_private};
use crate::trust::{Origin, Speaker, Trust};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::{COMMAND_NAME, How, recognise};
use dormouse_core::id::{CallId, Seq};
use dormouse_core::record::{Body, Message, MessageOrigin, Record, Role, StateChange};
use dormouse_core::units::Millis;
use std::collections::HashMap;

/// Way in which a text came into the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Typed by a person, or answered by the model.
    Said,
    /// Brought by a tool, or pasted by a person.
    ToolResult {
        /// Name of the tool; `None` for pasted text and for calls that the log lacks.
        tool: Option<String>,
        /// True if it comes from outside the project.
        external: bool,
    },
    /// Put there by a client: recalled memory, reminders, instructions. Summaries are no spans: they repeat
    /// the conversation, and taken for a text that was shown, they would make a rule of the user's look
    /// like an echo, and the rule would be lost.
    Fragment,
}

/// Piece of a conversation with one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Session whose log has it.
    pub session: Option<String>,
    /// Id of the record that has it.
    pub record: String,
    /// Sequence number of that record.
    pub seq: u64,
    /// Speaker that the text is attributed to.
    pub speaker: Speaker,
    /// Text, without parts that the user marked as private.
    pub text: String,
    /// Time of the record; zero if the log has none.
    pub time: Millis,
    /// Way in which it came into the conversation.
    pub kind: SpanKind,
}

impl Span {
    /// Trust of a memory that stems from here; `None` if none may.
    pub const fn trust(&self) -> Option<Trust> {
        match &self.kind {
            SpanKind::Said => Some(self.speaker.trust()),
            SpanKind::ToolResult { external: true, .. } => Some(Trust::External),
            SpanKind::ToolResult { .. } => Some(Trust::ToolOutput),
            SpanKind::Fragment => None,
        }
    }

    /// True if a person typed it in this conversation.
    pub const fn is_users(&self) -> bool {
        matches!((&self.kind, self.speaker), (SpanKind::Said, Speaker::User))
    }

    /// Position in the log, for front matter and journal.
    pub fn origin(&self) -> Origin {
        Origin {
            session: self.session.clone(),
            message: Some(self.record.clone()),
            speaker: self.speaker,
            time: self.time,
        }
    }
}

/// Signs of tools whose results were written outside the project. MCP servers are among them,
/// because nothing is known about where theirs come from.
const OUTSIDE: &str = "browser|crawl|curl|download|fetch|http|internet|mail|mcp__|scrape|slack|web";

/// True if a tool looks outside the project. An unknown one counts as such.
pub(super) fn is_external(tool: Option<&str>, command: Option<&str>) -> bool {
    // A pasted text or a call missing from the log: the cautious reading is "outside".
    let Some(tool) = tool else { return true };
    let tool = tool.to_lowercase();
    // A shell command brings foreign text too: `gh` and `glab` show issues that anyone can write.
    let fetches = |text: &str| {
        ["curl", "wget", "http://", "https://", "gh ", "glab "]
            .iter()
            .any(|sign| text.contains(sign))
    };
    OUTSIDE.split('|').any(|sign| tool.contains(sign)) || command.is_some_and(fetches)
}

/// Spans of a session's records on the path, in order; with `after`, of the records behind it.
pub fn spans(records: &[Record], after: Option<Seq>) -> Vec<Span> {
    // From all records: a result behind the cursor may belong to a call before it.
    let calls = calls(records);
    let wanted = records
        .iter()
        .filter(|record| after.is_none_or(|seq| record.seq > seq));
    wanted
        .flat_map(|record| spans_of(record, &calls))
        // Images and private parts leave empty texts behind.
        .filter(|span| !span.text.trim().is_empty())
        .collect()
}

/// Tool call, as far as the source of its result depends on it.
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
            // The prompt of a sub-agent was written by a model, not by the user.
            let aside = record.side_chain || record.agent.is_some();
            of_message(message, aside, &template, calls)
        }
        Body::Fragment(found) => vec![fragment(&found.block)],
        Body::Boundary(boundary) => boundary.restored.iter().map(fragment).collect(),
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
            // A summary repeats what was said elsewhere; the provider's own ones fall through below.
            (Role::User, BlockKind::Text) if message.origin == MessageOrigin::Summary => {}
            // A sub-agent's words are tool output; meta messages and system messages were put there by
            // the client.
            (Role::Assistant, BlockKind::Text) => spans.push(Span {
                text: without_private(&text()),
                kind: SpanKind::ToolResult {
                    tool: None,
                    external: false,
                },
                ..template.clone()
            }),
            (Role::User | Role::System, BlockKind::Text) => spans.push(Span {
                text: without_private(&text()),
                ..template.clone()
            }),
            _ => {}
        }
    }
    spans
}

/// Cuts a message of the user's side by the author of its parts.
pub(super) fn said_by_user(text: &str, template: &Span) -> Vec<Span> {
    let part = |(part, text): (Part, String)| {
        let (speaker, kind) = match part {
            Part::Own => (Speaker::User, SpanKind::Said),
            Part::Pasted => {
                // A paste may come from any page, so it is as foreign as a fetched one.
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

/// True if the main agent itself wrote to memory behind `after`: with a file tool on a path that
/// `is_memory` accepts, with the memory tool, or because the user said `/remember`.
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
            Some("memory" | "Memory") => block
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
        // A save by extraction or a dream is not the main agent's.
        Body::State(StateChange::MemorySaved { detail }) => detail
            .get("author")
            .and_then(serde_json::Value::as_str)
            .is_none_or(|author| !matches!(author, "extractor" | "dream")),
        _ => false,
    })
}

/// True for the command that saves at once, typed or as a client records it.
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
