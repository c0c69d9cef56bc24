//! `dormouse eval fidelity`: the facts of a session that survive compactions.
//!
//! # Not here
//! Mining and looking for facts: `dormouse-replay`. Tables: `fidelity_text`.

use super::{fidelity_text, used};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use clap::ValueEnum;
use dormouse_context::policy::Policy;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Tokens;
use dormouse_replay::fidelity::{
    FactKind, Facts, Fidelity, FidelityOptions, Summariser, Tally, UserTally, has_search, measure,
    mine,
};
use dormouse_replay::{Recording, Scenario, Script, policies};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const HELP: &str = "\
Facts are mined from each session without a model: rules and numbers of the
user, file paths, commands with how they ended, error texts, decisions. Then the
session is run with compactions spread evenly over it, the last at its end, and
every fact is looked for. It is in the prompt; or one call away, if a fixed query
made without the fact's value brings it back from the history within 2,000
tokens; or lost. Tables show two shares: in the prompt, and that or one call away.

Summaries are written by the simulator's persona, which quotes sentences blindly,
and by nobody (offline): what survives is what the engine itself carries along.

With --used nothing is planted or mined: every path, name, number and quotation that
the model wrote again three or more requests after it was last seen is looked for at
that moment, with each policy's own triggers, and the cost stands beside it.

Examples:
  dormouse eval fidelity session.jsonl
  dormouse eval fidelity --generated --policy economic --compactions 5
  dormouse eval fidelity session.jsonl --used --policy none,classic,economic
  dormouse eval fidelity *.jsonl --used --plot needed.svg
  dormouse eval fidelity *.jsonl --json | jq '.policies[].total'

JSON:
  {\"policies\": [{\"name\", \"summariser\", \"compactions\", \"compactions_made\",
    \"prompt_tokens\", \"kinds\": {KIND: {\"in_prompt\", \"one_call_away\", \"lost\"}},
    \"total\": {the same}, \"user_messages\": {\"exact\",
    \"by_reference\", \"lost\"}}],
   \"files\": [{\"file\", \"facts\": {KIND: count}}], \"notes\": [text],
   \"missing\": [{\"file\", \"name\", \"summariser\", \"compactions\", \"kind\",
    \"value\", \"step\", \"where\"}]}
With --used:
  {\"policies\": [{\"name\", \"searches\", \"requests\", \"cost_usd\", \"total\": {the same},
    \"ages\": {\"3-9\", \"10-29\", \"30+\"}, \"kinds\": {\"path\", \"identifier\", \"number\",
    \"error_text\", \"quote\"}, \"tools\": {TOOL: {the same}}, \"ended_early\": [{\"file\", \"why\"}]}],
   \"files\": [{\"file\", \"requests\", \"uses\"}], \"plot\", \"missing\": [{\"file\", \"policy\",
    \"step\", \"age\", \"kind\", \"tool\", \"value\", \"where\"}]}
KIND is user_rule, user_number, file_path, command, error_text or decision;
\"missing\" is there with --missing.";

/// Policies that are compared unless others are named: all that compact. `none` never does, so that
/// nothing could be lost under it.
const POLICIES: &str = "classic,economic,codex,opencode,openhands,gemini,qwen";

/// Time until the user is told which policy is at work: two seconds are about when a person begins
/// to doubt.
const PATIENCE: Duration = Duration::from_secs(2);

/// Arguments of `eval fidelity`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Transcripts of sessions to measure
    #[arg(required_unless_present = "generated", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Measure a generated session, too
    #[arg(long)]
    generated: bool,
    /// Requests of the generated session
    #[arg(
        long,
        value_name = "N",
        default_value = "150",
        value_parser = clap::value_parser!(u16).range(1..=10_000),
        requires = "generated"
    )]
    steps: u16,
    /// Policies to compare; unless given, all but `none`
    #[arg(
        long = "policy",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = POLICIES,
        hide_default_value = true
    )]
    policies: Vec<String>,
    /// Numbers of compactions, spread evenly over the session
    #[arg(
        long,
        value_name = "COUNTS",
        value_delimiter = ',',
        default_value = "1,3,5",
        value_parser = clap::value_parser!(u16).range(1..=100)
    )]
    compactions: Vec<u16>,
    /// Writer of the summaries
    #[arg(long, value_name = "WHO", default_value = "both")]
    summariser: Who,
    /// List the facts that are not in the prompt
    #[arg(long)]
    missing: bool,
    /// Measure what the session itself used later, under each policy's own triggers
    #[arg(long, conflicts_with_all = ["compactions", "summariser"])]
    used: bool,
    /// Window to play in with --used, such as 200k; the model's own if not given
    #[arg(long, value_name = "TOKENS", requires = "used", value_parser = crate::arguments::tokens)]
    window: Option<Tokens>,
    /// Draw cost against what was needed as an SVG, with --used
    #[arg(long, value_name = "FILE.svg", requires = "used")]
    plot: Option<PathBuf>,
}

