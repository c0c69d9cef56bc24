//! A fork of the conversation: the same bytes, one directive more.
//!
//! # Model
//! A fork is a value: the prompt as it is (shared, not copied), the same prefix and parameters, a
//! directive behind everything, and a copy of the session's state. Nothing in front of the
//! directive differs from what the conversation itself would send, so the provider's cache is
//! read up to there. The directive carries no marker: nobody will read it again.
//!
//! # Not here
//! Sending it, and what is done with the answer. A fork never writes back: what comes of it is a
//! record of the parent's own.

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

/// A fork of a conversation.
#[derive(Clone, Debug)]
pub struct Fork {
    segments: SegmentList,
    /// Segments that are the parent's.
    shared: usize,
    prefix: Arc<RenderedPrefix>,
    params: RawJson,
    markers: Vec<Marker>,
    prediction: Prediction,
    count: Count,
    state: FoldedState,
}

impl Fork {
    /// Forks the conversation as it is now.
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

    /// The conversation as it is, with other parameters and no directive.
    pub fn plain(
        conversation: &Conversation,
        ledger: &Ledger,
        prefix: &Arc<RenderedPrefix>,
        params: &RawJson,
        moment: (Millis, MarkerTtls),
    ) -> Self {
        let mut fork = Self::new(conversation, ledger, prefix, params, "", moment);
        fork.segments.truncate(fork.shared);
        fork
    }

    /// The fork with a directive behind everything else.
    #[must_use]
    pub fn directed(mut self, directive: &str) -> Self {
        if let Some(last) = self.segments.last() {
            let directive = directive_segment(last, directive);
            self.segments.push(directive);
        }
        self
    }

    /// Forks the history: what came in and was not sent yet is left out. Everything in front of
    /// the directive was sent before, or was the answer to it.
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
        if history == 0 || history == all.shared {
            return all;
        }
        let mut shape = plan::shape(conversation, prefix, params);
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

    /// A call that shares nothing with the conversation but its system prompt: one text, no tools.
    pub fn cold(
        conversation: &Conversation,
        prefix: &RenderedPrefix,
        params: &RawJson,
        text: &str,
        directive: &str,
    ) -> Self {
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

    /// The fork after an answer whose calls have their results.
    #[must_use]
    pub fn answered(mut self, answer: &[Block], results: Vec<Block>) -> Self {
        let Some(last) = self.segments.last().cloned() else {
            return self;
        };
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

    /// The bytes to send.
    pub fn body(&self) -> Vec<u8> {
        let body = RequestBody {
            params: &self.params,
            prefix: &self.prefix,
            markers: &self.markers,
        };
        let count = self.segments.len();
        body.assemble(self.segments.iter(), self.segments.bytes(count), count)
    }

    /// The parent's segments and the directive.
    pub fn segments(&self) -> &SegmentList {
        &self.segments
    }

    /// How many of the segments are the parent's.
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// The parent's parameters.
    pub fn params(&self) -> &RawJson {
        &self.params
    }

    /// The parent's prefix.
    pub fn prefix(&self) -> &Arc<RenderedPrefix> {
        &self.prefix
    }

    /// What the parent's part will read from the cache.
    pub fn prediction(&self) -> Prediction {
        self.prediction
    }

    /// The size of the parent's part.
    pub fn tokens(&self) -> Tokens {
        self.count.tokens
    }

    /// The copy of the parent's state.
    pub fn state(&self) -> &FoldedState {
        &self.state
    }

    /// Takes segments away from the front of the conversation, where the whole does not fit. What
    /// is left reads nothing of the messages from the cache.
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

/// A choice among tools makes no sense where there are none.
fn without_tool_choice(params: &RawJson) -> RawJson {
    let value: Option<serde_json::Value> = serde_json::from_slice(params.bytes()).ok();
    let stripped = value.and_then(|mut value| {
        value.as_object_mut()?.shift_remove("tool_choice")?;
        RawJson::from_value(&value).ok()
    });
    stripped.unwrap_or_else(|| params.clone())
}

/// The directive as a segment. It belongs to no record: its place is lent by the last segment.
/// A system message can only be followed by more of itself or by the assistant.
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
