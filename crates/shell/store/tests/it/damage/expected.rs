//! The session that a damaged file may be taken for.
//!
//! A line that lost its link is supposed to continue the nearest earlier record of its chain that
//! nothing else continues, or the nearest record where there is none. This module writes such a line
//! back, with its own id and content and the supposed link, so that a reader that knows nothing of
//! the line can be held against a sound file.

use super::harm::Harm;
use dormouse_core::id::{MessageId, RecordId};
use dormouse_core::record::{Body, Record, Role};
use serde_json::{Value, json};

/// Records looked at for one that nothing continues: branches written in turns are that near.
const NEAR: usize = 16;

/// Lines of the session with the links that may be supposed; none if these are the true ones.
pub(super) fn supposed(
    lines: &[String],
    records: &[Record],
    harms: &[(usize, Harm)],
) -> Option<Vec<String>> {
    let file = File {
        lines,
        records,
        harms,
    };
    let mut supposed = lines.to_vec();
    for (at, harm) in harms.iter().copied() {
        if file.loses_link(at, harm) {
            let parent = file.guess(at, harm);
            supposed[at] = file.with_parent(at, parent.map(|at| &records[at].id));
        } else if harm == Harm::SameId && file.children(at).is_empty() {
            // Later lines that name the id may mean either record; the nearer one is supposed.
            let first = &records[0].id;
            for later in at + 1..records.len() {
                if records[later].parent.as_ref() == Some(first) {
                    supposed[later] = file.with_parent(later, Some(&records[at].id));
                }
            }
        }
    }
    (supposed != lines).then_some(supposed)
}

struct File<'a> {
    lines: &'a [String],
    records: &'a [Record],
    harms: &'a [(usize, Harm)],
}

impl File<'_> {
    /// True if nothing readable says which record a line continued, and another line depends on it.
    fn loses_link(&self, at: usize, harm: Harm) -> bool {
        let record = &self.records[at];
        let Some(parent) = &record.parent else {
            return false;
        };
        let shown = match harm {
            Harm::Garbage | Harm::Gone | Harm::Zeroed | Harm::SelfParent | Harm::Cycle => false,
            Harm::Torn(share) | Harm::TornInto(share) => self.shows(at, 0..share, parent),
            Harm::Holed => self.shows(at, 0..33, parent) || self.shows(at, 67..100, parent),
            _ => true,
        };
        !shown && !self.children(at).is_empty()
    }

    /// True if a part of a line, in per cent of its bytes, shows its parent.
    fn shows(&self, at: usize, part: std::ops::Range<usize>, parent: &RecordId) -> bool {
        let line = self.lines[at].as_bytes();
        let part = &line[line.len() * part.start / 100..line.len() * part.end / 100];
        String::from_utf8_lossy(part).contains(&format!("\"parentUuid\":\"{parent}\""))
    }

    /// Lines that name a record as their parent and still show it.
    fn children(&self, at: usize) -> Vec<usize> {
        let id = &self.records[at].id;
        let names = |child: &usize| self.records[*child].parent.as_ref() == Some(id);
        let shows = |child: &usize| {
            let harm = self.harms.iter().find(|(harmed, _)| harmed == child);
            harm.is_none_or(|(_, harm)| harm.is_harmless() || *harm == Harm::SameId)
        };
        (0..self.records.len())
            .filter(names)
            .filter(shows)
            .collect()
    }

    fn guess(&self, at: usize, harm: Harm) -> Option<usize> {
        let child = if harm.keeps_content() {
            at
        } else {
            *self.children(at).first()?
        };
        let candidates: Vec<usize> = (0..child)
            .rev()
            .filter(|candidate| *candidate != at && self.may_be_parent(*candidate, at))
            .collect();
        let nearest = *candidates.first()?;
        let response = response(&self.records[child]);
        if response.is_some() && response == self::response(&self.records[nearest]) {
            return Some(nearest);
        }
        let mut near = candidates.into_iter().take(NEAR + 1);
        let ends = near.find(|candidate| self.children(*candidate).iter().all(|it| *it == at));
        Some(ends.unwrap_or(nearest))
    }

    fn may_be_parent(&self, candidate: usize, at: usize) -> bool {
        let (record, of) = (&self.records[candidate], &self.records[at]);
        let is_lost = self.harms.iter().any(|(harmed, harm)| {
            *harmed == candidate && !harm.is_harmless() && !harm.keeps_content()
        });
        let is_link =
            record.parent.is_some() || matches!(record.body, Body::Message(_) | Body::Boundary(_));
        !is_lost && is_link && record.side_chain == of.side_chain && record.agent == of.agent
    }

    fn with_parent(&self, at: usize, parent: Option<&RecordId>) -> String {
        let mut line: Value = serde_json::from_str(&self.lines[at]).unwrap();
        line["parentUuid"] = json!(parent.map(RecordId::as_str));
        line.to_string()
    }
}

/// Response that a line belongs to.
fn response(record: &Record) -> Option<&MessageId> {
    match &record.body {
        Body::Message(message) if message.role == Role::Assistant => message.id.as_ref(),
        _ => None,
    }
}
