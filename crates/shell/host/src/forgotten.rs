//! Forgetting in a session, for people: what each rewrite took out of the prompt, and what the next
//! compaction would take.
//!
//! # Model
//! The records of the newest path are folded once; around each rewrite the prompts before and after are
//! compared, segment by segment. The next compaction is asked of the planner that the session itself
//! asks, on the live part of the log.
//!
//! # Not here
//! The decision: `dormouse-context`.

use crate::error::HostError;
use crate::host::Host;
use crate::transcripts::Transcript;
use dormouse_context::clear::Measure;
use dormouse_context::compaction::{Kept, Scope};
use dormouse_context::conversation::Conversation;
use dormouse_context::economy::Prices;
use dormouse_context::layers::{LayerInputs, LayerSettings, LayerState, Moment, NotesStatus, plan};
use dormouse_context::path::{Leaf, trace};
use dormouse_context::policy;
use dormouse_context::segment::Segment;
use dormouse_context::tokens;
use dormouse_context::window::{Thresholds, Window};
use dormouse_core::block::BlockKind;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId};
use dormouse_core::record::{Body, BoundaryKind, Purpose, Record, ReplacementDecision};
use dormouse_core::settings::keys;
use dormouse_core::show::Grouped;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_core::usage_book::UsageBook;
use dormouse_store::{Depth, LogFile, LogWork, scan_usage_in};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Parts of a rewrite that are listed; the rest is counted.
const MOST_PARTS: usize = 200;
/// Characters of a part that are shown: about two lines.
const BEGINNING: usize = 160;

/// A rewrite of the prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forgetting {
    /// Record that rewrote the prompt.
    pub record: RecordId,
    /// Layer that acted: `offload`, `distil`, `clear` or `compact`.
    pub layer: &'static str,
    /// Time at which it acted.
    #[serde(skip)]
    pub at: Option<Millis>,
    /// Reason for the rewrite, in words for people.
    pub why: String,
    /// Tokens that left the prompt, by the layer's estimate.
    pub freed: Tokens,
    /// Price of its own requests; `None` if it made none.
    pub cost: Option<Usd>,
    /// True if it was taken back.
    pub undone: bool,
    /// True if it can be taken back.
    pub can_undo: bool,
    /// Names and figures of the user's before a compaction, and those still in the prompt after it.
    pub facts: Option<(u64, u64)>,
    /// Parts that left the prompt, in its order.
    pub parts: Vec<ForgottenPart>,
    /// Parts beyond those that are listed.
    pub more: usize,
}

/// Part of the prompt that is gone, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForgottenPart {
    /// Sort of content, such as a tool's result.
    pub category: &'static str,
    /// Tokens that it took, by estimate.
    pub tokens: Tokens,
    /// Its beginning, on one line.
    pub words: String,
}

/// The next compaction as it would be now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NextCompaction {
    /// Tokens of the prompt now.
    pub used: Tokens,
    /// Tokens at which it begins by itself; `None` if it does not.
    pub begins_at: Option<Tokens>,
    /// Reason of the policy for compacting now, or for not doing so.
    pub why: String,
    /// Name of the policy.
    pub policy: &'static str,
    /// Tokens that would be summarised.
    pub drops: Tokens,
    /// Tokens of the conversation that would stay word for word.
    pub stays: Tokens,
    /// Expected tokens of the summary.
    pub summary: Tokens,
    /// Price of the summary, and of writing the shorter prompt to the cache; `None` without prices.
    pub price: Option<Usd>,
    /// Price of one more request with the prompt as it is.
    pub request_now: Option<Usd>,
    /// Price of one more request behind the compaction.
    pub request_then: Option<Usd>,
    /// Reason why nothing would go.
    pub nothing: Option<String>,
    /// Parts that would be summarised, in the order of the prompt.
    pub parts: Vec<ForgottenPart>,
    /// Parts beyond those that are listed.
    pub more: usize,
}

