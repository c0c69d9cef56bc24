//! Sessions out of their records: by folding a whole path, or by resuming from a manifest.
//!
//! Both give the same session. A store hands out what it finds behind a manifest in the order of the
//! file, abandoned branches included; [`Conversation::resumed`] takes the path through it, so that
//! no caller has to.

use super::Conversation;
use crate::path::{Leaf, path};
use crate::target::Target;
use crate::undo;
use crate::view::View;
use dormouse_core::id::SessionId;
use dormouse_core::record::{Body, Record};

impl Conversation {
    /// Folds the records of a path, its undo records followed.
    pub fn fold(path: &[&Record], target: Target) -> Self {
        let mut conversation = Self::new(target);
        let kept = undo::kept(path, &undo::undone(path));
        // The view before an undo is folded without what it undoes; the state at that point is
        // the one its manifest gives.
        let is_undo = |record: &&Record| matches!(record.body, Body::Undo(_));
        let last_undo = path.iter().rposition(is_undo);
        let (before, after): (Vec<_>, Vec<_>) = kept
            .into_iter()
            .partition(|(at, _)| last_undo.is_some_and(|undo| *at <= undo));
        for (_, record) in before {
            undo::apply(&mut conversation.view, record);
        }
        if let Some(Body::Undo(undo)) = last_undo.map(|at| &path[at].body) {
            conversation.take_state(&undo.manifest.state);
        }
        for (_, record) in after {
            conversation.apply(record);
        }
        conversation.head = path.last().map(|record| record.id.clone());
        conversation
    }

    /// Resumes a session from the live part of its log: the record to start from, the earlier
    /// records it names, and everything behind it in the order of the file. Without a carrier the
    /// tail is all there is.
    ///
    /// The tail may hold abandoned branches, rewrites on them included. The session is the one that
    /// the newest record of the log ends ([`Leaf::Newest`]), and equals the fold of that record's
    /// whole path. A carrier that the path does not come to is passed over.
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
            // Another tool's boundary says by ids what it kept: those records are on the path.
            first.extend(kept.by_ref().map(|(_, record)| record));
        }
        first.extend(carrier);
        let on_path = path(first.into_iter().chain(tail), Leaf::Newest);
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

    /// The session right behind a record with a manifest: what the records that its ranges name
    /// give.
    pub fn resume<'a>(
        carrier: &Record,
        kept: impl IntoIterator<Item = (Option<&'a SessionId>, &'a Record)>,
        target: Target,
    ) -> Self {
        let Some(manifest) = carrier.body.manifest() else {
            // Another tool's boundary: it starts with what it says it kept.
            let mut conversation = Self::new(target);
            for (_, record) in kept {
                conversation.apply(record);
            }
            conversation.apply(carrier);
            return conversation;
        };
        let mut conversation = Self::new(target.clone());
        conversation.view = View::resume(carrier, manifest, kept, target);
        conversation.take_state(&manifest.state);
        if let Body::Boundary(boundary) = &carrier.body {
            conversation.compacted_to(boundary);
        }
        conversation.mark(carrier);
        conversation.head = Some(carrier.id.clone());
        conversation
    }
}
