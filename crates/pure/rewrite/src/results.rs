//! Layer 1 for a client's results: which become files before they are sent, and which once they are
//! answered.

use crate::body::{Body, Kind, Part};
use crate::line::{Due, Form, Line, Record, Replaced, Sent};
use crate::plan::{Plan, Save, Surroundings};
use crate::rules::Tool;
use dormouse_context::clear::Measure;
use dormouse_context::distil::{Stakes, Worth, distillate, names, reads_one_file};
use dormouse_context::economy::Rates;
use dormouse_context::offload::{file_name, preview, result_block};
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::units::Tokens;
use dormouse_recognise::Seen;
use memchr::memmem;
use std::sync::Arc;

/// Tokens of a call that fetches a result again: a tool, a path and a range.
const CALL: Tokens = Tokens(100);
/// Tokens from which a result is weighed: a distillate of a shorter one saves next to nothing.
const WEIGHED: Tokens = Tokens(1_000);

/// Facts that all results of a request share.
pub(crate) struct Weighing<'a> {
    pub(crate) body: &'a Body,
    pub(crate) seen: &'a Seen,
    pub(crate) line: &'a Line,
    pub(crate) around: &'a Surroundings<'a>,
    pub(crate) measure: Measure,
    pub(crate) rates: Rates,
    /// Shortest prefix that the provider caches.
    pub(crate) minimum: Tokens,
    /// True if the model binds its thinking to everything before it.
    pub(crate) binds: bool,
}

