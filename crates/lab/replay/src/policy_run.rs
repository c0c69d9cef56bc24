//! A script under a policy: the real engine, a simulated provider.
//!
//! # Model
//! The driver is opened as any other, with an empty log in memory. Step by step the script's
//! user side is said, the engine plans, tidies up and sends, the simulator bills, and the answer
//! is the script's. Forks (notes, summaries) are answered by the simulator's persona and billed
//! with everything else. The clock is the script's.
//!
//! # Not here
//! Comparing runs and showing them: the `replay` command.

use crate::asker::{Bill, Look, ReplayAsker, Said};
use crate::interpreter::Interpreter;
use crate::recorded_world::{LastRead, RecordedTools};
use crate::run::Sums;
use crate::script::{Input, Script, Step};
use dormouse_ask::retry::RetryPolicy;
use dormouse_context::policy::Policy;
use dormouse_core::block::BlockKind;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{BoundaryKind, LineContext, Purpose, Record};
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_drive::{
    Command, CompactWish, Config, DriveError, Driver, LogStart, NoHookPoints, Notice, Role,
    RunsAll, SessionFiles,
};
use dormouse_model::{Caching, Capabilities, Params};
use dormouse_sim::{CacheMode, ConfigError, SimConfig, Simulator, Switches, TokenizerConfig};
use dormouse_system::Clock;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Longest answer asked for, in tokens: room enough for a summary.
const MOST_OUTPUT: Tokens = Tokens(8_192);

/// Reason that a script could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The simulator does not start.
    #[error("the simulator cannot be set up for this session")]
    Simulator(#[source] ConfigError),
    /// The engine failed on its own account.
    #[error("the engine could not go on at step {step}")]
    Engine {
        /// Number of the step, from one; zero while opening.
        step: usize,
        /// The error of the driver.
        #[source]
        source: Box<DriveError>,
    },
    /// The parameters could not be serialised.
    #[error("the request's parameters cannot be serialised")]
    Params(#[source] serde_json::Error),
}

/// Policy and conditions of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The policy that decides on forgetting.
    pub policy: Arc<dyn Policy>,
    /// A window that replaces the model's.
    pub window: Option<Tokens>,
    /// True to report the layers' considerations at every step.
    pub explain: bool,
    /// True if no fork gets an answer.
    pub offline: bool,
    /// Cache of the provider.
    pub cache: CacheMode,
    /// Steps, counted from one, at whose end the run compacts, beside the policy's triggers.
    pub compact_after: Vec<usize>,
    /// Settings of the session.
    pub settings: Arc<Settings>,
    /// Values to look for in the prompt of a step, by the number of the step.
    pub wanted: Arc<BTreeMap<usize, Vec<String>>>,
}

impl RunOptions {
    /// A plain run of a policy.
    pub fn new(policy: Arc<dyn Policy>) -> Self {
        Self {
            policy,
            window: None,
            explain: false,
            offline: false,
            cache: CacheMode::Marked,
            compact_after: Vec::new(),
            settings: Arc::new(Settings::default()),
            wanted: Arc::default(),
        }
    }
}

/// Cost of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepBill {
    /// Tokens of its request's prompt.
    pub prompt: Tokens,
    /// Cost of its request.
    pub cost: Usd,
    /// Cost of the forks that belong to it.
    pub forks: Usd,
}

/// A script under a policy.
#[derive(Debug)]
pub struct PolicyRun {
    /// Name of the policy.
    pub policy: &'static str,
    /// Sums over all requests, forks included.
    pub total: Sums,
    /// The same by purpose.
    pub by_purpose: BTreeMap<Purpose, Sums>,
    /// Cost by step, in the order of the script.
    pub steps: Vec<StepBill>,
    /// Bills of all requests, in order.
    pub bills: Vec<Bill>,
    /// Notices with the step (from one) they were told in.
    pub notices: Vec<(usize, Notice)>,
    /// Number of steps the script has.
    pub wanted: usize,
    /// Reason that the run ended early, if it did.
    pub lost: Option<String>,
    /// Time spent in the engine, the simulator's not counted.
    pub engine: Duration,
    /// The driver at its end.
    pub driver: Driver,
    /// Every record of the session.
    pub records: Vec<Record>,
    /// The prompts that were looked into, by the number of the step.
    pub looked: BTreeMap<usize, Look>,
    /// Files that the session saved, by path: long results, notes.
    pub files: HashMap<PathBuf, String>,
}

impl PolicyRun {
    /// True if every step was made.
    pub fn finished(&self) -> bool {
        self.lost.is_none()
    }

    /// Number of compactions by kind.
    pub fn compactions(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for (_, notice) in &self.notices {
            if let Notice::Compacted { kind, .. } = notice {
                *kinds.entry(kind_name(*kind)).or_default() += 1;
            }
        }
        kinds
    }

    /// Batches of results that were cleared.
    pub fn clearings(&self) -> usize {
        self.count(|notice| matches!(notice, Notice::Cleared { .. }))
    }

