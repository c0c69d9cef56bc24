//! The window by category, for display.
//!
//! The parts are estimates, scaled so that their sum equals the token count, which is mostly
//! measured. If the log does not hold the prefix (other tools do not record it), the tokens that
//! the messages cannot explain are shown as system prompt.
//!
//! The function visits every segment: call it when a user asks, not in every turn.

use crate::category::Category;
use crate::conversation::Conversation;
use crate::files_read::path_of;
use crate::prefix::RenderedPrefix;
use crate::segment::Segment;
use crate::tokens;
use dormouse_core::block::BlockKind;
use dormouse_core::id::CallId;
use dormouse_core::units::Tokens;
use std::collections::{BTreeMap, HashMap};

/// Tools that read a file, under the names that known clients give them.
const READ_TOOLS: [&str; 3] = ["Read", "read_file", "View"];

/// Tokens in the window by category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakdown {
    /// Tokens by category; the sum is the count. Empty categories are left out.
    pub categories: BTreeMap<Category, Tokens>,
    /// True if `System` holds the unexplained rest, because the log does not hold the prefix.
    pub prefix_inferred: bool,
    /// Tokens of earlier copies of files that were read again; contained in the tool results.
    pub duplicate_reads: Tokens,
}

/// Computes the breakdown. `used` is the count that the parts must add up to.
pub fn breakdown(
    conversation: &Conversation,
    prefix: Option<&RenderedPrefix>,
    used: Tokens,
) -> Breakdown {
    let bytes = conversation.bytes_per_token();
    let state = conversation.state();
    let model = state.model.clone().unwrap_or_default();
    let calibration = tokens::calibration(state, &model);
    let estimate = |weight| calibration.correct(tokens::estimate(weight, bytes));

    let mut categories: BTreeMap<Category, Tokens> = BTreeMap::new();
    let segments = conversation.view().segments();
    for segment in segments.iter() {
        *categories.entry(segment.category).or_default() += estimate(segment.block.weight());
    }
    if let Some(prefix) = prefix {
        let parts = [
            (Category::Tools, prefix.tools()),
            (Category::System, prefix.system()),
            (Category::Instructions, prefix.fragments()),
        ];
        for (category, parts) in parts {
            *categories.entry(category).or_default() +=
                parts.iter().map(|p| estimate(&p.weight)).sum();
        }
    }
    let duplicates = duplicate_reads(segments.iter())
        .into_iter()
        .map(|segment| estimate(segment.block.weight()))
        .sum();
    let sum: Tokens = categories.values().copied().sum();
    // The measured count includes a prefix that the log does not hold: the gap is its size.
    let prefix_inferred = prefix.is_none() && sum < used;
    if prefix_inferred {
        *categories.entry(Category::System).or_default() += used - sum;
    } else {
        scale(&mut categories, sum, used);
    }
    categories.retain(|_, tokens| *tokens != Tokens::ZERO);
    Breakdown {
        categories,
        prefix_inferred,
        duplicate_reads: duplicates,
    }
}

/// Scales estimates to a measured sum; the largest category takes the rounding error.
fn scale(categories: &mut BTreeMap<Category, Tokens>, sum: Tokens, used: Tokens) {
    if sum == Tokens::ZERO {
        return;
    }
    for tokens in categories.values_mut() {
        let scaled = u128::from(tokens.get()) * u128::from(used.get()) / u128::from(sum.get());
        *tokens = Tokens(u64::try_from(scaled).unwrap_or(u64::MAX));
    }
    let rest = used - categories.values().copied().sum();
    if let Some(largest) = categories.values_mut().max() {
        *largest += rest;
    }
}

/// Results of reads that were repeated later with the same path, offset and limit.
fn duplicate_reads<'a>(segments: impl Iterator<Item = &'a Segment>) -> Vec<&'a Segment> {
    let mut reads: HashMap<&CallId, String> = HashMap::new();
    let mut newest: HashMap<String, &Segment> = HashMap::new();
    let mut earlier = Vec::new();
    for segment in segments {
        let Some(call) = segment.block.call() else {
            continue;
        };
        match segment.block.kind() {
            BlockKind::ToolUse
                if segment
                    .block
                    .tool()
                    .is_some_and(|t| READ_TOOLS.contains(&t)) =>
            {
                let path = path_of(&segment.block);
                // Another part of the same file is no duplicate.
                let part = ["offset", "limit"].map(|name| segment.block.input_json(name));
                if let Some(path) = path {
                    reads.insert(call, format!("{path}\n{part:?}"));
                }
            }
            // A cleared or replaced copy costs next to nothing and must not count.
            BlockKind::ToolResult if !segment.is_rewritten() && segment.derived.is_none() => {
                if let Some(what) = reads.get(call)
                    && let Some(before) = newest.insert(what.clone(), segment)
                {
                    earlier.push(before);
                }
            }
            _ => {}
        }
    }
    earlier
}
