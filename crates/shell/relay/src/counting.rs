//! Questions about the length of a prompt, rewritten as the message itself would be.
//!
//! # Model
//! A client that counts before it sends would count its own history, find it too long and compact it,
//! though a shorter prompt would be sent. Nothing is kept of such a question: no node, no record.

use crate::layers::{Facts, Layers, Seat};
use bytes::Bytes;
use dormouse_recognise::Seen;
use dormouse_rewrite::{Body, Record, Surroundings, compose, plan};

impl Layers {
    /// The body of a question as the message would be sent, but for a summary that is still to be
    /// asked for.
    pub fn counted(&self, seat: &Seat, body: &Body, seen: &Seen, facts: &Facts) -> Bytes {
        let folder = self.folder(&seat.slot, facts);
        let around = Surroundings {
            rules: &self.rules,
            models: &self.models,
            folder: folder.as_deref(),
            betas: &facts.betas,
            now: facts.now,
            refused: false,
        };
        // A copy: what is planned here is planned again, and kept, with the message.
        let mut line = seat.slot.line().clone();
        let planned = plan(body, seen, &line, &around);
        for record in planned.records {
            if let Record::Replaced(_) = record {
                line.apply(record);
            }
        }
        compose(body, seen, &line, &planned.due, &around).body
    }
}
