//! `dormouse memory status`: what a session started here would load, and how memory fares.
//!
//! # Model
//! [`gather`] looks at everything and makes a [`Report`], which is the JSON; [`show`] makes text of
//! it. Nothing is made or changed by looking.

mod show;

use super::add::limits;
use super::place::{Found, Which, find};
use crate::app::{App, Config};
use crate::error::{Exit, Failure, Outcome};
use crate::output::Format;
use dormouse_core::settings::keys;
use dormouse_core::units::{Millis, Tokens};
use dormouse_keeper::budget::Budget;
use dormouse_keeper::instructions::{Around, DiskSource, limits as file_limits, places};
use dormouse_memdir::{LOCK_AGE, LockStatus, Look, Repository, Why};
use dormouse_memory::index;
use dormouse_memory::instructions::{
    Approvals, MemoryIndex, Outcome as Taken, ReportLine, Scope, load,
};
use dormouse_memory::prompt;
use dormouse_memory::snapshot::{INDEX, Snapshot, is_pinned};
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::trust::Trust;
use dormouse_recall::report::{LoadReport, Source};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What a change that is being made is written in.
const PENDING: &str = ".journal/pending.json";

/// What is left out where instruction files are switched off.
const ALL_FILES: &str = "instruction files";

const HELP: &str = "\
Nothing is loaded, made or changed by asking. Tokens are estimates.

