//! Used later: of all that a session needed again, what a policy had kept.
//!
//! # Model
//! [`uses`] finds the values that the model wrote again at least three requests after they were last
//! seen. [`measure_used`] plays the session under a policy with its own triggers, and looks at the
//! moment of each use: the value stands in the prompt; or one call away, where a query made from
//! the line of use without the value brings it back from the history within a budget; or it is gone.
//! The recording's answers are fixed, so every policy is asked for the same values.
//!
//! # Not here
//! Planted and mined facts after forced compactions: [`super::measure`]. Tables: the command.

mod uses;

pub use uses::{Use, UsedKind, uses};

use super::{FoundIn, HISTORY, History, SEARCH_TOKENS, Tally, bytes_of, has_search};
use crate::policy_run::{PolicyRun, RunError, RunOptions, run_policy};
use crate::script::Script;
use dormouse_context::policy::Policy;
use dormouse_core::models::{ModelTable, Ratio};
use dormouse_core::record::Purpose;
use dormouse_core::usage::Usd;
use dormouse_system::Clock;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Requests since a value was last seen, in classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// Three to nine requests.
    Recent,
    /// Shown ten to twenty-nine requests before its use.
    Middle,
    /// Shown thirty or more requests before its use.
    Old,
}

impl Age {
    /// All classes, the youngest first.
    pub const ALL: [Self; 3] = [Self::Recent, Self::Middle, Self::Old];

    /// The class of a number of requests.
    pub const fn of(requests: usize) -> Self {
        match requests {
            ..10 => Self::Recent,
            10..30 => Self::Middle,
            _ => Self::Old,
        }
    }

    /// Its name in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recent => "3-9",
            Self::Middle => "10-29",
            Self::Old => "30+",
        }
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A session under a policy: the values it needed, and what it cost.
#[derive(Clone, Debug, Default)]
pub struct Used {
    /// All uses up to the end of the run.
    pub total: Tally,
    /// The uses by the age of the value.
    pub ages: BTreeMap<Age, Tally>,
    /// The uses by the kind of the value.
    pub kinds: BTreeMap<UsedKind, Tally>,
    /// The uses by the tool that brought the value; the user's words under an empty name.
    pub tools: BTreeMap<String, Tally>,
    /// The uses whose value was not in the prompt, and where it was.
    pub elsewhere: Vec<(Use, FoundIn)>,
    /// Requests of the conversation that were made.
    pub requests: usize,
    /// Cost of everything, forks included.
    pub cost: Usd,
    /// Reason that the session ended early, if it did; later uses do not count.
    pub ended_early: Option<String>,
}

impl Used {
    /// Adds the figures of another session.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        for (age, tally) in &other.ages {
            self.ages.entry(*age).or_default().merge(tally);
        }
        for (kind, tally) in &other.kinds {
            self.kinds.entry(*kind).or_default().merge(tally);
        }
        for (tool, tally) in &other.tools {
            self.tools.entry(tool.clone()).or_default().merge(tally);
        }
        self.elsewhere.extend(other.elsewhere.iter().cloned());
        self.requests += other.requests;
        self.cost += other.cost;
    }

    fn count(&mut self, used: &Use, place: FoundIn) {
        self.total.count(place);
        self.ages.entry(Age::of(used.age)).or_default().count(place);
        self.kinds.entry(used.kind).or_default().count(place);
        let tool = used.tool.as_deref().unwrap_or_default().to_owned();
        self.tools.entry(tool).or_default().count(place);
        if place != FoundIn::InPrompt {
            self.elsewhere.push((used.clone(), place));
        }
    }
}

/// Plays a script under a policy and looks for the values of its uses.
///
/// # Errors
/// When the simulator or the engine cannot be set up.
pub fn measure_used(
    script: &Script,
    uses: &[Use],
    options: &RunOptions,
    models: &Arc<ModelTable>,
    ticks: &Arc<dyn Clock>,
) -> Result<Used, RunError> {
    let options = RunOptions {
        wanted: wanted(uses),
        ..options.clone()
    };
    let run = run_policy(script, &options, models, ticks)?;
    let ratio = models.lookup(&script.model).info.bytes_per_token.text;
    Ok(judge(&run, uses, &*options.policy, ratio))
}

/// Values that a run has to look for, by the number of the step, so that [`judge`] can be asked.
pub fn wanted(uses: &[Use]) -> Arc<BTreeMap<usize, Vec<String>>> {
    let mut wanted: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for used in uses {
        // The name of the history is looked for with them: a prompt without it offers no search.
        let values = wanted
            .entry(used.step)
            .or_insert_with(|| vec![HISTORY.to_owned()]);
        values.push(used.value.clone());
    }
    Arc::new(wanted)
}

/// Tells of each use where its value was, in a run that looked for [`wanted`]. `ratio` is that of
/// the model's text.
pub fn judge(run: &PolicyRun, uses: &[Use], policy: &dyn Policy, ratio: Ratio) -> Used {
    let history = has_search(policy).then(|| {
        History::new(
            &run.records,
            &run.files,
            bytes_of(SEARCH_TOKENS, ratio.as_f64()),
        )
    });
    let mut result = Used {
        requests: usize::try_from(
            run.by_purpose
                .get(&Purpose::Turn)
                .map_or(0, |sums| sums.requests - sums.rejected),
        )
        .unwrap_or(usize::MAX),
        cost: run.total.cost,
        ended_early: run.lost.clone(),
        ..Used::default()
    };
    for (step, same_step) in uses
        .chunk_by(|a, b| a.step == b.step)
        .map(|uses| (uses[0].step, uses))
    {
        // A step that was never sent, because the session was lost before.
        let Some(look) = run.looked.get(&step) else {
            continue;
        };
        let offered = look.found.first().copied().unwrap_or_default();
        for (used, in_prompt) in same_step.iter().zip(look.found.iter().skip(1)) {
            let searched = || {
                let history = history.as_ref().filter(|_| offered)?;
                let query = used.line.replace(&used.value, " ");
                let texts = history.search_before(&query, look.records);
                texts
                    .iter()
                    .any(|text| text.contains(&used.value))
                    .then_some(())
            };
            let place = if *in_prompt {
                FoundIn::InPrompt
            } else if searched().is_some() {
                FoundIn::OneCallAway
            } else {
                FoundIn::Lost
            };
            result.count(used, place);
        }
    }
    result
}
