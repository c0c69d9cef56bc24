//! Layer 2, carried out: texts saved, then one record.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::session::Session;
use dormouse_context::clear::{self, Selection};
use dormouse_core::record::Body;

impl Session {
    /// Clears a selection. If a text cannot be saved nothing is cleared: the log still has it, but
    /// the marker would point nowhere.
    pub(crate) fn clear_results(&mut self, selection: &Selection) -> Result<bool, EngineError> {
        let folder = self.results_folder();
        let shown = folder.display().to_string();
        let composed = clear::compose(self.conversation.view(), selection, &shown);
        for saved in &composed.saved {
            if let Err(error) = self.save(&folder.join(&saved.name), saved.text.as_bytes()) {
                self.tell(Notice::NotSaved {
                    path: folder.join(&saved.name).display().to_string(),
                    why: error.to_string(),
                });
                return Ok(false);
            }
        }
        let notice = Notice::Cleared {
            results: composed.clearing.blocks.len(),
            freed: selection.freed,
            why: selection.reason.clone(),
        };
        self.append(Body::Cleared(composed.clearing))?;
        self.ledger.announce("old results were cleared");
        self.tell(notice);
        Ok(true)
    }
}