impl Host {
    /// Rewrites of a session's prompt, newest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn forgotten(&self, file: &Path) -> Result<Vec<Forgetting>, HostError> {
        let transcripts = self.transcripts();
        let read = transcripts.read(file)?;
        let path = trace(&read.records, Leaf::Newest).records;
        let undone: HashSet<&RecordId> = path
            .iter()
            .filter_map(|record| match &record.body {
                Body::Undo(undo) => Some(&undo.targets),
                _ => None,
            })
            .flatten()
            .collect();
        let live = transcripts.live(file)?;
        let measure = measure(&live);
        let models = self.models();
        let mut facts = self.facts_kept(file)?.into_iter();
        let mut conversation = Conversation::new(live.conversation.view().target().clone());
        let mut spent: BTreeMap<Purpose, Usd> = BTreeMap::new();
        let mut rows = Vec::new();
        for record in path {
            match &record.body {
                Body::Usage(report) => {
                    let cost = models.lookup(&report.model).info.cost(&report.usage);
                    *spent.entry(report.purpose).or_default() += cost.unwrap_or_default();
                }
                Body::Undo(_) => continue,
                _ => {}
            }
            let kept = match &record.body {
                Body::Boundary(_) => facts.next().flatten(),
                _ => None,
            };
            let Some((layer, why, freed)) = words(record) else {
                conversation.apply(record);
                continue;
            };
            let cost = match &record.body {
                Body::Boundary(_) => spent.remove(&Purpose::Compaction),
                _ => None,
            };
            let is_undone = undone.contains(&record.id);
            let (parts, more) = if is_undone {
                (Vec::new(), 0)
            } else {
                let before: Vec<Segment> = conversation.view().segments().iter().cloned().collect();
                conversation.apply(record);
                gone(&before, &conversation, measure)
            };
            rows.push(Forgetting {
                record: record.id.clone(),
                layer,
                at: record.at,
                why,
                freed,
                cost,
                undone: is_undone,
                can_undo: record.body.is_rewrite() && !is_undone,
                facts: kept,
                parts,
                more,
            });
        }
        rows.reverse();
        Ok(rows)
    }

    /// Names and figures of the user's at each compaction of a log: all, and those still in the prompt.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn facts_kept(&self, file: &Path) -> Result<Vec<Option<(u64, u64)>>, HostError> {
        let log = LogFile::open(&*self.system().files, file)?;
        let scan = scan_usage_in(&log, &mut UsageBook::default(), Depth::Layers)?;
        let kept = scan.events.iter().filter_map(|event| match &event.what {
            LogWork::Compacted { facts, .. } => Some(*facts),
            _ => None,
        });
        Ok(kept.collect())
    }

    /// The compaction that would come next in a session, as if it began now.
    pub fn next_compaction(&self, live: &Transcript) -> NextCompaction {
        let settings = self.settings();
        let conversation = &live.conversation;
        let models = self.models();
        let model = models.lookup(live.model());
        let layers = LayerSettings::new(&settings);
        let evidence = conversation.window_evidence();
        let window = Window::resolve(model, [], evidence, &layers.window).tokens;
        let thresholds = Thresholds::new(window, model.info.max_output, &layers.window);
        let prefix = live.prefix_weight();
        let measure = measure(live);
        let layers = layers.within(thresholds.autocompact_target - measure.tokens(&prefix));
        let policy = policy::of(settings.get(keys::CONTEXT_POLICY));
        let prices = Prices::of(model.info);
        let rates = prices.rates(
            settings.get(keys::CACHE_TTL_PREFIX),
            settings.get(keys::CACHE_TTL_PREFIX),
        );
        let inputs = LayerInputs {
            conversation,
            prefix: &prefix,
            policy: &*policy,
            settings: &layers,
            thresholds: &thresholds,
            rates: &rates,
            notes: NotesStatus::default(),
            moment: Moment::TurnEnd,
            cold: false,
            provider_compacts: false,
        };
        let aim = conversation.state().facts.get(dormouse_drive::AIM_FACT);
        let aim = aim.and_then(serde_json::Value::as_u64).map(Tokens);
        let planned = plan(&mut LayerState::resumed(aim), &inputs);
        let why = planned.considered.iter().find(|it| it.layer == "compact");
        let used = conversation.count(&prefix).tokens;
        let rule = policy.compaction(&layers.compact, None);
        let kept = Kept::new(conversation.view(), Scope::All, &*rule.keep, measure);
        let begins = planned
            .next_tidy_up
            .unwrap_or(thresholds.autocompact_target);
        let mut next = NextCompaction {
            used,
            begins_at: thresholds.auto_compact.then_some(begins),
            why: why.map(|it| it.why.clone()).unwrap_or_default(),
            policy: policy.name(),
            drops: Tokens::ZERO,
            stays: Tokens::ZERO,
            summary: rounded(conversation.economy().summary.value()),
            price: None,
            request_now: None,
            request_then: None,
            nothing: None,
            parts: Vec::new(),
            more: 0,
        };
        let kept = match kept {
            Ok(kept) => kept,
            Err(why) => {
                next.nothing = Some(why.to_string());
                return next;
            }
        };
        let part = |segment: &Segment| part(segment, measure);
        next.drops = kept.replaced;
        next.stays = kept.staying().map(|segment| part(segment).tokens).sum();
        let going = kept.going().count();
        next.parts = kept.going().take(MOST_PARTS).map(part).collect();
        next.more = going.saturating_sub(MOST_PARTS);
        let after = used - next.drops + next.summary;
        next.price = model.info.cost(&TokenUsage {
            // The summary is asked for behind the prompt as it is, which the cache has.
            cache_read: used,
            output: next.summary,
            // Behind it, everything but the prefix is new to the cache.
            cache_write_5m: next.stays + next.summary,
            ..TokenUsage::default()
        });
        let read = |tokens: Tokens| {
            model.info.cost(&TokenUsage {
                cache_read: tokens,
                ..TokenUsage::default()
            })
        };
        next.request_now = read(used);
        next.request_then = read(after);
        next
    }
}

