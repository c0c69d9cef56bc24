//! Layouts: a view described without its bytes, and rebuilt from records.
//!
//! [`describe`] compresses segments into runs that name records and blocks; [`Shelf::build`] is its
//! inverse. A shelf holds the blocks that runs may name. It is filled from records when a session
//! is resumed, and from the live segments when an unbroken session applies a boundary; both then
//! build the same view from the same description.
//!
//! Not here: the state in a manifest ([`crate::conversation`]).

use crate::category::Category;
use crate::derive;
use crate::segment::{Place, Segment};
use crate::splice::Texts;
use dormouse_core::block::Block;
use dormouse_core::id::{BlockKey, Seq, SessionId};
use dormouse_core::record::{Body, Derived, KeptRange, LayoutRun, Record, Role};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Role of a record's blocks before settling. Fragments are system messages until the view knows
/// whether the model accepts these.
pub(crate) fn natural_role(body: &Body) -> Role {
    match body {
        Body::Message(message) => message.role,
        Body::Fragment(_) => Role::System,
        _ => Role::User,
    }
}

/// Compresses segments into runs: consecutive blocks of one record first, then whole messages that
/// follow each other in the log.
pub(crate) fn describe<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Vec<LayoutRun> {
    let mut parts: Vec<(LayoutRun, &Segment)> = Vec::new();
    for segment in segments {
        match parts.last_mut() {
            Some((run, last)) if continues(last, segment) => {
                run.count += 1;
                *last = segment;
            }
            _ => parts.push((single(segment), segment)),
        }
    }
    let mut runs: Vec<LayoutRun> = Vec::with_capacity(parts.len());
    let mut previous: Option<&Segment> = None;
    for (run, last) in parts {
        // Only complete, unchanged records may be named as a range: the range stores no block
        // indices.
        let whole = is_plain(last) && run.index == 0 && run.count == last.place.blocks;
        match (runs.last_mut(), previous) {
            (Some(joined), Some(before)) if whole && adjacent(&before.place, &last.place) => {
                joined.last_record = Some(run.record);
            }
            _ => runs.push(run),
        }
        previous = whole.then_some(last);
    }
    runs
}

/// A run of one segment.
fn single(segment: &Segment) -> LayoutRun {
    let plain_role = segment.place.ordinal.is_some() && segment.derived.is_none();
    LayoutRun {
        record: segment.place.seq,
        last_record: None,
        index: segment.index,
        count: 1,
        // A message's role is in its record; for every other segment the layout has to store it.
        role: (!plain_role).then_some(segment.role),
        origin: segment.is_rewritten().then_some(segment.origin),
        derived: segment.derived,
    }
}

/// True if the segment is a message's block as recorded: not derived, not rewritten.
fn is_plain(segment: &Segment) -> bool {
    segment.place.ordinal.is_some() && segment.derived.is_none() && !segment.is_rewritten()
}

/// True if `next` is the next plain block of the same record.
fn continues(last: &Segment, next: &Segment) -> bool {
    is_plain(last)
        && is_plain(next)
        && Arc::ptr_eq(&last.place, &next.place)
        && next.index == last.index + 1
}

/// True if two messages follow each other in the log with only records without blocks between them.
fn adjacent(last: &Place, next: &Place) -> bool {
    last.run == next.run
        && last.session == next.session
        && last.ordinal.map(|ordinal| ordinal + 1) == next.ordinal
}

/// Log ranges of the records that hold the segments' bytes, merged where that saves a read.
pub(crate) fn ranges<'a>(
    segments: impl IntoIterator<Item = &'a Segment>,
    own_session: Option<&SessionId>,
    not: Seq,
) -> Vec<KeptRange> {
    let mut ranges: Vec<KeptRange> = Vec::new();
    let mut before: Option<&Arc<Place>> = None;
    for segment in segments {
        let place = &segment.place;
        // The carrier of the manifest is read in any case, and a record has one range.
        let same = before.is_some_and(|before| Arc::ptr_eq(before, place));
        if place.seq != not && !same {
            ranges.push(place_range(place, own_session));
        }
        before = Some(place);
    }
    merged(ranges)
}

/// Range of a single record. `own_session` names this log where a fork refers to it.
pub(crate) fn place_range(place: &Place, own_session: Option<&SessionId>) -> KeptRange {
    KeptRange {
        session: place.session.as_ref().or(own_session).cloned(),
        first: place.seq,
        last: place.seq,
        offset: place.offset,
        last_offset: place.offset,
        first_id: place.id.clone(),
    }
}

