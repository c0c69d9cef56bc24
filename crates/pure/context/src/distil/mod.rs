//! Layer 1, second form: results that are distilled once the model has answered them.
//!
//! # Model
//! A long result has to be seen whole once. After its answer it is read again with every request
//! until the next compaction, although most of it is never used again. At the tail it can be
//! replaced cheaply: it is sent behind the last cache marker, and its distillate is written instead
//! of it. When the results of a round are in, the planner weighs each of them; the request record
//! names the chosen ones, and the record of the distillation follows the whole answer.
//!
//! # Responsibilities
//! The rules that keep a result whole, the arithmetic, the text of a distillate, the probability
//! that a result is fetched again.
//!
//! # Not here
//! Files, records and the moment ([`crate::plan`] places the markers, the driver carries it out),
//! and the number of requests to come (the policy).

mod book;
mod compose;
mod worth;

#[cfg(test)]
mod tests;

pub use book::{Book, Fetches};
pub use compose::{Distillate, distillate, names};
pub use worth::{Stakes, Worth};

use crate::policy::Facts;
use crate::segment::Segment;
use crate::tail::Tail;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::BlockKey;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use memchr::memmem;

/// Tokens of a call that fetches a result again: a tool, a path and a range.
const CALL: Tokens = Tokens(100);

/// Tokens from which a result that is kept is worth a line among the reasons of a request.
const TOLD: Tokens = Tokens(1_000);

/// Settings of distilling (`distil.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistilSettings {
    /// True if results are distilled (`distil`).
    pub on: bool,
    /// Tools whose results may be distilled (`distil.tools`).
    pub tools: Vec<String>,
    /// Most tokens of a distillate (`distil.limit`).
    pub limit: Tokens,
}

impl DistilSettings {
    /// Reads the values from the settings table.
    pub fn new(settings: &Settings) -> Self {
        Self {
            on: settings.switch(keys::DISTIL).is_on(),
            tools: settings.get(keys::DISTIL_TOOLS),
            limit: settings.get(keys::DISTIL_LIMIT),
        }
    }
}

/// Facts about provider and tools that are not in the conversation.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// True if the provider caches on its own, whatever is marked.
    pub automatic: bool,
    /// Shortest prefix in tokens that the provider caches.
    pub minimum: Tokens,
    /// Folder of results as the model is shown it.
    pub folder: &'a str,
}

/// Results of a round that are to be distilled, with the reasons for these and for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistilPlan {
    /// Keys of the results, in the order they are sent: largest last.
    pub keys: Vec<BlockKey>,
    /// Arithmetic of each long result.
    pub reasons: Vec<String>,
}

/// Decides about the results that wait for the next request. `reads_files` tells tools whose
/// results are files; `ahead` is the number of requests expected before the next compaction or the
/// end.
pub fn plan(
    facts: &Facts<'_>,
    around: &Surroundings<'_>,
    ahead: f64,
    reads_files: impl Fn(&str) -> bool,
) -> DistilPlan {
    let settings = &facts.settings.distil;
    let view = facts.conversation.view();
    let tail = view.tail();
    let mut plan = DistilPlan::default();
    if !settings.on {
        return plan;
    }
    let waiting = |results: bool| {
        let parts = view.waiting();
        let parts = parts.filter(|one| (one.block.kind() == BlockKind::ToolResult) == results);
        let weight = parts.fold(Weight::default(), |sum, one| sum + *one.block.weight());
        facts.measure.tokens(&weight)
    };
    let behind = waiting(false);
    // A provider caches nothing below its minimum: there is nothing to save by not marking.
    let marked = facts.used - waiting(true) - behind;
    let bound = view.target().binds_to_prefix() && thinks(facts);
    let mut gains: Vec<(Tokens, BlockKey, Worth)> = Vec::new();
    for segment in view.waiting() {
        let size = facts.measure.tokens(segment.block.weight());
        if segment.block.kind() != BlockKind::ToolResult || size < TOLD {
            continue;
        }
        let tool = call_of(tail, segment).and_then(Block::tool).unwrap_or("?");
        let keeps = if marked < around.minimum || size < around.minimum {
            Some("shorter than the provider caches")
        } else if bound {
            Some("thinking will be bound to it")
        } else {
            kept_because(tail, segment, settings, around, &reads_files)
        };
        if let Some(why) = keeps {
            plan.reasons
                .push(format!("{tool} result of {size} tokens kept: {why}"));
            continue;
        }
        let worth = Worth::new(
            &Stakes {
                size,
                short: settings.limit.min(size),
                ahead,
                again: facts.conversation.distil_book().again(tool),
                prompt: facts.used,
                call: CALL,
                automatic: around.automatic,
            },
            facts.rates,
        );
        let verdict = if worth.gain > 0.0 { "distil" } else { "keep" };
        plan.reasons
            .push(format!("{verdict} {tool} result: {worth}"));
        if worth.gain > 0.0 {
            gains.push((size, segment.origin, worth));
        }
    }
    // Words and fragments behind the results go unmarked once, whatever the number of results.
    let cost = worth::behind(behind, around.automatic, facts.rates);
    let gain: f64 = gains.iter().map(|(_, _, worth)| worth.gain).sum();
    if gains.is_empty() {
        return plan;
    }
    if gain <= cost {
        plan.reasons.push(format!(
            "nothing is distilled: {behind} tokens behind the results cost {cost:.0}, the gain is {gain:.0}"
        ));
        return plan;
    }
    gains.sort_by_key(|(size, key, _)| (*size, *key));
    plan.keys = gains.into_iter().map(|(_, key, _)| key).collect();
    plan
}

