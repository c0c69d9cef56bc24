//! Fidelity: facts of a session that survive its compactions.
//!
//! # Model
//! [`mine`] takes the facts of a script, without a model and without the engine's ledger.
//! [`measure`] runs the script under a policy with a number of compactions spread evenly over it,
//! the last at its end, and says of every fact where it is: in the prompt, one call away, or lost.
//! The policy's own triggers, clearings and notes are switched off, so that all are measured at the
//! same points; the records it keeps, carries and shows again, and its way of asking, are its own.
//!
//! One call away means: a fixed query made of words from around the fact, without its value,
//! brings it back from the history within a budget, and the prompt says where the history is.
//!
//! # Not here
//! Showing the figures, and the cost of compactions ([`crate::PolicyRun`]).

mod facts;
mod find;
mod search;
mod shapes;
pub mod used;
mod users;
mod words;

pub use facts::{Ending, Fact, FactKind, Facts, mine};
pub use search::History;
pub use users::UserTally;

use crate::policies::ByHand;
use crate::policy_run::{PolicyRun, RunError, RunOptions, run_policy};
use crate::script::Script;
use dormouse_context::policy::Policy;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_drive::Notice;
use dormouse_system::Clock;
use find::Haystack;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tokens that one search may return: a tool result that costs little and still holds several
/// windows.
const SEARCH_TOKENS: u64 = 2_000;

/// A window in which nothing is refused, so that only the forced compactions forget.
const WIDE: Tokens = Tokens(2_000_000);

/// Beginning of the names of the log and of the files of long results beside it. A prompt that names
/// any of them offers the search: a result that was cleared or cut says where its text is.
const HISTORY: &str = "/sessions/replayed";

/// Author of the summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Summariser {
    /// The simulator's persona, which quotes sentences blindly.
    Persona,
    /// No model: the engine makes extracts.
    Offline,
}

impl Summariser {
    /// Its name in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Persona => "persona",
            Self::Offline => "offline",
        }
    }
}

/// Presence of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundIn {
    /// In the prompt, so that the model reads it.
    InPrompt,
    /// A search brings it back.
    OneCallAway,
    /// Neither in the prompt nor found by the search.
    Lost,
}

impl FoundIn {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InPrompt => "in_prompt",
            Self::OneCallAway => "one_call_away",
            Self::Lost => "lost",
        }
    }
}

/// Number of facts by presence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Facts in the prompt.
    pub in_prompt: usize,
    /// Facts that a search brings back.
    pub one_call_away: usize,
    /// Facts that are neither.
    pub lost: usize,
}

impl Tally {
    /// Number of all facts.
    pub const fn all(&self) -> usize {
        self.in_prompt + self.one_call_away + self.lost
    }

    /// Adds the tally of others.
    pub fn merge(&mut self, other: &Self) {
        self.in_prompt += other.in_prompt;
        self.one_call_away += other.one_call_away;
        self.lost += other.lost;
    }

    fn count(&mut self, place: FoundIn) {
        match place {
            FoundIn::InPrompt => self.in_prompt += 1,
            FoundIn::OneCallAway => self.one_call_away += 1,
            FoundIn::Lost => self.lost += 1,
        }
    }
}

/// Policy and settings of a measurement.
#[derive(Clone, Debug)]
pub struct FidelityOptions {
    /// The policy whose compactions are made.
    pub policy: Arc<dyn Policy>,
    /// Number of compactions, spread evenly.
    pub compactions: usize,
    /// Author of the summaries.
    pub summariser: Summariser,
    /// Settings of the session.
    pub settings: Arc<Settings>,
}

/// Facts of a session that are still there, and those that are not.
#[derive(Clone, Debug)]
pub struct Fidelity {
    /// Compactions that were made; fewer than asked for where there was too little to compact.
    pub compactions: usize,
    /// Tokens of the prompt at the end, system prompt and tools included.
    pub prompt: Tokens,
    /// The facts by kind.
    pub kinds: BTreeMap<FactKind, Tally>,
    /// Presence of the user's messages.
    pub users: UserTally,
    /// The facts that are not in the prompt, and where they are.
    pub elsewhere: Vec<(Fact, FoundIn)>,
    /// Reason that the session ended early, if it did.
    pub ended_early: Option<String>,
}

impl Fidelity {
    /// Tally of all kinds together.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for tally in self.kinds.values() {
            total.merge(tally);
        }
        total
    }
}

