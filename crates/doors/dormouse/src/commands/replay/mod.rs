//! `dormouse replay`: sessions against the provider simulator, as they were or under policies.
//!
//! # Model
//! Without a policy the session is sent as it was recorded and the simulator's bill is held
//! against the recording's (`recorded`). With policies the real engine plays the same session
//! once per policy (`policies`); what they cost is compared as tables (`screen`), as a plot
//! (`plot`) or, for one request, as an explanation (`explain`).
//!
//! # Not here
//! Playing a session: `dormouse-replay`.

mod ablate;
mod explain;
mod play;
mod plot;
mod policies;
mod recorded;
mod remarks;
mod screen;
mod sessions;
mod spread;

use crate::app::App;
use crate::arguments::WindowOption;
use crate::error::{Exit, Failure, Outcome, UserError};
use clap::builder::PossibleValuesParser;
use dormouse_context::policy::Policy;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Record;
use dormouse_replay::Recording;
use dormouse_replay::policies::{NAMES, named};
use dormouse_sim::CacheMode;
use play::Conditions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const HELP: &str = "\
Without --policy every prompt of the session is sent again at its original time,
and what the simulator bills (`recorded`) is compared with what the recording
says (`billed`). Lengths come from the recording; hits, misses and positions are
the simulator's. What a client sent and did not log is sent as padding.

With --policy the engine plays the session from its first message, once for each
policy, and everything is billed: the conversation, notes, summaries.
  none       never forgets, until the window is full
  classic    fixed thresholds
  economic   forgets when that is cheaper than carrying on
  codex, opencode, openhands, gemini, qwen
             follow the published figures of these agents
docs/policies.md has them in full.

Examples:
  dormouse replay session.jsonl
  dormouse replay session.jsonl --policy all --plot costs.svg
  dormouse replay --generated --policy none,classic,economic --window 200k
  dormouse replay --sessions 140 --half seen
  dormouse replay ~/.claude/projects/-home-me-app --policy all
  dormouse replay session.jsonl --ablate
  dormouse replay session.jsonl --policy all --no-cache
  dormouse replay session.jsonl --explain 42
  dormouse replay *.jsonl --json | jq '.policies[0].cost_usd'