/// The writers of summaries to measure with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Who {
    /// The simulator's persona, which quotes sentences
    Persona,
    /// No model: the engine's own account of the session
    Offline,
    /// First the persona, then no model
    Both,
}

impl Who {
    const fn summarisers(self) -> &'static [Summariser] {
        match self {
            Self::Persona => &[Summariser::Persona],
            Self::Offline => &[Summariser::Offline],
            Self::Both => &[Summariser::Persona, Summariser::Offline],
        }
    }
}

#[derive(Serialize)]
pub(super) struct Measurement {
    pub(super) policies: Vec<PolicyReport>,
    pub(super) files: Vec<FileReport>,
    pub(super) notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) missing: Option<Vec<Missing>>,
}

#[derive(Serialize)]
pub(super) struct PolicyReport {
    pub(super) name: &'static str,
    pub(super) summariser: &'static str,
    pub(super) compactions: usize,
    pub(super) compactions_made: usize,
    pub(super) prompt_tokens: u64,
    pub(super) kinds: BTreeMap<&'static str, Places>,
    pub(super) total: Places,
    pub(super) user_messages: UserPlaces,
}

#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct Places {
    pub(super) in_prompt: usize,
    pub(super) one_call_away: usize,
    pub(super) lost: usize,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct UserPlaces {
    pub(super) exact: usize,
    pub(super) by_reference: usize,
    pub(super) lost: usize,
}

#[derive(Serialize)]
pub(super) struct FileReport {
    pub(super) file: String,
    pub(super) facts: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
pub(super) struct Missing {
    pub(super) file: String,
    pub(super) name: &'static str,
    pub(super) summariser: &'static str,
    pub(super) compactions: usize,
    pub(super) kind: &'static str,
    pub(super) value: String,
    pub(super) step: usize,
    #[serde(rename = "where")]
    pub(super) place: &'static str,
}

impl Places {
    /// Number of all facts.
    pub(super) const fn all(self) -> usize {
        self.in_prompt + self.one_call_away + self.lost
    }