/// True if a policy's agent has the history search. The policies of other agents run on this engine
/// for comparison, but their agents have no such search.
pub fn has_search(policy: &dyn Policy) -> bool {
    matches!(policy.name(), "none" | "classic" | "economic")
}

/// Runs a script with compactions and looks for its facts.
///
/// # Errors
/// When the simulator or the engine cannot be set up.
pub fn measure(
    script: &Script,
    facts: &Facts,
    options: &FidelityOptions,
    models: &Arc<ModelTable>,
    ticks: &Arc<dyn Clock>,
) -> Result<Fidelity, RunError> {
    let run_options = RunOptions {
        // The recording's own window would make the policy compact at other points.
        window: Some(WIDE),
        offline: options.summariser == Summariser::Offline,
        compact_after: points(script.steps.len(), options.compactions),
        settings: Arc::clone(&options.settings),
        ..RunOptions::new(Arc::new(ByHand(Arc::clone(&options.policy))))
    };
    let run = run_policy(script, &run_options, models, ticks)?;
    let records = &run.records;
    let prompt = run.driver.conversation().view().segments();
    let haystack = Haystack::of_prompt(&prompt);
    // A model that is not told of the history will not search it.
    let history = (has_search(&*options.policy) && names_history(&run)).then(|| {
        let ratio = models.lookup(&script.model).info.bytes_per_token.text;
        History::new(records, &run.files, bytes_of(SEARCH_TOKENS, ratio.as_f64()))
    });
    let mut kinds: BTreeMap<FactKind, Tally> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for fact in &facts.facts {
        // Counted once, at the best place: a fact in the prompt needs no search.
        let place = if haystack.has(fact, facts) {
            FoundIn::InPrompt
        } else if history
            .as_ref()
            .is_some_and(|history| history.brings_back(fact, facts))
        {
            FoundIn::OneCallAway
        } else {
            FoundIn::Lost
        };
        kinds.entry(fact.kind).or_default().count(place);
        if place != FoundIn::InPrompt {
            elsewhere.push((fact.clone(), place));
        }
    }
    let made = run
        .notices
        .iter()
        // Counted by what happened: a compaction that was refused kept everything.
        .filter(|(_, notice)| matches!(notice, Notice::Compacted { .. }))
        .count();
    Ok(Fidelity {
        compactions: made,
        prompt: run.driver.used(),
        kinds,
        users: users::tally(records, &prompt),
        elsewhere,
        ended_early: run.lost,
    })
}

/// Steps after which the run compacts: evenly spread, the last at the end.
fn points(steps: usize, compactions: usize) -> Vec<usize> {
    let mut points: Vec<usize> = (1..=compactions)
        .map(|at| (steps * at).div_ceil(compactions))
        .collect();
    // A short script has fewer steps than compactions.
    points.dedup();
    points
}

fn names_history(run: &PolicyRun) -> bool {
    run.prompt_text().contains(HISTORY)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a length in bytes, far below the limits"
)]
fn bytes_of(tokens: u64, bytes_per_token: f64) -> usize {
    (tokens as f64 * bytes_per_token) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies;
    use pretty_assertions::assert_eq;

    #[test]
    fn compactions_are_spread_and_the_last_is_at_the_end() {
        assert_eq!(points(150, 1), [150]);
        assert_eq!(points(150, 5), [30, 60, 90, 120, 150]);
        assert_eq!(points(10, 3), [4, 7, 10]);
        assert_eq!(points(2, 5), [1, 2]);
        assert_eq!(points(9, 0), Vec::<usize>::new());
    }

    #[test]
    fn a_tally_adds_up() {
        let mut tally = Tally::default();
        for place in [
            FoundIn::InPrompt,
            FoundIn::InPrompt,
            FoundIn::OneCallAway,
            FoundIn::Lost,
        ] {
            tally.count(place);
        }
        let mut twice = tally;
        twice.merge(&tally);
        assert_eq!((tally.all(), twice.all(), twice.in_prompt), (4, 8, 4));
    }

    #[test]
    fn only_the_own_policies_have_the_search() {
        let names: Vec<&str> = policies::NAMES
            .into_iter()
            .filter(|name| policies::named(name).is_some_and(|policy| has_search(&*policy)))
            .collect();
        assert_eq!(names, ["none", "classic", "economic"]);
    }
}