impl Weighing<'_> {
    /// Distils the results that were due and are answered now.
    pub(crate) fn distil_answered(&self, sent: &mut Sent, plan: &mut Plan) {
        let Some(folder) = self.around.folder else {
            return;
        };
        let round = self.body.round();
        for due in &self.line.due {
            let same = self.seen.digest(due.at) == Some(due.digest);
            // Unanswered as yet: a retry, or a branch that starts earlier.
            if !same
                || due.at >= round
                || due.at < sent.start
                || sent.stand_ins.contains_key(&due.at)
            {
                continue;
            }
            if self.is_bound(due.at) {
                plan.reason("a result is kept: thinking is bound to it");
                continue;
            }
            let words = self.body.parts.get(due.at + 1..round).unwrap_or_default();
            let words: Vec<String> = words.iter().filter_map(text_of).collect();
            let named = names(words.iter().map(String::as_str));
            let whole = self.body.parts.get(due.at).and_then(Part::block);
            let limit = (self.around.rules.distil.limit, self.measure);
            let Some(short) = whole.and_then(|whole| distillate(&whole, &named, folder, limit))
            else {
                plan.reason("a result is kept: its distillate would not be shorter");
                continue;
            };
            plan.saves.push(Save {
                file: short.file.clone(),
                text: short.text,
            });
            self.replace(
                due.at,
                Form::Distilled,
                &short.block,
                short.file,
                sent,
                plan,
            );
        }
    }

    /// Offloads the results of the newest round that are too long.
    pub(crate) fn offload(&self, sent: &mut Sent, plan: &mut Plan) {
        let rules = self.around.rules;
        if !rules.offload || self.around.folder.is_none() {
            return;
        }
        let mut lengths: Vec<(u64, usize)> = Vec::new();
        let mut sum = 0;
        for at in self.open_results(sent) {
            let tool = self.tool(at);
            // A result of a reading tool is a file already; its copy would be offloaded again.
            if tool == Tool::Read || self.is_ours(at) {
                continue;
            }
            let length = self
                .body
                .parts
                .get(at)
                .map_or(0, |part| part.raw.len() as u64);
            if length > rules.limit(tool) {
                self.preview(at, sent, plan);
            } else {
                lengths.push((length, at));
                sum += length;
            }
        }
        lengths.sort_unstable();
        while sum > rules.round_limit
            && let Some((length, at)) = lengths.pop()
        {
            self.preview(at, sent, plan);
            sum -= length;
        }
    }

    /// Offloads the largest results of the round until so many tokens are saved.
    pub(crate) fn fit(&self, excess: Tokens, sent: &mut Sent, plan: &mut Plan) {
        let mut sizes: Vec<(Tokens, usize)> = self
            .open_results(sent)
            .into_iter()
            .filter_map(|at| {
                let part = self.body.parts.get(at)?;
                Some((part.tokens(self.measure.bytes), at))
            })
            .collect();
        sizes.sort_unstable();
        let mut saved = Tokens::ZERO;
        while saved < excess
            && let Some((size, at)) = sizes.pop()
        {
            if self.preview(at, sent, plan) {
                saved += size;
            }
        }
    }

    /// Chooses the results of the round that are to be distilled once they are answered.
    pub(crate) fn weigh(&self, sent: &Sent, used: Tokens, ahead: f64, plan: &mut Plan) {
        let round = self.body.round();
        // Behind the last marker the provider would cache on its own.
        if self.around.folder.is_none() || (self.binds && self.thinks()) {
            return;
        }
        let open = self.open_results(sent);
        let of_round = |at: usize| {
            self.body
                .parts
                .get(at)
                .map(|part| part.tokens(self.measure.bytes))
        };
        let behind: Tokens = (round..self.body.len())
            .filter(|at| !open.contains(at))
            .filter_map(of_round)
            .sum();
        let waiting: Tokens = open.iter().filter_map(|at| of_round(*at)).sum();
        if used - waiting - behind < self.minimum {
            return;
        }
        let mut gains: Vec<(Tokens, usize, f64)> = Vec::new();
        for at in open {
            let Some(size) = of_round(at).filter(|size| *size >= WEIGHED.max(self.minimum)) else {
                continue;
            };
            if !self.may_be_distilled(at) {
                continue;
            }
            let worth = Worth::new(
                &Stakes {
                    size,
                    short: self.around.rules.distil.limit.min(size),
                    ahead,
                    again: self.line.fetched_again(),
                    prompt: used,
                    call: CALL,
                    automatic: self.body.automatic,
                },
                &self.rates,
            );
            plan.reason(&format!("result {at}: {worth}"));
            if worth.gain > 0.0 {
                gains.push((size, at, worth.gain));
            }
        }
        // Words behind the results are sent unmarked once.
        let unmarked = if self.body.automatic {
            self.rates.write
        } else {
            1.0
        };
        let cost = (unmarked - self.rates.read) * crate::line::figure(behind);
        if gains.iter().map(|(_, _, gain)| gain).sum::<f64>() <= cost {
            return;
        }
        let due = gains.iter().filter_map(|(_, at, _)| {
            let digest = self.seen.digest(*at)?;
            Some(Due { at: *at, digest })
        });
        plan.due = due.collect();
        plan.due.sort_by_key(|due| due.at);
    }

    /// Results of the newest round that are still whole.
    pub(crate) fn open_results(&self, sent: &Sent) -> Vec<usize> {
        let round = self.body.round().max(sent.start);
        let parts = (round..).zip(self.body.parts.get(round..).unwrap_or_default());
        let results = parts
            .filter(|(at, part)| part.kind == Kind::ToolResult && !sent.stand_ins.contains_key(at));
        results.map(|(at, _)| at).collect()
    }

    fn tool(&self, at: usize) -> Tool {
        let call = self.body.call_of(at);
        Tool::of(
            call.and_then(|call| call.tool.as_deref())
                .unwrap_or_default(),
        )
    }

    /// True if the call of a result names a file of ours: it was brought back on purpose.
    fn is_ours(&self, at: usize) -> bool {
        let folder = self.around.folder.unwrap_or_default().as_bytes();
        let call = self.body.call_of(at);
        call.is_some_and(|call| memmem::find(&call.raw, folder).is_some())
    }

    fn may_be_distilled(&self, at: usize) -> bool {
        let (Some(part), Some(call)) = (self.body.parts.get(at), self.body.call_of(at)) else {
            return false;
        };
        let name = call.tool.as_deref().unwrap_or_default();
        let tool = Tool::of(name);
        let command = || call.block().and_then(|call| call.input_text("command"));
        self.around.rules.distils(tool, name)
            && tool != Tool::Read
            && !part.is_error
            && memmem::find(&part.raw, b"\"base64\"").is_none()
            && !self.is_ours(at)
            && !command().is_some_and(|line| reads_one_file(&line))
    }

    /// True if a thinking block behind this position would be invalid.
    pub(crate) fn is_bound(&self, at: usize) -> bool {
        let behind = self.body.parts.get(at..).unwrap_or_default();
        self.binds && behind.iter().any(|part| part.kind == Kind::Thinking)
    }

    /// True if the model's answers hold thinking, or it has not answered yet.
    fn thinks(&self) -> bool {
        let mut parts = self.body.parts.iter();
        self.body.round() == 0 || parts.any(|part| part.kind == Kind::Thinking)
    }

    /// Puts a preview in place of a result; false if it has no text.
    fn preview(&self, at: usize, sent: &mut Sent, plan: &mut Plan) -> bool {
        let shown = |text: &str, path: &str| preview(text, path, self.around.rules.preview);
        self.put_away(at, Form::Offloaded, shown, sent, plan)
    }

    /// Saves a result's text, and puts what is shown of it and its path in its place; false if it has
    /// no text.
    pub(crate) fn put_away(
        &self,
        at: usize,
        form: Form,
        shown: impl FnOnce(&str, &str) -> String,
        sent: &mut Sent,
        plan: &mut Plan,
    ) -> bool {
        let block = self.body.parts.get(at).and_then(Part::block);
        let Some((block, folder)) = block.zip(self.around.folder) else {
            return false;
        };
        let (Some(call), Some(text)) = (block.call().cloned(), block.readable_text()) else {
            return false;
        };
        // Pictures stay, whatever stands beside them.
        if block.weight().media_tokens > 0 || text.is_empty() {
            return false;
        }
        let file = file_name(&call, &text, Hash::of(text.as_bytes()));
        let shown = shown(&text, &format!("{folder}/{file}"));
        let short = result_block(&call, &shown, &[], block.is_error());
        plan.saves.push(Save {
            file: file.clone(),
            text,
        });
        self.replace(at, form, &short, file, sent, plan);
        true
    }

    fn replace(
        &self,
        at: usize,
        form: Form,
        block: &Block,
        file: String,
        sent: &mut Sent,
        plan: &mut Plan,
    ) {
        let Some(digest) = self.seen.digest(at) else {
            return;
        };
        let one = Replaced {
            at,
            digest,
            form,
            block: String::from_utf8_lossy(block.bytes()).into_owned(),
            file,
        };
        sent.stand_ins.insert(at, Arc::new(one.clone()));
        plan.records.push(Record::Replaced(one));
    }
}

/// Readable text of a part, or the arguments of a call.
fn text_of(part: &Part) -> Option<String> {
    match part.kind {
        Kind::ToolUse => Some(String::from_utf8_lossy(&part.raw).into_owned()),
        Kind::Text => part.block()?.readable_text(),
        Kind::Thinking | Kind::ToolResult | Kind::Compaction | Kind::Other => None,
    }
}
