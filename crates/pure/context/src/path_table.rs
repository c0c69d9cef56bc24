//! The path through a long log, found over a table of its links.
//!
//! # Model
//! A line takes 40 bytes here: hashes of its id, its parent and its response, its offset, and a few
//! flags; calls and results are listed apart. That is enough for logs whose links are sound, which
//! nearly all are. Anything else (a missing parent, an id twice, a line that could not be read, a
//! range that another tool's boundary preserved) makes the table give up, and the caller traces
//! outlines of the records instead ([`crate::path::trace`]). Where both find a path it is the same
//! one; a property test compares them.
//!
//! Not here: reading the log.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, Message, Record, Role, UNREAD};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Ids and offsets of one line. Hashes are never 0, which stands for none.
#[derive(Clone, Copy, Debug)]
struct Link {
    id: u64,
    parent: u64,
    /// Response that a line of the assistant belongs to.
    response: u64,
    offset: u64,
    /// Number of the model in the table's list, from 1.
    model: u16,
    own: bool,
    side_chain: bool,
    /// Set for lines that a path may end with.
    ends: bool,
}

/// Call that a line makes, or result that it holds.
#[derive(Clone, Copy, Debug)]
struct CallLink {
    call: u64,
    line: u32,
    result: bool,
}

/// Links of a log in file order.
#[derive(Debug, Default)]
pub struct LinkTable {
    links: Vec<Link>,
    calls: Vec<CallLink>,
    models: Vec<String>,
    has_carrier: bool,
    is_unsound: bool,
}

/// Path found over a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedLines {
    /// Offsets of the records on the path, in file order.
    pub offsets: Vec<u64>,
    /// Model that the newest request or answer on it names.
    pub model: Option<String>,
}

impl LinkTable {
    /// Table of a log from its carrier on, the record that the path has to lead back to; without
    /// one the path has to lead to a record that has no parent.
    pub fn new(carrier: Option<&Record>) -> Self {
        let mut table = Self::default();
        if let Some(carrier) = carrier {
            table.push(carrier);
            (table.has_carrier, table.is_unsound) = (true, false);
        }
        table
    }

    /// Adds the next record of the file.
    pub fn push(&mut self, record: &Record) {
        let message = match &record.body {
            Body::Message(message) => Some(message),
            _ => None,
        };
        let preserves = match &record.body {
            Body::Boundary(boundary) => boundary.preserved.is_some(),
            Body::Foreign(foreign) => &*foreign.kind == UNREAD,
            _ => false,
        };
        // A manifest behind the carrier is another carrier: the caller chose a wrong one.
        self.is_unsound |= preserves || (record.body.manifest().is_some() && !record.side_chain);
        let Ok(line) = u32::try_from(self.links.len()) else {
            // Four thousand million lines; the outlines would not fit either.
            self.is_unsound = true;
            return;
        };
        if let Some(message) = message.filter(|_| !record.own) {
            self.add_calls(message, line);
        }
        let answers = message.filter(|message| message.role == Role::Assistant);
        let response = answers.and_then(|message| message.id.as_ref());
        let model = match &record.body {
            Body::Request(request) => Some(&*request.model),
            // Claude Code writes `<synthetic>` for messages that it made itself.
            _ => answers
                .and_then(|message| message.model.as_deref())
                .filter(|model| !model.starts_with('<')),
        };
        let model = model.map_or(0, |model| self.model_number(model));
        self.links.push(Link {
            id: hash(record.id.as_str()),
            parent: record.parent.as_ref().map_or(0, |id| hash(id.as_str())),
            response: response.map_or(0, |id| hash(id.as_str())),
            offset: record.offset,
            model,
            own: record.own,
            side_chain: record.side_chain,
            ends: record.own || matches!(record.body, Body::Message(_) | Body::Boundary(_)),
        });
    }

    fn add_calls(&mut self, message: &Message, line: u32) {
        let wanted = match message.role {
            Role::Assistant => BlockKind::ToolUse,
            Role::User => BlockKind::ToolResult,
            Role::System => return,
        };
        let blocks = message.content.iter().filter(|it| it.kind() == wanted);
        let calls = blocks.filter_map(Block::call).map(|call| CallLink {
            call: hash(call.as_str()),
            line,
            result: wanted == BlockKind::ToolResult,
        });
        self.calls.extend(calls);
    }

