//! Planning the next request.
//!
//! A plan is a value: the request, the records to append before it, the expected cache hit, and the
//! reasons. It names the head it was made for; committing it means appending its records with that
//! head expected, and planning again if the log has moved on. Planning costs what is new since the
//! last request, independent of the length of the conversation.
//!
//! Not here: clearing, compaction and notes, which are planned before ([`crate::layers`]), and
//! sending.

use crate::assemble::RequestBody;
use crate::conversation::Conversation;
use crate::ledger::{CacheKeys, Ledger, MarkerTtls, Prediction, Shape};
use crate::prefix::RenderedPrefix;
use crate::tokens::{self, Count};
use crate::view::View;
use crate::window::{Gauge, Relief, Thresholds};
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId};
use dormouse_core::json::RawJson;
use dormouse_core::record::{Body, Marker, MarkerPlace, Message, MessageOrigin, Request, Role};
use dormouse_core::units::Millis;
use std::sync::Arc;

/// Inputs of the planner ([`plan_request`]).
#[derive(Clone, Debug)]
pub struct RequestInputs<'a> {
    /// Session whose next request is planned.
    pub conversation: &'a Conversation,
    /// Cache ledger of the session.
    pub ledger: &'a Ledger,
    /// Rendered prefix to send.
    pub prefix: &'a Arc<RenderedPrefix>,
    /// Every member of the body but tools, system and messages; contains the model.
    pub params: &'a RawJson,
    /// Thresholds of the window.
    pub thresholds: &'a Thresholds,
    /// Ability of compaction to make room, from the layers' plan.
    pub relief: Relief,
    /// Lifetimes to request for new cache entries.
    pub ttls: MarkerTtls,
    /// Current time, by which cache entries have expired or not.
    pub now: Millis,
    /// Part of the prompt that may carry cache markers.
    pub cached: CachedPart,
    /// Kind of last message that the prompt may have.
    pub ending: Ending,
    /// Results to be distilled once they are answered; the conversation is arranged for them
    /// ([`Conversation::arrange`]). No marker stands on or behind the first of them.
    pub distil: &'a [BlockKey],
}

/// Part of a prompt that may carry cache markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachedPart {
    /// The whole prompt: the conversation's next request reads it again.
    #[default]
    Whole,
    /// The first so many segments. A fork marks only what it shares with its parent, because no
    /// later request repeats its directive.
    Shared(usize),
}

/// Kind of last message that a prompt may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// A message of the user's side.
    #[default]
    User,
    /// Any message: the provider paused its own turn and continues when it receives the same again.
    PausedTurn,
}

/// Answer to whether the request can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendVerdict {
    /// Send the request now.
    Send,
    /// The last message is the assistant's.
    NothingToSend,
    /// A request was recorded and its response has not begun.
    InFlight,
    /// The compaction target is reached: compact before sending.
    CompactFirst,
    /// The window is full and compaction cannot help.
    Blocked,
}

/// A planned request, with everything its bytes are made of.
#[derive(Clone, Debug)]
pub struct RequestPlan {
    /// Head of the log that the plan was made for; an append checks it.
    pub head: Option<RecordId>,
    /// Permission to send the request, or the reason against it.
    pub verdict: SendVerdict,
    /// Results to append first, for calls that never got one.
    pub repairs: Option<Message>,
    /// Size of the prompt.
    pub count: Count,
    /// Fill level of the window at that size.
    pub gauge: Gauge,
    /// Cache markers of the request.
    pub markers: Vec<Marker>,
    /// Expected cache hit of the request.
    pub prediction: Prediction,
    /// Decisions with their reasons, for the request record.
    pub reasons: Vec<String>,
    distil: Vec<BlockKey>,
    model: String,
    params: RawJson,
    prefix: Arc<RenderedPrefix>,
    segments: u64,
    chain: Hash,
    shape: Shape,
}

/// Results to append before a request leaves, one for each open call. They are recorded, because a
/// late real result would otherwise change what was sent.
pub fn repairs(view: &View) -> Option<Message> {
    let calls = view.tail().open_calls();
    let results: Vec<Block> = calls
        .filter_map(|call| call.block.call())
        .map(|call| Block::tool_result(call, crate::MISSING_RESULT, true))
        .collect();
    (!results.is_empty()).then(|| Message {
        origin: MessageOrigin::Repair,
        ..Message::user(results)
    })
}

