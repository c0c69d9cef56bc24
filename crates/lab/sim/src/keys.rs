//! Parameters that decide, besides content, whether a prefix is the same: the keys, by level.
//!
//! A parameter of a level invalidates everything from that level on: a change in the key of the
//! system level leaves the tools readable.
//!
//! # Not here
//! The chain itself: [`crate::prompt`].

use crate::digest::Digest;
use crate::request::{Request, Thinking, ToolChoice};
use crate::simulator::Account;
use dormouse_core::models::{Effort, ModelInfo};

/// The parts of a prompt, in the order they are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Tools,
    System,
    Messages,
}

/// One digest per level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    pub(crate) tools: Digest,
    pub(crate) system: Digest,
    pub(crate) messages: Digest,
}

/// The effort a request amounts to: saying the default is the same as saying nothing.
pub(crate) fn effort<'a>(request: &'a Request<'_>, model: &ModelInfo) -> &'a str {
    let default = match model.default_effort {
        None => "default",
        Some(Effort::Low) => "low",
        Some(Effort::Medium) => "medium",
        Some(Effort::High) => "high",
        Some(Effort::Max) => "max",
    };
    request.effort.as_deref().unwrap_or(default)
}

/// True if a model thinks when the request does not say: one with a default effort does.
pub(crate) fn thinks_by_default(model: &ModelInfo) -> bool {
    model.default_effort.is_some() || model.id.starts_with("claude-mythos-5")
}

/// True if this request makes the model think.
pub(crate) fn thinks(request: &Request<'_>, model: &ModelInfo) -> bool {
    match request.thinking {
        Thinking::Unset => thinks_by_default(model),
        Thinking::Disabled => false,
        Thinking::Enabled { .. } | Thinking::Adaptive | Thinking::BetweenTools => true,
    }
}

fn thinking(request: &Request<'_>, model: &ModelInfo) -> String {
    match request.thinking {
        Thinking::Enabled { budget } => format!("enabled {budget}"),
        Thinking::BetweenTools => "between_tools".to_owned(),
        Thinking::Adaptive => "adaptive".to_owned(),
        // Saying the default aloud must hit the same entry as saying nothing.
        Thinking::Unset if thinks_by_default(model) => "adaptive".to_owned(),
        Thinking::Unset | Thinking::Disabled => "disabled".to_owned(),
    }
}

impl Keys {
    pub(crate) fn of(
        request: &Request<'_>,
        model: &ModelInfo,
        account: &Account,
        parameters_first: bool,
    ) -> Self {
        let sampling = format!("{}\n{}", thinking(request, model), effort(request, model));
        // Some accounts render these parameters before the tools, and lose that level with them
        // too.
        let early = if parameters_first { &*sampling } else { "" };
        // Caches are not shared between organisations, workspaces or models.
        let tools = format!(
            "{}\n{}\n{}\n{early}",
            account.organisation, account.workspace, model.id
        );
        let cites = request.blocks().any(|(_, block)| block.has_citations);
        let system = format!("{}\n{cites}", request.fast);
        // A first image anywhere invalidates the messages, by the provider's rules.
        let images = request.blocks().any(|(_, block)| block.has_image);
        let choice = match &request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
            ToolChoice::Any => "any",
            ToolChoice::Tool(name) => name,
        };
        let messages = format!("{choice}\n{}\n{images}\n{sampling}", request.parallel_tools);
        Self {
            tools: Digest::of(tools.as_bytes()),
            system: Digest::of(system.as_bytes()),
            messages: Digest::of(messages.as_bytes()),
        }
    }
}
