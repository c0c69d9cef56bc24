//! Comparison of recording and simulator on the same requests.
//!
//! # Not here
//! Sending the requests: [`crate::replay`].

use crate::recording::Turn;
use crate::run::ReplayTurn;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;

/// Use of the prefix that the request before had left in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// It was read, within five per cent.
    Hit,
    /// It was not, or only a small part of it.
    Miss,
}

impl RunOutcome {
    /// A hit if the tokens read are within five per cent of the cached ones.
    fn of(read: Tokens, cached: Tokens) -> Self {
        if within(read, cached) {
            Self::Hit
        } else {
            Self::Miss
        }
    }
}

/// True if a figure is within five per cent of another: estimates of a block's tokens are no
/// better.
fn within(figure: Tokens, of: Tokens) -> bool {
    figure.get().abs_diff(of.get()) * 20 <= of.get()
}

/// A request on which the two differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the request, from one.
    pub turn: usize,
    /// Read according to the recording.
    pub recorded: Tokens,
    /// Read according to the simulator.
    pub simulated: Tokens,
    /// The reason, as far as the figures tell.
    pub why: &'static str,
}

/// Accuracy of the simulator on the part that was not used for fitting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Requests that the recording shows as ordinary hits.
    pub hits: usize,
    /// Of these, the requests the simulator reads within five per cent.
    pub matched: usize,
    /// Pauses beyond the entries' life, and compactions.
    pub breaks: usize,
    /// Of these, the requests that are a miss in the simulator too.
    pub reproduced: usize,
}

/// Score and differences of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Score over the part that was not fitted.
    pub score: Score,
    /// Every request on which the two differ by more than five per cent.
    pub differences: Vec<Difference>,
}

impl Comparison {
    pub(crate) fn of(replayed: &[ReplayTurn], turns: &[Turn], fitted: usize) -> Self {
        let mut comparison = Self::default();
        for (at, turn) in replayed.iter().enumerate() {
            let before = at
                .checked_sub(1)
                .map(|before| (&replayed[before], &turns[before]));
            let cached = |usage: &TokenUsage| usage.prompt() - usage.input;
            let left = before.map(|(before, _)| (cached(&before.recorded), cached(&before.usage)));
            let (left_recorded, left_simulated) = left.unwrap_or_default();
            let recorded = RunOutcome::of(turn.recorded.cache_read, left_recorded);
            let simulated = RunOutcome::of(turn.usage.cache_read, left_simulated);
            let expired = before.is_some_and(|(_, before)| turn.gap > before.ttl.millis());
            // The first request has no predecessor, and the fitted ones would score themselves.
            if at >= fitted.max(1) {
                let broken = expired || turn.compacted;
                let matched = within(turn.usage.cache_read, turn.recorded.cache_read);
                comparison.score.count(broken, recorded, simulated, matched);
            }
            if !within(turn.usage.cache_read, turn.recorded.cache_read) {
                comparison.differences.push(Difference {
                    turn: at + 1,
                    recorded: turn.recorded.cache_read,
                    simulated: turn.usage.cache_read,
                    why: explain(turn, before.is_none(), recorded, expired),
                });
            }
        }
        comparison
    }
}

impl Score {
    fn count(&mut self, broken: bool, recorded: RunOutcome, simulated: RunOutcome, matched: bool) {
        match (broken, recorded) {
            // Only breaks that the recording shows as a miss count: some entries outlive their
            // time.
            (true, RunOutcome::Miss) => {
                self.breaks += 1;
                self.reproduced += usize::from(simulated == RunOutcome::Miss);
            }
            (_, RunOutcome::Hit) => {
                self.hits += 1;
                self.matched += usize::from(matched);
            }
            // The client broke its cache by something it did not log; the simulator cannot know.
            (false, RunOutcome::Miss) => {}
        }
    }
}

fn explain(turn: &ReplayTurn, first: bool, recorded: RunOutcome, expired: bool) -> &'static str {
    let read_more = turn.recorded.cache_read > turn.usage.cache_read;
    // Each of these makes a miss certain, so the two can differ only in what survived it.
    let broken = turn.compacted || turn.switched || expired;
    match (first, broken, recorded, read_more) {
        (true, ..) => "the system prompt was still cached from before",
        (_, true, _, true) => "both miss; the system prompt was kept warm from outside",
        (_, true, _, false) => "both miss; the cached system prompt has another length",
        (_, false, RunOutcome::Miss, _) => "the client changed something it did not log",
        (_, false, RunOutcome::Hit, true) => "the fitted factor counts less than the provider",
        (_, false, RunOutcome::Hit, false) => "the fitted factor counts more than the provider",
    }
}
