//! A summary without a model: the sentences ranked highest by extractive summarisation.
//!
//! It always succeeds. The earlier summary has half of the budget to itself, so that later content
//! cannot crowd it out.

use crate::category::Category;
use crate::segment::Segment;
use dormouse_core::block::BlockKind;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use dormouse_text::summary::{Budget, Passage, Voice, summarise};

/// Most bytes read of one text, from its beginning, so that a single pasted file neither dominates
/// the extract nor costs a scan of megabytes.
const MOST_OF_ONE: usize = 16 * 1024;

/// Most bytes read of one tool result: its beginning names the command or error; the rest would
/// crowd out the conversation.
const MOST_OF_RESULT: usize = 1_024;

/// Extract of the segments, of about `budget` tokens at most. `earlier` is the summary before.
pub fn extract<'a>(
    segments: impl IntoIterator<Item = &'a Segment>,
    earlier: Option<&str>,
    budget: Tokens,
    bytes: BytesPerToken,
) -> String {
    let texts: Vec<(Voice, String)> = segments
        .into_iter()
        .filter_map(|segment| Some((voice(segment)?, readable(segment)?)))
        .collect();
    let cost = |text: &str| cost(text, bytes);
    let whole = usize::try_from(budget.get()).unwrap_or(usize::MAX);
    let pick = |passages: &[Passage<'_>], limit: usize| {
        let budget = Budget::Measured { limit, cost: &cost };
        summarise(passages, budget).text(passages)
    };
    let passages: Vec<Passage<'_>> = texts
        .iter()
        .map(|(voice, text)| Passage {
            text,
            voice: *voice,
        })
        .collect();
    match earlier.filter(|text| !text.trim().is_empty()) {
        None => pick(&passages, whole),
        Some(earlier) => {
            // Unused room of this half goes to the recent part.
            let share = whole / 2;
            let kept = condensed(earlier, Tokens(share as u64), bytes);
            let recent = pick(&passages, whole.saturating_sub(cost(&kept)));
            format!("{kept}\n\nSince then:\n\n{recent}")
        }
    }
}

/// Earlier summary within a budget: whole if it fits, else its highest-ranked sentences.
pub(crate) fn condensed(earlier: &str, budget: Tokens, bytes: BytesPerToken) -> String {
    let cost = |text: &str| cost(text, bytes);
    let limit = usize::try_from(budget.get()).unwrap_or(usize::MAX);
    if cost(earlier) <= limit {
        return earlier.to_owned();
    }
    let passages = [Passage {
        text: earlier,
        voice: Voice::Document,
    }];
    summarise(&passages, Budget::Measured { limit, cost: &cost }).text(&passages)
}

/// Estimated tokens of a text, at least one, so that no passage is free.
fn cost(text: &str, bytes: BytesPerToken) -> usize {
    let tokens = bytes.text.tokens_of(text.len() as u64).get();
    usize::try_from(tokens).unwrap_or(usize::MAX).max(1)
}

/// Speaker for the ranking; `None` leaves the segment out.
fn voice(segment: &Segment) -> Option<Voice> {
    match segment.category {
        Category::Human => Some(Voice::User),
        Category::Assistant => Some(Voice::Assistant),
        Category::ToolResults => Some(Voice::Tool),
        _ => None,
    }
}

/// Beginning of a segment's text, up to its limit. Thinking is left out.
fn readable(segment: &Segment) -> Option<String> {
    if segment.block.kind().is_thinking() {
        return None;
    }
    let most = match segment.block.kind() {
        BlockKind::ToolResult => MOST_OF_RESULT,
        _ => MOST_OF_ONE,
    };
    let mut text = segment.block.readable_text()?;
    text.truncate(text.floor_char_boundary(most));
    Some(text)
}
