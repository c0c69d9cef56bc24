//! Presence of the user's messages in the prompt, word for word.
//!
//! Every message of the log is looked for by itself: exact, if all typed pieces stand in the prompt
//! byte for byte; by reference, if a line of the prompt names its record, alone or in a range; else
//! it is lost.
//!
//! # Not here
//! Telling typed text from a client's additions: [`super::words`].

use super::words::typed;
use dormouse_context::segment::SegmentList;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, MessageOrigin, Record, Role};

/// Number of the user's messages by presence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserTally {
    /// In the prompt, word for word.
    pub exact: usize,
    /// Named in the prompt, whole in the log.
    pub by_reference: usize,
    /// Neither in the prompt nor named in it.
    pub lost: usize,
}

impl UserTally {
    /// Adds the tally of another session.
    pub fn merge(&mut self, other: &Self) {
        self.exact += other.exact;
        self.by_reference += other.by_reference;
        self.lost += other.lost;
    }
}

/// Looks for every message of the user.
pub(super) fn tally(records: &[Record], prompt: &SegmentList) -> UserTally {
    let text: String = prompt
        .iter()
        .filter_map(|segment| segment.block.readable_text())
        .flat_map(|text| [text, "\n".to_owned()])
        .collect();
    let messages: Vec<(&str, Vec<String>)> = records.iter().filter_map(message).collect();
    let referred = referred_up_to(&messages, &text);
    let mut tally = UserTally::default();
    for (at, (id, pieces)) in messages.iter().enumerate() {
        if pieces.iter().all(|piece| text.contains(piece.as_str())) {
            tally.exact += 1;
        // Two forms of a reference: a line of its own, or a range from the first message on.
        } else if at < referred || text.contains(&format!(": record {id}, ")) {
            tally.by_reference += 1;
        } else {
            tally.lost += 1;
        }
    }
    tally
}

/// A message of the user with the pieces that were typed.
fn message(record: &Record) -> Option<(&str, Vec<String>)> {
    let Body::Message(message) = &record.body else {
        return None;
    };
    // Messages of clients and hooks have another origin; losing them loses nothing the user said.
    if message.role != Role::User || message.origin != MessageOrigin::Conversation {
        return None;
    }
    let texts = message
        .content
        .iter()
        .filter(|block| block.kind() == BlockKind::Text)
        .filter_map(Block::readable_text);
    let pieces: Vec<String> = texts.flat_map(|text| typed(&text)).collect();
    // A message of results or images alone has no words that could be lost.
    (!pieces.is_empty()).then_some((record.id.as_str(), pieces))
}

/// Number of first messages that a range in the prompt stands for.
fn referred_up_to(messages: &[(&str, Vec<String>)], text: &str) -> usize {
    let lines = text
        .lines()
        .filter(|line| line.starts_with("[user messages 1 to "));
    let ends = lines.filter_map(|line| {
        let last = line.split(" to ").last()?.split(',').next()?;
        messages.iter().position(|(id, _)| *id == last)
    });
    ends.max().map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_context::conversation::Conversation;
    use dormouse_context::target::Target;
    use dormouse_core::models::ModelTable;
    use dormouse_testkit::LogBuilder;
    use std::sync::Arc;

    fn prompt(text: &str) -> SegmentList {
        let mut log = LogBuilder::new();
        log.user(text);
        let models = Arc::new(ModelTable::builtin().clone());
        let records: Vec<&Record> = log.records().iter().collect();
        Conversation::fold(&records, Target::new(&models, "claude-sonnet-4-6"))
            .view()
            .segments()
    }

    #[test]
    fn messages_are_exact_referred_to_or_lost() {
        let mut log = LogBuilder::new();
        for text in ["one  two", "three", "four", "<ide_x>no words</ide_x>"] {
            log.user(text);
        }
        let ids: Vec<&str> = log
            .records()
            .iter()
            .map(|record| record.id.as_str())
            .collect();
        let found = |text: &str| {
            let tally = tally(log.records(), &prompt(text));
            (tally.exact, tally.by_reference, tally.lost)
        };
        assert_eq!(found("one  two three and four"), (3, 0, 0));
        assert_eq!(found("one two three"), (1, 0, 2), "byte for byte");
        let named = format!("[user message 3: record {}, 4 characters]", ids[2]);
        assert_eq!(found(&named), (0, 1, 2));
        let range = format!(
            "[user messages 1 to 2: records {} to {}, 13 characters in all]\nfour",
            ids[0], ids[1]
        );
        assert_eq!(found(&range), (1, 2, 0));
    }
}
