//! Estimates learnt while a session runs.
//!
//! Model: each figure is a running mean. It starts from a prior worth a few observations and,
//! beyond a number of observations, forgets old ones exponentially, so that it follows a session
//! whose character changes.
//!
//! Means, not medians, because the bill is a sum: if most requests add little and a few add a lot,
//! the median would miss most of the growth. Outliers are clipped: one observation counts for at
//! most [`OUTLIER`] times the mean so far, so a single huge paste moves an estimate a little and a
//! lasting change within a few observations.
//!
//! Not here: consequences of the figures for a decision.

use super::{Rates, Survival, figure, tokens};
use dormouse_core::units::Tokens;
use serde::{Deserialize, Serialize};

/// Upper bound of an observation, as a multiple of the mean so far. Smaller values would clip the
/// large requests that make up most of the growth; larger ones let a single paste dominate.
const OUTLIER: f64 = 8.0;
/// Mean assumed for clipping if the estimate is smaller, in tokens: about one ordinary request, so
/// that an estimate of zero can grow.
const SMALL: f64 = 2_000.0;
/// Number of requests that the growth estimate averages over: enough to include the rare large
/// ones, few enough to follow a change of work within a session.
const REQUESTS_REMEMBERED: f64 = 128.0;
/// Number of compactions after which their figures are forgotten. They are rare, so few are kept.
const COMPACTIONS_REMEMBERED: f64 = 12.0;
/// Weight of an earlier session's growth in requests: the new session outweighs it within ten.
const PRIOR_REQUESTS: f64 = 8.0;
/// Weight of an earlier session's compaction figures: one compaction of the new session equals it.
const PRIOR_COMPACTIONS: f64 = 1.0;
/// Weight of the built-in prior in requests, less than a project's own: it knows nothing of it.
const BUILT_IN_REQUESTS: f64 = 3.0;
/// Weight of the built-in prior in compactions: the first real one outweighs it five to one.
const BUILT_IN_COMPACTIONS: f64 = 0.2;
/// A running mean with the weight of the evidence behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean so far, in tokens.
    value: f64,
    /// Number of observations it is worth, prior included.
    weight: f64,
}

impl Estimate {
    const fn prior(value: f64, weight: f64) -> Self {
        Self { value, weight }
    }

    /// Mean in tokens, at least zero.
    pub fn value(self) -> f64 {
        self.value.max(0.0)
    }

    /// Mean as whole tokens.
    pub fn tokens(self) -> Tokens {
        tokens(self.value)
    }

    fn observe(&mut self, seen: f64, remembered: f64) {
        self.observe_share(seen, 1.0, remembered);
    }

    /// Adds an observation that counts for `share` ordinary ones.
    fn observe_share(&mut self, seen: f64, share: f64, remembered: f64) {
        let seen = seen.min(OUTLIER * self.value.max(SMALL));
        // With the weight capped, old observations fade at a constant rate.
        self.weight = (self.weight.max(0.0) + share).min(remembered);
        if self.weight > 0.0 {
            self.value += (seen - self.value) * share / self.weight;
        }
    }

    /// Mean of two estimates, the other one's evidence counting for `share` of its weight.
    fn joined(self, other: Self, share: f64) -> Self {
        let weight = self.weight + share * other.weight;
        if weight <= 0.0 {
            return self;
        }
        let value = (self.weight * self.value + share * other.weight * other.value) / weight;
        Self { value, weight }
    }

    /// The same mean with at most this weight, as a prior for the next session.
    fn fade(self, weight: f64) -> Self {
        Self::prior(self.value(), self.weight.clamp(0.0, weight))
    }
}

/// Sizes of a compaction that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Tokens of the prompt before.
    pub before: Tokens,
    /// Tokens of the prompt afterwards.
    pub after: Tokens,
    /// Tokens of it that stay cached unchanged: tools, system prompt, instructions.
    pub static_prefix: Tokens,
    /// Tokens of the summary a model wrote; `None` without a model (notes, offline).
    pub summary: Option<Tokens>,
}

/// Costs and savings of the last compaction, to tell whether it has paid for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PayBack {
    /// Tokens that it read, if a model wrote its summary.
    read: Tokens,
    /// Tokens of that summary.
    summary: Tokens,
    /// Tokens written behind the static prefix.
    written: Tokens,
    /// Tokens by which it shortened the prompt.
    removed: Tokens,
    /// Requests since the change.
    requests: u32,
}

