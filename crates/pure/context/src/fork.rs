//! A fork of the conversation: the parent's prompt, followed by one directive.
//!
//! # Model
//! A fork is a value: the parent's segments (shared, not copied), the same prefix and parameters, a
//! directive behind everything, and a copy of the session's state. All bytes in front of the
//! directive equal those of the parent's own request, so the provider reads them from the cache.
//! The directive carries no cache marker, because no later request repeats it.
//!
//! # Not here
//! Sending the request and using the answer. A fork never writes to the log: its results become
//! records of the parent.

use crate::assemble::RequestBody;
use crate::conversation::Conversation;
use crate::ledger::{Ledger, MarkerTtls, Prediction};
use crate::plan;
use crate::prefix::RenderedPrefix;
use crate::segment::{Segment, SegmentList};
use crate::tokens::Count;
use dormouse_core::block::Block;
use dormouse_core::id::BlockKey;
use dormouse_core::json::RawJson;
use dormouse_core::record::{FoldedState, Marker, MarkerPlace, Role};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::weight::Weight;
use std::sync::Arc;

/// A request derived from a conversation that leaves the conversation unchanged.
#[derive(Clone, Debug)]
pub struct Fork {
    segments: SegmentList,
    /// Length of the beginning that is the parent's; the directive follows.
    shared: usize,
    prefix: Arc<RenderedPrefix>,
    params: RawJson,
    markers: Vec<Marker>,
    prediction: Prediction,
    count: Count,
    state: FoldedState,
}

impl Fork {
    /// Forks the conversation as it would be sent now.
    pub fn new(
        conversation: &Conversation,
        ledger: &Ledger,
        prefix: &Arc<RenderedPrefix>,
        params: &RawJson,
        directive: &str,
        (now, ttls): (Millis, MarkerTtls),
    ) -> Self {
        let shape = plan::shape(conversation, prefix, params);
        let markers = ledger.markers(&shape, now, ttls);
        let prediction = ledger.predict(&shape, &markers, now);
        let mut segments = shape.segments;
        // Markers and prediction cover the parent's part; the directive comes on top.
        let shared = segments.len();
        if let Some(last) = segments.last() {
            let directive = directive_segment(last, directive);
            segments.push(directive);
        }
        Self {
            segments,
            shared,
            prefix: Arc::clone(prefix),
            params: params.clone(),
            markers,
            prediction,
            count: conversation.count(prefix.weight()),
            state: conversation.state().clone(),
        }
    }

    /// Forks the conversation with other parameters and no directive.
    pub fn plain(
        conversation: &Conversation,
        ledger: &Ledger,
        prefix: &Arc<RenderedPrefix>,
        params: &RawJson,
        moment: (Millis, MarkerTtls),
    ) -> Self {
        // The empty directive is cut off again by the truncation.
        let mut fork = Self::new(conversation, ledger, prefix, params, "", moment);
        fork.segments.truncate(fork.shared);
        fork
    }

    /// Appends a directive behind everything else.
    #[must_use]
    pub fn directed(mut self, directive: &str) -> Self {
        if let Some(last) = self.segments.last() {
            let directive = directive_segment(last, directive);
            self.segments.push(directive);
        }
        self
    }

    /// Forks the history: segments received and not sent yet are left out. Everything in front of
    /// the directive was part of the last request or of its answer, so the call reads the whole
    /// cache entry.
    pub fn of_history(
        conversation: &Conversation,
        ledger: &Ledger,
        prefix: &Arc<RenderedPrefix>,
        params: &RawJson,
        directive: &str,
        moment: (Millis, MarkerTtls),
    ) -> Self {
        let all = Self::new(conversation, ledger, prefix, params, directive, moment);
        let history = conversation.view().history_len();
        // An empty history has no segment to hang the directive on; an equal one needs no second
        // shape.
        if history == 0 || history == all.shared {
            return all;
        }
        let mut shape = plan::shape(conversation, prefix, params);
        // Markers are placed anew, because the last one of the whole prompt lies behind the cut.
        shape.segments.truncate(history);
        let (now, ttls) = moment;
        let markers = ledger.markers(&shape, now, ttls);
        let prediction = ledger.predict(&shape, &markers, now);
        let mut segments = shape.segments;
        if let Some(last) = segments.last() {
            let directive = directive_segment(last, directive);
            segments.push(directive);
        }
        Self {
            segments,
            shared: history,
            markers,
            prediction,
            ..all
        }
    }

