//! Categories of prompt content, for the breakdown of the window.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, FragmentKind, MessageOrigin, Role};
use serde::Serialize;

/// A category of content in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// System prompt, from the prefix.
    System,
    /// Tool definitions, from the prefix.
    Tools,
    /// Instruction files, from the prefix or as fragments.
    Instructions,
    /// Memory index and recalled memories.
    Memory,
    /// Session notes, and summaries of compacted parts.
    Summary,
    /// Messages written by the user.
    Human,
    /// Messages written by the model, thinking included.
    Assistant,
    /// Tool calls of the model.
    ToolRequests,
    /// Tool results, previews and stand-ins included.
    ToolResults,
    /// Images, documents, status lines, hook output, mail and other insertions.
    Attachments,
}

impl Category {
    /// All categories, in prompt order.
    pub const ALL: [Self; 10] = [
        Self::System,
        Self::Tools,
        Self::Instructions,
        Self::Memory,
        Self::Summary,
        Self::Human,
        Self::Assistant,
        Self::ToolRequests,
        Self::ToolResults,
        Self::Attachments,
    ];

    /// Display name of the category.
    pub const fn label(self) -> &'static str {
        match self {
            Self::System => "system prompt",
            Self::Tools => "tool definitions",
            Self::Instructions => "instructions",
            Self::Memory => "memory",
            Self::Summary => "notes and summary",
            Self::Human => "human",
            Self::Assistant => "assistant",
            Self::ToolRequests => "tool requests",
            Self::ToolResults => "tool results",
            Self::Attachments => "attachments",
        }
    }

    /// Category of a block, from the record that carries it.
    pub(crate) fn of(body: &Body, block: &Block) -> Self {
        match (body, block.kind()) {
            // Calls and results are counted as such, in whatever record they are.
            (_, BlockKind::ToolUse) => Self::ToolRequests,
            (_, BlockKind::ToolResult) => Self::ToolResults,
            (Body::Message(message), kind) => match (message.role, message.origin, kind) {
                (Role::Assistant, ..) => Self::Assistant,
                (_, MessageOrigin::Summary, _) => Self::Summary,
                (Role::System, ..)
                | (_, MessageOrigin::Meta | MessageOrigin::Repair, _)
                | (_, _, BlockKind::Image | BlockKind::Document) => Self::Attachments,
                (Role::User, ..) => Self::Human,
            },
            (Body::Fragment(fragment), _) => match fragment.kind {
                FragmentKind::Memory => Self::Memory,
                FragmentKind::Instructions => Self::Instructions,
                FragmentKind::Notes => Self::Summary,
                FragmentKind::Status
                | FragmentKind::Mail
                | FragmentKind::Hook
                | FragmentKind::Other => Self::Attachments,
            },
            (Body::Boundary(_) | Body::Fold(_), _) => Self::Summary,
            _ => Self::Attachments,
        }
    }
}
