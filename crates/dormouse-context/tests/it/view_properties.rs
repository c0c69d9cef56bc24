//! The invariants of the view, over random logs.

use crate::random_log::{Session, ops, targets};
use bytes::Bytes;
use dormouse_context::segment::SegmentList;
use dormouse_context::undo;
use dormouse_context::validate;
use dormouse_context::view::{View, ViewIssue};
use dormouse_core::record::{Body, LineContext, Record, Role, encode};
use proptest::prelude::*;

/// What a request puts on the wire, as far as the view decides it.
fn wire(list: &SegmentList) -> Vec<(Role, Bytes)> {
    list.iter()
        .map(|segment| (segment.role, segment.block.bytes().clone()))
        .collect()
}

/// Resumes the way the store does: from the newest record with a manifest.
fn resume(path: &[&Record], session: &Session) -> Option<View> {
    let at = path
        .iter()
        .rposition(|record| record.body.manifest().is_some())?;
    let carrier = path[at];
    let manifest = carrier.body.manifest()?;
    let in_ranges = session.log.records().iter().filter(|record| {
        manifest
            .ranges
            .iter()
            .any(|range| (range.first..=range.last).contains(&record.seq))
    });
    let mut view = View::resume(
        carrier,
        manifest,
        in_ranges.map(|record| (None, record)),
        session.target.clone(),
    );
    for record in &path[at + 1..] {
        view.apply(record);
    }
    Some(view)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_view_is_acceptable(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
            let view = session.view();
            let list = view.segments();
            prop_assert_eq!(validate::consistent(list.iter()), Ok(()), "after {:?}: {:#?}", op, wire(&list));
            if let Some(Body::Request(_)) = session.path().last().map(|record| &record.body)
                && list.last().is_some_and(|segment| segment.role != Role::Assistant)
            {
                prop_assert_eq!(validate::sendable(list.iter()), Ok(()));
            }
        }
    }

    #[test]
    fn what_a_request_contained_is_frozen(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        let mut sent: Option<Vec<(Role, Bytes)>> = None;
        for op in &ops {
            let happened = session.step(op);
            if op.is_rewrite() && happened {
                sent = None;
                continue;
            }
            let now = wire(&session.view().segments());
            if let Some(sent) = &sent {
                prop_assert!(now.starts_with(sent), "{:?} changed what was sent\n{:#?}\n{:#?}", op, sent, now);
            }
            if let Some(Body::Request(_)) = session.path().last().map(|record| &record.body) {
                sent = Some(now);
            }
        }
    }

    #[test]
    fn recorded_requests_are_rebuilt_exactly(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
        }
        // Each request as its own leaf: branches, undo and boundaries behind it do not matter.
        for record in session.log.records() {
            if let Body::Request(request) = &record.body {
                let path = dormouse_context::path::path(
                    session.log.records(),
                    dormouse_context::path::Leaf::Record(&record.id),
                );
                let view = undo::fold_path(&path, session.target.clone());
                prop_assert_eq!(view.extent(), (request.segments, request.chain));
            }
        }
    }

    #[test]
    fn resuming_gives_the_unbroken_view(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
            let path = session.path();
            if let Some(resumed) = resume(&path, &session) {
                let unbroken = session.view();
                let unbroken_issues = unbroken.issues();
                let new = resumed.issues().iter().find(|issue| !unbroken_issues.contains(issue));
                prop_assert_eq!(new, None);
                prop_assert_eq!(wire(&resumed.segments()), wire(&unbroken.segments()));
                prop_assert_eq!(resumed.extent(), unbroken.extent());
            }
        }
    }

    #[test]
    fn a_view_grows_record_by_record(ops in ops(60), target in targets()) {
        // The fold of the whole path is the same as applying its records one at a time, as long
        // as nothing is undone (an undo reads the log again).
        let mut session = Session::new(target.clone());
        for op in &ops {
            session.step(op);
        }
        let path = session.path();
        if path.iter().all(|record| !matches!(record.body, Body::Undo(_))) {
            let grown = View::fold(path.iter().copied(), target);
            prop_assert_eq!(wire(&grown.segments()), wire(&session.view().segments()));
            let mismatch = grown.issues().iter().find(|issue| matches!(issue, ViewIssue::RequestMismatch { .. }));
            prop_assert_eq!(mismatch, None);
        }
    }

    #[test]
    fn logs_round_trip(ops in ops(40), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
        }
        for record in session.log.records() {
            let mut line = encode(record, &LineContext::default()).unwrap();
            line.pop();
            let read = Record::parse(&Bytes::from(line), record.offset).unwrap();
            prop_assert!(read.issues.is_empty());
            prop_assert_eq!(&read.record, record);
        }
    }

    #[test]
    fn a_fork_shares_everything(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
        }
        let view = session.view();
        let fork = view.clone();
        for (ours, theirs) in view.frozen().iter().zip(fork.frozen().iter()) {
            prop_assert!(ours.block.shares_bytes_with(&theirs.block));
        }
    }
}