    /// Updates of the notes that were kept.
    pub fn notes_updates(&self) -> usize {
        self.count(|notice| matches!(notice, Notice::NotesUpdated { .. }))
    }

    /// Results that were put into files.
    pub fn offloaded(&self) -> usize {
        self.count(|notice| matches!(notice, Notice::Offloaded { .. }))
    }

    /// Results that became shorter once they were answered.
    pub fn distilled(&self) -> usize {
        let notices = self.notices.iter();
        let results = notices.map(|(_, notice)| match notice {
            Notice::Distilled { results, .. } => *results,
            _ => 0,
        });
        results.sum()
    }

    /// Results that were sent unmarked to be distilled and stayed whole.
    pub fn not_distilled(&self) -> usize {
        let notices = self.notices.iter();
        let results = notices.map(|(_, notice)| match notice {
            Notice::NotDistilled { results } => *results,
            _ => 0,
        });
        results.sum()
    }

    fn count(&self, which: impl Fn(&Notice) -> bool) -> usize {
        self.notices
            .iter()
            .filter(|(_, notice)| which(notice))
            .count()
    }

    /// The share of the parent's last request, up to its last marker, that each fork read from the
    /// cache, with its purpose and step.
    #[expect(clippy::cast_precision_loss, reason = "a share for people and scripts")]
    pub fn fork_reads(&self) -> Vec<(Purpose, usize, f64)> {
        let forks = self.bills.iter().filter(|bill| {
            bill.purpose != Purpose::Turn && bill.rejected.is_none() && bill.parent > Tokens::ZERO
        });
        forks
            .map(|bill| {
                let read = bill.usage.cache_read.get() as f64 / bill.parent.get() as f64;
                (bill.purpose, bill.step, read)
            })
            .collect()
    }

    /// Every text of the prompt as it stands at the end.
    pub fn prompt_text(&self) -> String {
        let segments = self.driver.conversation().view().segments();
        let mut text = String::new();
        for segment in segments.iter() {
            match segment.block.kind() {
                BlockKind::ToolUse => {
                    text.push_str(&String::from_utf8_lossy(segment.block.bytes()));
                }
                _ => text.push_str(&segment.block.readable_text().unwrap_or_default()),
            }
            text.push('\n');
        }
        text
    }
}

/// The name of a kind of compaction.
pub const fn kind_name(kind: BoundaryKind) -> &'static str {
    match kind {
        BoundaryKind::Notes => "notes",
        BoundaryKind::Full => "full",
        BoundaryKind::Partial => "partial",
        BoundaryKind::Offline => "offline",
        BoundaryKind::Foreign => "foreign",
    }
}

/// Runs a script under a policy. `ticks` measures the engine; the crate itself reads no clock.
///
/// # Errors
/// When the simulator or the engine cannot be set up. A session that is lost to the window is not
/// an error but a result.
pub fn run_policy(
    script: &Script,
    options: &RunOptions,
    models: &Arc<ModelTable>,
    ticks: &Arc<dyn Clock>,
) -> Result<PolicyRun, RunError> {
    Runner::new(script, options, models, ticks)?.run()
}

struct Runner<'a> {
    script: &'a Script,
    options: &'a RunOptions,
    ticks: Arc<dyn Clock>,
    world: Interpreter,
    notices: Vec<(usize, Notice)>,
}

impl<'a> Runner<'a> {
    fn new(
        script: &'a Script,
        options: &'a RunOptions,
        models: &Arc<ModelTable>,
        ticks: &Arc<dyn Clock>,
    ) -> Result<Self, RunError> {
        // No overheads per block or for tools: recorded ones are in the fitted factor.
        let simulator = Simulator::new(SimConfig {
            window: options.window.map(Tokens::get),
            switches: Switches {
                cache: options.cache,
                ..Switches::default()
            },
            tokenizer: TokenizerConfig {
                factor_permille: script.permille,
                block_tokens: 0,
                hidden_tool_tokens: false,
                ..TokenizerConfig::default()
            },
            ..SimConfig::default()
        })
        .map_err(RunError::Simulator)?;
        let asker = Arc::new(ReplayAsker::new(
            simulator,
            Arc::clone(ticks),
            Arc::clone(models),
            options.offline,
        ));
        let driver = open(script, options, models, &asker)?;
        Ok(Self {
            script,
            options,
            ticks: Arc::clone(ticks),
            world: Interpreter::new(driver, asker, Arc::new(LastRead::default())),
            notices: Vec::new(),
        })
    }