/// Estimates of one session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimators {
    /// Tokens that a request adds to the prompt, `g`, without what is read again.
    pub growth: Estimate,
    /// Tokens by which a prompt that grows in lumps overshoots a threshold on average: half of the
    /// lump that crosses it.
    pub overshoot: Estimate,
    /// Tokens behind the static prefix right after a compaction: summary, restored files, kept
    /// tail. With the static prefix they are `b`.
    pub kept: Estimate,
    /// Tokens of a model's summary, `s`.
    pub summary: Estimate,
    /// Tokens fetched again after a compaction because it removed them.
    pub reread: Estimate,
    /// Tokens of directive and current notes that an update sends behind the prompt.
    pub notes_sent: Estimate,
    /// Tokens that a model writes for an update of the notes.
    pub notes_edits: Estimate,
    /// Lengths of sessions in this project.
    #[serde(default)]
    pub(super) survival: Survival,
    /// Prompt size that the last compaction left.
    pub(super) left: Tokens,
    /// The last compaction, until it has paid for itself.
    #[serde(default)]
    pay_back: PayBack,
    requests: u32,
    compactions: u32,
    /// Tokens fetched again since the last compaction.
    reread_since: f64,
    /// Part of these that the next measured request will contain.
    reread_unseen: f64,
}

impl Default for Estimators {
    fn default() -> Self {
        Self::starting_from(&Prior::default())
    }
}

impl Estimators {
    /// Estimates of a new session, from a prior.
    pub(crate) fn starting_from(prior: &Prior) -> Self {
        prior.0
    }

    /// Takes a measured request; `before` is the prompt it continues: that of the previous request,
    /// or what a compaction left.
    pub fn observe_request(&mut self, before: Tokens, now: Tokens) {
        self.requests = self.requests.saturating_add(1);
        self.pay_back.requests = self.pay_back.requests.saturating_add(1);
        let unseen = std::mem::take(&mut self.reread_unseen);
        // A shorter prompt was cleared or undone and says nothing about growth.
        if now >= before {
            let grown = (figure(now - before) - unseen).max(0.0);
            // Clipped like the growth, or one huge paste would dominate the overshoot.
            let lump = 0.5 * grown.min(OUTLIER * self.growth.value());
            self.growth.observe(grown, REQUESTS_REMEMBERED);
            // Thresholds are crossed by tokens, not by requests: weigh each lump by its size.
            let share = grown / self.growth.value().max(1.0);
            self.overshoot
                .observe_share(lump, share.min(OUTLIER), REQUESTS_REMEMBERED);
        }
    }

    /// Takes a compaction that was made.
    pub fn observe_compaction(&mut self, compacted: &Compacted) {
        // Re-reading is known only when the next compaction closes the cycle.
        if self.compactions > 0 {
            self.reread
                .observe(self.reread_since, COMPACTIONS_REMEMBERED);
        }
        self.compactions = self.compactions.saturating_add(1);
        self.reread_since = 0.0;
        self.reread_unseen = 0.0;
        self.left = compacted.after;
        self.pay_back = PayBack {
            read: compacted.summary.map_or(Tokens::ZERO, |_| compacted.before),
            summary: compacted.summary.unwrap_or_default(),
            written: compacted.after - compacted.static_prefix,
            removed: compacted.before - compacted.after,
            requests: 0,
        };
        let kept = figure(compacted.after - compacted.static_prefix);
        self.kept.observe(kept, COMPACTIONS_REMEMBERED);
        if let Some(summary) = compacted.summary {
            self.summary
                .observe(figure(summary), COMPACTIONS_REMEMBERED);
        }
    }

    /// Takes content that was fetched again (a search in the history, a file read before) and will
    /// be in the next request. Before the first compaction nothing was forgotten, so it does not
    /// count.
    pub(crate) fn observe_reread(&mut self, fetched: Tokens) {
        if self.compactions > 0 {
            self.reread_since += figure(fetched);
            self.reread_unseen += figure(fetched);
        }
    }

    /// Takes an update of the notes: tokens sent behind the prompt, tokens the model wrote.
    pub(crate) fn observe_notes_update(&mut self, sent: Tokens, edits: Tokens) {
        self.notes_sent
            .observe(figure(sent), COMPACTIONS_REMEMBERED);
        self.notes_edits
            .observe(figure(edits), COMPACTIONS_REMEMBERED);
    }

