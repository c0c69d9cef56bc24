//! The planner: what becomes shorter now, what once it is answered, and whether to compact.

use crate::body::{Body, Kind, Part, tokens_of};
use crate::clearing;
use crate::compaction;
use crate::line::{Due, Line, Record, Sent};
use crate::results::Weighing;
use crate::rules::Rules;
use bytes::Bytes;
use dormouse_context::clear::Measure;
use dormouse_context::economy::{
    Figures, Means, Moment, Outlook, Prices, Rates, Situation, decide,
};
use dormouse_context::window::{Thresholds, Window};
use dormouse_core::models::{BytesPerToken, ModelTable, ThinkingBinding};
use dormouse_core::record::Calibration;
use dormouse_core::settings::CacheTtl;
use dormouse_core::units::{Millis, Tokens};
use dormouse_recognise::Seen;
use memchr::memmem;
use std::sync::Arc;

/// Facts around a request that are not in its body.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Settings of the layers.
    pub rules: &'a Rules,
    /// Windows and prices of the models.
    pub models: &'a Arc<ModelTable>,
    /// Folder of this conversation's files as its model can open it: a real one with the client's tools,
    /// [`crate::FOLDER`] with ours; `None` if it cannot.
    pub folder: Option<&'a str>,
    /// Betas that the request names.
    pub betas: &'a [String],
    /// Time of the request.
    pub now: Millis,
    /// True if the upstream has just refused this prompt as too long.
    pub refused: bool,
}

/// A text to save before the records that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// Name of the file in the conversation's folder.
    pub file: String,
    /// Text that the file holds.
    pub text: String,
}

/// A compaction that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compact {
    /// Budget of the kept tail.
    pub tail: Tokens,
    /// True if the window leaves no choice; else it can wait for a model that answers.
    pub forced: bool,
}

/// Everything that is to be done for one request.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Texts to save first.
    pub saves: Vec<Save>,
    /// Records to append before the request is sent.
    pub records: Vec<Record>,
    /// Results to be distilled once they are answered.
    pub due: Vec<Due>,
    /// Compaction that is to be made first.
    pub compact: Option<Compact>,
    /// Arithmetic behind the plan, also for what it does not do.
    pub reasons: Vec<String>,
    /// Calls in the newest answer that fetch a shortened result again.
    pub again: u32,
    /// Size in use of the outlook, for the next plan.
    pub in_use: Option<Tokens>,
}

impl Plan {
    pub(crate) fn reason(&mut self, text: &str) {
        self.reasons.push(text.to_owned());
    }
}

/// Figures of a model that the planner reads.
pub(crate) struct Model {
    pub(crate) bytes: BytesPerToken,
    pub(crate) rates: Rates,
    pub(crate) minimum: Tokens,
    pub(crate) binds: bool,
    pub(crate) thresholds: Thresholds,
    pub(crate) ttl: CacheTtl,
}

impl Model {
    pub(crate) fn of(body: &Body, around: &Surroundings<'_>) -> Self {
        let resolved = around.models.lookup(&body.model);
        let info = resolved.info;
        let betas = around.betas.iter().map(String::as_str);
        let window = Window::resolve(resolved, betas, None, &around.rules.window);
        let hour = body
            .marker
            .as_ref()
            .is_some_and(|marker| marker.contains("\"1h\""));
        let ttl = if hour {
            CacheTtl::OneHour
        } else {
            CacheTtl::FiveMinutes
        };
        Self {
            bytes: info.bytes_per_token,
            rates: Prices::of(info).rates(ttl, ttl),
            minimum: info.cache_minimum,
            binds: info.thinking_binding == ThinkingBinding::Prefix,
            thresholds: Thresholds::new(window.tokens, info.max_output, &around.rules.window),
            ttl,
        }
    }
}

/// Prices of the model that a body asks for, for the cost of its answer.
pub(crate) fn rates(body: &Body, around: &Surroundings<'_>) -> Rates {
    Model::of(body, around).rates
}

/// Plans the layers for one request; an empty plan leaves its bytes alone.
pub fn plan(body: &Body, seen: &Seen, line: &Line, around: &Surroundings<'_>) -> Plan {
    let mut plan = Plan::default();
    // The two readings of one body must agree about its blocks.
    if body.is_empty() || body.len() != seen.len() {
        plan.reason("the body is read in two ways");
        return plan;
    }
    let model = Model::of(body, around);
    let mut sent = line.sent(body, seen);
    plan.again = fetches(body, &sent, around.folder);
    let weighing = Weighing {
        body,
        seen,
        line,
        around,
        measure: Measure {
            bytes: model.bytes,
            calibration: Calibration::default(),
        },
        rates: model.rates,
        minimum: model.minimum,
        binds: model.binds,
    };
    weighing.distil_answered(&mut sent, &mut plan);
    weighing.offload(&mut sent, &mut plan);
    let mut used = line.corrected(estimate(body, &sent, model.bytes));
    let limit = model.thresholds.effective_window;
    let outlook = outlook(body, &sent, line, &model, used);
    plan.in_use = Some(outlook.in_use);
    let verdict = decision(body, line, around, &model, &outlook, used);
    plan.reason(&verdict.1);
    // A history that was never answered through here may be a side call with a long quotation. The
    // upstream's own word counts for more than our estimate of its window.
    let is_due = around.refused || (verdict.0 && line.is_known());
    if is_due && around.rules.window.auto_compact {
        match compaction::cut(body, &sent, outlook.tail(), &model) {
            Ok(_) => {
                plan.compact = Some(Compact {
                    tail: outlook.tail(),
                    forced: around.refused || used >= model.thresholds.autocompact_target,
                });
            }
            Err(why) => plan.reason(&why.to_string()),
        }
    }
    let cold = is_cold(line, around, &model);
    if plan.compact.is_none() {
        let outlook = &outlook;
        weighing.clear(
            &clearing::Moment {
                outlook,
                used,
                cold,
            },
            &mut sent,
            &mut plan,
        );
        used = line.corrected(estimate(body, &sent, model.bytes));
    }
    // A boundary makes room for what is older than the round; the round itself has to fit beside it.
    let after = if plan.compact.is_some() {
        line.corrected(unsent(body, &model)) + outlook_base(&outlook)
    } else {
        used
    };
    if after > limit && around.folder.is_some() {
        weighing.fit(after - limit, &mut sent, &mut plan);
        used = line.corrected(estimate(body, &sent, model.bytes));
    }
    // Behind a boundary the prompt grows from its short beginning again.
    let carried = if plan.compact.is_some() {
        after.min(used)
    } else {
        used
    };
    weighing.weigh(&sent, used, outlook.requests_ahead(carried), &mut plan);
    plan
}

