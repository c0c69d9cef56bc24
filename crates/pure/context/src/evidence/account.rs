//! The gate of a compaction: every user message must be accounted for in the new prompt.

use super::section::{FENCE, MESSAGE, RANGE, exact_line, range_line, shortened_line};
use dormouse_core::hash::Hash;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::record::Chronicle;
use std::collections::{HashMap, HashSet};

/// A user message that is neither in the text nor referenced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingMessage {
    /// Number of the message, from 1 over the whole session. For messages of a very long session
    /// that are no longer listed it is the number of the last of them.
    pub number: u64,
    /// Sequence number of its record.
    pub seq: Seq,
    /// Id of its record.
    pub record: RecordId,
}

/// Checks that every user message is in the text as [`super::user_messages`] writes it: exact,
/// proved by its hash, or by reference. `kept` tells which messages stay in the prompt elsewhere.
///
/// # Errors
/// The messages that are missing, oldest first.
pub fn accounts_for_all(
    chronicle: &Chronicle,
    prompt_text: &str,
    kept: impl Fn(Seq) -> bool,
) -> Result<(), Vec<MissingMessage>> {
    let user = &chronicle.user;
    let found = Found::read(prompt_text);
    let earlier = user.earlier.as_ref().map_or(0, |earlier| earlier.count);
    // The widest range that matches one of this session; a forged line matches none.
    let referred = (0..=user.listed.len())
        .rev()
        .find(|listed| range_line(user, *listed).is_some_and(|line| found.has_range(&line)));
    let mut missing = Vec::new();
    if let (Some(range), None) = (&user.earlier, referred) {
        missing.push(MissingMessage {
            number: range.count,
            seq: range.last_seq,
            record: range.last.clone(),
        });
    }
    for (index, message) in user.listed.iter().enumerate() {
        let exact = || found.hash_below(&exact_line(user, index)) == Some(message.hash);
        let is_there = referred.is_some_and(|out| index < out)
            || kept(message.seq)
            || exact()
            || found.has_line(&shortened_line(user, index));
        if !is_there {
            missing.push(MissingMessage {
                number: earlier + index as u64 + 1,
                seq: message.seq,
                record: message.record.clone(),
            });
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(missing)
    }
}

/// Lines of a text that name messages, with the hash of the fenced text below each.
struct Found<'a> {
    messages: HashMap<&'a str, Option<Hash>>,
    ranges: HashSet<&'a str>,
}

impl<'a> Found<'a> {
    fn read(text: &'a str) -> Self {
        let mut found = Self {
            messages: HashMap::new(),
            ranges: HashSet::new(),
        };
        let mut rest = text;
        while !rest.is_empty() {
            let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
            rest = behind;
            if line.starts_with(RANGE) {
                found.ranges.insert(line);
            } else if line.starts_with(MESSAGE) {
                let fenced = fenced(rest);
                let hash = fenced.map(|(content, _)| Hash::of(content.as_bytes()));
                found.messages.insert(line, hash);
                // Skip the content: a message may contain text that looks like such a line.
                rest = fenced.map_or(rest, |(_, behind)| behind);
                rest = end_part(rest);
            }
        }
        found
    }

    fn has_range(&self, line: &str) -> bool {
        self.ranges.contains(line.trim_end())
    }

    fn has_line(&self, line: &str) -> bool {
        self.messages.contains_key(line.trim_end())
    }

    fn hash_below(&self, line: &str) -> Option<Hash> {
        self.messages.get(line.trim_end()).copied().flatten()
    }
}

/// Rest behind the second fence of a shortened message.
fn end_part(text: &str) -> &str {
    text.strip_prefix("and at the end\n")
        .and_then(fenced)
        .map_or(text, |(_, behind)| behind)
}

/// Content of the fence that the text begins with, and the rest behind it.
fn fenced(text: &str) -> Option<(&str, &str)> {
    let (fence, rest) = text.split_once('\n')?;
    if fence.len() < FENCE.len() || fence.bytes().any(|byte| byte != b'~') {
        return None;
    }
    let close = format!("\n{fence}");
    rest.match_indices(&close).find_map(|(at, _)| {
        let behind = &rest[at + close.len()..];
        let behind = if behind.is_empty() {
            behind
        } else {
            behind.strip_prefix('\n')?
        };
        Some((&rest[..at], behind))
    })
}
