//! Compaction by the provider: one signed block that replaces the conversation.
//!
//! Used within a turn on models that bind thinking to the prompt, where a local rewrite would have
//! to wait. The block replaces all messages, unanswered ones included; the user's messages and the
//! evidence follow it as ordinary text.
//!
//! Not here: asking the provider for the block.

use super::frame::{History, Parts};
use super::gate::GateError;
use super::protocol::JobContext;
use crate::boundary::{Compaction, SummaryPlace};
use crate::evidence;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Boundary, BoundaryKind, Trigger};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;

/// Text in the frame's place for the summary, which the provider's block holds.
const BEFORE: &str = "The summary of the conversation stands before this.";

/// Boundary for the provider's block, and the estimated tokens left.
///
/// # Errors
/// When the block holds no summary, or the result is not smaller than what it replaces.
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
    // No message stays in view, so the section has to hold all of them (`|_| false`).
    let section = evidence::user_messages(chronicle, cx.settings.user_messages, bytes, |_| false);
    let ledger = evidence::render_beside(chronicle, cx.settings.evidence, bytes, |_| true);
    let beside = Parts {
        summary: BEFORE.to_owned(),
        user_messages: Some(section.text).filter(|text| !text.is_empty()),
        evidence: Some(ledger).filter(|text| !text.is_empty()),
        history: History::Log(cx.history.to_owned()),
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
    // The prompt would stay as long as it was, and the next request would compact again.
    if added >= replaced {
        return Err(GateError::NotSmaller {
            result: added,
            replaced,
        });
    }
    // The signed block comes first and stays whole, so that the texts behind it keep their indices.
    let spliced = conversation.view().spliced(cx.seq, &restored);
    let manifest = conversation.compacted(&Compaction {
        seq: cx.seq,
        id: cx.id.clone(),
        summary: &summary,
        restored: &restored,
        spliced: &spliced.blocks,
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
        restored: spliced.whole,
        text: spliced.text,
        spliced: spliced.blocks,
        previous: conversation.state().boundary.clone(),
        manifest: Some(manifest),
        preserved: None,
    };
    Ok((boundary, after))
}
