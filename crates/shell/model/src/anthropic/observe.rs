//! A reply that passes by, read without touching it.
//!
//! For a relay: the bytes go on to a client, and a copy of them is read here for its usage and its
//! blocks. Nothing that arrives is an error; a reply that cannot be read is simply not observed.

use super::decode::MessageDecoder;
use crate::attempt::{Decoder as _, Head};
use crate::sse::{SseDecoder, SseEvent};
use dormouse_ask::StopReason;
use dormouse_core::block::Block;
use dormouse_core::usage::TokenUsage;
use std::sync::Arc;

/// Bytes of a reply in one piece that are kept to be read at its end. Longer replies pass unread:
/// the longest that a model writes is some megabytes.
const LONGEST_WHOLE: usize = 16 * 1024 * 1024;

/// Facts of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Model that answered, by its own word.
    pub model: Arc<str>,
    /// Content blocks that arrived whole.
    pub blocks: Vec<Block>,
    /// Reason why the answer ended; `None` for one that broke off.
    pub stop: Option<StopReason>,
    /// Usage of the prompt and the answer.
    pub usage: TokenUsage,
    /// Usage that is billed.
    pub billed: TokenUsage,
}

/// Reader of one reply, streamed or in one piece.
#[derive(Debug)]
pub struct Observer(Form);

#[derive(Debug)]
enum Form {
    Stream {
        sse: SseDecoder,
        decoder: Box<MessageDecoder>,
        events: Vec<SseEvent>,
        /// Set at the first event that makes no sense; what came before it counts.
        broken: bool,
    },
    Whole(Vec<u8>),
    Unread,
}

impl Observer {
    /// A reader for a reply of this content type.
    pub fn new(content_type: &str) -> Self {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        Self(match kind {
            "text/event-stream" => Form::Stream {
                sse: SseDecoder::default(),
                decoder: Box::new(MessageDecoder::new(Head::default())),
                events: Vec::new(),
                broken: false,
            },
            "application/json" => Form::Whole(Vec::new()),
            _ => Form::Unread,
        })
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Form::Stream {
                sse,
                decoder,
                events,
                broken,
            } if !*broken => {
                *broken = sse.feed(bytes, events).is_err();
                let mut out = Vec::new();
                for event in events.drain(..) {
                    *broken |= decoder.event(&event.name, &event.data, &mut out).is_err();
                    out.clear();
                }
            }
            Form::Whole(whole) if whole.len() + bytes.len() <= LONGEST_WHOLE => {
                whole.extend_from_slice(bytes);
            }
            Form::Whole(_) => self.0 = Form::Unread,
            Form::Stream { .. } | Form::Unread => {}
        }
    }

    /// The facts of the reply, once it has ended or broken off; `None` if it was no answer.
    pub fn end(self) -> Option<Observed> {
        match self.0 {
            Form::Stream { mut decoder, .. } => {
                let (model, usage, billed) = decoder.so_far()?;
                let Ok(response) = decoder.finish(&mut Vec::new()) else {
                    let partial = decoder.partial();
                    return Some(Observed {
                        model,
                        blocks: partial.map(|partial| partial.blocks).unwrap_or_default(),
                        stop: None,
                        usage,
                        billed,
                    });
                };
                Some(Observed::of(response))
            }
            Form::Whole(body) => {
                let response = MessageDecoder::whole(Head::default(), &body);
                response.ok().map(Observed::of)
            }
            Form::Unread => None,
        }
    }
}

impl Observed {
    fn of(response: dormouse_ask::Response) -> Self {
        Self {
            model: response.model,
            blocks: response.blocks,
            stop: Some(response.stop_reason),
            usage: response.usage,
            billed: response.billed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Tokens;
    use pretty_assertions::assert_eq;

    const STREAM: &str = "event: message_start\n\
        data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"x\",\"content\":[],\
        \"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n\
        event: content_block_start\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: content_block_delta\n\
        data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n\
        event: content_block_stop\n\
        data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        event: message_delta\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n\
        event: message_stop\n\
        data: {\"type\":\"message_stop\"}\n\n";

    fn observe(content_type: &str, pieces: &[&[u8]]) -> Option<Observed> {
        let mut observer = Observer::new(content_type);
        for piece in pieces {
            observer.feed(piece);
        }
        observer.end()
    }

    #[test]
    fn a_stream_is_read_however_it_is_cut() {
        let kind = "text/event-stream; charset=utf-8";
        let whole = observe(kind, &[STREAM.as_bytes()]).unwrap();
        assert_eq!(whole.stop, Some(StopReason::EndTurn));
        assert_eq!(
            (whole.usage.input, whole.usage.output),
            (Tokens(7), Tokens(5))
        );
        assert_eq!(whole.blocks.len(), 1);
        for at in (1..STREAM.len()).step_by(7) {
            let (one, two) = STREAM.as_bytes().split_at(at);
            assert_eq!(observe(kind, &[one, two]).as_ref(), Some(&whole), "{at}");
        }
    }

    #[test]
    fn an_answer_that_breaks_off_keeps_its_figures() {
        let end = STREAM.find("event: message_delta").unwrap();
        let broken = observe("text/event-stream", &[&STREAM.as_bytes()[..end]]).unwrap();
        assert_eq!((broken.stop, broken.blocks.len()), (None, 1));
        assert_eq!(broken.usage.input, Tokens(7));
        // Garbage after the start ends the reading, not the figures.
        let start = STREAM.find("event: content_block_start").unwrap();
        let garbage = format!(
            "{}event: content_block_stop\ndata: {{\n\n",
            &STREAM[..start]
        );
        let broken = observe("text/event-stream", &[garbage.as_bytes()]).unwrap();
        assert_eq!((broken.stop, broken.usage.input), (None, Tokens(7)));
    }

    #[test]
    fn errors_and_foreign_replies_are_not_observed() {
        let error = br#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#;
        assert_eq!(observe("application/json", &[error]), None);
        assert_eq!(observe("application/json", &[b"{\"data\":[]}"]), None);
        assert_eq!(observe("text/html", &[STREAM.as_bytes()]), None);
        assert_eq!(observe("text/event-stream", &[b"\xff\xfe"]), None);
        let message =
            br#"{"id":"m","type":"message","model":"x","content":[],"stop_reason":"end_turn",
            "usage":{"input_tokens":3,"output_tokens":2}}"#;
        let whole = observe("application/json", &[&message[..20], &message[20..]]).unwrap();
        assert_eq!(whole.usage.input, Tokens(3));
    }
}