/// Conversion from weights to tokens in a session.
fn measure(live: &Transcript) -> Measure {
    Measure {
        bytes: live.conversation.bytes_per_token(),
        calibration: tokens::calibration(live.conversation.state(), live.model()),
    }
}

/// A figure of the estimators as tokens.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate of at least zero, far below the largest number"
)]
fn rounded(tokens: f64) -> Tokens {
    Tokens(tokens.max(0.0).round() as u64)
}

/// Layer, reason and tokens of a record that rewrites the prompt.
fn words(record: &Record) -> Option<(&'static str, String, Tokens)> {
    Some(match &record.body {
        Body::Replacement(replacement) => match &replacement.decision {
            ReplacementDecision::Replaced { file, .. } => {
                let name = file.as_deref().unwrap_or("the session's store");
                let why = format!("a long result is in {name}; its beginning stays");
                ("offload", why, Tokens::ZERO)
            }
            ReplacementDecision::Left => return None,
        },
        Body::Distilled(distilled) => {
            let why = match distilled.blocks.len() {
                1 => "1 answered result made shorter".to_owned(),
                count => format!("{count} answered results made shorter"),
            };
            ("distil", why, distilled.freed)
        }
        Body::Cleared(clearing) => {
            // The layer's name is told beside it.
            let reason = clearing.reason.strip_prefix("clear: ");
            let reason = reason.unwrap_or(&clearing.reason);
            let why = match clearing.blocks.len() {
                1 => format!("1 old result: {reason}"),
                count => format!("{count} old results: {reason}"),
            };
            ("clear", why, clearing.freed)
        }
        Body::Boundary(boundary) => {
            let how = match boundary.kind {
                BoundaryKind::Notes => "from the session notes",
                BoundaryKind::Full => "with a summary",
                BoundaryKind::Partial => "in part",
                BoundaryKind::Offline => "without a model",
                BoundaryKind::Foreign => "by another tool",
            };
            let before = boundary.pre_tokens.unwrap_or_default();
            let after = boundary.post_tokens.unwrap_or_default();
            let (from, to) = (Grouped(before.0), Grouped(after.0));
            let why = format!("{how}, {from} to {to} tokens");
            ("compact", why, before - after)
        }
        _ => return None,
    })
}

/// Parts that were in the prompt and are not any more, or only in other words.
fn gone(before: &[Segment], now: &Conversation, measure: Measure) -> (Vec<ForgottenPart>, usize) {
    let stays: HashSet<(BlockKey, Hash)> = now
        .view()
        .segments()
        .iter()
        .map(|segment| (segment.origin, segment.block.hash()))
        .collect();
    let gone: Vec<&Segment> = before
        .iter()
        .filter(|segment| !stays.contains(&(segment.origin, segment.block.hash())))
        .collect();
    let more = gone.len().saturating_sub(MOST_PARTS);
    let parts = gone.into_iter().take(MOST_PARTS);
    (parts.map(|segment| part(segment, measure)).collect(), more)
}

fn part(segment: &Segment, measure: Measure) -> ForgottenPart {
    let block = &segment.block;
    let text = match block.kind() {
        BlockKind::ToolUse => {
            let input = ["file_path", "command", "pattern", "path", "query"];
            let subject = input.iter().find_map(|name| block.input_text(name));
            let tool = block.tool().unwrap_or_default();
            format!("{tool} {}", subject.unwrap_or_default())
        }
        _ => block.readable_text().unwrap_or_default(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    ForgottenPart {
        category: segment.category.label(),
        tokens: measure.tokens(block.weight()),
        words: line.chars().take(BEGINNING).collect(),
    }
}
