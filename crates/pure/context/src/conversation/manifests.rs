//! Manifests of a session: for checkpoints, boundaries, undo records and forks; and the state they
//! carry, put into a session again.
//!
//! The chronicle stands in a manifest without the entries that page records hold
//! (`evidence/pages.rs`). The ranges of a manifest therefore cover the pages as well as the
//! messages.
//!
//! Not here: the layout of the view (`crate::layout`, `crate::boundary`).

use super::{Conversation, DISTIL, ECONOMY, view_weight};
use crate::boundary::Compaction;
use crate::evidence::pages;
use crate::layout;
use crate::segment::Place;
use crate::tokens;
use crate::undo::{self, UndoError};
use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::record::{
    Body, Chronicle, ChroniclePage, FoldedState, Lineage, Manifest, Record, Undo,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Responses whose figures may still change behind a boundary: the one under way, the summary's,
/// and a few forks that run beside them.
const UNSETTLED_BEHIND: usize = 8;

/// Page record of the chronicle.
#[derive(Clone, Debug)]
pub(super) struct KnownPage {
    place: Arc<Place>,
    /// Bytes of its entries when it was written, by the estimate of [`pages::weight`].
    weight: usize,
}

impl Conversation {
    /// Manifest of the session as it is, for a checkpoint.
    pub fn manifest(&self) -> Manifest {
        self.completed(self.view.layout(), self.state.clone(), None)
    }

    /// Page of the chronicle to be written now, so that manifests need not repeat its entries: none
    /// before those amount to `least` bytes.
    pub fn page_due(&self, least: usize) -> Option<ChroniclePage> {
        let sizes = self.pages.iter().map(|(seq, page)| (*seq, page.weight));
        pages::due(&self.state.chronicle, &sizes.collect(), least)
    }

    /// Complete manifest of a boundary record.
    pub fn compacted(&self, compaction: &Compaction<'_>) -> Manifest {
        let (manifest, after) = compaction.manifest(&self.view);
        let mut state = self.state.clone();
        tokens::rewritten(&mut state, &self.weight(), &after, self.bytes);
        // The compaction removes file contents and recalled memories from the prompt: a stale entry
        // here would stop recall and restoration from showing them again.
        state.read_files.clear();
        state.surfaced.clear();
        state.forgotten_until = state.chronicle.clock;
        state.undone = false;
        let models = &self.view.target().models;
        state.totals.settle_all_but(UNSETTLED_BEHIND, models);
        // The break-even of the notes is counted per compaction cycle.
        state.notes_usage = TokenUsage::default();
        state.notes_updates = 0;
        let left = tokens::calibration(&state, &self.view.target().model);
        if let Some(notes) = &mut state.notes {
            // Growth since the last update is measured from the compacted size; from the old size
            // it would be negative and the notes would not be due for a long time.
            notes.conversation = left.correct(tokens::estimate(&after, self.bytes));
        }
        self.completed(manifest, state, None)
    }

    /// Plans the undo of `target` (the newest rewrite if `None`) with all newer ones. `path` is the
    /// session's whole path, because the view no longer holds the content that comes back.
    ///
    /// # Errors
    /// When no such rewrite is in force, bound thinking forbids it now, or the result exceeds
    /// `limit`.
    pub fn plan_undo(
        &self,
        path: &[&Record],
        target: Option<&RecordId>,
        limit: Tokens,
    ) -> Result<Undo, UndoError> {
        let restored = undo::restore(path, target, self.view.target())?;
        let mut state = self.state.clone();
        state.undone = true;
        let (before, after) = (self.weight(), view_weight(&restored.view));
        tokens::rewritten(&mut state, &before, &after, self.bytes);
        let needed = tokens::count(&state, &after, self.bytes).tokens;
        if needed > limit {
            return Err(UndoError::DoesNotFit { needed, limit });
        }
        let manifest = self.completed(restored.view.layout(), state, None);
        Ok(Undo {
            targets: restored.targets,
            thinking: restored.thinking,
            manifest,
        })
    }

    /// Lineage record of a fork: a reference into this log and a copy of the state.
    pub fn lineage(&self, session: &SessionId, head: (&RecordId, Seq), directive: &str) -> Lineage {
        let layout = Manifest {
            ranges: self.view.ranges(Some(session), Seq::default()),
            ..self.view.layout()
        };
        self.lineage_with(layout, session, head, directive)
    }

    /// The same for a fork that begins with the latest response: results and messages that came since
    /// are left out.
    pub fn lineage_of_history(
        &self,
        session: &SessionId,
        head: (&RecordId, Seq),
        directive: &str,
    ) -> Lineage {
        let layout = self.view.layout_of_history(session);
        self.lineage_with(layout, session, head, directive)
    }

    fn lineage_with(
        &self,
        layout: Manifest,
        session: &SessionId,
        head: (&RecordId, Seq),
        directive: &str,
    ) -> Lineage {
        let manifest = self.completed(layout, self.state.clone(), Some(session));
        Lineage {
            session: session.clone(),
            record: head.0.clone(),
            seq: head.1,
            prefix: self.state.prefix.as_ref().map(|prefix| prefix.id),
            directive: directive.to_owned(),
            manifest,
        }
    }

    /// Adds the state to a layout: the chronicle by its pages, whose ranges join those of the
    /// layout, and the estimators as a fact. `own_session` names this log where a fork refers to
    /// it.
    fn completed(
        &self,
        layout: Manifest,
        mut state: FoldedState,
        own_session: Option<&SessionId>,
    ) -> Manifest {
        if let Ok(economy) = serde_json::to_value(self.economy) {
            state.facts.insert(ECONOMY.to_owned(), economy);
        }
        if !self.book.is_empty()
            && let Ok(book) = serde_json::to_value(&self.book)
        {
            state.facts.insert(DISTIL.to_owned(), book);
        }
        state.chronicle = pages::in_manifest(&state.chronicle);
        let named = state.chronicle.paged.iter().flat_map(|paged| &paged.pages);
        let places = named.filter_map(|seq| self.pages.get(seq));
        let places = places.map(|page| layout::place_range(&page.place, own_session));
        let ranges = layout.ranges.iter().cloned().chain(places);
        Manifest {
            ranges: layout::merged(ranges.collect()),
            state,
            ..layout
        }
    }

    /// Takes over the state of a manifest that the unbroken session meets.
    pub(super) fn meet_state(&mut self, state: &FoldedState) {
        let chronicle = pages::from_live(&state.chronicle, &self.state.chronicle);
        self.take_state(state, chronicle);
    }

    /// Takes over the state of a manifest from the page records it names.
    pub(super) fn load_state<'a>(
        &mut self,
        state: &FoldedState,
        records: impl IntoIterator<Item = (Option<&'a SessionId>, &'a Record)>,
    ) {
        let mut held: BTreeMap<Seq, &ChroniclePage> = BTreeMap::new();
        for (session, record) in records {
            if let Body::Chronicle(page) = &record.body {
                held.insert(record.seq, page);
                self.know_page(session, record);
            }
        }
        let chronicle = pages::from_pages(&state.chronicle, |seq| held.get(&seq).copied());
        self.take_state(state, chronicle);
    }

    /// Inverse of [`Self::completed`]: estimators of another version are dropped, not an error.
    fn take_state(&mut self, state: &FoldedState, chronicle: Chronicle) {
        self.state = FoldedState {
            chronicle,
            ..state.clone()
        };
        let economy = self.state.facts.remove(ECONOMY);
        self.economy = economy
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default();
        let book = self.state.facts.remove(DISTIL);
        self.book = book
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default();
        let homes = pages::homes(&self.state.chronicle);
        self.pages.retain(|seq, _| homes.contains(seq));
    }

    /// Remembers where a page record lies; `session` is its log, if not this one.
    pub(super) fn know_page(&mut self, session: Option<&SessionId>, record: &Record) {
        if let Body::Chronicle(page) = &record.body {
            let place = Arc::new(Place {
                seq: record.seq,
                offset: record.offset,
                id: record.id.clone(),
                session: session.cloned(),
                blocks: 0,
                ordinal: None,
                run: 0,
            });
            let weight = pages::weight(page);
            self.pages.insert(record.seq, KnownPage { place, weight });
        }
    }
}
