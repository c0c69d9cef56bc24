//! Playing sessions: scripts from files, folders or the generator, once per policy.
//!
//! # Model
//! A [`Played`] session is a script with one run per policy. Runs share nothing, so as many go on
//! at once as the machine has cores; their results do not depend on it.
//!
//! # Not here
//! Adding up what they cost: [`super::policies`].

use super::{Args, recording};
use crate::app::App;
use crate::commands::frontier::Point;
use crate::error::{Exit, Failure, UserError};
use dormouse_context::policy::Policy;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Windows;
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_replay::fidelity::used::{Used, judge, uses, wanted};
use dormouse_replay::{PolicyRun, RunError, RunOptions, Scenario, Script, run_policy};
use dormouse_sim::CacheMode;
use dormouse_system::Clock;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Settings and prices that sessions are played with.
pub(super) struct Conditions {
    pub(super) settings: Arc<Settings>,
    pub(super) models: Arc<ModelTable>,
    pub(super) cache: CacheMode,
    pub(super) offline: bool,
    pub(super) explain: bool,
}

impl Conditions {
    /// The options of a run under a policy.
    pub(super) fn options(&self, policy: &Arc<dyn Policy>, window: Tokens) -> RunOptions {
        RunOptions {
            window: Some(window),
            explain: self.explain,
            offline: self.offline,
            cache: self.cache,
            settings: Arc::clone(&self.settings),
            ..RunOptions::new(Arc::clone(policy))
        }
    }
}

/// A script with its name and the window it is played in.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) script: Script,
    pub(super) window: Tokens,
    pub(super) window_from: String,
}

/// A session and its fate under each policy.
pub(super) struct Played {
    pub(super) name: String,
    pub(super) tool_bytes: u64,
    pub(super) model: Arc<str>,
    pub(super) window: Tokens,
    pub(super) window_from: String,
    pub(super) runs: Vec<PolicyRun>,
    /// Values that were needed later, by run; empty unless they were asked for.
    used: Vec<Used>,
}

impl Played {
    pub(super) fn steps(&self) -> usize {
        self.runs.first().map_or(0, |run| run.wanted)
    }

    /// Cost against what was needed, for each policy.
    pub(super) fn points(&self) -> Vec<Point> {
        let runs = self.runs.iter().zip(&self.used);
        runs.filter_map(|(run, used)| Point::of(run.policy, used, !run.finished()))
            .collect()
    }
}

/// Number of requests that a run got an answer to.
pub(super) fn made(run: &PolicyRun) -> usize {
    let made = run.steps.iter().filter(|step| step.prompt > Tokens::ZERO);
    made.count()
}

