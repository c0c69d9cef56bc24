//! Sums of sessions, and the cost of the same turns without layers.

use super::{EngineTime, SessionStats, float, rate};
use crate::spending::{cost, hit_rate};
use dormouse_core::models::ModelTable;
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_core::usage_book::UsageSum;

/// Sums while they are added up.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) stats: SessionStats,
    spent: UsageSum,
    layers: Usd,
    without: Usd,
    /// True once a log told of a layer's work.
    pub(super) told: bool,
    pub(super) micros: u64,
    pub(super) longest: u64,
    pub(super) engine_turns: u64,
}

impl Sums {
    /// Adds a response, and what it would have cost with `carried` more tokens in its prompt, of
    /// which `fresh` had not been sent before.
    pub(super) fn response(
        &mut self,
        model: &str,
        usage: TokenUsage,
        purpose: Purpose,
        carried: u64,
        fresh: u64,
        models: &ModelTable,
    ) {
        let info = models.lookup(model).info;
        let cost = info.cost(&usage);
        self.spent.count(usage, cost);
        self.stats.requests += 1;
        self.stats.prompt_tokens += usage.prompt().get();
        let Some(cost) = cost else { return };
        if !purpose.is_turn() {
            self.layers += cost;
            return;
        }
        let prompt = usage.prompt().get() + carried;
        self.stats.requests_beyond_window += u64::from(prompt > info.window.get());
        // Requests that read nothing missed the cache: they would have missed it with more, too.
        let missed = usage.cache_read == Tokens::ZERO;
        let fresh = if missed { carried } else { fresh.min(carried) };
        let longer = TokenUsage {
            cache_read: Tokens(usage.cache_read.get() + carried - fresh),
            cache_write_5m: Tokens(usage.cache_write_5m.get() + fresh),
            ..usage
        };
        // The price of the usual prompts: what would have been a long one is told apart.
        self.without += info.cost(&longer).unwrap_or(cost);
    }

    pub(super) fn add(&mut self, other: &Self) {
        let (to, from) = (&mut self.stats, &other.stats);
        to.sessions += from.sessions;
        to.turns += from.turns;
        to.requests += from.requests;
        to.prompt_tokens += from.prompt_tokens;
        to.requests_beyond_window += from.requests_beyond_window;
        to.facts.before += from.facts.before;
        to.facts.after += from.facts.after;
        let (freed, more) = (&mut to.freed, &from.freed);
        freed.offload += more.offload;
        freed.distil += more.distil;
        freed.clear += more.clear;
        freed.notes += more.notes;
        freed.compaction += more.compaction;
        let (acted, more) = (&mut to.acted, &from.acted);
        acted.offloads += more.offloads;
        acted.distillations += more.distillations;
        acted.clearings += more.clearings;
        acted.notes_updates += more.notes_updates;
        acted.compactions_notes += more.compactions_notes;
        acted.compactions_model += more.compactions_model;
        acted.compactions_offline += more.compactions_offline;
        acted.compactions_foreign += more.compactions_foreign;
        acted.dreams += more.dreams;
        self.spent.add(&other.spent);
        self.layers += other.layers;
        self.without += other.without;
        self.told |= other.told;
        self.micros += other.micros;
        self.longest = self.longest.max(other.longest);
        self.engine_turns += other.engine_turns;
    }

    pub(super) fn finish(mut self) -> SessionStats {
        self.stats.cache_hit_rate = hit_rate(&self.spent);
        self.stats.cost_usd = cost(&self.spent);
        self.stats.layers_cost_usd = self.layers.as_f64();
        let priced = self.stats.cost_usd.is_some();
        self.stats.cost_without_layers_usd = (self.told && priced).then(|| self.without.as_f64());
        self.stats.compactions_per_100_turns =
            rate(self.stats.acted.compactions(), self.stats.turns).map(|share| share * 100.0);
        self.stats.facts.share = rate(self.stats.facts.after, self.stats.facts.before);
        self.stats.engine_ms = rate(self.micros, self.engine_turns).map(|mean| EngineTime {
            turns: self.engine_turns,
            mean: mean / 1_000.0,
            longest: float(self.longest) / 1_000.0,
        });
        self.stats
    }
}
