//! What the view must know of the model it is made for.

use dormouse_core::models::{ModelTable, ThinkingBinding};
use std::fmt;
use std::sync::Arc;

/// The model a view is made for.
#[derive(Clone)]
pub struct Target {
    /// Its name.
    pub model: Arc<str>,
    /// Whether it takes system messages inside the conversation.
    pub system_messages: bool,
    /// What it binds thinking to.
    pub binding: ThinkingBinding,
    /// The table that knows which models can read each other's thinking.
    pub models: Arc<ModelTable>,
}

impl fmt::Debug for Target {
    /// Without the table, which would drown everything else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("model", &self.model)
            .field("system_messages", &self.system_messages)
            .field("binding", &self.binding)
            .finish_non_exhaustive()
    }
}

impl Target {
    /// A model as the table describes it.
    pub fn new(models: &Arc<ModelTable>, model: &str) -> Self {
        let info = models.lookup(model).info;
        Self {
            model: model.into(),
            system_messages: info.mid_conversation_system,
            binding: info.thinking_binding,
            models: Arc::clone(models),
        }
    }

    /// Whether an edit in front of thinking makes the thinking invalid.
    pub fn binds_to_prefix(&self) -> bool {
        self.binding == ThinkingBinding::Prefix
    }

    /// Whether the model accepts thinking that `maker` wrote.
    pub(crate) fn accepts_thinking_of(&self, maker: Option<&str>) -> bool {
        let Some(maker) = maker.filter(|maker| **maker != *self.model) else {
            return true;
        };
        let reader = self.models.lookup(&self.model).info;
        reader.reads_thinking_of(self.models.lookup(maker).info)
    }
}