JSON without --policy:
  {\"policies\": [{\"name\": \"recorded\", \"cost_usd\", \"requests\",
    \"prompt_tokens\", \"cache_read_tokens\", \"cache_write_tokens\",
    \"uncached_tokens\", \"hit_rate\", \"compactions\", \"rejected\", \"peak_tokens\",
    \"engine_ms\", \"turns\"}],
   \"recorded\": {the same, named \"billed\"},
   \"files\": [{\"file\", \"factor\", \"fitted_turns\",
    \"score\": {\"hits\", \"matched\", \"breaks\", \"reproduced\"},
    \"differences\": [{\"turn\", \"recorded\", \"simulated\", \"why\"}]}]}
\"turns\" is there with --turns: {\"file\", \"turn\", \"gap_ms\", \"prompt_tokens\",
\"cache_read_tokens\", \"cache_write_tokens\", \"uncached_tokens\", \"cost_usd\",
\"recorded_cache_read_tokens\", \"unlogged_tokens\", \"rejected\"}.

JSON with --policy:
  {\"base\", \"policies\": [{\"name\", \"cost_usd\", \"relative\", \"requests\",
    \"prompt_tokens\", \"cache_read_tokens\", \"cache_write_tokens\",
    \"uncached_tokens\", \"output_tokens\", \"hit_rate\", \"peak_tokens\", \"rejected\",
    \"compactions\": {\"full\", \"notes\", \"partial\", \"offline\"}, \"clearings\",
    \"notes_updates\", \"offloaded\", \"by_purpose\": {\"conversation\", \"notes\",
    \"compaction\", \"fork\": {\"requests\", \"cost_usd\"}}, \"against_none\":
    {\"notes_usd\", \"compaction_usd\", \"shorter_prompts_usd\", \"total_usd\"},
    \"finished\", \"lost\": [{\"file\", \"step\", \"why\"}], \"fork_reads\": [{\"file\",
    \"step\", \"purpose\", \"share\"}], \"engine_ms\", \"engine_us_per_step\",
    \"turns\"}],
   \"files\": [{\"file\", \"steps\", \"tool_bytes\", \"model\", \"window\",
    \"window_from\", \"plot\",
    \"policies\": [{\"name\", \"cost_usd\", \"lost\"}]}],
   \"spread\": [{\"name\", \"sessions\", \"lost\", \"cost_usd\", \"median\", \"p95\",
    \"worst\", \"worst_session\"}], \"remarks\"}
\"relative\" is the difference to the base as a share of it; both it and
\"against_none\" are null where one of the two did not finish. \"turns\" is there
with --turns: {\"file\", \"step\", \"prompt_tokens\", \"cost_usd\", \"fork_cost_usd\",
\"events\"}. \"spread\" is there for two sessions or more, in multiples of the
cheapest other policy that finished the session.

JSON with --ablate:
  {\"sessions\", \"requests\", \"policies\": [{\"policy\", \"variants\": [{\"without\",
    \"cost_usd\", \"relative\", \"compactions\", \"peak_tokens\", \"lost\",
    \"in_prompt\", \"within_reach\"}]}]}

JSON with --explain:
  {\"explained\": [{\"file\", \"policy\", \"step\", \"of\", \"moments\": [{\"moment\",
    \"used_tokens\", \"layers\": [{\"layer\", \"acts\", \"why\"}], \"arithmetic\",
    \"events\"}]}]}

JSON with --sessions:
  {\"groups\": [{\"half\", \"shape\", \"sessions\", \"cost_usd\", \"of_classic\",
    \"hardest\", \"of_hardest\", \"median\", \"p95\", \"worst\", \"worst_session\",
    \"lost\"}], \"sessions\": [{\"number\", \"half\", \"shape\", \"requests\",
    \"costs_usd\": {POLICY: dollars or null if lost}, \"compactions\": {POLICY: count}}]}";

/// Name that stands for every policy.
const ALL: &str = "all";

/// Arguments of `dormouse replay`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches of a command line"
)]
pub struct Args {
    /// Sessions of Claude Code, Codex, pi or Dormouse: transcripts, folders, ids or their beginnings, `latest`
    #[arg(
        required_unless_present_any = ["generated", "sessions"],
        conflicts_with_all = ["generated", "sessions"],
        value_name = "SESSION"
    )]
    files: Vec<PathBuf>,
    /// Play the session under these policies, separated by commas
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(NAMES.into_iter().chain([ALL]))
    )]
    policy: Vec<String>,
    #[command(flatten)]
    window: WindowOption,
    /// Play a generated session of so many requests instead of a file
    #[arg(
        long,
        value_name = "STEPS",
        num_args = 0..=1,
        default_missing_value = "150",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    generated: Option<u16>,
    /// Play many generated sessions, such as 140 or 140..1000, and compare their sums
    #[arg(
        long,
        value_name = "NUMBERS",
        num_args = 0..=1,
        default_missing_value = "1000",
        value_parser = sessions::numbers,
        conflicts_with_all = ["generated", "plot", "explain", "turns"]
    )]
    sessions: Option<sessions::Numbers>,
    /// Only this half of the generated sessions
    #[arg(long, value_name = "HALF", requires = "sessions")]
    half: Option<sessions::WhichHalf>,
    /// The model of the generated session
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    model: Option<String>,
    /// Let no request for notes or a summary succeed
    #[arg(long)]
    offline: bool,
    /// Play each session again without each layer, one at a time
    #[arg(long, conflicts_with_all = ["sessions", "plot", "explain", "turns"])]
    ablate: bool,
    /// Prices without a cache: reading and writing it cost as much as input
    #[arg(long)]
    no_cache: bool,
    /// A cache that keeps every prefix for ever
    #[arg(long)]
    perfect_cache: bool,
    /// A cache without markers that writes for nothing, as providers have that cache by themselves
    #[arg(long, conflicts_with_all = ["perfect_cache", "no_cache"])]
    automatic_cache: bool,
    /// Draw size, cost and the frontier of what was needed later as an SVG; several files get one each
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Explain what every layer thought at request N
    #[arg(long, value_name = "N", conflicts_with_all = ["plot", "turns"])]
    explain: Option<usize>,
    /// Show every request of the session
    #[arg(long)]
    turns: bool,
}

