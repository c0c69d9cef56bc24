//! Letters and teams for the tests.

use dormouse_core::units::Millis;
use dormouse_mail::{AgentName, Content, Cursor, Inbox, Letter, LetterId, Team};
use dormouse_system::System;
use std::path::Path;

pub(crate) fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

pub(crate) fn letter(id: &str, from: &str, message: &str) -> Letter {
    let content = Content::Text {
        message: message.to_owned(),
    };
    Letter::new(
        LetterId::new(id),
        name(from),
        name("nobody"),
        Millis(0),
        content,
    )
}

pub(crate) fn team(system: &System, home: &Path) -> Team {
    Team::new(system, home, &name("crew"))
}

/// Ids of all letters, and the number of torn lines.
pub(crate) fn read_all(inbox: &Inbox) -> (Vec<String>, u64) {
    let (mut ids, mut torn, mut at) = (Vec::new(), 0, Cursor::default());
    loop {
        let batch = inbox.read(at).unwrap();
        ids.extend(
            batch
                .letters
                .iter()
                .map(|(letter, _)| letter.id.to_string()),
        );
        torn += batch.torn;
        if batch.next == at {
            return (ids, torn);
        }
        at = batch.next;
    }
}