    /// Part of the last compaction's cost that later requests have not saved yet; zero once it has
    /// paid for itself. `usual` is the saving in tokens that a compaction is made for: one that
    /// removed less would never pay, and must not forbid the next for ever.
    pub(crate) fn owed(&self, rates: &Rates, usual: f64) -> f64 {
        let PayBack {
            read,
            summary,
            written,
            removed,
            requests,
        } = self.pay_back;
        let cost = rates.read * figure(read)
            + rates.output * figure(summary)
            + rates.write * figure(written);
        let saved = rates.read * figure(removed).max(usual);
        (cost - f64::from(requests) * saved).max(0.0)
    }

    /// Age of the session in requests, at least one.
    pub(crate) fn age(&self) -> f64 {
        f64::from(self.requests.max(1))
    }

    /// Sets the age of the session.
    #[cfg(test)]
    pub(super) fn requests_are(&mut self, requests: u32) {
        self.requests = requests;
    }

    /// Number of requests observed in this session.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Number of compactions observed in this session.
    pub fn compactions(&self) -> u32 {
        self.compactions
    }
}

/// Estimates of a project's earlier sessions, worth a few observations of a new one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prior(Estimators);

impl Prior {
    /// Prior that a session leaves to the next one. It started from a prior itself, so earlier
    /// sessions still count, with decreasing weight.
    pub fn of(session: &Estimators) -> Self {
        let compactions = |estimate: Estimate| estimate.fade(PRIOR_COMPACTIONS);
        Self(Estimators {
            growth: session.growth.fade(PRIOR_REQUESTS),
            overshoot: session.overshoot.fade(PRIOR_REQUESTS),
            kept: compactions(session.kept),
            summary: compactions(session.summary),
            reread: compactions(session.reread),
            notes_sent: compactions(session.notes_sent),
            notes_edits: compactions(session.notes_edits),
            // Lengths are learnt from the entries of all sessions, not handed on.
            survival: Survival::default(),
            left: Tokens::ZERO,
            pay_back: PayBack::default(),
            requests: 0,
            compactions: 0,
            reread_since: 0.0,
            reread_unseen: 0.0,
        })
    }
}

impl Prior {
    /// Mean of several priors, the first counting most. `None` without any.
    pub(super) fn mean<'a>(priors: impl Iterator<Item = &'a Self>) -> Option<Self> {
        // Each session counts a fifth less than the one after it, so about five make the figure.
        const FADE: f64 = 0.8;
        let mut share = 1.0;
        let mut sum: Option<Estimators> = None;
        for Self(next) in priors {
            sum = Some(match sum {
                None => *next,
                Some(sum) => Estimators {
                    growth: sum.growth.joined(next.growth, share),
                    overshoot: sum.overshoot.joined(next.overshoot, share),
                    kept: sum.kept.joined(next.kept, share),
                    summary: sum.summary.joined(next.summary, share),
                    reread: sum.reread.joined(next.reread, share),
                    notes_sent: sum.notes_sent.joined(next.notes_sent, share),
                    notes_edits: sum.notes_edits.joined(next.notes_edits, share),
                    ..sum
                },
            });
            share *= FADE;
        }
        sum.map(|sum| Self::of(&sum))
    }

    /// The same prior with another curve of lengths.
    pub(super) fn with_survival(self, survival: Survival) -> Self {
        Self(Estimators { survival, ..self.0 })
    }
}