JSON: {\"directory\", \"why\", \"exists\", \"off\", \"team\", \"team_exists\", \"memories\":
{\"total\", \"by_type\", \"by_trust\", \"pinned\", \"overtaken\"}, \"index\": {\"lines\",
\"bytes\", \"lines_loaded\", \"bytes_loaded\", \"cut\", \"warning\", \"drift\"}, \"prompt\":
{\"bytes\", \"tokens\"}, \"instructions\": [{\"path\", \"scope\", \"included_by\", \"bytes\",
\"tokens\", \"outcome\"}], \"load\": {\"loaded\": [{\"source\", \"name\", \"bytes\", \"why\"}],
\"cut\": [{\"source\", \"name\", \"bytes\", \"why\"}]}, \"tokens\", \"inbox\",
\"consolidation\": {\"last\", \"holder\", \"remark\"}, \"budget\": {\"day\", \"used_usd\",
\"usd\", \"used_tokens\", \"tokens\"}, \"pending\", \"skipped\": [{\"path\", \"why\"}]}";

/// Arguments of `memory status`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {}

/// Everything that is told.
#[derive(Debug, Default, Serialize)]
struct Report {
    directory: Option<String>,
    why: Option<&'static str>,
    exists: bool,
    off: Option<String>,
    team: Option<String>,
    team_exists: bool,
    memories: Counts,
    index: IndexState,
    prompt: Option<Prompt>,
    instructions: Vec<Instruction>,
    load: LoadReport,
    tokens: u64,
    inbox: usize,
    consolidation: Consolidation,
    budget: Spending,
    pending: bool,
    skipped: Vec<LeftOut>,
    #[serde(skip)]
    now: Millis,
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    total: usize,
    by_type: BTreeMap<&'static str, usize>,
    by_trust: BTreeMap<&'static str, usize>,
    pinned: usize,
    overtaken: usize,
}

#[derive(Debug, Default, Serialize)]
struct IndexState {
    lines: usize,
    bytes: usize,
    lines_loaded: usize,
    bytes_loaded: usize,
    cut: bool,
    warning: Option<String>,
    /// Lines without a file, and files without a line.
    drift: usize,
}

/// The section of the system prompt that says how memory is used.
#[derive(Debug, Serialize)]
struct Prompt {
    bytes: u64,
    tokens: u64,
}

#[derive(Debug, Serialize)]
struct Instruction {
    path: String,
    scope: Scope,
    included_by: Option<String>,
    bytes: u64,
    tokens: u64,
    outcome: String,
    #[serde(skip)]
    kept: Kept,
}

/// How well a file fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Whole,
    Later,
    Part,
    Out,
}

#[derive(Debug, Default, Serialize)]
struct Consolidation {
    last: Option<String>,
    holder: Option<u32>,
    remark: Option<String>,
    #[serde(skip)]
    at: Option<Millis>,
}

#[derive(Debug, Default, Serialize)]
struct Spending {
    day: String,
    used_usd: f64,
    usd: f64,
    used_tokens: u64,
    tokens: Option<u64>,
}

#[derive(Debug, Serialize)]
struct LeftOut {
    path: String,
    why: String,
}

/// Tells.
pub(super) fn run(_: &Args, which: &Which, app: &mut App) -> Outcome {
    let report = gather(which, app)?;
    match app.out.format() {
        Format::Json => Ok(app.out.json(&report)?),
        Format::Text => show::show(&report, app),
    }
}

fn gather(which: &Which, app: &mut App) -> Result<Report, Failure> {
    let mut report = Report {
        now: app.system.clock.now(),
        ..Report::default()
    };
    let (config, memory_index) = match find(which, app) {
        Ok(found) => {
            let memory_index = directory(&found, &mut report, app)?;
            section(&found, &mut report);
            (found.config, memory_index)
        }
        // That there is no memory is an answer, too: the rest is still worth telling.
        Err(Failure::Error(error)) if error.kind == Exit::Refused => {
            report.off = Some(told(&error.message, &error.causes));
            (app.config_without_aside()?, None)
        }
        Err(failure) => return Err(failure),
    };
    instructions(&config, memory_index, &mut report, app)?;
    budget(&config, &mut report, app);
    let files = report.instructions.iter().map(Instruction::now);
    let prompt = report.prompt.as_ref().map(|prompt| prompt.tokens);
    report.tokens = files.chain(prompt).sum();
    Ok(report)
}

fn told(message: &str, causes: &[String]) -> String {
    let mut text = message.to_owned();
    for cause in causes {
        text.push_str(": ");
        text.push_str(cause);
    }
    text
}

impl Instruction {
    /// Tokens in the prompt from the start.
    fn now(&self) -> u64 {
        match self.kept {
            Kept::Whole | Kept::Part => self.tokens,
            Kept::Later | Kept::Out => 0,
        }
    }
}

/// Looks at the directory; what of its index is loaded.
fn directory(
    found: &Found,
    report: &mut Report,
    app: &App,
) -> Result<Option<MemoryIndex>, Failure> {
    report.directory = Some(found.root.display().to_string());
    report.why = Some(
        found
            .place()
            .map_or("named by an option", |place| why(place.why)),
    );
    report.team = found
        .place()
        .and_then(|place| place.team.as_ref())
        .map(|team| team.display().to_string());
    report.team_exists = found
        .place()
        .and_then(|place| place.team.as_ref())
        .is_some_and(|team| app.system.files.metadata(team).is_ok());
    let Some(dir) = found.existing(app)? else {
        return Ok(None);
    };
    report.exists = true;
    let Look { snapshot, skipped } = dir.look()?;
    report.memories = counts(&snapshot, super::show::day(report.now));
    report.skipped = skipped
        .into_iter()
        .map(|skipped| LeftOut {
            path: skipped.path.display().to_string(),
            why: skipped.why,
        })
        .collect();
    let settings = &found.config.loaded.settings;
    report.inbox = dir.inbox()?.items.len();
    report.consolidation = consolidation(dir.consolidation_lock(LOCK_AGE).status()?);
    report.pending = app.system.files.metadata(&found.root.join(PENDING)).is_ok();
    let text = snapshot.index();
    let loaded = index::load(&text, limits(settings));
    let (lines, bytes) = (text.lines().count(), text.len());
    let drift = index::drift(
        &snapshot,
        crate::commands::memory::show::day(app.system.clock.now()),
    );
    report.index = IndexState {
        lines,
        bytes,
        lines_loaded: loaded.cut.map_or(lines, |cut| cut.lines_shown),
        bytes_loaded: loaded.cut.map_or(bytes, |cut| cut.bytes_shown),
        cut: loaded.cut.is_some(),
        warning: match loaded.cut {
            Some(_) => loaded.text.lines().last().map(str::to_owned),
            None => index::nearness(&text, limits(settings)),
        },
        drift: drift.dangling.len() + drift.unlisted.len() + drift.repeated.len(),
    };
    let path = found.root.join(INDEX);
    Ok((!text.is_empty()).then_some(MemoryIndex {
        path,
        text: loaded.text,
    }))
}

/// The section of the system prompt.
fn section(found: &Found, report: &mut Report) {
    let settings = &found.config.loaded.settings;
    let guidelines = settings.get(keys::MEMORY_EXTRA_GUIDELINES);
    let section = prompt::Section {
        directory: report.directory.as_deref().unwrap_or_default(),
        team: report.team.as_deref(),
        mode: if settings.get(keys::DAILY_LOG) {
            prompt::Mode::DailyLog
        } else {
            prompt::Mode::Live
        },
        index: limits(settings),
        extra_guidelines: guidelines.as_deref(),
    };
    let text = prompt::render(&section);
    report
        .load
        .load(Source::Prompt, "memory section", text.len(), "");
    report.prompt = report.load.loaded.last().map(|loaded| Prompt {
        bytes: loaded.bytes,
        tokens: loaded.tokens().get(),
    });
}

fn why(why: Why) -> &'static str {
    match why {
        Why::Setting => "set by `memory.directory` or DORMOUSE_MEMORY_DIR",
        Why::Remote => "a remote run, set by `memory.remote_directory`",
        Why::ClaudeLayout => "shared with Claude Code (`memory.layout`)",
        Why::Project => "the project's folder in Dormouse's home",
    }
}

fn counts(snapshot: &Snapshot, today: jiff::civil::Date) -> Counts {
    let mut counts = Counts::default();
    for (path, file) in snapshot.topics() {
        let topic = Topic::read(&file.text());
        counts.total += 1;
        *counts
            .by_type
            .entry(topic.kind.map_or("untyped", Kind::name))
            .or_default() += 1;
        *counts
            .by_trust
            .entry(topic.trust.map_or("by hand", Trust::name))
            .or_default() += 1;
        counts.pinned += usize::from(is_pinned(path));
        counts.overtaken += usize::from(topic.is_over(today));
    }
    counts
}

fn consolidation(status: LockStatus) -> Consolidation {
    Consolidation {
        last: status.last_consolidated.map(|at| at.to_string()),
        holder: status.holder.map(|holder| holder.pid),
        remark: status.remark.map(|remark| remark.to_string()),
        at: status.last_consolidated,
    }
}

/// The files a session would begin with.
fn instructions(
    config: &Config,
    memory_index: Option<MemoryIndex>,
    report: &mut Report,
    app: &App,
) -> Outcome {
    let settings = &config.loaded.settings;
    let files = &app.system.files;
    let known = config.loader.places();
    let current = files.real_path(&known.current_dir)?;
    let repository = Repository::around(&**files, &current)?;
    let user_home = app.system.env.home_dir();
    let around = Around {
        home: &known.home,
        user_home: user_home.as_deref(),
        project_root: repository.as_ref().map(|found| found.worktree.as_path()),
        working_dir: &current,
    };
    let source = DiskSource(Arc::clone(files));
    let places = places(settings, around, memory_index);
    let loaded = if settings.get(keys::INSTRUCTIONS) {
        load(
            &places,
            &file_limits(settings),
            &Approvals::default(),
            &source,
        )
    } else {
        report.load.leave(
            Source::Instructions,
            ALL_FILES,
            0,
            "switched off (`instructions`)",
        );
        return Ok(());
    };
    for line in &loaded.report {
        tell(line, &report.index, &mut report.load);
    }
    report.instructions = loaded
        .report
        .iter()
        .filter(|line| line.outcome != Taken::Missing || line.included_by.is_some())
        .map(instruction)
        .collect();
    Ok(())
}

fn instruction(line: &ReportLine) -> Instruction {
    Instruction {
        path: line.path.display().to_string(),
        scope: line.scope,
        included_by: line.included_by.as_deref().map(shown),
        bytes: line.bytes,
        tokens: line.tokens.get(),
        outcome: line.outcome.to_string(),
        kept: match line.outcome {
            Taken::Loaded => Kept::Whole,
            Taken::Cut { .. } => Kept::Part,
            Taken::Conditional { .. } => Kept::Later,
            _ => Kept::Out,
        },
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The same for the report of a session.
fn tell(line: &ReportLine, index: &IndexState, load: &mut LoadReport) {
    let name = shown(&line.path);
    let source = match line.scope {
        Scope::Memory => Source::Index,
        _ => Source::Instructions,
    };
    let bytes = usize::try_from(line.bytes).unwrap_or(usize::MAX);
    match &line.outcome {
        Taken::Loaded | Taken::Cut { .. } => {
            load.load(source, &name, bytes, "");
            if let Some(last) = load.loaded.last_mut() {
                last.counted = (line.tokens > Tokens(0)).then_some(line.tokens);
            }
            if let Taken::Cut { .. } = &line.outcome {
                load.leave(source, &name, 0, &line.outcome);
            }
            if source == Source::Index && index.cut {
                let missing = index.bytes.saturating_sub(index.bytes_loaded);
                load.leave(source, &name, missing, "the index is too long");
            }
        }
        Taken::OnlyIncludes | Taken::Empty => {}
        other => load.leave(source, &name, 0, other),
    }
}

fn budget(config: &Config, report: &mut Report, app: &App) {
    let settings = &config.loaded.settings;
    let spent = Budget::new(&app.system, &config.loader.places().home).today();
    report.budget = Spending {
        day: spent.day,
        used_usd: spent.usd.as_f64(),
        usd: settings.get(keys::BUDGET_BACKGROUND_DAY).as_f64(),
        used_tokens: spent.tokens,
        tokens: settings
            .get(keys::BUDGET_BACKGROUND_DAY_TOKENS)
            .map(Tokens::get),
    };
}
