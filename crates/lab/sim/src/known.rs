//! Parts of a body that the request before had already.
//!
//! Model: a conversation sends the same bytes again with every request, and a few more. [`Known`]
//! keeps the last body with the facts and the end of each block of its messages. The next body is
//! compared with it byte by byte. Messages up to the last block that both share are taken over;
//! the head, an opening of the message in which the shared part ends, and all that follows are put
//! together as a small body and read as any other. So a request costs what is new in it.
//!
//! A body that does not fit (another model, a plain string as content, a fault) is read whole.
//!
//! # Not here
//! Reading itself: [`crate::request`]. The cache of the provider: [`crate::cache`].

use crate::blocks::Block;
use crate::request::{Message, Request, Role};
use crate::tokens::Counter;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::ops::Range;

/// Bytes compared at once while looking for the end of the shared part.
const STRIDE: usize = 4_096;

/// The last body, taken apart.
#[derive(Debug, Default)]
pub(crate) struct Known {
    body: Bytes,
    /// Offset behind the bracket that opens the messages.
    list: usize,
    counter: Option<Counter>,
    messages: Vec<KnownMessage>,
}

#[derive(Debug)]
struct KnownMessage {
    role: Role,
    blocks: Vec<KnownBlock>,
}

#[derive(Debug)]
struct KnownBlock {
    place: Range<usize>,
    block: Block<'static>,
}

impl Known {
    /// The part of a body that is known; `None` if it has to be read whole.
    pub(crate) fn resume<'a>(&'a self, body: &'a Bytes) -> Option<Before<'a>> {
        let shared = shared(&self.body, body);
        let is_shared = |known: &KnownBlock| known.place.end <= shared;
        let message = self
            .messages
            .iter()
            .rposition(|message| message.blocks.first().is_some_and(is_shared))?;
        let known = &self.messages[message];
        let blocks = known.blocks.partition_point(is_shared);
        let end = known.blocks[blocks - 1].place.end;
        let space = |at: usize| body.len() - body[at..].trim_ascii_start().len();
        let from = match body.get(space(end))? {
            b']' => space(end),
            // Another block must follow, or the comma is a fault that a shorter body would hide.
            b',' if body.get(space(space(end) + 1)) == Some(&b'{') => space(end) + 1,
            _ => return None,
        };
        let opening = format!("{{\"role\":\"{}\",\"content\":[", known.role.name());
        let mut text = Vec::with_capacity(self.list + opening.len() + body.len() - from);
        text.extend_from_slice(&body[..self.list]);
        text.extend_from_slice(opening.as_bytes());
        let start = text.len();
        text.extend_from_slice(&body[from..]);
        Some(Before {
            known: self,
            body,
            message,
            blocks,
            text: text.into(),
            rest: (start, from),
        })
    }

    /// Keeps the body that was read last.
    pub(crate) fn learn(&mut self, learnt: Learnt) {
        let (messages, blocks) = learnt.keep;
        self.messages.truncate(messages);
        // The message that was open goes on; there is none after a whole reading.
        let open = self.messages.last_mut().filter(|_| blocks > 0);
        let mut new = learnt.messages.into_iter();
        if let Some(open) = open {
            open.blocks.truncate(blocks);
            if let Some(more) = new.next() {
                // Named behind the content, the role may be another than it was.
                open.role = more.role;
                open.blocks.extend(more.blocks);
            }
        }
        self.messages.extend(new);
        self.body = learnt.body;
        self.list = learnt.list;
        self.counter = Some(learnt.counter);
    }
}

/// Bytes with which both begin.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let strides = a.chunks(STRIDE).zip(b.chunks(STRIDE));
    let same = strides.take_while(|(a, b)| a == b).count() * STRIDE;
    let start = same.min(a.len()).min(b.len());
    let rest = a[start..].iter().zip(&b[start..]);
    start + rest.take_while(|(a, b)| a == b).count()
}

/// The known part of a body, and the text that is left to be read.
#[derive(Debug)]
pub(crate) struct Before<'a> {
    known: &'a Known,
    body: &'a Bytes,
    /// Index of the message in which the known part ends.
    message: usize,
    /// Number of its blocks that are known.
    blocks: usize,
    /// The rest of the body, as a body of its own.
    pub(crate) text: Bytes,
    /// Offset of that rest in the text and in the body.
    rest: (usize, usize),
}

impl<'a> Before<'a> {
    /// True if tokens were counted in the same way.
    pub(crate) fn counts_like(&self, counter: &Counter) -> bool {
        self.known.counter.as_ref() == Some(counter)
    }

    /// Number of messages that are known whole.
    pub(crate) const fn messages(&self) -> usize {
        self.message
    }

    /// The known messages; the last one goes on in the text.
    pub(crate) fn read(&self) -> Vec<Message<'a>> {
        let messages = self.known.messages[..=self.message].iter().enumerate();
        messages
            .map(|(at, known)| {
                let count = if at == self.message {
                    self.blocks
                } else {
                    known.blocks.len()
                };
                let blocks = known.blocks[..count].iter();
                Message {
                    role: known.role,
                    content: blocks
                        .map(|known| known.block.again(&self.body[known.place.clone()]))
                        .collect(),
                }
            })
            .collect()
    }
}

/// A body that was read, with everything the next one may share with it.
#[derive(Debug)]
pub(crate) struct Learnt {
    body: Bytes,
    list: usize,
    counter: Counter,
    /// Messages of the body before that stay, the open one included, and the blocks of that one.
    keep: (usize, usize),
    messages: Vec<KnownMessage>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
}

impl Learnt {
    /// Takes note of a request; `None` if its body has no place to go on from.
    pub(crate) fn new(
        body: &Bytes,
        request: &Request<'_>,
        counter: &Counter,
        before: Option<&Before<'_>>,
    ) -> Option<Self> {
        let (list, keep, text, (start, from)) = if let Some(before) = before {
            let keep = (before.message + 1, before.blocks);
            (before.known.list, keep, &before.text, before.rest)
        } else {
            let found: List<'_> = serde_json::from_slice(body).ok()?;
            let list = found.messages.get().as_bytes().as_ptr() as usize;
            // Behind the bracket.
            let list = list.checked_sub(body.as_ptr() as usize)? + 1;
            (list, (0, 0), body, (0, 0))
        };
        // The message that was open already, then those behind it.
        let first = before.map_or(0, |before| before.message);
        let mut messages = Vec::new();
        for (at, message) in request.messages.iter().enumerate().skip(first) {
            let skipped = if at == first { keep.1 } else { 0 };
            let blocks: Option<Vec<KnownBlock>> = message.content[skipped..]
                .iter()
                .map(|block| {
                    let place = block.place_in(text)?;
                    Some(KnownBlock {
                        place: place.start - start + from..place.end - start + from,
                        block: block.facts(),
                    })
                })
                .collect();
            let Some(blocks) = blocks else {
                // A plain string: what follows it is read again every time.
                break;
            };
            messages.push(KnownMessage {
                role: message.role,
                blocks,
            });
        }
        Some(Self {
            body: body.clone(),
            list,
            counter: *counter,
            keep,
            messages,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_part_ends_at_the_first_difference() {
        let long = vec![b'x'; 3 * STRIDE + 7];
        for at in [0, 1, STRIDE - 1, STRIDE, 2 * STRIDE + 1, long.len() - 1] {
            let mut other = long.clone();
            other[at] = b'y';
            assert_eq!(shared(&long, &other), at);
            assert_eq!(shared(&long, &long[..at]), at);
            assert_eq!(shared(&long[..at], &long), at);
        }
        assert_eq!(shared(&long, &long), long.len());
    }
}