    /// Both shares in per cent, or a dash where there was nothing to find.
    pub(super) fn share(self) -> String {
        let all = self.all();
        if all == 0 {
            return "–".to_owned();
        }
        // Rounded down, so that 100 means all of them and never "nearly all".
        let per_cent = |part: usize| part * 100 / all;
        let found = self.in_prompt + self.one_call_away;
        format!("{} / {}", per_cent(self.in_prompt), per_cent(found))
    }
}

impl From<Tally> for Places {
    fn from(tally: Tally) -> Self {
        Self {
            in_prompt: tally.in_prompt,
            one_call_away: tally.one_call_away,
            lost: tally.lost,
        }
    }
}

/// A session to measure, with the facts mined from it.
struct Subject {
    name: String,
    script: Script,
    facts: Facts,
}

/// Measures every session under every policy, summariser and number of compactions.
pub(super) fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    let models = host.models();
    let policies = policies(&args.policies)?;
    let scripts = scripts(args, &models, app)?;
    if args.used {
        let ask = used::Ask {
            policies,
            window: args.window,
            missing: args.missing,
            plot: args.plot.clone(),
        };
        return used::run(&ask, scripts, app);
    }
    let subjects: Vec<Subject> = scripts.into_iter().map(subject).collect();
    let settings = host.settings();
    let start = app.system.clock.ticks();
    let mut report = Measurement {
        policies: Vec::new(),
        files: subjects.iter().map(file_report).collect(),
        notes: notes(&policies),
        missing: args.missing.then(Vec::new),
    };
    for summariser in args.summariser.summarisers() {
        for policy in &policies {
            // Short runs print nothing but the result.
            let waited = app.system.clock.ticks().since(start);
            if waited > PATIENCE {
                let doing = format!("{} with {} …", policy.name(), summariser.name());
                // For people only: a line between results would break the JSON.
                app.out.heading(|out| {
                    out.aside(Line::new().role(Role::Dim, doing));
                    Ok(())
                })?;
            }
            for compactions in &args.compactions {
                let options = FidelityOptions {
                    policy: Arc::clone(policy),
                    compactions: usize::from(*compactions),
                    summariser: *summariser,
                    settings: Arc::clone(&settings),
                };
                one_row(&options, &subjects, &models, app, &mut report)?;
            }
        }
    }
    app.tell(&report)
}

impl Report for Measurement {
    fn text(&self, out: &mut Out) -> Outcome {
        fidelity_text::show(self, out)
    }
}

fn policies(names: &[String]) -> Result<Vec<Arc<dyn Policy>>, Failure> {
    // Checked before any session is read: playing one takes seconds.
    let known = |name: &String| {
        policies::named(name).ok_or_else(|| {
            let message = format!("there is no policy `{name}`");
            let hint = format!("policies are {}", policies::NAMES.join(", "));
            Failure::from(UserError::new(Exit::Usage, message).hint(hint))
        })
    };
    names.iter().map(known).collect()
}

fn scripts(
    args: &Args,
    models: &Arc<ModelTable>,
    app: &mut App,
) -> Result<Vec<(String, Script)>, Failure> {
    let mut subjects = Vec::new();
    for file in &args.files {
        match script_of(file, models, app) {
            Ok(script) => subjects.push((file.display().to_string(), script)),
            // Among many files some may be of another kind and are passed over; a single one is an
            // error.
            Err(Unreadable::NothingMeasured(_)) if args.files.len() > 1 => {
                app.note(&format!("`{}` cannot be replayed", file.display()));
            }
            Err(Unreadable::NothingMeasured(error)) => return Err(error.into()),
            // A path that is wrong is an error even among many.
            Err(Unreadable::Other(failure)) => return Err(failure),
        }
    }
    if args.generated {
        let script = generated(usize::from(args.steps));
        subjects.push(("generated".to_owned(), script));
    }
    Ok(subjects)
}

/// The generated session with so many requests. Its tool output shrinks in proportion, so that a
/// short one is not all output.
fn generated(steps: usize) -> Script {
    let whole = Scenario::default();
    let scenario = Scenario {
        steps,
        tool_bytes: whole.tool_bytes / whole.steps * steps,
        ..whole
    };
    scenario.script()
}

fn subject((name, script): (String, Script)) -> Subject {
    Subject {
        name,
        facts: mine(&script),
        script,
    }
}

/// The reasons why a file gives no script.
enum Unreadable {
    NothingMeasured(UserError),
    Other(Failure),
}

