//! Requests and changes of state, folded into a session; evidence on windows.
//!
//! # Not here
//! Messages, usage and rewrites: `conversation.rs`. The meaning of the evidence:
//! [`crate::window_proof`].

use super::{Conversation, DISTIL, ECONOMY};
use crate::window_proof;
use dormouse_core::id::BlockKey;
use dormouse_core::record::{
    LastRequest, Message, Record, Request, Role, StateChange, WindowEvidence, Windows,
};
use serde::Deserialize;
use std::sync::Arc;

impl Conversation {
    /// Evidence of the log on the window of the target model.
    pub fn window_evidence(&self) -> Option<&WindowEvidence> {
        let target = self.view.target();
        window_proof::evidence_on(&self.state.windows, &target.model, &target.models)
    }

    /// Adds evidence of a part of the log before the one that was folded.
    pub fn add_earlier_windows(&mut self, earlier: Windows) {
        let models = Arc::clone(&self.view.target().models);
        window_proof::add_earlier(&mut self.state.windows, earlier, &models);
    }

    pub(super) fn observe_window(&mut self, record: &Record) {
        let models = Arc::clone(&self.view.target().models);
        window_proof::observe(&mut self.state.windows, record, &models);
    }

    /// Takes a request record: model, effort, time since the last request, cache markers.
    pub(super) fn request(&mut self, record: &Record, request: &Request) {
        #[derive(Deserialize)]
        struct Params {
            output_config: Option<OutputConfig>,
        }
        #[derive(Deserialize)]
        struct OutputConfig {
            effort: Option<String>,
        }
        let params: Option<Params> = serde_json::from_slice(request.params.bytes()).ok();
        self.state.effort = params.and_then(|params| params.output_config?.effort);
        self.state.model = Some(request.model.clone());
        let last = self.state.last_request.as_ref().and_then(|last| last.at);
        if let Some((last, now)) = last.zip(record.at) {
            self.state.gaps.add(now.since(last));
        }
        self.state.last_request = Some(LastRequest {
            id: record.id.clone(),
            at: record.at,
            segments: request.segments,
            chain: request.chain,
            markers: request.markers.clone(),
            distil: request.distil.clone(),
            marked: request.marked,
            answered: false,
        });
    }

    /// Puts results that wait behind all others, in this order, as the next request will.
    pub fn arrange(&mut self, last: &[BlockKey]) {
        self.view.arrange(last);
    }

    /// Results of the last request that are to be distilled now: its response is whole.
    pub fn distillable(&self) -> &[BlockKey] {
        match &self.state.last_request {
            Some(last) if last.answered => &last.distil,
            _ => &[],
        }
    }

    /// Notes the end of a response. One that was cut off leaves the results whole.
    pub(super) fn maybe_answered(&mut self, message: &Message) {
        let whole = message.role == Role::Assistant
            && matches!(
                message.stop_reason.as_deref(),
                Some("tool_use" | "end_turn")
            );
        if let Some(last) = self.state.last_request.as_mut().filter(|_| whole) {
            // Without results to distil the flag would only lengthen manifests.
            last.answered = !last.distil.is_empty();
        }
    }

    /// Notes that the results of the last request were distilled.
    pub(super) fn distilled(&mut self) {
        if let Some(last) = &mut self.state.last_request {
            last.distil.clear();
            last.answered = false;
        }
    }

    /// Folds a state change. A null value removes the entry, so that facts can be withdrawn.
    pub(super) fn change(&mut self, change: &StateChange) {
        let state = &mut self.state;
        match change {
            StateChange::Surfaced { memories } => state.surfaced.extend(memories.iter().cloned()),
            StateChange::ReadState { path, detail } if detail.is_null() => {
                state.read_files.remove(path);
            }
            StateChange::ReadState { path, detail } => {
                state.read_files.insert(path.clone(), detail.clone());
            }
            StateChange::Cursor { name, at } => {
                state.cursors.insert(name.clone(), *at);
            }
            StateChange::Fact { name, value } if name == ECONOMY => {
                if let Ok(known) = serde_json::from_value(value.clone()) {
                    self.economy = known;
                }
            }
            StateChange::Fact { name, value } if name == DISTIL => {
                if let Ok(book) = serde_json::from_value(value.clone()) {
                    self.book = book;
                }
            }
            StateChange::Fact { name, value } if value.is_null() => {
                state.facts.remove(name);
            }
            StateChange::Fact { name, value } => {
                state.facts.insert(name.clone(), value.clone());
            }
            StateChange::MemorySaved { .. }
            | StateChange::Dream { .. }
            | StateChange::Attempt(_) => {}
        }
    }
}
