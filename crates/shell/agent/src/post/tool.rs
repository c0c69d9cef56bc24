//! The tool by which agents write to each other.

use super::mailbox::Mailbox;
use super::office::Delivery;
use crate::client::ClientTool;
use dormouse_drive::ToolCall;
use dormouse_mail::{Address, AgentName, Content, Cursor, Letter, LetterId};
use dormouse_system::System;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Name of the tool.
pub(crate) const SEND_MESSAGE: &str = "SendMessage";

/// Input of a call.
#[derive(Debug, Deserialize)]
struct Wish {
    to: String,
    message: Value,
    #[serde(default)]
    summary: String,
}

/// Definition of the tool that sends letters between agents.
pub(crate) fn tool() -> ClientTool {
    let plain = || json!({ "type": "string" });
    let definition: Value = json!({
        "name": SEND_MESSAGE,
        "description": include_str!("send-message.md").trim_end(),
        "input_schema": {
            "type": "object",
            "properties": { "to": plain(), "message": {}, "summary": plain() },
            "required": ["to", "message"],
        },
    });
    ClientTool {
        name: SEND_MESSAGE.to_owned(),
        definition,
        // In order, so that letters of one answer arrive as they were written.
        only_reads: false,
    }
}

impl Mailbox {
    /// Sends the letter of a call. Blocks for the disk.
    ///
    /// # Errors
    /// Words for the model, if no agent has the letter.
    pub(crate) fn send(&self, call: &ToolCall, system: &System) -> Result<String, String> {
        let input = crate::judge::call_text(call).input;
        let wish: Wish = serde_json::from_value(input)
            .map_err(|error| format!("The input is not as the tool wants it: {error}."))?;
        let to = Address::parse(&wish.to).map_err(|error| format!("Not sent: {error}."))?;
        let mut content = content(&wish.message)?;
        self.may_answer(&content)?;
        let from = self.sender(&to);
        if let (Address::Session(_), Content::Text { message }) = (&to, &mut content)
            && let Some(address) = self.office().address()
        {
            let _always = write!(message, "\n(Answers reach me at {address})");
        }
        let leaves = matches!(&content, Content::ShutdownResponse { approve: true, .. });
        let fresh = system.ids.fresh();
        // The random end of the id: a model copies it without a slip.
        let tail = fresh.len().saturating_sub(12);
        let id = LetterId::new(fresh.get(tail..).unwrap_or(&fresh));
        let now = system.clock.now();
        let mut letter = Letter::new(id, from.clone(), from, now, content);
        letter.summary = wish.summary;
        let delivery = self.office().send(&letter, &to);
        let delivery = delivery.map_err(|error| format!("Not sent: {error}."))?;
        if leaves {
            self.seat().leave();
        }
        Ok(words(&delivery, &to))
    }

    /// Name that the addressee sees: for another session one that tells sessions apart.
    fn sender(&self, to: &Address) -> AgentName {
        let own = &self.seat().name;
        let session: String = self.office().session().as_str().chars().take(8).collect();
        match to {
            Address::Session(_) => AgentName::new(&format!("{own}-of-{session}")),
            Address::Agent(_) | Address::Everyone => Ok(own.clone()),
        }
        .unwrap_or_else(|_| own.clone())
    }

    /// Refuses an agreement to stop that was not asked for: the agent would end with its work undone.
    fn may_answer(&self, content: &Content) -> Result<(), String> {
        let Content::ShutdownResponse { request_id, .. } = content else {
            return Ok(());
        };
        let mut from = Cursor::default();
        while let Ok(batch) = self.inbox().read(from) {
            let asked = batch.letters.iter().any(|(letter, _)| {
                letter.id == *request_id
                    && matches!(letter.content, Content::ShutdownRequest { .. })
            });
            if asked {
                return Ok(());
            }
            if batch.next == from {
                break;
            }
            from = batch.next;
        }
        Err(format!(
            "Not sent: no letter {request_id} asked you to stop. `request_id` is the id behind the sender's name."
        ))
    }
}

/// Content that a message stands for: words, or an object with an agreement.
fn content(message: &Value) -> Result<Content, String> {
    let agreement = |value: &Value| serde_json::from_value::<Content>(value.clone());
    match message {
        Value::String(text) => {
            // Some models write objects as texts.
            let object = serde_json::from_str::<Value>(text).ok();
            let read = object.filter(Value::is_object).map(|value| agreement(&value));
            Ok(match read {
                Some(Ok(content)) => content,
                _ => Content::Text {
                    message: text.clone(),
                },
            })
        }
        Value::Object(_) => agreement(message).map_err(|error| {
            format!(
                "Not sent: `message` is words, or an object: {{\"type\": \"shutdown_request\", \"reason\"}}, {{\"type\": \"shutdown_response\", \"request_id\", \"approve\", \"reason\"}} or {{\"type\": \"plan_approval_response\", \"request_id\", \"approve\", \"feedback\"}}: {error}."
            )
        }),
        _ => Err("Not sent: `message` has to be words or an object.".to_owned()),
    }
}

fn words(delivery: &Delivery, to: &Address) -> String {
    if let Address::Session(path) = to {
        return format!("The session behind {} has it.", path.display());
    }
    let list = |names: &[AgentName]| {
        let names: Vec<&str> = names.iter().map(AgentName::as_str).collect();
        names.join(", ")
    };
    let mut text = String::new();
    if !delivery.awake.is_empty() {
        let _always = writeln!(text, "Sent to {}.", list(&delivery.awake));
    }
    if !delivery.asleep.is_empty() {
        let _always = writeln!(
            text,
            "{} has ended and finds it when it is resumed.",
            list(&delivery.asleep)
        );
    }
    for (name, why) in &delivery.refused {
        let _always = writeln!(text, "Not sent to {name}: {why}.");
    }
    if text.is_empty() {
        text.push_str("There is no other agent to send it to.");
    }
    text.trim_end().to_owned()
}