    fn model_number(&mut self, model: &str) -> u16 {
        let known = self.models.iter().position(|known| known == model);
        let at = known.unwrap_or_else(|| {
            self.models.push(model.to_owned());
            self.models.len() - 1
        });
        // Sessions change models a few times; a log with more names than this is not sound.
        u16::try_from(at + 1).unwrap_or_else(|_| {
            self.is_unsound = true;
            0
        })
    }

    /// Path to the newest record; `None` if the links are not sound enough to find it here.
    pub fn trace(self) -> Option<TracedLines> {
        if self.is_unsound {
            return None;
        }
        let by_id = self.by_id()?;
        let Some(leaf) = self.leaf() else {
            return Some(TracedLines {
                offsets: Vec::new(),
                model: None,
            });
        };
        let mut on_path = vec![false; self.links.len()];
        let mut at = leaf;
        loop {
            on_path[at] = true;
            let link = &self.links[at];
            if (at == 0 && self.has_carrier) || link.parent == 0 {
                break;
            }
            // Usually the line before; parents stand before their children.
            let before = at.checked_sub(1)?;
            at = if self.links[before].id == link.parent {
                before
            } else {
                find(&by_id, link.parent).filter(|parent| *parent < at)?
            };
        }
        // A path that ends behind the carrier belongs to a conversation that began anew.
        if self.has_carrier && at != 0 {
            return None;
        }
        drop(by_id);
        self.add_parallel(&mut on_path, at);
        let lines = || on_path.iter().zip(&self.links).filter(|(on, _)| **on);
        let mut numbers = lines().rev().map(|(_, link)| usize::from(link.model));
        let model = numbers.find_map(|number| number.checked_sub(1));
        Some(TracedLines {
            offsets: lines().map(|(_, link)| link.offset).collect(),
            model: model.and_then(|at| self.models.get(at).cloned()),
        })
    }

    /// Positions by id; `None` if two lines have one id.
    fn by_id(&self) -> Option<Vec<(u64, u32)>> {
        let mut by_id: Vec<(u64, u32)> = self.links.iter().map(|link| link.id).zip(0..).collect();
        by_id.sort_unstable();
        let unique = by_id.windows(2).all(|pair| pair[0].0 != pair[1].0);
        unique.then_some(by_id)
    }

    fn leaf(&self) -> Option<usize> {
        let main = |link: &Link| link.ends && !link.side_chain;
        let newest = self.links.iter().rposition(main);
        newest.or_else(|| self.links.iter().rposition(|link| link.ends))
    }

    /// Adds other tools' lines that belong to responses on the path, and the results of their
    /// calls. `first` is the first line of the path.
    fn add_parallel(&self, on_path: &mut [bool], first: usize) {
        let foreign = self.links.iter().zip(on_path.iter());
        let responses = foreign.filter(|(link, on)| **on && !link.own && link.response != 0);
        let mut responses: Vec<u64> = responses.map(|(link, _)| link.response).collect();
        if responses.is_empty() {
            return;
        }
        responses.sort_unstable();
        responses.dedup();
        for (on, link) in on_path.iter_mut().zip(&self.links).skip(first) {
            *on |=
                !link.own && link.response != 0 && responses.binary_search(&link.response).is_ok();
        }
        drop(responses);
        let line = |call: &CallLink| usize::try_from(call.line).unwrap_or(usize::MAX);
        let made = self.calls.iter().filter(|call| !call.result);
        let made = made.filter(|call| on_path.get(line(call)) == Some(&true));
        let mut made: Vec<u64> = made.map(|call| call.call).collect();
        made.sort_unstable();
        let results = self.calls.iter().filter(|call| call.result);
        for result in results.filter(|call| line(call) >= first) {
            if made.binary_search(&result.call).is_ok()
                && let Some(on) = on_path.get_mut(line(result))
            {
                *on = true;
            }
        }
    }
}

fn find(by_id: &[(u64, u32)], id: u64) -> Option<usize> {
    let at = by_id.binary_search_by_key(&id, |(known, _)| *known).ok()?;
    usize::try_from(by_id[at].1).ok()
}

/// Hash of an id, never 0. Two ids with one hash look like an id twice, which makes the table give
/// up: with 64 bits and five million lines that happens once in a million logs.
fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish().max(1)
}

#[cfg(test)]
#[path = "path_table_tests.rs"]
mod tests;
