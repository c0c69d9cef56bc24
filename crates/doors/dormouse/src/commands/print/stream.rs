//! Events as lines of JSON, in the form that programs made for Claude Code read.

use crate::app::App;
use crate::error::Outcome;
use dormouse_agent::{Agent, Event, Mode};
use dormouse_core::block::Block;
use serde_json::{Value, json};

/// Writer of one run's events.
#[derive(Debug)]
pub(super) struct Stream {
    wanted: bool,
    session: String,
}

impl Stream {
    pub(super) fn new(wanted: bool, session: &str) -> Self {
        Self {
            wanted,
            session: session.to_owned(),
        }
    }

    /// First line: the session and its surroundings.
    pub(super) fn begin(&self, agent: &Agent, mode: Mode, app: &mut App) -> Outcome {
        if self.wanted {
            let begin = json!({
                "type": "system",
                "subtype": "init",
                "cwd": app.host()?.places().current_dir,
                "model": agent.model(),
                "tools": agent.tool_names(),
                "mcp_servers": [],
                "permissionMode": mode.foreign_name(),
                "slash_commands": [],
                "apiKeySource": "user",
                "claude_code_version": env!("CARGO_PKG_VERSION"),
            });
            app.out.json_line(&frame(&self.session, begin))?;
        }
        Ok(())
    }

    /// Writes an event, if programs listen. A reader that is gone ends the run at its next line.
    pub(super) fn tell(&self, event: &Event, app: &mut App) {
        if !self.wanted {
            return;
        }
        let line = match event {
            Event::Assistant {
                id,
                model,
                content,
                usage,
                stop_reason,
            } => json!({
                "type": "assistant",
                "parent_tool_use_id": null,
                "message": {
                    "id": id, "type": "message", "role": "assistant", "model": model,
                    "content": values(content), "stop_reason": stop_reason, "usage": usage,
                },
            }),
            Event::Results { content } => json!({
                "type": "user",
                "parent_tool_use_id": null,
                "message": { "role": "user", "content": values(content) },
            }),
            Event::Text(_) | Event::Notice(_) | Event::Saved(_) => return,
        };
        // The log has everything; a closed pipe is noticed at the end.
        let _unread = app.out.json_line(&frame(&self.session, line));
    }
}

/// A line with the members that every line has.
pub(super) fn frame(session: &str, mut line: Value) -> Value {
    if let Some(members) = line.as_object_mut() {
        members.insert("session_id".to_owned(), json!(session));
    }
    line
}

/// Blocks as they were sent.
fn values(blocks: &[Block]) -> Vec<Value> {
    let read = |block: &Block| serde_json::from_slice(block.bytes()).ok();
    blocks.iter().filter_map(read).collect()
}
