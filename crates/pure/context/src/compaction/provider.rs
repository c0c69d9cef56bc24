//! A compaction that the provider makes: one signed block that stands for the conversation.
//!
//! Used where thinking is bound to the prompt in front of it and a turn is under way: a local
//! rewrite would have to wait. The block takes the place of all messages, those not answered yet
//! included; what the engine keeps without a model follows it as words.

use super::frame::Parts;
use super::gate::GateError;
use super::protocol::JobContext;
use crate::compact::{Compaction, SummaryPlace};
use crate::evidence;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Boundary, BoundaryKind, Trigger};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// What stands in the frame, since the summary stands before it.
const BEFORE: &str = "The summary of the conversation stands before this.";

/// The boundary for the provider's block, and what is left, as estimated.
///
/// # Errors
/// When the block holds no summary, or nothing would get smaller.
pub fn provider_boundary(
    cx: &JobContext<'_>,
    trigger: Trigger,
    blocks: &[Block],
) -> Result<(Boundary, Tokens), GateError> {
    let summary = blocks
        .iter()
        .find(|block| block.kind() == BlockKind::Compaction)
        .filter(|block| {
            block
                .readable_text()
                .is_some_and(|text| !text.trim().is_empty())
        })
        .ok_or(GateError::Empty)?;
    let conversation = cx.conversation;
    let bytes = conversation.bytes_per_token();
    let chronicle = &conversation.state().chronicle;
    let section = evidence::user_messages(chronicle, cx.settings.user_messages, bytes, |_| false);
    let ledger = evidence::render_beside(chronicle, cx.settings.evidence, bytes, |_| true);
    let beside = Parts {
        summary: BEFORE.to_owned(),
        user_messages: Some(section.text).filter(|text| !text.is_empty()),
        evidence: Some(ledger).filter(|text| !text.is_empty()),
        history: cx.history.to_owned(),
    };
    let restored = beside.blocks();
    let summary = vec![summary.clone()];
    let weight = |sum: Weight, block: &Block| sum + *block.weight();
    let added = summary
        .iter()
        .chain(&restored)
        .fold(Weight::default(), weight);
    let added = cx.measure.tokens(&added);
    let segments = conversation.view().segments();
    let replaced = cx.measure.tokens(&segments.weight(segments.len()));
    if added >= replaced {
        return Err(GateError::NotSmaller {
            result: added,
            replaced,
        });
    }
    let manifest = conversation.compacted(&Compaction {
        seq: cx.seq,
        id: cx.id.clone(),
        summary: &summary,
        restored: &restored,
        keep: &[],
        place: SummaryPlace::Provider,
    });
    let before = conversation.count(cx.prefix).tokens;
    let after = before + added - replaced;
    let written = summary.iter().fold(Weight::default(), weight);
    let boundary = Boundary {
        trigger,
        kind: BoundaryKind::Full,
        pre_tokens: Some(before),
        post_tokens: Some(after),
        fixed_tokens: Some(cx.measure.tokens(cx.prefix)),
        summary_tokens: Some(cx.measure.tokens(&written)),
        summary,
        restored,
        previous: conversation.state().boundary.clone(),
        manifest: Some(manifest),
        preserved: None,
    };
    Ok((boundary, after))
}