/// Estimated tokens of the prompt as it would be sent, uncorrected.
pub(crate) fn estimate(body: &Body, sent: &Sent, bytes: BytesPerToken) -> Tokens {
    let of_text = |text: &String| bytes.text.tokens_of(text.len() as u64);
    let front = sent.boundary.iter().flat_map(|boundary| &boundary.front);
    let front: Tokens = front.map(of_text).sum();
    let parts = (sent.start..).zip(body.parts.get(sent.start..).unwrap_or_default());
    let parts: Tokens = parts
        .map(|(at, part)| match sent.stand_ins.get(&at) {
            Some(one) => of_text(&one.block),
            None => part.tokens(bytes),
        })
        .sum();
    let inserted = sent
        .inserted
        .range(sent.start..)
        .flat_map(|(_, items)| items);
    let inserted: Tokens = inserted
        .filter_map(|(_, aside, number)| aside.items.get(*number))
        .map(|item| of_text(&item.block))
        .sum();
    prefix(body, bytes) + front + parts + inserted
}

/// Estimated tokens of the client's own prompt.
pub(crate) fn untouched(body: &Body, bytes: BytesPerToken) -> Tokens {
    let parts: Tokens = body.parts.iter().map(|part| part.tokens(bytes)).sum();
    prefix(body, bytes) + parts
}

/// Estimated tokens of system prompt and tools.
pub(crate) fn prefix(body: &Body, bytes: BytesPerToken) -> Tokens {
    bytes.text.tokens_of(body.prefix as u64)
}

/// Tokens that no compaction removes: the newest answer and everything behind it.
fn unsent(body: &Body, model: &Model) -> Tokens {
    let parts = body.parts.get(body.last_answer()..).unwrap_or_default();
    parts.iter().map(|part| part.tokens(model.bytes)).sum()
}

fn outlook_base(outlook: &Outlook) -> Tokens {
    outlook.figures.static_prefix + outlook.known.kept.tokens()
}

fn outlook(body: &Body, sent: &Sent, line: &Line, model: &Model, used: Tokens) -> Outlook {
    let prefix = line.corrected(prefix(body, model.bytes));
    let unsent: Tokens = (body.last_answer()..)
        .zip(body.parts.get(body.last_answer()..).unwrap_or_default())
        .map(|(at, part): (usize, &Part)| match sent.stand_ins.get(&at) {
            Some(one) => tokens_of(&Bytes::copy_from_slice(one.block.as_bytes()), model.bytes),
            None => part.tokens(model.bytes),
        })
        .sum();
    let figures = Figures {
        static_prefix: prefix,
        floor: prefix + line.known.kept.tokens() + line.corrected(unsent),
        classic: model.thresholds.autocompact_target,
        in_use: line.in_use,
        means: Means::Full,
        spent: line
            .spent
            .max(model.rates.write * crate::line::figure(used)),
    };
    Outlook::new(&line.known, &model.rates, &figures)
}

/// True if the provider has forgotten the last prompt.
fn is_cold(line: &Line, around: &Surroundings<'_>, model: &Model) -> bool {
    let life = match model.ttl {
        CacheTtl::OneHour => 3_600_000,
        CacheTtl::FiveMinutes => 300_000,
    };
    let last = line.last.as_ref();
    last.is_some_and(|last| around.now.0 - last.at.0 > life)
}

fn decision(
    body: &Body,
    line: &Line,
    around: &Surroundings<'_>,
    model: &Model,
    outlook: &Outlook,
    used: Tokens,
) -> (bool, String) {
    let cold = is_cold(line, around, model);
    let round = body.parts.get(body.round()..).unwrap_or_default();
    let moment = if cold {
        Moment::ColdCache
    } else if round.iter().any(|part| part.kind == Kind::ToolResult) {
        Moment::BetweenRounds
    } else {
        Moment::TurnEnd
    };
    let situation = Situation {
        used,
        moment,
        notes_ready: false,
        prefix_cached: !cold,
        call_cached: !cold,
        unsent: line.corrected(unsent(body, model)),
    };
    let decision = decide(outlook, &situation);
    (decision.act, decision.explain())
}

/// Calls in the newest answer that name a file of ours.
fn fetches(body: &Body, sent: &Sent, folder: Option<&str>) -> u32 {
    let Some(folder) = folder.filter(|_| sent.is_rewritten()) else {
        return 0;
    };
    let newest = body.parts.get(body.last_answer()..body.round());
    let calls = newest.unwrap_or_default().iter();
    let calls = calls.filter(|part| part.kind == Kind::ToolUse);
    let count = calls.filter(|call| memmem::find(&call.raw, folder.as_bytes()).is_some());
    u32::try_from(count.count()).unwrap_or(u32::MAX)
}
