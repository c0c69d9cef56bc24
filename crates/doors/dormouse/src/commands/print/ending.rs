//! The end of a turn as it is printed: text, or the `result` object that the agent SDKs expect.

use super::args::OutputFormat;
use super::stream::api_usage;
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Out, Report};
use dormouse_agent::{Event, Figures, ModelFigures, TurnEnd};
use dormouse_core::usage::Usd;
use dormouse_system::{Clock, System, Ticks};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;

/// Figures of a run, taken from its events.
pub(super) struct Ending {
    clock: Arc<dyn Clock>,
    figures: Figures,
    denied: Vec<Value>,
    begun: Ticks,
    /// Time since which an answer is awaited.
    asked: Option<Ticks>,
    /// Milliseconds that answers took, from the request to the last block.
    answering: u128,
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending").finish_non_exhaustive()
    }
}

impl Ending {
    pub(super) fn new(system: &System) -> Self {
        let clock = Arc::clone(&system.clock);
        Self {
            begun: clock.ticks(),
            clock,
            figures: Figures::default(),
            denied: Vec::new(),
            asked: None,
            answering: 0,
        }
    }

    /// A prompt was sent.
    pub(super) fn begin(&mut self) {
        self.asked.get_or_insert(self.clock.ticks());
    }

    /// Takes an event in.
    pub(super) fn take(&mut self, event: &Event) {
        self.figures.take(event);
        match event {
            // The next request leaves when the last result is there.
            Event::ToolDone { .. } => self.asked = Some(self.clock.ticks()),
            Event::MessageDone {
                stop_reason: Some(_),
                ..
            } => {
                if let Some(asked) = self.asked.take() {
                    self.answering += self.clock.ticks().since(asked).as_millis();
                }
            }
            Event::Refused { call, tool, input } => self.denied.push(json!({
                "tool_name": tool, "tool_use_id": call, "tool_input": input,
            })),
            _ => {}
        }
    }

    /// The object that ends a turn.
    pub(super) fn object(&mut self, session: &str, end: &TurnEnd, app: &App) -> Value {
        let refused = end.stop_reason.as_deref() == Some("refusal");
        let (subtype, terminal) = match end.end.as_str() {
            "answered" => ("success", "completed"),
            "requests" => ("error_max_turns", "max_turns"),
            "budget" => ("error_max_budget_usd", "max_budget_usd"),
            "interrupted" => ("error_during_execution", "aborted_streaming"),
            "hook" => ("error_during_execution", "stopped_by_hook"),
            "command" => ("error_during_execution", "unknown_command"),
            _ => ("error_during_execution", "api_error"),
        };
        let (usage, cost) = self.figures.all();
        let denied = std::mem::take(&mut self.denied);
        let mut object = json!({
            "type": "result",
            "subtype": subtype,
            "is_error": subtype != "success" || refused,
            "duration_ms": millis(self.clock.ticks().since(self.begun).as_millis()),
            "duration_api_ms": millis(self.answering),
            "num_turns": end.requests,
            "stop_reason": end.stop_reason,
            "session_id": session,
            "uuid": app.system.ids.fresh(),
            "total_cost_usd": cost.map(Usd::as_f64),
            "usage": api_usage(&usage),
            "modelUsage": models(&self.figures, app),
            "permission_denials": denied,
            "terminal_reason": terminal,
        });
        if subtype == "success" {
            object["result"] = json!(end.text);
        } else {
            let why = end.why.clone().unwrap_or_else(|| terminal.to_owned());
            object["errors"] = json!([why]);
        }
        object
    }

    /// Prints the end of a turn in the format that was asked for.
    pub(super) fn print(
        format: Option<OutputFormat>,
        object: &Value,
        end: &TurnEnd,
        app: &mut App,
    ) -> Outcome {
        let answer = Answer { object, end };
        match format {
            // Text, or an object for `--json`.
            None => app.tell(&answer)?,
            Some(OutputFormat::Text) => answer.text(&mut app.out)?,
            Some(OutputFormat::Json) => app.out.json(object)?,
            Some(OutputFormat::StreamJson) => app.out.json_line(object)?,
        }
        // At once: memories are still drawn from the turn behind it.
        app.out.flush()?;
        Ok(())
    }
}

fn millis(millis: u128) -> u64 {
    u64::try_from(millis).unwrap_or(u64::MAX)
}

/// Usage by model, with the names of the SDKs.
fn models(figures: &Figures, app: &App) -> Map<String, Value> {
    let table = app.models();
    let model = |(name, figures): (String, ModelFigures)| {
        let info = table.as_ref().map(|table| table.lookup(&name).info.clone());
        let object = json!({
            "inputTokens": figures.usage.input,
            "outputTokens": figures.usage.output,
            "cacheReadInputTokens": figures.usage.cache_read,
            "cacheCreationInputTokens": figures.usage.cache_write_5m + figures.usage.cache_write_1h,
            "webSearchRequests": 0,
            "costUSD": figures.cost.as_f64(),
            "contextWindow": info.as_ref().map(|info| info.window),
            "maxOutputTokens": info.as_ref().map(|info| info.max_output),
        });
        (name, object)
    };
    figures.by_model().into_iter().map(model).collect()
}

/// Answer of a turn.
struct Answer<'a> {
    object: &'a Value,
    end: &'a TurnEnd,
}

impl Report for Answer<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        if self.end.is_answered() {
            out.line(self.end.text.as_str())?;
        }
        Ok(())
    }
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object.serialize(serializer)
    }
}