/// The scripts of the sessions that were named, or the generated one.
pub(super) fn subjects(
    args: &Args,
    conditions: &Conditions,
    app: &mut App,
) -> Result<Vec<Subject>, Failure> {
    let models = &conditions.models;
    let mut scripts = Vec::new();
    match args.generated {
        Some(steps) => {
            let script = generated(args, steps, models)?;
            scripts.push(("generated".to_owned(), script, Windows::default()));
        }
        None => {
            for file in &args.files {
                let read = recording(file, models, app);
                match read {
                    Ok((records, recording)) => {
                        let script = Script::of(&records, &recording, models);
                        let windows = app.transcripts().windows(&records);
                        scripts.push((file.display().to_string(), script, windows));
                    }
                    // Among many, one that tells no figures is left out, and said so.
                    Err(_) if args.files.len() > 1 => {
                        app.note(&format!(
                            "`{}` cannot be replayed and is left out",
                            file.display()
                        ));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
    if scripts.is_empty() {
        let message = "no session here says what its responses used";
        return Err(UserError::new(Exit::Unsuitable, message.to_owned()).into());
    }
    let mut subjects = Vec::with_capacity(scripts.len());
    for (name, script, windows) in scripts {
        let (window, window_from) = app.host()?.window_for(&script.model, &windows);
        subjects.push(Subject {
            name,
            script,
            window,
            window_from,
        });
    }
    Ok(subjects)
}

/// A run that is to be made, with the text that tells of it.
pub(super) struct Order<'a> {
    pub(super) script: &'a Script,
    pub(super) options: RunOptions,
    pub(super) told: String,
}

/// Makes all runs, as many at once as there are cores, and gives them back in their order.
pub(super) fn run_all(
    orders: &[Order<'_>],
    models: &Arc<ModelTable>,
    app: &mut App,
) -> Vec<Result<PolicyRun, RunError>> {
    let clock: Arc<dyn Clock> = Arc::clone(&app.system.clock);
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let waiting: Mutex<VecDeque<usize>> = Mutex::new((0..orders.len()).collect());
    let (tell, told) = std::sync::mpsc::channel();
    let mut results: Vec<Option<Result<PolicyRun, RunError>>> = Vec::new();
    results.resize_with(orders.len(), || None);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(orders.len()) {
            let (tell, waiting, clock) = (tell.clone(), &waiting, &clock);
            scope.spawn(move || {
                let next = || {
                    waiting
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front()
                };
                while let Some(at) = next() {
                    let order = &orders[at];
                    // The receiver lives as long as the scope.
                    drop(tell.send((at, None)));
                    let run = run_policy(order.script, &order.options, models, clock);
                    drop(tell.send((at, Some(run))));
                }
            });
        }
        drop(tell);
        for (at, done) in told {
            match done {
                None => app.out.progress(&orders[at].told),
                Some(run) => results[at] = Some(run),
            }
        }
    });
    app.out.progress("");
    results.into_iter().flatten().collect()
}

/// Plays every session under every policy.
pub(super) fn play(
    args: &Args,
    conditions: &Conditions,
    app: &mut App,
) -> Result<Vec<Played>, Failure> {
    let subjects = subjects(args, conditions, app)?;
    let policies = args.policies();
    let sessions = subjects.len();
    // Looked for only where they are drawn: finding them takes as long as a run.
    let needed: Vec<_> = match args.plot {
        Some(_) => subjects
            .iter()
            .map(|subject| uses(&subject.script))
            .collect(),
        None => vec![Vec::new(); sessions],
    };
    let mut orders = Vec::new();
    for (at, (subject, needed)) in subjects.iter().zip(&needed).enumerate() {
        for policy in &policies {
            let which = match sessions {
                1 => String::new(),
                _ => format!(", session {} of {sessions}", at + 1),
            };
            orders.push(Order {
                script: &subject.script,
                options: RunOptions {
                    wanted: wanted(needed),
                    ..conditions.options(policy, subject.window)
                },
                told: format!("playing {}{which}", policy.name()),
            });
        }
    }
    let mut runs = run_all(&orders, &conditions.models, app).into_iter();
    drop(orders);
    let mut played = Vec::with_capacity(sessions);
    for (subject, needed) in subjects.into_iter().zip(&needed) {
        let of_session: Result<Vec<PolicyRun>, RunError> =
            runs.by_ref().take(policies.len()).collect();
        let of_session = of_session.map_err(|error| failed(&subject.name, &error))?;
        let ratio = conditions.models.lookup(&subject.script.model);
        let ratio = ratio.info.bytes_per_token.text;
        let used = match args.plot {
            Some(_) => of_session
                .iter()
                .zip(&policies)
                .map(|(run, policy)| judge(run, needed, &**policy, ratio))
                .collect(),
            None => Vec::new(),
        };
        played.push(Played {
            name: subject.name,
            tool_bytes: subject.script.tool_bytes(),
            window: subject.window,
            window_from: subject.window_from,
            model: subject.script.model,
            runs: of_session,
            used,
        });
    }
    Ok(played)
}

/// The error of a run, with the session it was made of.
pub(super) fn failed(name: &str, error: &RunError) -> Failure {
    let mut user = UserError::of(Exit::Unexpected, error);
    user.message = format!("`{name}`: {}", user.message);
    user.into()
}

fn generated(args: &Args, steps: u16, models: &ModelTable) -> Result<Script, Failure> {
    let usual = Scenario::default();
    let model = args.model.clone().unwrap_or_else(|| usual.model.clone());
    // Every figure of the comparison is money; without prices all would be unknown.
    if models.lookup(&model).info.prices.is_none() {
        let message = format!("no price is known for the model `{model}`");
        let hint = "write a model of the table, or add it to models.toml in Dormouse's home";
        return Err(UserError::new(Exit::Unsuitable, message).hint(hint).into());
    }
    let steps = usize::from(steps);
    Ok(Scenario {
        steps,
        // As much a request as in the session of the comparison.
        tool_bytes: usual.tool_bytes / usual.steps * steps,
        model,
        ..usual
    }
    .script())
}

/// The stem of a session's file; folder and ending say nothing new on a screen.
pub(super) fn short(file: &str) -> String {
    let stem = Path::new(file).file_stem();
    stem.map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into())
}
