//! Answers of the model, scripted or recorded.
//!
//! # Not here
//! The persona that speaks without a script ([`crate::persona`]) and the wire ([`crate::spoken`]).

use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One answer of a script, written by hand or recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimAnswer {
    /// Its blocks in order.
    pub content: Vec<AnswerBlock>,
    /// Reason of its end; follows from the content if absent.
    pub stop_reason: Option<StopReason>,
    /// Tokens to report as written; counted if absent.
    pub output_tokens: Option<u64>,
    /// Text that a request must hold to get this answer. Requests without it, and orders of
    /// summaries and notes, go to the persona, and the answer waits: side calls of an agent come at
    /// moments that no script can know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// Answer to a side call of an agent, such as drawing memories from a turn, which comes at a moment
/// that no script can know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SideAnswer {
    /// Texts that a request must hold, all of them. The first is of the order itself.
    pub when: Vec<String>,
    /// Its blocks in order. [`FOLDER`] in them stands for the folder that the order names.
    pub content: Vec<AnswerBlock>,
}

/// Stands in a side answer for the first absolute path in back quotes behind the text that it waits
/// for: agents give side calls folders of their own, with names that no script can know.
pub const FOLDER: &str = "{{folder}}";

impl SideAnswer {
    /// The answer to a request, if it is meant for it.
    pub(crate) fn to(&self, body: &[u8]) -> Option<SimAnswer> {
        let (first, others) = self.when.split_first()?;
        let order = memmem::find(body, first.as_bytes())?;
        if !others
            .iter()
            .all(|text| memmem::find(body, text.as_bytes()).is_some())
        {
            return None;
        }
        let behind = String::from_utf8_lossy(body.get(order..)?);
        let folder = behind
            .split_once("`/")
            .and_then(|(_, rest)| rest.split_once('`'))
            .map_or(String::new(), |(path, _)| format!("/{path}"));
        let mut content = self.content.clone();
        for block in &mut content {
            if let AnswerBlock::Tool { input, .. } = block {
                fill(input, &folder);
            }
        }
        Some(SimAnswer {
            content,
            ..SimAnswer::default()
        })
    }
}

/// Puts the folder into every text of a call's input.
fn fill(value: &mut Value, folder: &str) {
    match value {
        Value::String(text) => *text = text.replace(FOLDER, folder),
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, folder)),
        Value::Object(members) => members.values_mut().for_each(|value| fill(value, folder)),
        _ => {}
    }
}

/// A block of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AnswerBlock {
    /// `{"text": …}`: a text block of the answer.
    Text {
        /// Text, cut off at the request's limit.
        text: String,
    },
    /// `{"thinking": …}`: reasoning, which the simulator signs.
    Thinking {
        /// Reasoning, signed by the simulator.
        thinking: String,
    },
    /// `{"tool": …, "input": …}`: a tool call, which the simulator gives an id unless it has one.
    Tool {
        /// Name of the tool.
        tool: String,
        /// Input of the call, sent as it is.
        input: Value,
        /// Id of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// `{"block": …}`: a recorded block, sent as it is.
    Recorded {
        /// The block as recorded, with its own ids and signatures.
        block: Value,
    },
}

impl AnswerBlock {
    /// A text block of an answer.
    pub fn text(text: &str) -> Self {
        Self::Text {
            text: text.to_owned(),
        }
    }

    /// A thinking block of an answer.
    pub fn thinking(thinking: &str) -> Self {
        Self::Thinking {
            thinking: thinking.to_owned(),
        }
    }

    /// A tool call without an id of its own.
    pub fn tool(tool: &str, input: Value) -> Self {
        Self::Tool {
            tool: tool.to_owned(),
            input,
            id: None,
        }
    }

    pub(crate) fn is_tool_call(&self) -> bool {
        match self {
            Self::Tool { .. } => true,
            // Recorded answers end as their content says, like written ones.
            Self::Recorded { block } => block["type"] == "tool_use",
            Self::Text { .. } | Self::Thinking { .. } => false,
        }
    }
}

/// Reason that an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model had nothing more to say.
    EndTurn,
    /// The request's limit was reached.
    MaxTokens,
    /// One of the request's stop sequences appeared.
    StopSequence,
    /// The model waits for tools.
    ToolUse,
    /// A server-tool turn was paused.
    PauseTurn,
    /// The model refused to answer.
    Refusal,
    /// The window was full.
    ModelContextWindowExceeded,
    /// The answer is a summary of the conversation.
    Compaction,
}

impl StopReason {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::PauseTurn => "pause_turn",
            Self::Refusal => "refusal",
            Self::ModelContextWindowExceeded => "model_context_window_exceeded",
            Self::Compaction => "compaction",
        }
    }
}