fn script_of(file: &Path, models: &Arc<ModelTable>, app: &App) -> Result<Script, Unreadable> {
    let read = app.transcripts().records(file);
    let records = read.map_err(|error| Unreadable::Other(error.into()))?;
    let recording = Recording::new(&records, models).map_err(|error| {
        let message = format!("`{}` cannot be replayed", file.display());
        let mut user = UserError::new(Exit::Unsuitable, message);
        user.causes.push(error.to_string());
        Unreadable::NothingMeasured(
            user.hint("transcripts of Claude Code's and Dormouse's say what each response used"),
        )
    })?;
    Ok(Script::of(&records, &recording, models))
}

/// One policy with one number of compactions, over all sessions.
fn one_row(
    options: &FidelityOptions,
    subjects: &[Subject],
    models: &Arc<ModelTable>,
    app: &mut App,
    report: &mut Measurement,
) -> Outcome {
    let clock = Arc::clone(&app.system.clock);
    // Kinds without a fact get a row too: a missing row would look like a fault of the table.
    let none = FactKind::ALL.map(|kind| (kind.name(), Tally::default()));
    let (mut kinds, mut total) = (BTreeMap::from(none), Tally::default());
    let mut users = UserTally::default();
    let (mut made, mut prompt) = (0, 0);
    for subject in subjects {
        let found = measure(&subject.script, &subject.facts, options, models, &clock)
            .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
        // The figures of the steps before still count; the reader has to know.
        if let Some(why) = &found.ended_early {
            app.note(&format!("`{}` ended early: {why}", subject.name));
        }
        for (kind, tally) in &found.kinds {
            let sum: &mut Tally = kinds.entry(kind.name()).or_default();
            sum.merge(tally);
        }
        total.merge(&found.total());
        users.merge(&found.users);
        made += found.compactions;
        prompt += found.prompt.get();
        if let Some(missing) = &mut report.missing {
            missing.extend(missing_of(&subject.name, options, &found));
        }
    }
    report.policies.push(PolicyReport {
        name: options.policy.name(),
        summariser: options.summariser.name(),
        compactions: options.compactions,
        compactions_made: made,
        // The mean, not the sum: with more sessions a prompt does not become longer.
        prompt_tokens: prompt / (subjects.len() as u64).max(1),
        kinds: kinds
            .into_iter()
            .map(|(kind, tally)| (kind, tally.into()))
            .collect(),
        total: total.into(),
        user_messages: UserPlaces {
            exact: users.exact,
            by_reference: users.by_reference,
            lost: users.lost,
        },
    });
    Ok(())
}

fn missing_of<'a>(
    file: &'a str,
    options: &'a FidelityOptions,
    found: &'a Fidelity,
) -> impl Iterator<Item = Missing> + 'a {
    found.elsewhere.iter().map(|(fact, place)| Missing {
        file: file.to_owned(),
        name: options.policy.name(),
        summariser: options.summariser.name(),
        compactions: options.compactions,
        kind: fact.kind.name(),
        value: fact.value.clone(),
        step: fact.step,
        place: place.name(),
    })
}

fn file_report(subject: &Subject) -> FileReport {
    let mut facts = BTreeMap::from(FactKind::ALL.map(|kind| (kind.name(), 0)));
    for fact in &subject.facts.facts {
        *facts.entry(fact.kind.name()).or_default() += 1;
    }
    FileReport {
        file: subject.name.clone(),
        facts,
    }
}

fn notes(policies: &[Arc<dyn Policy>]) -> Vec<String> {
    let mut notes = vec![
        "triggers, clearing and notes are switched off: compactions come at the same points in \
         every policy"
            .to_owned(),
        "the persona quotes what was said and never what tools did: a floor for summaries, not a \
         forecast"
            .to_owned(),
    ];
    let without: Vec<&str> = policies
        .iter()
        .filter(|policy| !has_search(&***policy))
        .map(|policy| policy.name())
        .collect();
    // A zero in their column is a property of those agents, and would read as a failure without the
    // note.
    if !without.is_empty() {
        notes.push(format!(
            "nothing is one call away in {}: those agents have no search of their history",
            without.join(", ")
        ));
    }
    notes
}
