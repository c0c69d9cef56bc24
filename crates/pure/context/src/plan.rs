//! Planning the next request.
//!
//! A plan is a value: what would be sent, what must be appended first, what it will read from the
//! cache, and why. It names the head it was made for; committing it means appending its records
//! with that head expected, and planning again if the log has moved on. Making a plan costs what
//! is new since the last request, whatever the length of the conversation.

use crate::assemble::RequestBody;
use crate::conversation::Conversation;
use crate::ledger::{CacheKeys, Ledger, MarkerTtls, Prediction, Shape};
use crate::prefix::RenderedPrefix;
use crate::tokens::{self, Count};
use crate::view::View;
use crate::window::{Gauge, Relief, Thresholds};
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::RecordId;
use dormouse_core::json::RawJson;
use dormouse_core::record::{Body, Marker, Message, MessageOrigin, Request, Role};
use dormouse_core::units::{Millis, Tokens};
use std::sync::Arc;

/// What a plan is made from.
#[derive(Clone, Debug)]
pub struct RequestInputs<'a> {
    /// The session.
    pub conversation: &'a Conversation,
    /// The cache ledger.
    pub ledger: &'a Ledger,
    /// The rendered prefix.
    pub prefix: &'a Arc<RenderedPrefix>,
    /// Every other member of the body, the model included.
    pub params: &'a RawJson,
    /// The window's figures.
    pub thresholds: &'a Thresholds,
    /// Whether compaction can still help.
    pub relief: Relief,
    /// How long cache entries should live.
    pub ttls: MarkerTtls,
    /// The time.
    pub now: Millis,
    /// The part of the prompt that may carry cache markers.
    pub cached: CachedPart,
    /// The kind of last message the prompt may have.
    pub ending: Ending,
}

/// The part of a prompt that may carry cache markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachedPart {
    /// All of it: the next request of the conversation reads it again.
    #[default]
    Whole,
    /// The first so many segments. A fork marks only what it shares with its parent: its directive
    /// is read by no other request.
    Shared(usize),
}

/// The kind of last message a prompt may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// One of the user's side.
    #[default]
    User,
    /// Any: the provider paused its own turn and goes on when it is sent the same again.
    PausedTurn,
}

/// Whether a request can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It can.
    Send,
    /// The user's side has said nothing since the last answer.
    NothingToSend,
    /// A response is still on its way.
    InFlight,
    /// Compaction comes first.
    CompactFirst,
    /// The window is full and compaction cannot help.
    Blocked,
}

/// A planned request.
#[derive(Clone, Debug)]
pub struct RequestPlan {
    /// The head it was made for.
    pub head: Option<RecordId>,
    /// Whether it can be made.
    pub verdict: Verdict,
    /// Results to append first, for calls that never got theirs.
    pub repairs: Option<Message>,
    /// The size of the prompt.
    pub count: Count,
    /// What the gauge shows.
    pub gauge: Gauge,
    /// Cache markers.
    pub markers: Vec<Marker>,
    /// What will be read from the cache.
    pub prediction: Prediction,
    /// What was decided, and why.
    pub reasons: Vec<String>,
    model: String,
    params: RawJson,
    prefix: Arc<RenderedPrefix>,
    segments: u64,
    chain: Hash,
    shape: Shape,
}

/// The results that have to be appended before a request leaves: one for each call that never got
/// its own.
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

/// Plans the next request.
pub fn plan_request(inputs: &RequestInputs<'_>) -> RequestPlan {
    let conversation = inputs.conversation;
    let view = conversation.view();
    let shape = shape(conversation, inputs.prefix, inputs.params);
    let markers = match inputs.cached {
        CachedPart::Whole => inputs.ledger.markers(&shape, inputs.now, inputs.ttls),
        CachedPart::Shared(segments) => {
            let mut shared = shape.clone();
            shared.segments.truncate(segments);
            inputs.ledger.markers(&shared, inputs.now, inputs.ttls)
        }
    };
    let prediction = inputs.ledger.predict(&shape, &markers, inputs.now);
    let count = conversation.count(inputs.prefix.weight());
    let gauge = inputs.thresholds.gauge(count.tokens, inputs.relief);

    let repairs = repairs(view);
    let ends_with_user = shape
        .segments
        .last()
        .is_some_and(|last| last.role != Role::Assistant || inputs.ending == Ending::PausedTurn);
    let verdict = if view.is_awaiting_response() && view.tail().is_empty() {
        Verdict::InFlight
    } else if !ends_with_user {
        Verdict::NothingToSend
    } else {
        match gauge {
            Gauge::Compact => Verdict::CompactFirst,
            Gauge::Blocked => Verdict::Blocked,
            Gauge::Ok | Gauge::Warning | Gauge::Error => Verdict::Send,
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
        model: view.target().model.to_string(),
        params: inputs.params.clone(),
        prefix: Arc::clone(inputs.prefix),
        segments: shape.segments.len() as u64,
        chain: shape.segments.chain(shape.segments.len()),
        shape,
    }
}

/// The session as the cache sees it.
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

/// The bytes of a recorded request, given the view at its record and its prefix.
pub fn rebuild(view: &View, request: &Request, prefix: &RenderedPrefix) -> Vec<u8> {
    let body = RequestBody {
        params: &request.params,
        prefix,
        markers: &request.markers,
    };
    let segments = view.frozen();
    body.assemble(
        segments.iter(),
        segments.bytes(segments.len()),
        segments.len(),
    )
}

impl RequestPlan {
    /// The record to append before the request leaves.
    pub fn record(&self) -> Body {
        /// Decisions kept in the log.
        const MOST_DECISIONS: usize = 16;
        Body::Request(Box::new(Request {
            prefix: (!self.prefix.is_empty()).then(|| self.prefix.id()),
            model: self.model.clone(),
            segments: self.segments,
            chain: self.chain,
            markers: self.markers.clone(),
            params: self.params.clone(),
            decisions: self.reasons.iter().take(MOST_DECISIONS).cloned().collect(),
        }))
    }

    /// The bytes to send.
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

    /// The request as the cache sees it, for the ledger.
    pub fn into_shape(self) -> Shape {
        self.shape
    }

    /// Tokens that will be written or sent uncached.
    pub fn uncached(&self) -> Tokens {
        self.count.tokens - self.prediction.tokens
    }
}