/// True if the model's answers hold thinking, or it has not answered yet: looked up in the blocks,
/// because thinking can be switched off on a model that binds it.
fn thinks(facts: &Facts<'_>) -> bool {
    let view = facts.conversation.view();
    let mut blocks = view.frozen().iter().rev().chain(&view.tail().response);
    view.tail().response.is_empty() || blocks.any(|one| one.block.kind().is_thinking())
}

/// Call that a waiting result answers.
fn call_of<'a>(tail: &'a Tail, result: &Segment) -> Option<&'a Block> {
    let mut calls = tail.response().iter().map(|segment| &segment.block);
    calls.find(|block| block.kind() == BlockKind::ToolUse && block.call() == result.block.call())
}

/// Rule that keeps a result whole whatever it costs; `None` if the arithmetic decides.
fn kept_because(
    tail: &Tail,
    segment: &Segment,
    settings: &DistilSettings,
    around: &Surroundings<'_>,
    reads_files: &impl Fn(&str) -> bool,
) -> Option<&'static str> {
    let block = &segment.block;
    let Some(call) = call_of(tail, segment) else {
        return Some("its call is not in the answer");
    };
    let tool = call.tool().unwrap_or_default();
    if segment.derived.is_some() || segment.is_rewritten() {
        Some("it was replaced already")
    } else if block.is_error() {
        Some("it is an error")
    } else if block.weight().media_tokens > 0 {
        Some("it holds images or documents")
    } else if reads_files(tool)
        || call
            .input_text("command")
            .is_some_and(|it| reads_one_file(&it))
    {
        Some("it is a file, and the turn may go on to edit it")
    } else if memmem::find(call.bytes(), around.folder.as_bytes()).is_some() {
        Some("it was brought back from a file of results")
    } else if !settings.tools.iter().any(|name| name == tool) {
        Some("the tool is not among `distil.tools`")
    } else {
        None
    }
}

/// True if a shell line shows one file, as a read does.
pub fn reads_one_file(command: &str) -> bool {
    /// Programs that print a file.
    const PRINTERS: [&str; 8] = ["cat", "head", "tail", "sed", "less", "more", "nl", "bat"];
    let line = command.trim();
    // A line of several commands is more than a read; in doubt the result is kept only by its size.
    let plain = !line.contains(['|', ';', '&', '>', '<', '`', '$', '\n']);
    let mut words = line.split_whitespace();
    let prints = words
        .next()
        .and_then(|program| program.rsplit('/').next())
        .is_some_and(|program| PRINTERS.contains(&program));
    let files = words.filter(|word| !word.starts_with('-') && word.contains(['/', '.']));
    plain && prints && files.count() == 1
}