impl Args {
    /// True if an option needs the engine to play the session instead of sending it as recorded.
    fn wants_policies(&self) -> bool {
        !self.policy.is_empty()
            || self.window.window.is_some()
            || self.generated.is_some()
            || self.sessions.is_some()
            || self.offline
            || self.no_cache
            || self.perfect_cache
            || self.automatic_cache
            || self.ablate
            || self.plot.is_some()
            || self.explain.is_some()
    }

    fn cache(&self) -> CacheMode {
        match (self.automatic_cache, self.perfect_cache) {
            (true, _) => CacheMode::Automatic,
            (false, true) => CacheMode::Perfect,
            (false, false) => CacheMode::Marked,
        }
    }

    /// The same with the files of the sessions that were named.
    fn with_files(&self, app: &mut App) -> Result<Self, Failure> {
        let mut files = Vec::new();
        for name in &self.files {
            let file = app.session(Some(name))?;
            // A folder stands for the sessions in it.
            files.extend(app.host()?.session_files(&file)?);
        }
        Ok(Self {
            files,
            ..self.clone()
        })
    }

    /// The policies in the order given, each once.
    fn policies(&self) -> Vec<Arc<dyn Policy>> {
        let given: Vec<&str> = match (self.policy.is_empty(), self.explain) {
            // Explaining is about the layers of our own two policies, unless others are named.
            (true, Some(_)) => vec!["economic", "classic"],
            (true, None) if self.ablate => vec!["economic"],
            // The least that answers the question of the command: what does forgetting cost?
            (true, None) => vec!["none", "classic", "economic"],
            (false, _) if self.policy.iter().any(|name| name == ALL) => NAMES.to_vec(),
            (false, _) => self.policy.iter().map(String::as_str).collect(),
        };
        let mut policies: Vec<Arc<dyn Policy>> = Vec::with_capacity(given.len());
        for policy in given.into_iter().filter_map(named) {
            // A policy named twice would be played and billed twice.
            if policies.iter().all(|known| known.name() != policy.name()) {
                policies.push(policy);
            }
        }
        policies
    }
}

/// Replays sessions, as recorded or under policies.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    app.set(args.window.setting());
    let args = &args.with_files(app)?;
    let host = app.host()?;
    let models = host.models();
    if !args.wants_policies() {
        return recorded::run(args, &models, app);
    }
    let conditions = Conditions {
        settings: host.settings(),
        models: if args.no_cache {
            Arc::new(models.without_cache())
        } else if args.automatic_cache {
            Arc::new(models.with_free_writes())
        } else {
            models
        },
        cache: args.cache(),
        offline: args.offline,
        explain: args.explain.is_some(),
    };
    if let Some(numbers) = args.sessions {
        return sessions::run(args, numbers, &conditions, app);
    }
    match args.explain {
        Some(step) => explain::run(args, step, &conditions, app),
        None if args.ablate => ablate::run(args, &conditions, app),
        None => policies::run(args, &conditions, app),
    }
}

/// The requests of a transcript, with the records they were made from.
fn recording(
    file: &Path,
    models: &Arc<ModelTable>,
    app: &mut App,
) -> Result<(Vec<Record>, Recording), Failure> {
    let transcripts = app.transcripts();
    let records = transcripts.records(file)?;
    app.note_all(&transcripts.take_remarks());
    let recording = Recording::new(&records, models).map_err(|error| {
        let message = format!("`{}` cannot be replayed", file.display());
        let mut user = UserError::new(Exit::Unsuitable, message);
        user.causes.push(error.to_string());
        user.hint("transcripts of Claude Code's and Dormouse's say what each response used")
    })?;
    Ok((records, recording))
}
