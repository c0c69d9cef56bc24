//! The manifest of a boundary record.
//!
//! The layers decide what is summarised and what is kept; this module turns the decision into the
//! complete layout of the new prompt, and removes what can no longer stand in it: results without
//! calls, thinking bound to changed content.
//!
//! Not here: the session's state in the manifest
//! ([`crate::conversation::Conversation::compacted`]).

use crate::category::Category;
use crate::layout;
use crate::lookup::Spans;
use crate::normalise::normalise;
use crate::segment::{Place, Segment};
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{BlockKey, RecordId, Seq};
use dormouse_core::record::{LineRun, Manifest, Role, SeqRange};
use dormouse_core::weight::Weight;
use std::sync::Arc;

/// Position of the summary relative to the kept segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryPlace {
    /// In front: the beginning of the conversation was summarised.
    Front,
    /// Behind: the end was summarised, and the cached prefix survives.
    Back,
    /// In front, as the provider's own signed block. It stands for the whole conversation,
    /// including messages not answered yet.
    Provider,
}

/// Content of a boundary: the blocks it adds and the records it keeps.
#[derive(Clone, Debug)]
pub struct Compaction<'a> {
    /// Sequence number that the boundary record will have; segments refer to it.
    pub seq: Seq,
    /// Id that the boundary record will have.
    pub id: RecordId,
    /// Blocks of the summary, its user messages and evidence.
    pub summary: &'a [Block],
    /// Blocks restored behind the summary: files, skills, plan, to-dos.
    pub restored: &'a [Block],
    /// Those of the blocks that the record stores as lines; their texts join the ranges.
    pub spliced: &'a [Vec<LineRun>],
    /// Records whose segments are kept. Unsent segments are always kept, with the calls they
    /// answer.
    pub keep: &'a [SeqRange],
    /// Position of the summary.
    pub place: SummaryPlace,
}

impl Compaction<'_> {
    /// Manifest of the boundary, without the session's state, and the weight of the new view.
    pub fn manifest(&self, view: &View) -> (Manifest, Weight) {
        let blocks = u32::try_from(self.summary.len() + self.restored.len()).unwrap_or(u32::MAX);
        let place = Arc::new(Place {
            seq: self.seq,
            offset: 0,
            id: self.id.clone(),
            session: None,
            blocks,
            ordinal: None,
            run: 0,
        });
        let added =
            (0_u32..)
                .zip(self.summary.iter().chain(self.restored))
                .map(|(index, block)| Segment {
                    // The provider's compaction block is an assistant block; everything else speaks
                    // as the user.
                    role: match block.kind() {
                        BlockKind::Compaction => Role::Assistant,
                        _ => Role::User,
                    },
                    block: block.clone(),
                    origin: BlockKey::new(self.seq, index),
                    derived: None,
                    category: Category::Summary,
                    place: Arc::clone(&place),
                    index,
                });
        if self.place == SummaryPlace::Provider {
            return self.of_provider(view, &added.collect::<Vec<_>>());
        }
        let keep = Spans::new(self.keep.iter().copied());
        let is_kept = |segment: &&Segment| keep.has(segment.origin.record);
        // A response whose calls are being answered has to stay whole; a finished one is history.
        let tail = view.tail();
        let calls = |segment: &Segment| segment.block.kind() == BlockKind::ToolUse;
        let (finished, mut response) = if tail.response.iter().any(calls) {
            (Vec::new(), tail.response.clone())
        } else {
            (tail.response.clone(), Vec::new())
        };
        let response_id = tail.response_id.clone().filter(|_| !response.is_empty());
        let history = view.frozen().iter().chain(&finished);
        let kept = history.filter(is_kept).cloned();
        let frozen: Vec<Segment> = match self.place {
            SummaryPlace::Front | SummaryPlace::Provider => added.chain(kept).collect(),
            SummaryPlace::Back => kept.chain(added).collect(),
        };
        // From the first changed segment on, bound thinking would be refused.
        let frozen = if view.target().binds_to_prefix() {
            let unchanged = frozen
                .iter()
                .zip(view.frozen().iter())
                .take_while(|(a, b)| a.same_prompt(b));
            let unchanged = unchanged.count();
            response.retain(|segment| !segment.block.kind().is_thinking());
            let (front, back) = frozen.split_at(unchanged);
            let back = back
                .iter()
                .filter(|segment| !segment.block.kind().is_thinking());
            front.iter().chain(back).cloned().collect()
        } else {
            frozen
        };
        let frozen = normalise(frozen);
        let all = || frozen.iter().chain(&response).chain(&tail.incoming);
        let weight = all().fold(Weight::default(), |sum, segment| {
            sum + *segment.block.weight()
        });
        let manifest = Manifest {
            ranges: view.ranges_of(all(), self.spliced, None, self.seq),
            frozen: layout::describe(&frozen),
            response: layout::describe(&response),
            response_id,
            incoming: layout::describe(&tail.incoming),
            ..Manifest::default()
        };
        (manifest, weight)
    }

    /// Manifest for the provider's block. The blocks the engine adds follow it as unsent messages.
    fn of_provider(&self, view: &View, added: &[Segment]) -> (Manifest, Weight) {
        let (frozen, incoming) = added.split_at(self.summary.len().min(added.len()));
        let weight = added.iter().fold(Weight::default(), |sum, segment| {
            sum + *segment.block.weight()
        });
        let manifest = Manifest {
            ranges: view.ranges_of(added, self.spliced, None, self.seq),
            frozen: layout::describe(frozen),
            incoming: layout::describe(incoming),
            ..Manifest::default()
        };
        (manifest, weight)
    }
}