    fn run(mut self) -> Result<PolicyRun, RunError> {
        let start = self.ticks.ticks();
        let mut lost = None;
        for (at, step) in (1..).zip(&self.script.steps) {
            let made = self.step(at, step);
            let told = self.world.notices.drain(..).map(|notice| (at, notice));
            self.notices.extend(told);
            match made {
                Ok(()) => {}
                // A refusal ends the session, as it would for the user; it is a result, not an
                // error.
                Err(DriveError::Model(failure)) => {
                    lost = Some(self.world.refusal().unwrap_or(failure.why));
                    break;
                }
                Err(error @ (DriveError::Blocked { .. } | DriveError::MessageTooLong { .. })) => {
                    lost = Some(error.to_string());
                    break;
                }
                Err(source) => {
                    return Err(RunError::Engine {
                        step: at,
                        source: Box::new(source),
                    });
                }
            }
        }
        let engine = self
            .ticks
            .ticks()
            .since(start)
            // Saturating, because two readings of a coarse clock may overlap.
            .saturating_sub(self.world.asker.simulating());
        Ok(self.result(lost, engine))
    }

    fn step(&mut self, at: usize, step: &Step) -> Result<(), DriveError> {
        // The script's clock: cache lifetimes must expire as they did in the recording.
        self.world.now = step.at;
        for input in &step.inputs {
            match input {
                Input::Message(message) => self.world.command(Command::Say(message.clone()))?,
                Input::Results(results) => {
                    self.world.disk.results(results);
                    self.world.command(Command::Results(results.clone()))?
                }
            };
        }
        // Remembered by call: the results of the next step name only the call.
        self.world.disk.calls(&step.answer);
        self.world.asker.says(Said {
            step: at,
            blocks: step.answer.clone(),
            output: step.output,
            wanted: self.options.wanted.get(&at).cloned().unwrap_or_default(),
            records: self.world.records.len(),
        });
        self.world.command(Command::Step)?;
        if step.ends_turn() {
            self.world.command(Command::EndTurn)?;
        }
        if self.options.compact_after.contains(&at) {
            self.world
                .command(Command::Compact(CompactWish::default()))?;
        }
        Ok(())
    }

    fn result(self, lost: Option<String>, engine: Duration) -> PolicyRun {
        let bills = self.world.asker.bills();
        let looked = self.world.asker.looked();
        let mut total = Sums::default();
        let mut by_purpose: BTreeMap<Purpose, Sums> = BTreeMap::new();
        let mut steps = vec![StepBill::default(); self.script.steps.len()];
        for bill in &bills {
            let sums = by_purpose.entry(bill.purpose).or_default();
            for sums in [&mut total, sums] {
                sums.add(&bill.usage, bill.cost);
                sums.rejected += u64::from(bill.rejected.is_some());
            }
            // Bills before the first step belong to the opening and to no step.
            let Some(step) = bill.step.checked_sub(1).and_then(|at| steps.get_mut(at)) else {
                continue;
            };
            let cost = bill.cost.unwrap_or_default();
            match bill.purpose {
                Purpose::Turn => {
                    step.prompt = bill.usage.prompt();
                    step.cost += cost;
                }
                Purpose::Notes
                | Purpose::Compaction
                | Purpose::KeepAlive
                | Purpose::Provider
                | Purpose::Fork => step.forks += cost,
            }
        }
        PolicyRun {
            policy: self.options.policy.name(),
            total,
            by_purpose,
            steps,
            bills,
            notices: self.notices,
            wanted: self.script.steps.len(),
            lost,
            engine,
            driver: self.world.driver,
            records: self.world.records,
            looked,
            files: self.world.files,
        }
    }
}

fn open(
    script: &Script,
    options: &RunOptions,
    models: &Arc<ModelTable>,
    asker: &ReplayAsker,
) -> Result<Driver, RunError> {
    let params = Params::new(&script.model, MOST_OUTPUT).map_err(RunError::Params)?;
    let config = Config {
        session: SessionId::new("replayed"),
        place: SessionFiles {
            log: "/sessions/replayed.jsonl".into(),
            folder: "/sessions/replayed".into(),
            project: script.project.clone(),
        },
        line: LineContext::default(),
        capabilities: Capabilities {
            caching: if options.cache == CacheMode::Automatic {
                Caching::Automatic
            } else {
                Caching::Markers
            },
            ..asker.capabilities(&script.model)
        },
        model: script.model.to_string(),
        models: Arc::clone(models),
        params,
        prefix: Arc::clone(&script.prefix),
        policy: Some(Arc::clone(&options.policy)),
        window: options.window,
        tools: Arc::new(RecordedTools),
        judge: Arc::new(RunsAll),
        role: Role::Main,
        most_requests: usize::MAX,
        continuations: 0,
        // The recording's failures are its own: a refusal is final, and a retry would bill twice.
        retry: RetryPolicy::NEVER,
        fallback: None,
        hooks: Arc::new(NoHookPoints),
        turn_facts: false,
        budget: None,
        recall: false,
        lessons: None,
        explain: options.explain,
        seed: 0,
    };
    let settings = Arc::clone(&options.settings);
    let start = script.steps.first().map(|step| step.at).unwrap_or_default();
    let opened = Driver::open(config, settings, LogStart::default(), start);
    let (driver, _) = opened.map_err(|source| RunError::Engine {
        step: 0,
        source: Box::new(source),
    })?;
    Ok(driver)
}
