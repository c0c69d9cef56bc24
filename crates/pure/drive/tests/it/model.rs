//! Scripted model: answers by purpose, delivered whole or block by block.

use dormouse_ask::{
    Extras, Failure, FailureKind, Partial, RateLimits, Response, StopReason, Unfinished,
};
use dormouse_context::compaction::REQUIRED_SECTIONS;
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_drive::{Ask, StreamEvent};
use dormouse_testkit::conversation::prose;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// Outcome of one request, as scripted.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// Whole answer at once.
    Whole(Vec<Block>, StopReason),
    /// Answer block by block, then its end.
    Streamed(Vec<Block>, StopReason),
    /// Overload: nothing is billed.
    Overloaded,
    /// Refusal because the prompt is too long.
    TooLong,
    /// Stream that breaks after these blocks, in the middle of this text.
    Breaks(Vec<Block>, &'static str),
}

impl Answer {
    pub(crate) fn text(text: &str) -> Self {
        Self::Streamed(vec![Block::text(text)], StopReason::EndTurn)
    }

    pub(crate) fn calls(blocks: Vec<Block>) -> Self {
        Self::Streamed(blocks, StopReason::ToolUse)
    }

    /// Answer without stream events.
    pub(crate) fn whole(self) -> Self {
        match self {
            Self::Streamed(blocks, stop) => Self::Whole(blocks, stop),
            other => other,
        }
    }
}

/// Request whose answer is being delivered.
#[derive(Clone, Debug)]
pub(crate) struct UnderWay {
    id: MessageId,
    begun: TokenUsage,
    events: VecDeque<StreamEvent>,
    shown: Option<Vec<Block>>,
    end: Result<Box<Response>, Failure>,
}

impl UnderWay {
    /// Next event of the answer; `None` when only its end is left.
    pub(crate) fn event(&mut self) -> Option<StreamEvent> {
        let event = self.events.pop_front()?;
        match &event {
            StreamEvent::Began { .. } => self.shown = Some(Vec::new()),
            StreamEvent::Block(block) => self.shown.get_or_insert_default().push(block.clone()),
        }
        Some(event)
    }

    pub(crate) fn end(self) -> Result<Box<Response>, Failure> {
        self.end
    }

    /// Outcome after a stop: the failure carries the part that was delivered.
    pub(crate) fn stopped(self) -> Failure {
        let partial = self.shown.map(|blocks| {
            Box::new(Partial {
                id: Some(self.id),
                model: Some(MODEL.into()),
                blocks,
                unfinished: Vec::new(),
                usage: self.begun,
            })
        });
        Failure {
            partial,
            ..Failure::new(FailureKind::Connection, false, "stopped")
        }
    }
}

/// Tokens billed for the outcome of a request.
pub(crate) fn billed(end: &Result<Box<Response>, Failure>) -> TokenUsage {
    match end {
        Ok(response) => response.billed,
        Err(failure) => {
            let partial = failure.partial.as_deref();
            partial.map_or_else(TokenUsage::default, |partial| partial.usage)
        }
    }
}

/// Scripted model with its counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    next: VecDeque<Answer>,
    /// Number of requests by purpose, so that ids do not depend on the order of other requests.
    asked: BTreeMap<String, usize>,
    /// Bodies of the conversation's own requests, in order.
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl Model {
    /// Sets the answers to the next requests of the conversation itself.
    pub(crate) fn script(&mut self, answers: impl IntoIterator<Item = Answer>) {
        self.next = answers.into_iter().collect();
    }

    /// Number of requests of all purposes.
    pub(crate) fn requests(&self) -> usize {
        self.asked.values().sum()
    }

    pub(crate) fn ask(&mut self, ask: &Ask) -> UnderWay {
        let name = format!("{:?}", ask.purpose);
        let number = self.asked.entry(name.clone()).or_default();
        *number += 1;
        let number = *number;
        let answer = match ask.purpose {
            Purpose::Turn => {
                self.bodies.push(ask.request.body.to_vec());
                self.next.pop_front()
            }
            Purpose::Compaction => Some(Answer::text(&summary())),
            Purpose::Notes => Some(Answer::text(&format!(
                "<section title=\"Worklog\">\nUpdate {number}.\n</section>"
            ))),
            _ => None,
        };
        let answer = answer.unwrap_or_else(|| Answer::text("Done."));
        let id = MessageId::new(format!("msg_{name}_{number}"));
        under_way(id, ask.request.body.len(), answer)
    }
}

fn under_way(id: MessageId, prompt: usize, answer: Answer) -> UnderWay {
    let begun = usage(prompt, 0);
    let began = StreamEvent::Began {
        id: id.clone(),
        model: MODEL.into(),
        usage: begun,
    };
    let shown = |blocks: &[Block]| {
        let blocks = blocks.iter().cloned().map(StreamEvent::Block);
        std::iter::once(began.clone()).chain(blocks).collect()
    };
    let (events, end) = match answer {
        Answer::Whole(blocks, stop) => (VecDeque::new(), Ok(response(&id, prompt, blocks, stop))),
        Answer::Streamed(blocks, stop) => (shown(&blocks), Ok(response(&id, prompt, blocks, stop))),
        Answer::Overloaded => {
            let failure = Failure::new(FailureKind::Overloaded, true, "overloaded");
            (VecDeque::new(), Err(failure))
        }
        Answer::TooLong => {
            let kind = FailureKind::TooLong { gap: None };
            (VecDeque::new(), Err(Failure::new(kind, false, "too long")))
        }
        Answer::Breaks(blocks, text) => {
            let events = shown(&blocks);
            let partial = Partial {
                id: Some(id.clone()),
                model: Some(MODEL.into()),
                usage: usage(prompt, written(&blocks) + text.len()),
                blocks,
                unfinished: vec![Unfinished {
                    head: RawJson::from(&json!({"type": "text", "text": ""})),
                    received: text.to_owned(),
                }],
            };
            let failure = Failure {
                partial: Some(Box::new(partial)),
                ..Failure::new(FailureKind::Connection, true, "the stream broke")
            };
            (events, Err(failure))
        }
    };
    UnderWay {
        id,
        begun,
        events,
        shown: None,
        end,
    }
}

fn response(id: &MessageId, prompt: usize, blocks: Vec<Block>, stop: StopReason) -> Box<Response> {
    let usage = usage(prompt, written(&blocks));
    Box::new(Response {
        id: id.clone(),
        model: Arc::from(MODEL),
        blocks,
        cut_off: Vec::new(),
        stop_reason: stop,
        usage,
        billed: usage,
        extras: Extras::default(),
        request_id: None,
        rate_limits: RateLimits::default(),
        warnings: Vec::new(),
    })
}

fn written(blocks: &[Block]) -> usize {
    blocks.iter().map(|block| block.bytes().len()).sum()
}

/// Usage by bytes: four per token, all of the prompt uncached.
fn usage(prompt: usize, output: usize) -> TokenUsage {
    TokenUsage {
        input: Tokens(prompt as u64 / 4),
        output: Tokens(output as u64 / 4 + 1),
        ..TokenUsage::default()
    }
}

/// Summary with every section that the prompt asks for.
fn summary() -> String {
    let sections = REQUIRED_SECTIONS.iter().enumerate();
    let sections = sections.map(|(at, title)| format!("{}. {title}: {}\n", at + 1, prose(at, 120)));
    let sections: String = sections.collect();
    format!("<analysis>thinking</analysis>\n<summary>\n{sections}</summary>")
}
