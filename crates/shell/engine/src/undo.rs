//! Taking rewrites back.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::session::Session;
use dormouse_context::breaker::Breaker;
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, Record};

impl Session {
    /// Takes back a rewrite (or else the newest) with all newer ones. What comes back is read
    /// from the log.
    ///
    /// # Errors
    /// When there is nothing to undo, it does not fit, the moment is wrong, or the log cannot be
    /// read or written.
    pub fn undo(&mut self, target: Option<&RecordId>) -> Result<usize, EngineError> {
        self.refresh();
        let records = self.records()?;
        let before: Vec<&Record> = path(&records, Leaf::Newest);
        let limit = self.settings.thresholds.blocking_limit;
        let undo = self.conversation.plan_undo(&before, target, limit)?;
        let rewrites = undo.targets.len();
        let record = self.append(Body::Undo(Box::new(undo)))?;
        let mut after = before;
        after.push(&record);
        let target = self.conversation.view().target().clone();
        self.conversation = Conversation::fold(&after, target);
        // The next prompt says nothing about a compaction that is no longer there.
        let breaker = Breaker::of(self.conversation.state());
        if breaker.unproven {
            let proven = Breaker {
                unproven: false,
                ..breaker
            };
            self.append(Body::State(proven.record()))?;
        }
        self.ledger.announce("a rewrite was undone");
        self.tell(Notice::Undone { rewrites });
        Ok(rewrites)
    }
}
