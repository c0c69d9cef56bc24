//! What the view must know of the model it is made for.

use std::sync::Arc;

/// Who may read the thinking that a model leaves in the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThinkingBinding {
    /// Anyone; edits in front of it do no harm.
    #[default]
    Free,
    /// Bound to everything in front of it: an edit there makes it invalid.
    Prefix,
}

/// Decides whether thinking made by one model may be sent to another.
pub type ThinkingReader = dyn Fn(&str, &str) -> bool + Send + Sync;

/// The model a view is made for.
#[derive(Clone)]
pub struct Target {
    /// Its name.
    pub model: Arc<str>,
    /// Whether it takes system messages inside the conversation.
    pub system_messages: bool,
    /// Whether it binds thinking to the prefix.
    pub binding: ThinkingBinding,
    /// `(maker, reader)`: whether the reader accepts the maker's thinking.
    pub reads_thinking: Arc<ThinkingReader>,
}

impl Target {
    /// A model without particular traits.
    pub fn plain(model: &str) -> Self {
        Self {
            model: model.into(),
            system_messages: false,
            binding: ThinkingBinding::Free,
            reads_thinking: Arc::new(|_, _| true),
        }
    }

    pub(crate) fn accepts_thinking_of(&self, maker: Option<&str>) -> bool {
        maker.is_none_or(|maker| (self.reads_thinking)(maker, &self.model))
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("model", &self.model)
            .field("system_messages", &self.system_messages)
            .field("binding", &self.binding)
            .finish_non_exhaustive()
    }
}
