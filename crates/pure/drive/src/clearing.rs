//! Layer 2: execution of a clearing. The removed texts are saved first, then one record is written.
//!
//! Not here: the selection (`context/src/clear`).

use crate::driver::Driver;
use crate::effect::{SaveFile, SavePlace, Work};
use crate::input::EffectOutcome;
use crate::layers::Job;
use crate::notice::Notice;
use crate::outbox::{Running, SaveFor};
use bytes::Bytes;
use dormouse_context::clear::{self, Selection};
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, Clearing};

/// Clearing whose texts are being saved.
#[derive(Debug)]
pub(crate) struct ClearRun {
    clearing: Clearing,
    selection: Selection,
    /// Head of the conversation that the selection was made for.
    head: Option<RecordId>,
    paths: Vec<String>,
}

impl Driver {
    pub(crate) fn clear(&mut self, selection: Selection, head: Option<RecordId>) {
        let folder = self.config.place.results();
        let shown = folder.display().to_string();
        let composed = clear::compose(self.conversation.view(), &selection, &shown);
        let paths = composed.saved.iter();
        let paths = paths.map(|saved| folder.join(&saved.name));
        let paths: Vec<_> = paths.collect();
        let files = composed.saved.into_iter().zip(&paths);
        let files = files.map(|(saved, path)| SaveFile {
            place: SavePlace::File(path.clone()),
            bytes: Bytes::from(saved.text),
        });
        let files: Vec<SaveFile> = files.collect();
        self.job = Some(Job::Clear(Box::new(ClearRun {
            clearing: composed.clearing,
            selection,
            head,
            paths: paths
                .iter()
                .map(|path| path.display().to_string())
                .collect(),
        })));
        // Nothing to save where the results are in files already.
        if files.is_empty() {
            self.clearing_saved(EffectOutcome::Saved(Ok(())));
        } else {
            self.outbox
                .start(Running::Save(SaveFor::Clearing), Work::Save(files));
        }
    }

    /// Records the clearing after its texts were saved. If one could not be saved nothing is
    /// cleared: the placeholder in the prompt would name a file that does not exist.
    pub(crate) fn clearing_saved(&mut self, outcome: EffectOutcome) {
        let Some(Job::Clear(run)) = self.job.take() else {
            return;
        };
        let failed = match outcome {
            EffectOutcome::Saved(Ok(())) => None,
            EffectOutcome::Saved(Err(failed)) => Some(failed),
            _ => Some((0, "the write was ended by the host".to_owned())),
        };
        if let Some((at, why)) = failed {
            let path = run.paths.get(at).cloned().unwrap_or_default();
            self.tell(Notice::NotSaved { path, why });
            // The same write would fail again in the next round.
            self.stop_tidying();
            return;
        }
        // The conversation has moved on meanwhile; the next round selects anew.
        if run.head.as_ref() != self.conversation.head() || self.cancelling() {
            return;
        }
        let notice = Notice::Cleared {
            results: run.clearing.blocks.len(),
            freed: run.selection.freed,
            why: run.selection.reason.clone(),
        };
        match self.emit(Body::Cleared(run.clearing)) {
            Ok(_) => {
                self.ledger.announce("old results were cleared");
                self.tell(notice);
            }
            Err(error) => self.fail_turn(error),
        }
    }
}
