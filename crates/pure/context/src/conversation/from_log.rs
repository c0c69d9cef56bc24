//! Sessions from their records: by folding a whole path, or by resuming from a manifest.
//!
//! Both give the same session. A store returns the records behind a manifest in file order,
//! abandoned branches included; [`Conversation::resumed`] selects the path among them, so that no
//! caller has to.

use super::Conversation;
use crate::path::{Leaf, path};
use crate::target::Target;
use crate::undo;
use crate::view::View;
use dormouse_core::id::SessionId;
use dormouse_core::record::{Body, Record};

impl Conversation {
    /// Folds the records of a path and follows its undo records.
    pub fn fold(path: &[&Record], target: Target) -> Self {
        let mut conversation = Self::new(target);
        let kept = undo::kept(path, &undo::undone(path));
        // Up to the last undo only the view is folded, without the undone rewrites; the undo's
        // manifest holds the state at that point. Folding the state too would count the undone
        // records twice.
        let is_undo = |record: &&Record| matches!(record.body, Body::Undo(_));
        let last_undo = path.iter().rposition(is_undo);
        let (before, after): (Vec<_>, Vec<_>) = kept
            .into_iter()
            .partition(|(at, _)| last_undo.is_some_and(|undo| *at <= undo));
        for (_, record) in before {
            undo::apply(&mut conversation.view, record);
        }
        if let Some(Body::Undo(undo)) = last_undo.map(|at| &path[at].body) {
            let before = path.iter().map(|record| (None, *record));
            conversation.load_state(&undo.manifest.state, before);
        }
        for (_, record) in after {
            conversation.apply(record);
        }
        // The head is the newest record of the path, even if an undo left that record out of the
        // fold.
        conversation.head = path.last().map(|record| record.id.clone());
        conversation
    }

    /// Resumes a session from the live part of its log: the `carrier` (newest record with a
    /// manifest), the earlier records it names (`kept`), and everything behind it in file order
    /// (`tail`). Without a carrier the tail is the whole log.
    ///
    /// The tail may hold abandoned branches, rewrites on them included. The session returned ends
    /// at the log's newest record ([`Leaf::Newest`]) and equals the fold of that record's whole
    /// path. A carrier that does not lie on this path is ignored.
    pub fn resumed<'a>(
        carrier: Option<&'a Record>,
        kept: impl IntoIterator<Item = (Option<&'a SessionId>, &'a Record)>,
        tail: &'a [Record],
        target: Target,
    ) -> Self {
        let is_manifest = carrier.is_some_and(|carrier| carrier.body.manifest().is_some());
        let mut kept = kept.into_iter();
        let mut first = Vec::new();
        if !is_manifest {
            // A boundary of another tool lists the ids of the records it kept; these are part of
            // the path.
            first.extend(kept.by_ref().map(|(_, record)| record));
        }
        first.extend(carrier);
        let on_path = path(first.into_iter().chain(tail), Leaf::Newest);
        // After a rewind the newest manifest may lie on an abandoned branch.
        let starts = |carrier: &&Record| on_path.first().is_some_and(|root| root.id == carrier.id);
        match carrier.filter(|_| is_manifest).filter(starts) {
            Some(carrier) => {
                let mut conversation = Self::resume(carrier, kept, target);
                for record in &on_path[1..] {
                    conversation.apply(record);
                }
                conversation
            }
            None => Self::fold(&on_path, target),
        }
    }

    /// Session right behind a record with a manifest, rebuilt from the records its ranges name.
    pub fn resume<'a>(
        carrier: &Record,
        kept: impl IntoIterator<Item = (Option<&'a SessionId>, &'a Record)>,
        target: Target,
    ) -> Self {
        let Some(manifest) = carrier.body.manifest() else {
            // A boundary of another tool has no manifest: apply the records it kept, then itself.
            let mut conversation = Self::new(target);
            for (_, record) in kept {
                conversation.apply(record);
            }
            conversation.apply(carrier);
            return conversation;
        };
        let kept: Vec<_> = kept.into_iter().collect();
        let mut conversation = Self::new(target.clone());
        conversation.view = View::resume(carrier, manifest, kept.iter().copied(), target);
        conversation.load_state(&manifest.state, kept);
        if let Body::Boundary(boundary) = &carrier.body {
            conversation.compacted_to(boundary);
        }
        conversation.mark(carrier);
        conversation.head = Some(carrier.id.clone());
        conversation
    }
}