    /// A call outside the cache: the system prompt, one text and the directive, without tools.
    pub fn cold(
        conversation: &Conversation,
        prefix: &RenderedPrefix,
        params: &RawJson,
        text: &str,
        directive: &str,
    ) -> Self {
        // Without tools the model cannot go on working instead of answering.
        let prefix = RenderedPrefix::new(Vec::new(), prefix.system().to_vec(), Vec::new());
        let mut segments = SegmentList::default();
        let all = conversation.view().segments();
        if let Some(last) = all.last() {
            segments.extend([text, directive].map(|text| Segment {
                role: Role::User,
                ..directive_segment(last, text)
            }));
        }
        Self {
            segments,
            shared: 0,
            prefix: Arc::new(prefix),
            params: without_tool_choice(params),
            markers: Vec::new(),
            prediction: Prediction {
                hit: None,
                tokens: Tokens::ZERO,
            },
            count: conversation.count(&Weight::default()),
            state: conversation.state().clone(),
        }
    }

    /// Appends an answer and the results of its calls, for the fork's next round.
    #[must_use]
    pub fn answered(mut self, answer: &[Block], results: Vec<Block>) -> Self {
        let Some(last) = self.segments.last().cloned() else {
            return self;
        };
        // Empty text or unsigned thinking in an answer would be refused when sent back.
        let said = answer
            .iter()
            .filter(|block| !block.is_unsendable())
            .map(|block| (Role::Assistant, block.clone()));
        let results = results.into_iter().map(|block| (Role::User, block));
        let new = said.chain(results).map(|(role, block)| Segment {
            role,
            block,
            ..last.clone()
        });
        self.segments.extend(new.collect::<Vec<_>>());
        self
    }

    /// Request body, with the parent's cache markers.
    pub fn body(&self) -> Vec<u8> {
        let body = RequestBody {
            params: &self.params,
            prefix: &self.prefix,
            markers: &self.markers,
        };
        let count = self.segments.len();
        body.assemble(self.segments.iter(), self.segments.bytes(count), count)
    }

    /// The parent's segments, followed by the directive and any rounds of the fork itself.
    pub fn segments(&self) -> &SegmentList {
        &self.segments
    }

    /// Number of segments that are the parent's.
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// Request parameters; the parent's unless the fork is cold.
    pub fn params(&self) -> &RawJson {
        &self.params
    }

    /// Prefix; the parent's unless the fork is cold, which sends no tools.
    pub fn prefix(&self) -> &Arc<RenderedPrefix> {
        &self.prefix
    }

    /// Expected cache hit on the parent's part.
    pub fn prediction(&self) -> Prediction {
        self.prediction
    }

    /// Token count of the parent's part.
    pub fn tokens(&self) -> Tokens {
        self.count.tokens
    }

    /// Copy of the parent's state at the time of the fork.
    pub fn state(&self) -> &FoldedState {
        &self.state
    }

    /// Replaces the parent's part by `segments`, a shortened one, where the whole does not fit. The
    /// messages then miss the cache, so their markers are removed.
    #[must_use]
    pub fn without_front(mut self, segments: Vec<Segment>) -> Self {
        let directive = self.segments.get(self.shared).cloned();
        self.shared = segments.len();
        self.segments = SegmentList::default();
        self.segments.extend(segments);
        self.segments.extend(directive);
        self.markers
            .retain(|marker| !matches!(marker.place, MarkerPlace::Segment(_)));
        self
    }
}

/// Parameters without `tool_choice`, which the API refuses in a request without tools.
fn without_tool_choice(params: &RawJson) -> RawJson {
    let value: Option<serde_json::Value> = serde_json::from_slice(params.bytes()).ok();
    let stripped = value.and_then(|mut value| {
        value.as_object_mut()?.shift_remove("tool_choice")?;
        RawJson::from_value(&value).ok()
    });
    stripped.unwrap_or_else(|| params.clone())
}

/// The directive as a segment. It belongs to no record and borrows the place of the last segment.
/// Behind a system message it is a system message too, because the API allows no user turn there.
fn directive_segment(last: &Segment, directive: &str) -> Segment {
    let role = match last.role {
        Role::System => Role::System,
        Role::User | Role::Assistant => Role::User,
    };
    Segment {
        role,
        block: Block::text(directive),
        origin: BlockKey::new(last.origin.record.next(), 0),
        derived: None,
        category: crate::category::Category::Attachments,
        ..last.clone()
    }
}
