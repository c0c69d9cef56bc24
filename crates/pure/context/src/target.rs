//! Properties of the target model that shape a view.

use dormouse_core::models::{ModelTable, ThinkingBinding};
use std::fmt;
use std::sync::Arc;

/// The model that a view is made for.
#[derive(Clone)]
pub struct Target {
    /// Model name as sent in requests.
    pub model: Arc<str>,
    /// True if the model accepts system messages inside the conversation.
    pub system_messages: bool,
    /// Content that the model binds thinking to; decides when rewrites are allowed.
    pub binding: ThinkingBinding,
    /// Table that knows which models accept each other's thinking.
    pub models: Arc<ModelTable>,
}

impl fmt::Debug for Target {
    /// Omits the table, whose hundreds of lines would hide the rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("model", &self.model)
            .field("system_messages", &self.system_messages)
            .field("binding", &self.binding)
            .finish_non_exhaustive()
    }
}

impl Target {
    /// Looks up a model in the table.
    pub fn new(models: &Arc<ModelTable>, model: &str) -> Self {
        let info = models.lookup(model).info;
        Self {
            model: model.into(),
            system_messages: info.mid_conversation_system,
            binding: info.thinking_binding,
            models: Arc::clone(models),
        }
    }

    /// True if a change in front of a thinking block makes that block invalid.
    pub fn binds_to_prefix(&self) -> bool {
        self.binding == ThinkingBinding::Prefix
    }

    /// True if the model accepts thinking written by `maker`. A message that names no model is
    /// taken as the target's own.
    pub(crate) fn accepts_thinking_of(&self, maker: Option<&str>) -> bool {
        let Some(maker) = maker.filter(|maker| **maker != *self.model) else {
            return true;
        };
        let reader = self.models.lookup(&self.model).info;
        reader.reads_thinking_of(self.models.lookup(maker).info)
    }
}
