//! Tools as functions of the embedding program.
//!
//! # Not here
//! Permissions: every tool that is offered may be called.

use dormouse_context::offload::ToolOutput;
use dormouse_engine::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// Text for the model, or the reason why there is none.
type Ran = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// A tool that the model may call.
#[derive(Clone)]
pub struct Tool {
    name: String,
    description: String,
    schema: Value,
    only_reads: bool,
    run: Arc<dyn Fn(Value) -> Ran + Send + Sync>,
}

impl Tool {
    /// A tool with the JSON schema of its input. The function gets the input as the model wrote it:
    /// check it. Its error is shown to the model, which may try again.
    pub fn new<F, R>(name: &str, description: &str, schema: Value, run: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
            only_reads: false,
            run: Arc::new(move |input| Box::pin(run(input))),
        }
    }

    /// Declares that the tool changes nothing: calls of such tools run side by side.
    #[must_use]
    pub fn only_reads(mut self) -> Self {
        self.only_reads = true;
        self
    }

    /// The definition as a request carries it.
    pub(crate) fn definition(&self) -> Value {
        json!({"name": self.name, "description": self.description, "input_schema": self.schema})
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The tools of an agent by name.
#[derive(Debug)]
pub(crate) struct Toolbox(BTreeMap<String, Tool>);

impl Toolbox {
    pub(crate) fn new(tools: Vec<Tool>) -> Self {
        Self(
            tools
                .into_iter()
                .map(|tool| (tool.name.clone(), tool))
                .collect(),
        )
    }
}

impl ToolHost for Toolbox {
    fn traits(&self, tool: &str) -> ToolTraits {
        ToolTraits {
            only_reads: self.0.get(tool).is_some_and(|tool| tool.only_reads),
            ..ToolTraits::default()
        }
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let run = self.0.get(&call.tool).map(|tool| Arc::clone(&tool.run));
        // A call that is no JSON has no input; the function refuses it in its own words.
        let block: Value = serde_json::from_slice(call.block.bytes()).unwrap_or_default();
        let input = block.get("input").cloned().unwrap_or_default();
        Box::pin(async move {
            let ran = match run {
                Some(run) => run(input).await,
                // A model can call a tool that was never offered.
                None => Err(format!("There is no tool `{}`.", call.tool)),
            };
            let is_error = ran.is_err();
            let text = ran.unwrap_or_else(|reason| reason);
            ToolOutput {
                is_error,
                ..ToolOutput::text(call.id, text)
            }
        })
    }
}
