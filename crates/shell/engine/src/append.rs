//! Appending to the log: the only way anything changes.

use crate::error::EngineError;
use crate::session::Session;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, Checkpoint, Record};
use dormouse_core::settings::keys;
use dormouse_store::Draft;

impl Session {
    /// Appends a record behind the head and takes it into the conversation.
    pub(crate) fn append(&mut self, body: Body) -> Result<Record, EngineError> {
        let id = self.fresh_id();
        self.append_as(id, body, None)
    }

    /// Appends a record under a given id; `cause` is the rewrite that made it necessary.
    pub(crate) fn append_as(
        &mut self,
        id: RecordId,
        body: Body,
        cause: Option<&RecordId>,
    ) -> Result<Record, EngineError> {
        let head = self.ports.log.head().map(|head| head.id.clone());
        let draft = Draft {
            caused_by: cause.cloned(),
            ..Draft::new(id, self.now(), body)
        };
        let record = self.ports.log.append(head.as_ref(), draft)?;
        self.conversation.apply(&record);
        if let Some(watched) = &mut self.watched {
            watched.push(record.clone());
        }
        Ok(record)
    }

    /// Writes the folded state down when the log has grown by enough since it was last there.
    pub(crate) fn checkpoint_if_due(&mut self) -> Result<(), EngineError> {
        let every = self.settings.raw.get(keys::LOG_CHECKPOINT);
        if self.ports.log.bytes_since_checkpoint() < every {
            return Ok(());
        }
        self.checkpoint()
    }

    /// Writes the folded state down: on a clean exit, and now and then.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn checkpoint(&mut self) -> Result<(), EngineError> {
        let manifest = self.conversation.manifest();
        self.append(Body::Checkpoint(Box::new(Checkpoint { manifest })))?;
        Ok(())
    }
}
