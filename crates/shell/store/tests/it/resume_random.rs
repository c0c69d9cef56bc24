//! Over random logs, a resume and a full read agree.

use crate::kit::{
    LOG, boundary, branch, checkpoint, log, open, push, range, resume, says, session,
};
use dormouse_context::path::{Leaf, path};
use dormouse_core::id::RecordId;
use dormouse_core::record::Record;
use dormouse_system::MemorySystem;
use proptest::prelude::*;

/// One append: its kind, the record it branches off (0: none), its length.
type Step = (u8, usize, usize);

fn build(steps: &[Step], garbage: bool) -> MemorySystem {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    let mut records = vec![push(&mut writer, "s", session())];
    for (number, (kind, back, length)) in steps.iter().enumerate() {
        // None, one or several, wherever they lie.
        let kept = (0..number % 4).map(|nth| &records[(number * 7 + nth * 3) % records.len()]);
        let kept = kept.map(|kept| range(kept, kept)).collect();
        let body = match kind {
            0 => checkpoint(kept),
            1 => boundary(kept),
            _ => says(&"x".repeat(*length)),
        };
        let id = format!("r{number}");
        let parent = records[records.len() - 1 - back % records.len()].id.clone();
        let record = if *back == 0 {
            push(&mut writer, &id, body)
        } else {
            branch(&mut writer, &id, parent.as_str(), body)
        };
        records.push(record);
    }
    if garbage {
        let mut text = memory.files.content(LOG).unwrap().to_vec();
        text.extend_from_slice(b"{\"subtype\":\"checkpoint\",\"torn");
        memory.files.put(LOG, text);
    }
    memory
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_resume_starts_where_a_full_read_would(
        steps in prop::collection::vec((0_u8..8, prop_oneof![3 => Just(0), 1 => 1_usize..9], 0_usize..3_000), 0..40),
        garbage: bool,
    ) {
        let memory = build(&steps, garbage);
        let all = log(&memory, LOG).read_all().unwrap();
        let on_path = path(&all.records, Leaf::Newest);
        let carries = |record: &&&Record| record.body.manifest().is_some();
        let expected = on_path.iter().rfind(carries).copied();
        let resumed = resume(&memory);
        prop_assert_eq!(resumed.carrier.as_ref(), expected);
        // Every record the engine needs of the tail is there.
        let after = expected.map_or(0, |carrier| carrier.offset + 1);
        let needed = on_path.iter().filter(|record| record.offset >= after);
        let ids: Vec<&RecordId> = resumed.tail.iter().map(|record| &record.id).collect();
        prop_assert!(needed.map(|record| &record.id).all(|id| ids.contains(&id)));
        // And what the manifest names.
        let ranges = expected.and_then(|carrier| carrier.body.manifest()).map(|manifest| &manifest.ranges);
        let named: Vec<&RecordId> = ranges.into_iter().flatten().map(|range| &range.first_id).collect();
        let kept: Vec<&RecordId> = resumed.kept.iter().map(|(_, record)| &record.id).collect();
        prop_assert_eq!(kept, named);
    }
}
