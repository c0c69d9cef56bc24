//! A memory without its text.
//!
//! # Model
//! A [`Card`] is everything that lists, searches and plans need to know of a memory file, so that
//! the file itself is opened only when its text is shown. A store may keep cards beside its index
//! of words.
//!
//! # Not here
//! The text and its edits ([`crate::topic`]); the choice of memories to show (`dormouse-recall`).

use crate::manual;
use crate::topic::{Kind, Topic, Triggers};
use crate::trust::Trust;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Weight of a rule or of a fact about the user in ranking. A little more than [`PRIOR`], because a
/// missed rule costs more than a missed fact; much more would drown the answer to the query.
const STANDING_PRIOR: f32 = 0.6;

/// Weight of any other memory: the middle of the ranker's scale from 0 to 1.
const PRIOR: f32 = 0.5;

/// A memory as lists, rankers and plans know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The file, relative to its memory directory.
    pub path: SafePath,
    /// The `name` of the front matter; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The `description` of the front matter; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The `type` of the front matter; `None` for files of other tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Trust that the file claims; `None` for a file that the user wrote by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Time of the last change.
    #[serde(default)]
    pub modified: Millis,
    /// Length of the whole file, front matter included.
    #[serde(default)]
    pub bytes: u64,
    /// Work that calls for this memory, whatever the words of a prompt.
    #[serde(default, skip_serializing_if = "Triggers::is_empty")]
    pub triggers: Triggers,
    /// File that replaced this one; such a memory is not recalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Last day on which it holds, as the file spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    /// Time at which its claims were last checked against the working tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Millis>,
    /// Files that say the contrary; the last word of the most trusted holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradicts: Vec<String>,
    /// Time at which it was said, if a log has it; else that of the last change.
    #[serde(default)]
    pub said: Millis,
    /// Times the user called it useful.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub useful: u32,
    /// Times the user called it wrong.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wrong: u32,
    /// Set if it explains how to use something and warns of nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manual: bool,
}

impl Card {
    /// Reads the front matter of a file and makes its card.
    pub fn read(path: SafePath, text: &str, modified: Millis) -> Self {
        Self::of(path, Topic::read(text), text, modified)
    }

    /// The card of a file whose front matter was read already.
    pub fn of(path: SafePath, topic: Topic, text: &str, modified: Millis) -> Self {
        Self {
            // First, because the fields below take `topic` apart.
            manual: manual::is_manual(&path, &topic, text),
            path,
            name: topic.name,
            description: topic.description,
            kind: topic.kind,
            trust: topic.trust,
            modified,
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
            triggers: topic.triggers,
            superseded_by: topic.superseded_by,
            valid_until: topic.valid_until,
            verified: topic.verified,
            contradicts: topic.contradicts,
            useful: topic.useful,
            wrong: topic.wrong,
            said: topic
                .origin
                .map(|origin| origin.time)
                .filter(|time| time.0 > 0)
                .unwrap_or(modified),
        }
    }

    /// True once another memory, the calendar or the user's judgement has overtaken it.
    pub fn is_over(&self, today: Date) -> bool {
        self.is_wrong()
            || crate::topic::is_over(
                self.superseded_by.as_deref(),
                self.valid_until.as_deref(),
                today,
            )
    }

    /// True if the user called it wrong and not useful as often since.
    pub const fn is_wrong(&self) -> bool {
        self.wrong > self.useful
    }

    /// True for a standing rule or a fact about the user: recalled without similarity to the
    /// prompt.
    pub const fn is_standing(&self) -> bool {
        matches!(self.kind, Some(Kind::Feedback | Kind::User))
    }

    /// True if recall may show it without the user's approval. A file without a claim was written
    /// by hand, so it counts as the user's own.
    pub fn is_trusted(&self) -> bool {
        self.trust.is_none_or(Trust::is_recalled)
    }

    /// Weight in ranking for reasons other than the query, from 0 to 1.
    pub const fn prior(&self) -> f32 {
        if self.is_standing() {
            STANDING_PRIOR
        } else {
            PRIOR
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde calls"
)]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use pretty_assertions::assert_eq;

    const TEXT: &str = "---\nname: Tests\ndescription: how to test\ntype: feedback\ntrust: user\nvalid_until: 2026-01-31\ntriggers:\n  tools: [Bash]\n---\nNever mock the database.\n";

    fn card() -> Card {
        Card::read(SafePath::parse("sub/a.md").unwrap(), TEXT, Millis(7))
    }

    #[test]
    fn a_memory_is_over_after_its_last_day() {
        assert!(!card().is_over(date(2026, 1, 31)));
        assert!(card().is_over(date(2026, 2, 1)));
    }

    #[test]
    fn a_card_survives_json_and_needs_only_its_path() {
        let json = serde_json::to_string(&card()).unwrap();
        assert_eq!(serde_json::from_str::<Card>(&json).unwrap(), card());
        let least: Card = serde_json::from_str(r#"{"path": "a.md"}"#).unwrap();
        assert!(least.is_trusted() && !least.is_standing());
        assert!(serde_json::from_str::<Card>(r#"{"path": "../a.md"}"#).is_err());
    }
}
