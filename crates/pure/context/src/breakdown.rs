//! Where the window went, by category.
//!
//! The parts are estimates; their sum is made to agree with the count, which is mostly measured.
//! Where the log does not hold the prefix (other tools do not write it down), what the messages
//! cannot explain is the system prompt and the tools.
//!
//! This looks at every segment: it is for people who ask, not for every turn.

use crate::category::Category;
use crate::conversation::Conversation;
use crate::prefix::RenderedPrefix;
use crate::segment::Segment;
use crate::tokens;
use dormouse_core::block::BlockKind;
use dormouse_core::id::CallId;
use dormouse_core::units::Tokens;
use std::collections::{BTreeMap, HashMap};

/// Tools that read a file, and what they call its path.
const READ_TOOLS: [&str; 3] = ["Read", "read_file", "View"];
const PATH_INPUTS: [&str; 2] = ["file_path", "path"];

/// The window by category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakdown {
    /// Tokens by category; they add up to the count.
    pub categories: BTreeMap<Category, Tokens>,
    /// Whether system and tools are what was left over, because the log does not hold them.
    pub prefix_inferred: bool,
    /// What earlier copies of files that were read again still cost. They are part of the tool
    /// results.
    pub duplicate_reads: Tokens,
}

/// Takes the window apart. `used` is the count it must add up to.
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

/// Makes estimates add up to a measured sum; the largest category takes the rounding.
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

/// Results of reads that were made again later with the same arguments.
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
                let path = PATH_INPUTS
                    .iter()
                    .find_map(|name| segment.block.input_text(name));
                let part = ["offset", "limit"].map(|name| segment.block.input_json(name));
                if let Some(path) = path {
                    reads.insert(call, format!("{path}\n{part:?}"));
                }
            }
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
