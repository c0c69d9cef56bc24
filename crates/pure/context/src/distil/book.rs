//! The book of distilled results: how often each tool's were fetched again.
//!
//! A call that asks the same again within a few requests, or names the file behind a distillate,
//! counts as a fetch. The book is folded from the records and carried by manifests. A new session
//! begins with the counts of its project's earlier ones ([`Fetches`]), which its own outweigh.

use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::record::{Body, Distillation, Message, Record, Role};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Requests within which a repeated call counts as a fetch: what is asked again later would have
/// been compacted away anyway.
const SOON: u64 = 10;
/// Distilled results that are remembered for that: the most of ten requests with a few each.
const RECENT: usize = 32;
/// Probability assumed of a tool that has distilled nothing yet: a guess, low enough to begin with and
/// soon outweighed by what the session shows.
const ASSUMED: f64 = 0.07;
/// Observations that the assumption is worth: after as many results a tool's own figures count half.
const WEIGHT: f64 = 8.0;
/// Observations that all earlier sessions together are worth: enough to settle what the assumption
/// leaves open, few enough that two dozen results of this session outweigh another kind of work.
const EARLIER_WEIGHT: f64 = 24.0;

/// Distilled results by tool, and how many were fetched again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// Requests so far; the time by which repeats are judged.
    clock: u64,
    /// Results of this session, by tool.
    tools: Fetches,
    /// Results of the project's earlier sessions, by tool.
    #[serde(skip_serializing_if = "Fetches::is_empty")]
    earlier: Fetches,
    recent: VecDeque<Recent>,
}

/// Distilled results and how many were fetched again, by tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fetches(BTreeMap<String, Counts>);

impl Fetches {
    /// True if no tool has a distilled result.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the counts of another session.
    pub(crate) fn add(&mut self, other: &Self) {
        for (tool, counts) in &other.0 {
            let sum = self.0.entry(tool.clone()).or_default();
            sum.distilled = sum.distilled.saturating_add(counts.distilled);
            sum.again = sum.again.saturating_add(counts.again);
        }
    }

    fn of(&self, tool: &str) -> Counts {
        self.0.get(tool).copied().unwrap_or_default()
    }
}

/// Distilled results of one tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    distilled: u32,
    again: u32,
}

/// A distilled result that may be fetched again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recent {
    tool: String,
    /// Hash of tool and arguments.
    asked: Hash,
    /// Name of the file with the whole text.
    file: String,
    /// Request after which it was distilled.
    at: u64,
}

impl Book {
    /// Probability that a distilled result of this tool is fetched again.
    pub fn again(&self, tool: &str) -> f64 {
        let (own, earlier) = (self.tools.of(tool), self.earlier.of(tool));
        // A long history counts for as much as a short one, or this session could not correct it.
        let share = (EARLIER_WEIGHT / f64::from(earlier.distilled.max(1))).min(1.0);
        let again = f64::from(own.again) + share * f64::from(earlier.again);
        let distilled = f64::from(own.distilled) + share * f64::from(earlier.distilled);
        (again + ASSUMED * WEIGHT) / (distilled + WEIGHT)
    }

    /// Book of a new session whose project has these earlier counts.
    pub(crate) fn starting_from(earlier: Fetches) -> Self {
        Self {
            earlier,
            ..Self::default()
        }
    }

    /// Counts of this session alone, which it leaves to later ones.
    pub(crate) fn fetches(&self) -> &Fetches {
        &self.tools
    }

    /// Results distilled and fetched again, over all tools.
    pub fn totals(&self) -> (u32, u32) {
        let counts = self.tools.0.values();
        counts.fold((0, 0), |sum, one| {
            (sum.0 + one.distilled, sum.1 + one.again)
        })
    }

    /// True if nothing was distilled here or earlier, so that manifests need not carry the book.
    pub(crate) fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.earlier.is_empty()
    }

    /// Folds a record; `view` is the view after it.
    pub(crate) fn observe(&mut self, record: &Record, view: &View) {
        match &record.body {
            // Before the first distillation there is nothing to remember.
            Body::Request(_) if !self.tools.is_empty() => self.clock += 1,
            Body::Message(message) if message.role == Role::Assistant => self.asked(message),
            Body::Distilled(distilled) => self.distilled(distilled, view),
            _ => {}
        }
    }

    fn asked(&mut self, message: &Message) {
        if self.recent.is_empty() {
            return;
        }
        let calls = message.content.iter();
        for call in calls.filter(|block| block.kind() == BlockKind::ToolUse) {
            let asked = identity(call);
            let found = self.recent.iter().position(|one| {
                let soon = self.clock <= one.at + SOON && one.asked == asked;
                let opened = memmem::find(call.bytes(), one.file.as_bytes()).is_some();
                soon || (!one.file.is_empty() && opened)
            });
            // Each distillate counts once, however often its file is opened.
            if let Some(one) = found.and_then(|at| self.recent.remove(at)) {
                let counts = self.tools.0.entry(one.tool).or_default();
                counts.again = counts.again.saturating_add(1);
            }
        }
    }

    fn distilled(&mut self, distilled: &Distillation, view: &View) {
        for one in &distilled.blocks {
            let call = one.block.call();
            let frozen = view.frozen();
            // The call stands shortly before its result.
            let blocks = (0..frozen.len()).rev().filter_map(|at| frozen.get(at));
            let mut calls = blocks
                .map(|segment| &segment.block)
                .filter(|block| block.kind() == BlockKind::ToolUse);
            let Some(call) = calls.find(|block| block.call() == call) else {
                continue;
            };
            let tool = call.tool().unwrap_or_default().to_owned();
            let counts = self.tools.0.entry(tool.clone()).or_default();
            counts.distilled = counts.distilled.saturating_add(1);
            self.recent.push_back(Recent {
                tool,
                asked: identity(call),
                file: one.file.clone().unwrap_or_default(),
                at: self.clock,
            });
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
    }
}

/// Hash of a call's tool and arguments, without its id.
fn identity(call: &Block) -> Hash {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        input: Option<&'a serde_json::value::RawValue>,
    }
    let parsed: Option<Call<'_>> = serde_json::from_slice(call.bytes()).ok();
    let input = parsed
        .and_then(|call| call.input)
        .map_or("", |input| input.get());
    let tool = Hash::of(call.tool().unwrap_or_default().as_bytes());
    tool.link(b'i', Hash::of(input.as_bytes()))
}
