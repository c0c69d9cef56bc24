//! Events: everything that a client may want to show.

use dormouse_core::block::Block;
use dormouse_core::usage::TokenUsage;
use serde::Serialize;
use std::sync::Arc;

/// Receiver of events, called between the steps of a turn: it must not block.
pub type Listener<'a> = &'a mut dyn FnMut(Event);

/// Something that happened in a turn.
#[derive(Clone, Debug)]
pub enum Event {
    /// Message of the model, as stored. A response may come in several, with the same id.
    Assistant {
        /// Message id of the response.
        id: Option<String>,
        /// Model that answered.
        model: Option<Arc<str>>,
        /// Content blocks.
        content: Vec<Block>,
        /// Usage as known when it was stored.
        usage: Option<TokenUsage>,
        /// Reason why the model stopped, if it is known by then.
        stop_reason: Option<Arc<str>>,
    },
    /// Results of tools, as stored.
    Results {
        /// One block per result.
        content: Vec<Block>,
    },
    /// Piece of the answer while it is streamed.
    Text(String),
    /// A layer acted, a request is tried again, or something else that people should know.
    Notice(String),
    /// Memories that were saved.
    Saved(String),
}

/// A call that did not run for lack of permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// Name of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_use_id: String,
    /// Input of the call.
    pub tool_input: serde_json::Value,
}
