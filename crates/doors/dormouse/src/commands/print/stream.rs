//! Events as lines of JSON, in the form that programs made for Claude Code read.

use crate::app::App;
use crate::error::Outcome;
use dormouse_agent::Event;
use dormouse_agent::protocol::{DeltaKind, OpenedSession, TaskState};
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::usage::TokenUsage;
use dormouse_system::Ids;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Attempts that a program is told to expect at most; the driver decides by time and hints.
const MOST_ATTEMPTS: u32 = 10;

/// Writer of one run's events.
#[derive(Debug)]
pub(super) struct Stream {
    wanted: bool,
    partial: bool,
    session: String,
    ids: Arc<dyn Ids>,
    /// Answer whose pieces are printed.
    message: Option<MessageId>,
    /// Tasks that were told to run.
    tasks: BTreeSet<String>,
}

impl Stream {
    pub(super) fn new(wanted: bool, partial: bool, session: &str, ids: Arc<dyn Ids>) -> Self {
        Self {
            wanted,
            partial,
            session: session.to_owned(),
            ids,
            message: None,
            tasks: BTreeSet::new(),
        }
    }

    /// First line: the session and its surroundings.
    pub(super) fn begin(
        &self,
        opened: &OpenedSession,
        servers: &[Value],
        app: &mut App,
    ) -> Outcome {
        let commands = opened.commands.iter();
        let names: Vec<&str> = commands.clone().map(|one| one.name.as_str()).collect();
        let skills = commands.filter(|one| one.skill);
        let skills: Vec<&str> = skills.map(|one| one.name.as_str()).collect();
        self.line(
            json!({
                "type": "system",
                "subtype": "init",
                "cwd": opened.folder,
                "model": opened.model,
                "tools": opened.tools,
                "mcp_servers": servers,
                "permissionMode": opened.mode.foreign_name(),
                "slash_commands": names,
                "skills": skills,
                "plugins": [],
                "agents": [],
                "output_style": "default",
                "apiKeySource": "user",
                "claude_code_version": env!("CARGO_PKG_VERSION"),
            }),
            app,
        )
    }

    /// State of the session, for programs that answer requests: they keep their pipes open by it.
    pub(super) fn state(&self, state: &str, app: &mut App) -> Outcome {
        let frame = json!({
            "type": "system", "subtype": "session_state_changed", "state": state,
        });
        self.line(frame, app)
    }

    /// Repeats a message of the input.
    pub(super) fn replay(&self, mut frame: Value, app: &mut App) -> Outcome {
        frame["isReplay"] = json!(true);
        self.line(frame, app)
    }

    /// Writes an event, if programs listen.
    pub(super) fn tell(&mut self, event: &Event, app: &mut App) -> Outcome {
        if !self.wanted {
            return Ok(());
        }
        for line in self.frames(event) {
            self.line(line, app)?;
        }
        Ok(())
    }

    fn line(&self, mut line: Value, app: &mut App) -> Outcome {
        if !self.wanted {
            return Ok(());
        }
        if let Some(members) = line.as_object_mut() {
            members.insert("session_id".to_owned(), json!(self.session));
            members
                .entry("uuid")
                .or_insert_with(|| json!(self.ids.fresh()));
        }
        app.out.json_line(&line)?;
        Ok(())
    }

    fn frames(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::MessageDone {
                message,
                model,
                content,
                usage,
                stop_reason,
            } => {
                let mut frames = Vec::new();
                // The last part may hold the stop reason alone.
                if !content.is_empty() {
                    frames.push(json!({
                        "type": "assistant",
                        "parent_tool_use_id": null,
                        "message": {
                            "id": message, "type": "message", "role": "assistant", "model": model,
                            "content": values(content), "stop_reason": stop_reason,
                            "usage": usage.as_ref().map(api_usage),
                        },
                    }));
                }
                if let Some(reason) = stop_reason
                    && self.message.take().is_some()
                {
                    let usage = usage.as_ref().map(api_usage);
                    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
                    frames.extend([
                        piece(&json!({"type": "message_delta", "delta": delta, "usage": usage})),
                        piece(&json!({"type": "message_stop"})),
                    ]);
                }
                frames
            }
            Event::ToolDone { content, .. } => vec![json!({
                "type": "user",
                "parent_tool_use_id": null,
                "message": { "role": "user", "content": values(std::slice::from_ref(content)) },
            })],
            Event::AttemptFailed {
                number,
                why,
                again_after: Some(after),
            } => vec![json!({
                "type": "system", "subtype": "api_retry", "attempt": number,
                "max_retries": MOST_ATTEMPTS, "retry_delay_ms": after, "error_status": null,
                "error": why,
            })],
            Event::TaskChanged { task, what, state } => {
                let (subtype, status) = match state {
                    TaskState::Running if self.tasks.insert(task.clone()) => {
                        ("task_started", "running")
                    }
                    TaskState::Running => ("task_progress", "running"),
                    TaskState::Ended => ("task_notification", "completed"),
                    TaskState::Killed => ("task_notification", "stopped"),
                };
                vec![json!({
                    "type": "system", "subtype": subtype, "task_id": task, "description": what,
                    "status": status,
                })]
            }
            event if self.partial => self.pieces(event).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn pieces(&mut self, event: &Event) -> Option<Value> {
        Some(piece(&match event {
            Event::MessageStarted { message, model } => {
                self.message = Some(message.clone());
                json!({ "type": "message_start", "message": {
                    "id": message, "type": "message", "role": "assistant", "model": model,
                    "content": [], "stop_reason": null,
                }})
            }
            Event::BlockStarted { index, head } => {
                json!({ "type": "content_block_start", "index": index, "content_block": head })
            }
            Event::Delta { index, kind, text } => {
                let delta = match kind {
                    DeltaKind::Text => json!({ "type": "text_delta", "text": text }),
                    DeltaKind::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
                    DeltaKind::Input => {
                        json!({ "type": "input_json_delta", "partial_json": text })
                    }
                    DeltaKind::Signature => {
                        json!({ "type": "signature_delta", "signature": text })
                    }
                };
                json!({ "type": "content_block_delta", "index": index, "delta": delta })
            }
            Event::BlockEnded { index } => {
                json!({ "type": "content_block_stop", "index": index })
            }
            _ => return None,
        }))
    }
}

fn piece(event: &Value) -> Value {
    json!({ "type": "stream_event", "parent_tool_use_id": null, "event": event })
}

/// Usage with the names of the API.
pub(super) fn api_usage(usage: &TokenUsage) -> Value {
    json!({
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write_5m + usage.cache_write_1h,
    })
}

/// Blocks as they were sent.
fn values(blocks: &[Block]) -> Vec<Value> {
    let read = |block: &Block| serde_json::from_slice(block.bytes()).ok();
    blocks.iter().filter_map(read).collect()
}
