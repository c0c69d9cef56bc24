//! What is known of a memory before it is shown.

use super::documentation;
use crate::topic::{Kind, Topic, Triggers};
use crate::trust::Trust;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;

/// A memory as the plan sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The file.
    pub path: SafePath,
    /// Its name; empty if it has none.
    pub name: String,
    /// What it says of itself.
    pub description: String,
    /// What it is about.
    pub kind: Option<Kind>,
    /// What the file says of its trust; `None` is a file of the user's own.
    pub trust: Option<Trust>,
    /// Somebody approved it, whatever its trust.
    pub approved: bool,
    /// When it changed last.
    pub modified: Millis,
    /// How long the file is.
    pub bytes: u64,
    /// It was overtaken, by another memory or by the calendar.
    pub over: bool,
    /// When it applies.
    pub triggers: Triggers,
    /// It explains how to use something, and warns of nothing.
    pub manual: bool,
}

impl Entry {
    /// Reads a file. Approval is nothing that a file says of itself: set it afterwards.
    pub fn read(path: SafePath, text: &str, modified: Millis, today: jiff::civil::Date) -> Self {
        let topic = Topic::read(text);
        Self {
            manual: documentation::is_manual(&path, &topic, text),
            over: topic.is_over(today),
            path,
            name: topic.name,
            description: topic.description,
            kind: topic.kind,
            trust: topic.trust,
            approved: false,
            modified,
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            triggers: topic.triggers,
        }
    }

    /// Whether it is a standing rule or a fact about the user, which needs no similarity.
    pub const fn is_standing(&self) -> bool {
        matches!(self.kind, Some(Kind::Feedback | Kind::User))
    }

    /// Whether it may be brought in without asking anybody.
    pub fn is_trusted(&self) -> bool {
        self.approved || self.trust.is_none_or(Trust::is_recalled)
    }
}