impl Default for Prior {
    /// Prior without an earlier session: an ordinary one.
    fn default() -> Self {
        let compactions = |value| Estimate::prior(value, BUILT_IN_COMPACTIONS);
        Self(Estimators {
            // Round figures of an ordinary coding session. Their weight is small, so the first
            // observations correct them.
            growth: Estimate::prior(3_000.0, BUILT_IN_REQUESTS),
            overshoot: Estimate::prior(1_500.0, BUILT_IN_REQUESTS),
            kept: compactions(10_000.0),
            summary: compactions(2_000.0),
            // Counted from real use only: content that is never fetched again was rightly
            // forgotten.
            reread: compactions(0.0),
            notes_sent: compactions(3_000.0),
            notes_edits: compactions(1_500.0),
            survival: Survival::default(),
            left: Tokens::ZERO,
            pay_back: PayBack::default(),
            requests: 0,
            compactions: 0,
            reread_since: 0.0,
            reread_unseen: 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn compacted(kept: u64, summary: u64) -> Compacted {
        Compacted {
            before: Tokens(90_000),
            after: Tokens(20_000 + kept),
            static_prefix: Tokens(20_000),
            summary: Some(Tokens(summary)),
        }
    }

    fn grow(known: &mut Estimators, growths: impl IntoIterator<Item = u64>) {
        for growth in growths {
            known.observe_request(Tokens(50_000), Tokens(50_000 + growth));
        }
    }

    #[test]
    fn evidence_soon_outweighs_the_prior() {
        let mut known = Estimators::default();
        grow(&mut known, [9_000; 30]);
        assert!((8_000.0..9_000.0).contains(&known.growth.value()));
        known.observe_compaction(&compacted(20_000, 4_000));
        assert!(known.kept.value() > 17_000.0 && known.summary.value() > 3_500.0);
    }

    #[test]
    fn the_mean_counts_where_few_requests_are_large() {
        let mut known = Estimators::default();
        for _ in 0..30 {
            grow(&mut known, [500, 500, 500, 500, 8_000]);
        }
        assert!((1_700.0..2_400.0).contains(&known.growth.value()));
        assert!(known.overshoot.value() > known.growth.value() / 2.0);
    }

    #[test]
    fn one_huge_paste_moves_growth_a_little() {
        let mut known = Estimators::default();
        grow(&mut known, [2_000; 60]);
        let before = known.growth.value();
        grow(&mut known, [400_000]);
        assert!(known.growth.value() < 1.2 * before);
    }

    #[test]
    fn what_comes_with_a_compaction_or_a_shorter_prompt_is_no_growth() {
        let mut known = Estimators::default();
        let before = known;
        known.observe_compaction(&compacted(9_000, 2_000));
        known.observe_request(Tokens(80_000), Tokens(30_000));
        assert_eq!(known.growth, before.growth);
        assert_eq!((known.requests(), known.compactions()), (1, 1));
    }

    #[test]
    fn rereading_is_charged_to_the_compaction_before_it_and_is_no_growth() {
        let mut known = Estimators::default();
        known.observe_reread(Tokens(5_000));
        known.observe_compaction(&compacted(9_000, 2_000));
        assert_eq!(known.reread.tokens(), Tokens(0));
        known.observe_reread(Tokens(4_000));
        let growth = known.growth;
        known.observe_request(Tokens(29_000), Tokens(33_000));
        assert!(known.growth.value() < growth.value());
        known.observe_compaction(&compacted(9_000, 2_000));
        assert!(known.reread.value() > 3_000.0);
        known.observe_compaction(&compacted(9_000, 2_000));
        assert!(known.reread.value() < 3_000.0);
    }

    #[test]
    fn a_prior_keeps_what_was_learnt_and_yields_to_the_new_session() {
        let mut old = Estimators::default();
        grow(&mut old, [9_000; 200]);
        old.observe_compaction(&compacted(20_000, 4_000));
        let mut new = Estimators::starting_from(&Prior::of(&old));
        assert_eq!(new.growth.tokens(), old.growth.tokens());
        assert_eq!((new.requests(), new.compactions()), (0, 0));
        grow(&mut new, [1_000; 40]);
        assert!(new.growth.value() < 3_000.0);
    }

    #[test]
    fn estimators_survive_being_written_down() {
        let mut known = Estimators::default();
        grow(&mut known, [1_234, 777, 0]);
        known.observe_compaction(&compacted(9_001, 2_003));
        let text = serde_json::to_string(&known).expect("plain figures");
        assert_eq!(
            serde_json::from_str::<Estimators>(&text).expect("its own text"),
            known
        );
    }

    #[test]
    fn a_compaction_is_owed_until_its_savings_have_paid_for_it() {
        let rates = crate::economy::Prices::USUAL.rates(
            dormouse_core::settings::CacheTtl::FiveMinutes,
            dormouse_core::settings::CacheTtl::FiveMinutes,
        );
        let mut known = Estimators::default();
        let owed = |known: &Estimators| known.owed(&rates, 30_000.0);
        assert!(owed(&known) <= 0.0, "nothing was compacted");
        // 90k before, 29k after: 9k to read it, 10k for the summary, 11.25k to write what is kept.
        known.observe_compaction(&compacted(9_000, 2_000));
        assert!((owed(&known) - 30_250.0).abs() < 1.0);
        // Each request saves 6.1k: four are not enough, five are.
        grow(&mut known, [100; 4]);
        assert!(owed(&known) > 0.0);
        grow(&mut known, [100]);
        assert!(owed(&known) <= 0.0);
        // One that removed nothing is forgiven after as long as a usual one takes.
        known.observe_compaction(&compacted(70_000, 2_000));
        grow(&mut known, [100; 35]);
        assert!(owed(&known) > 0.0);
        grow(&mut known, [100]);
        assert!(owed(&known) <= 0.0);
    }
}