/// Ranges in the order of the log, joined across gaps that are cheaper to read than to skip.
pub(crate) fn merged(mut ranges: Vec<KeptRange>) -> Vec<KeptRange> {
    /// Largest gap to read over, in bytes: 64 KiB take less time to read than another seek and
    /// call.
    const GAP: u64 = 64 * 1024;
    ranges.sort_by(|a, b| (&a.session, a.first).cmp(&(&b.session, b.first)));
    let mut joined: Vec<KeptRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            // A record that lies within another range is read with it.
            Some(last) if last.session == range.session && range.last <= last.last => {}
            Some(last)
                if last.session == range.session
                    && range.offset >= last.last_offset
                    && range.offset - last.last_offset <= GAP =>
            {
                last.last = range.last;
                last.last_offset = range.last_offset;
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// A block on the shelf, with the role and category of its segment.
#[derive(Clone, Debug)]
struct Shelved {
    block: Block,
    role: Role,
    category: Category,
}

/// The blocks that runs may name, by record and index.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    records: BTreeMap<Seq, (Arc<Place>, BTreeMap<u32, Shelved>)>,
    /// Live derived segments. Their source block may be gone, so they are kept whole.
    derived: HashMap<(BlockKey, Derived), Segment>,
}

impl Shelf {
    /// Adds all blocks of a record, those made of lines from `texts`. Returns the number of runs
    /// of lines that are not there.
    pub(crate) fn add_record(
        &mut self,
        record: &Record,
        place: &Arc<Place>,
        texts: &Texts,
    ) -> usize {
        let mut missing = 0;
        let mut blocks: Vec<Block> = record.body.blocks().into_iter().cloned().collect();
        if let Body::Boundary(boundary) = &record.body {
            let spliced = boundary.spliced.iter();
            blocks.extend(spliced.map(|runs| texts.block(runs, &mut missing)));
        }
        // Records without blocks cannot be named by a layout.
        if blocks.is_empty() {
            return missing;
        }
        let role = natural_role(&record.body);
        let shelved = (0_u32..).zip(blocks).map(|(index, block)| {
            let category = Category::of(&record.body, &block);
            (
                index,
                Shelved {
                    block,
                    role,
                    category,
                },
            )
        });
        self.records
            .insert(record.seq, (Arc::clone(place), shelved.collect()));
        missing
    }

    /// Adds the blocks of live segments, under the records that hold their bytes.
    pub(crate) fn add_segments<'a>(&mut self, segments: impl IntoIterator<Item = &'a Segment>) {
        for segment in segments {
            let (_, blocks) = self
                .records
                .entry(segment.place.seq)
                .or_insert_with(|| (Arc::clone(&segment.place), BTreeMap::new()));
            // The source's slot stays free: its own block may be on the shelf, or gone.
            if let Some(derived) = segment.derived {
                self.derived
                    .insert((segment.source(), derived), segment.clone());
                continue;
            }
            let shelved = Shelved {
                block: segment.block.clone(),
                role: segment.role,
                category: segment.category,
            };
            blocks.insert(segment.index, shelved);
        }
    }

    /// Builds the segments that runs describe. Blocks not on the shelf are counted in `missing`.
    pub(crate) fn build(&self, runs: &[LayoutRun], missing: &mut usize) -> Vec<Segment> {
        let mut out = Vec::new();
        for run in runs {
            match run.last_record {
                Some(last) => {
                    let before = out.len();
                    for (place, blocks) in self.records.range(run.record..=last).map(|(_, v)| v) {
                        // A range also covers records that are no messages (fragments, notes); runs
                        // name those apart.
                        if place.ordinal.is_some() {
                            out.extend(
                                blocks
                                    .iter()
                                    .map(|(index, shelved)| segment(place, *index, shelved, run)),
                            );
                        }
                    }
                    // The length of a range is not stored, so an empty one counts as a single loss.
                    *missing += usize::from(out.len() == before);
                }
                None => {
                    for index in run.index..run.index + run.count {
                        match self.one(run, index) {
                            Some(segment) => out.push(segment),
                            None => *missing += 1,
                        }
                    }
                }
            }
        }
        out
    }

    /// Builds one segment of a run, derived ones from the live copy if there is one.
    fn one(&self, run: &LayoutRun, index: u32) -> Option<Segment> {
        let live = run.derived.and_then(|derived| {
            let key = (BlockKey::new(run.record, index), derived);
            self.derived.get(&key).cloned()
        });
        live.or_else(|| {
            let (place, blocks) = self.records.get(&run.record)?;
            match (blocks.get(&index), run.derived) {
                (Some(shelved), _) => Some(segment(place, index, shelved, run)),
                // Derived blocks that only keep turns in order have a fixed text and need no
                // source.
                (None, Some(derived)) => {
                    let block = derive::without_source(derived)?;
                    let role = derive::role(derived);
                    let category = derive::category(derived);
                    let stand_in = Shelved {
                        block,
                        role,
                        category,
                    };
                    Some(segment(place, index, &stand_in, run))
                }
                (None, None) => None,
            }
        })
    }
}

fn segment(place: &Arc<Place>, index: u32, shelved: &Shelved, run: &LayoutRun) -> Segment {
    let plain = Segment {
        role: run.role.unwrap_or(shelved.role),
        block: shelved.block.clone(),
        origin: run.origin.unwrap_or(BlockKey::new(place.seq, index)),
        derived: None,
        category: shelved.category,
        place: Arc::clone(place),
        index,
    };
    match run.derived {
        None => plain,
        Some(derived) => Segment {
            block: derive::derive(derived, &shelved.block),
            derived: Some(derived),
            category: derive::category(derived),
            ..plain
        },
    }
}