/// Plans the next request of a conversation.
pub fn plan_request(inputs: &RequestInputs<'_>) -> RequestPlan {
    let conversation = inputs.conversation;
    let view = conversation.view();
    let shape = shape(conversation, inputs.prefix, inputs.params);
    let whole = match inputs.cached {
        CachedPart::Whole => shape.segments.len(),
        CachedPart::Shared(segments) => segments,
    };
    let marked = whole.min(first_distilled(&shape, inputs.distil));
    let markers = if marked < shape.segments.len() {
        // The markers are chosen for this part only; the prediction is for the whole prompt.
        let mut shared = shape.clone();
        shared.segments.truncate(marked);
        inputs.ledger.markers(&shared, inputs.now, inputs.ttls)
    } else {
        inputs.ledger.markers(&shape, inputs.now, inputs.ttls)
    };
    let prediction = inputs.ledger.predict(&shape, &markers, inputs.now);
    let count = conversation.count(inputs.prefix.weight());
    let gauge = inputs.thresholds.gauge(count.tokens, inputs.relief);

    let repairs = repairs(view);
    let ends_with_user = shape
        .segments
        .last()
        .is_some_and(|last| last.role != Role::Assistant || inputs.ending == Ending::PausedTurn);
    // New segments behind a request without a response mean that it was interrupted: the next one
    // may follow.
    let verdict = if view.is_awaiting_response() && view.tail().is_empty() {
        SendVerdict::InFlight
    } else if !ends_with_user {
        SendVerdict::NothingToSend
    } else {
        match gauge {
            Gauge::Compact => SendVerdict::CompactFirst,
            Gauge::Blocked => SendVerdict::Blocked,
            Gauge::Ok | Gauge::Warning | Gauge::Error => SendVerdict::Send,
        }
    };
    let mut reasons = Vec::new();
    if let Some(repairs) = &repairs {
        reasons.push(format!(
            "{} calls without a result are answered as interrupted",
            repairs.content.len()
        ));
    }
    match prediction.hit {
        Some(_) => reasons.push(format!(
            "{} tokens will be read from the cache",
            prediction.tokens
        )),
        None => reasons.push("no cache entry can be read".to_owned()),
    }
    RequestPlan {
        head: conversation.head().cloned(),
        verdict,
        repairs,
        count,
        gauge,
        markers,
        prediction,
        reasons,
        distil: inputs.distil.to_vec(),
        model: view.target().model.to_string(),
        params: inputs.params.clone(),
        prefix: Arc::clone(inputs.prefix),
        segments: shape.segments.len() as u64,
        chain: shape.segments.chain(shape.segments.len()),
        shape,
    }
}

/// Position of the first result to be distilled; the length of the prompt if there is none.
fn first_distilled(shape: &Shape, distil: &[BlockKey]) -> usize {
    let segments = &shape.segments;
    let Some(first) = distil.first() else {
        return segments.len();
    };
    // They stand in the last turn, so the search runs backwards.
    let mut positions = (0..segments.len()).rev();
    let found = positions.find(|at| {
        segments
            .get(*at)
            .is_some_and(|segment| segment.origin == *first && segment.derived.is_none())
    });
    found.unwrap_or(segments.len())
}

/// Shape of the session's next request, as the cache ledger sees it.
pub fn shape(conversation: &Conversation, prefix: &Arc<RenderedPrefix>, params: &RawJson) -> Shape {
    let target = conversation.view().target();
    let minimum = target.models.lookup(&target.model).info.cache_minimum;
    let calibration = tokens::calibration(conversation.state(), &target.model);
    Shape::new(
        CacheKeys::of(params),
        Arc::clone(prefix),
        conversation.view().segments(),
        (conversation.bytes_per_token(), calibration, minimum),
    )
}

/// Body of a recorded request, given the view at its record and its prefix.
pub fn rebuild(view: &View, request: &Request, prefix: &RenderedPrefix) -> Vec<u8> {
    let body = RequestBody {
        params: &request.params,
        prefix,
        markers: &request.markers,
    };
    // At its request record the frozen part is exactly what was sent.
    let segments = view.frozen();
    body.assemble(
        segments.iter(),
        segments.bytes(segments.len()),
        segments.len(),
    )
}

impl RequestPlan {
    /// Record to append before the request leaves.
    pub fn record(&self) -> Body {
        /// Most reasons stored in a request record: several times what one plan gives, and bounded
        /// because such a record is written every round.
        const MOST_DECISIONS: usize = 16;
        Body::Request(Box::new(Request {
            prefix: (!self.prefix.is_empty()).then(|| self.prefix.id()),
            model: self.model.clone(),
            segments: self.segments,
            chain: self.chain,
            markers: self.markers.clone(),
            params: self.params.clone(),
            decisions: self.reasons.iter().take(MOST_DECISIONS).cloned().collect(),
            distil: self.distil.clone(),
            marked: self.marked(),
        }))
    }

    /// Hash chain up to the last marker, if results behind it are to be distilled.
    fn marked(&self) -> Option<Hash> {
        let last = self.markers.last().filter(|_| !self.distil.is_empty())?;
        match last.place {
            MarkerPlace::Segment(at) => {
                let count = usize::try_from(at).ok()? + 1;
                Some(self.shape.segments.chain(count))
            }
            _ => None,
        }
    }

    /// Body of the request; the bytes to send.
    pub fn body(&self) -> Vec<u8> {
        let body = RequestBody {
            params: &self.params,
            prefix: &self.prefix,
            markers: &self.markers,
        };
        let segments = &self.shape.segments;
        body.assemble(
            segments.iter(),
            segments.bytes(segments.len()),
            segments.len(),
        )
    }

    /// Shape of the request, for the ledger's record of what was sent.
    pub fn into_shape(self) -> Shape {
        self.shape
    }
}
