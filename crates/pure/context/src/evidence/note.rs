//! Insertion into the shelves of the chronicle, within their limits.

use super::EvidenceLimits;
use dormouse_core::hash::Hash;
use dormouse_core::id::Seq;
use dormouse_core::record::{
    EarlierMessages, MessageText, Record, Shelf, ShelfEntry, Sighting, UserMessage, UserMessages,
};
use dormouse_core::show;

/// Time and record of a sighting.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// Clock of the chronicle: messages observed so far.
    pub(super) clock: u64,
    /// Sequence number of the record.
    pub(super) seq: Seq,
}

/// Counts a sighting and returns the entry's fact. Beyond the limit the least recently seen eighth
/// is evicted at once, so that the cost of eviction is spread over many insertions.
pub(super) fn seen<'a, T: Default>(
    shelf: &'a mut Shelf<T>,
    text: &str,
    at: At,
    limit: usize,
) -> &'a mut T {
    if shelf.entries.len() >= limit.max(1) && !shelf.entries.contains_key(text) {
        // A limit lowered since may leave more than one entry too many.
        let excess = shelf.entries.len() + 1 - limit.max(1);
        drop_oldest(shelf, excess.max(limit / 8));
    }
    let entry = shelf
        .entries
        .entry(text.to_owned())
        .or_insert_with(|| ShelfEntry {
            seen: Sighting {
                first: at.clock,
                ..Sighting::default()
            },
            fact: T::default(),
            home: None,
        });
    entry.seen.last = at.clock;
    entry.seen.seq = at.seq;
    entry.seen.times = entry.seen.times.saturating_add(1);
    entry.change()
}

fn drop_oldest<T>(shelf: &mut Shelf<T>, count: usize) {
    let oldest = shelf.oldest(count);
    for text in &oldest {
        shelf.entries.remove(text);
    }
    shelf.dropped += oldest.len() as u64;
}

/// Adds a user message, and cuts older ones if the total exceeds the limits.
pub(super) fn user_message(
    user: &mut UserMessages,
    record: &Record,
    text: &str,
    limits: &EvidenceLimits,
) {
    // A message larger than the whole budget is cut at once; its hash still identifies it.
    let fits = text.len() <= limits.user_bytes;
    let whole = MessageText::Whole(text.to_owned());
    user.listed.push(UserMessage {
        seq: record.seq,
        record: record.id.clone(),
        hash: Hash::of(text.as_bytes()),
        chars: text.chars().count() as u64,
        text: if fits { whole } else { cut(text, limits) },
        home: None,
    });
    let mut bytes: usize = user.listed.iter().map(|message| message.text.len()).sum();
    while bytes > limits.user_bytes {
        let Some(message) = next_to_cut(&mut user.listed, limits) else {
            break;
        };
        if let MessageText::Whole(text) = &message.text {
            let shorter = cut(text, limits);
            bytes = bytes - text.len() + shorter.len();
            message.text = shorter;
            message.home = None;
        }
    }
    // Cutting was not enough, or there are too many: the oldest become a range, the newest stays.
    let mut many = user
        .listed
        .len()
        .saturating_sub(limits.user_messages.max(1));
    for message in &user.listed[many..] {
        if bytes <= limits.user_bytes || many + 1 >= user.listed.len() {
            break;
        }
        bytes -= message.text.len();
        many += 1;
    }
    for message in user.listed.drain(..many) {
        set_aside(&mut user.earlier, &message);
    }
}

/// Next message to cut: the oldest pasted bulk, else the oldest that would become shorter.
fn next_to_cut<'a>(
    listed: &'a mut [UserMessage],
    limits: &EvidenceLimits,
) -> Option<&'a mut UserMessage> {
    // A message shorter than both ends would not get shorter by cutting.
    let kept = (limits.head + limits.tail) as u64;
    let can_be = |message: &&UserMessage| {
        matches!(message.text, MessageText::Whole(_)) && message.chars > kept
    };
    let is_bulk = |message: &UserMessage| message.text.len() >= limits.bulk;
    let bulk = listed
        .iter()
        .position(|message| can_be(&message) && is_bulk(message));
    let at = bulk.or_else(|| listed.iter().position(|message| can_be(&message)))?;
    listed.get_mut(at)
}

fn cut(text: &str, limits: &EvidenceLimits) -> MessageText {
    MessageText::Cut {
        head: show::head(text, limits.head).to_owned(),
        tail: show::tail(text, limits.tail).to_owned(),
    }
}

/// Adds a message to the range of those no longer listed.
fn set_aside(earlier: &mut Option<EarlierMessages>, message: &UserMessage) {
    let range = earlier.get_or_insert_with(|| EarlierMessages {
        count: 0,
        chars: 0,
        first: message.record.clone(),
        last: message.record.clone(),
        last_seq: message.seq,
    });
    range.count += 1;
    range.chars += message.chars;
    range.last = message.record.clone();
    range.last_seq = message.seq;
}
