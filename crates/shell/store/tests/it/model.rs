//! The log in a file against the log in memory, over random histories.

use crate::kit::{LOG, checkpoint, draft, kept, range, request, says, session};
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, LineContext, Record};
use dormouse_store::{AppendError, FileLog, MemoryLog, SessionLog};
use dormouse_system::{MemorySystem, Survives};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Append { durable: bool },
    WrongHead,
    Branch { back: usize },
    Checkpoint { kept: Vec<(usize, usize)> },
    Reopen,
    PowerCut,
    Kill { after: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<bool>().prop_map(|durable| Step::Append { durable }),
        1 => Just(Step::WrongHead),
        2 => (0_usize..6).prop_map(|back| Step::Branch { back }),
        2 => prop::collection::vec((0_usize..30, 0_usize..4), 0..4).prop_map(|kept| Step::Checkpoint { kept }),
        1 => Just(Step::Reopen),
        1 => Just(Step::PowerCut),
        1 => (0_u64..600).prop_map(|after| Step::Kill { after }),
    ]
}

fn open(memory: &MemorySystem) -> FileLog {
    let context = LineContext::default();
    FileLog::open(&memory.system(), LOG.as_ref(), context, "s".into()).unwrap()
}

/// Everything but the offsets, which only a file has.
fn plain(records: &[Record]) -> Vec<Record> {
    let mut records = records.to_vec();
    for record in &mut records {
        record.offset = 0;
    }
    records
}

fn head(log: &dyn SessionLog) -> Option<RecordId> {
    log.head().map(|head| head.id.clone())
}

/// The model after a crash that left this many records.
fn cut(model: &MemoryLog, left: usize) -> MemoryLog {
    let mut shorter = MemoryLog::new("s".into());
    for record in &model.records()[..left] {
        let mut draft = draft(record.id.as_str(), record.body.clone());
        draft.at = record.at;
        if let Some(parent) = &record.parent {
            draft = draft.on(parent.clone());
        }
        let expected = head(&shorter);
        shorter.append(expected.as_ref(), draft).unwrap();
    }
    shorter
}

fn body(written: &[Record], step: &Step, number: usize) -> Body {
    match step {
        _ if written.is_empty() => session(),
        Step::Append { durable: true } => request(),
        // Stretches anywhere in the log, on abandoned branches, too.
        Step::Checkpoint { kept } => {
            let at = |at: usize| &written[at.min(written.len() - 1)];
            let ranges = kept
                .iter()
                .map(|(first, len)| range(at(*first), at(first + len)));
            checkpoint(ranges.collect())
        }
        _ => says(&format!("text {number}")),
    }
}

proptest! {
    #[test]
    fn the_file_behaves_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        let memory = MemorySystem::new();
        let mut model = MemoryLog::new("s".into());
        let mut file = open(&memory);
        for (number, step) in steps.iter().enumerate() {
            let written = file.read().unwrap().records;
            let mut next = draft(&format!("r{number}"), body(&written, step, number));
            let expected = head(&model);
            match step {
                Step::WrongHead => {
                    let wrong = RecordId::from("nobody");
                    for log in [&mut file as &mut dyn SessionLog, &mut model] {
                        let refused = log.append(Some(&wrong), next.clone());
                        let moved = matches!(refused, Err(AppendError::HeadMoved { .. }));
                        prop_assert!(moved);
                    }
                }
                Step::Reopen => {
                    drop(file);
                    file = open(&memory);
                }
                Step::PowerCut | Step::Kill { .. } => {
                    if let Step::Kill { after } = step {
                        memory.files.go_down_after(*after);
                        let written = file.append(expected.as_ref(), next.clone()).is_ok();
                        if written {
                            model.append(expected.as_ref(), next).unwrap();
                        } else {
                            // Only the newline may have been missing.
                            let mut with = model.clone();
                            with.append(expected.as_ref(), next).unwrap();
                            model = with;
                        }
                        drop(file);
                        memory.files.crash_with(Survives::Written);
                    } else {
                        drop(file);
                        memory.files.crash();
                    }
                    file = open(&memory);
                    let left = file.read().unwrap().records.len();
                    let lost = model.records().len() - left;
                    let durable = model.records().iter().rposition(|record| record.body.must_be_durable());
                    if matches!(step, Step::PowerCut) {
                        prop_assert!(left > durable.unwrap_or(0) || durable.is_none());
                    } else {
                        prop_assert!(lost <= 1);
                    }
                    model = cut(&model, left);
                }
                Step::Append { .. } | Step::Branch { .. } | Step::Checkpoint { .. } => {
                    let records = model.records();
                    if let Step::Branch { back } = step
                        && let Some(at) = records.len().checked_sub(1 + back)
                    {
                        next = next.on(records[at].id.clone());
                    }
                    let written = file.append(expected.as_ref(), next.clone()).unwrap();
                    let modelled = model.append(expected.as_ref(), next).unwrap();
                    prop_assert_eq!(plain(&[written]), plain(&[modelled]));
                }
            }
            prop_assert_eq!(head(&file), head(&model));
            prop_assert_eq!(plain(&file.read().unwrap().records), plain(model.records()));
            let (live, modelled) = (file.resume().unwrap(), model.resume().unwrap());
            prop_assert_eq!(kept(&live), kept(&modelled));
            prop_assert_eq!(plain(&live.tail), plain(&modelled.tail));
            prop_assert_eq!(live.carrier.map(|record| record.id), modelled.carrier.map(|record| record.id));
        }
    }
}
