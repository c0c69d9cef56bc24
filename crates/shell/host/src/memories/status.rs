//! The state of memory: the files a session started here would load, and the upkeep of memory.
//!
//! # Model
//! Everything is looked at and summed up in one value. Nothing is loaded, made or changed by
//! asking.
//!
//! # Not here
//! Mending any of it: `check` finds problems, other services mend them.

use super::limits;
use crate::error::{HostError, chain};
use crate::host::{Host, day, user_home};
use crate::place::{Found, Which};
use dormouse_core::settings::keys;
use dormouse_core::units::{Millis, Tokens};
use dormouse_keeper::budget::Budget;
use dormouse_keeper::instructions::{Around, DiskSource, limits as file_limits, places};
use dormouse_memdir::{LOCK_AGE, LockStatus, Look, Repository, Why};
use dormouse_memory::index;
use dormouse_memory::instructions::{
    Approvals, FileOutcome as Taken, MemoryIndex, ReportLine, Scope, load,
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

/// File that describes a change while it is being made; left behind, it says that one was
/// interrupted.
const PENDING: &str = ".journal/pending.json";

/// The state of memory, and the files a session started here would load.
#[derive(Debug, Default, Serialize)]
pub struct MemoryStatus {
    /// The directory, also where it does not exist yet; `None` if memory is off.
    pub directory: Option<String>,
    /// The rule that decided about the place.
    pub why: Option<&'static str>,
    /// Set if the directory exists.
    pub exists: bool,
    /// The reason why there is no memory.
    pub off: Option<String>,
    /// The team's directory, where there can be one.
    pub team: Option<String>,
    /// Set if that directory exists.
    pub team_exists: bool,
    /// Number of memories of each sort.
    pub memories: MemoryCounts,
    /// The index and how much of it is loaded.
    pub index: IndexState,
    /// The section of the system prompt about memory.
    pub prompt: Option<PromptSection>,
    /// Instruction files that were looked at.
    pub instructions: Vec<Instruction>,
    /// Everything that is loaded and left out, as a session reports it.
    pub load: LoadReport,
    /// Estimated tokens of everything that is loaded.
    pub tokens: u64,
    /// Number of memories that wait for approval.
    pub inbox: usize,
    /// The last dream, and one that is under way.
    pub consolidation: Consolidation,
    /// The day's budget for background work.
    pub budget: Spending,
    /// Set if a change is being made, or was interrupted.
    pub pending: bool,
    /// Files of the directory that could not be read, with the reasons.
    pub skipped: Vec<FileLeftOut>,
    /// The moment of asking, against which ages are told.
    #[serde(skip)]
    pub now: Millis,
}

/// Number of memories of each sort.
#[derive(Debug, Default, Serialize)]
pub struct MemoryCounts {
    /// Number of all memories.
    pub total: usize,
    /// Number of memories of each type.
    pub by_type: BTreeMap<&'static str, usize>,
    /// Number of memories of each trust.
    pub by_trust: BTreeMap<&'static str, usize>,
    /// Memories that automation may not touch, counted.
    pub pinned: usize,
    /// Memories that no longer hold, counted.
    pub overtaken: usize,
}

/// The index and how much of it is loaded.
#[derive(Debug, Default, Serialize)]
pub struct IndexState {
    /// Lines of the file, headings included.
    pub lines: usize,
    /// Length of the text, in bytes.
    pub bytes: usize,
    /// Lines that a session gets, from the top.
    pub lines_loaded: usize,
    /// Bytes that a session gets, from the top.
    pub bytes_loaded: usize,
    /// Set if it is longer than a session gets.
    pub cut: bool,
    /// A warning about its length.
    pub warning: Option<String>,
    /// Lines without a file, and files without a line.
    pub drift: usize,
}

/// The section of the system prompt that says how memory is used.
#[derive(Debug, Serialize)]
pub struct PromptSection {
    /// Length of the text, in bytes.
    pub bytes: u64,
    /// Estimated tokens of the section.
    pub tokens: u64,
}

/// An instruction file that was looked at.
#[derive(Debug, Serialize)]
pub struct Instruction {
    /// Absolute path of the file.
    pub path: String,
    /// Scope of the file: whose it is, and how far it applies.
    pub scope: Scope,
    /// The file that includes it.
    pub included_by: Option<String>,
    /// Length of the text, in bytes.
    pub bytes: u64,
    /// Estimated tokens of its text.
    pub tokens: u64,
    /// Outcome of loading it, for people.
    pub outcome: String,
    /// Part of it that is loaded, for the screen.
    #[serde(skip)]
    pub kept: Kept,
}

/// Part of an instruction file that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is loaded from the start.
    Whole,
    /// It is loaded when files that it is about are touched.
    Later,
    /// Its beginning is loaded.
    Part,
    /// It is not loaded; `outcome` says why.
    Out,
}

/// The last dream, and one that is under way.
#[derive(Debug, Default, Serialize)]
pub struct Consolidation {
    /// Time of the last dream; `None` if there was none.
    pub last: Option<String>,
    /// Process that dreams now, by its lock.
    pub holder: Option<u32>,
    /// A remark about the lock.
    pub remark: Option<String>,
    /// The same as `last`, to reckon with.
    #[serde(skip)]
    pub at: Option<Millis>,
}

/// The day's budget for background work.
#[derive(Debug, Default, Serialize)]
pub struct Spending {
    /// The day, in universal time.
    pub day: String,
    /// Dollars spent since midnight.
    pub used_usd: f64,
    /// Dollars that may be spent in a day.
    pub usd: f64,
    /// Tokens spent since midnight.
    pub used_tokens: u64,
    /// Tokens that may be spent in a day; `None` without such a limit.
    pub tokens: Option<u64>,
}

/// A file of the directory that could not be read.
#[derive(Debug, Serialize)]
pub struct FileLeftOut {
    /// Path of the file, below the directory.
    pub path: String,
    /// The reason, in words.
    pub why: String,
}

impl Host {
    /// The state of memory. Nothing is made or changed by asking.
    ///
    /// # Errors
    /// When the directory, the working tree or an instruction file cannot be read.
    pub fn status(&self, which: &Which) -> Result<MemoryStatus, HostError> {
        let mut report = MemoryStatus {
            now: self.now(),
            ..MemoryStatus::default()
        };
        let memory_index = match self.find(which) {
            Ok(found) => {
                let memory_index = directory(self, &found, &mut report)?;
                section(self, &mut report);
                memory_index
            }
            // Absence of memory is an answer, too: instructions and budget are still worth telling.
            Err(error) if error.is_off() => {
                report.off = Some(chain(&error));
                None
            }
            Err(error) => return Err(error),
        };
        instructions(self, memory_index, &mut report)?;
        budget(self, &mut report);
        let files = report.instructions.iter().map(Instruction::now);
        let prompt = report.prompt.as_ref().map(|prompt| prompt.tokens);
        report.tokens = files.chain(prompt).sum();
        Ok(report)
    }
}

impl MemoryStatus {
    /// Name that stands in `load` for all instruction files where they are switched off.
    pub const ALL_FILES: &str = "instruction files";
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

/// Looks at the directory; returns the part of its index that is loaded.
fn directory(
    host: &Host,
    found: &Found<'_>,
    report: &mut MemoryStatus,
) -> Result<Option<MemoryIndex>, HostError> {
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
        .is_some_and(|team| host.system().files.metadata(team).is_ok());
    let Some(dir) = found.existing()? else {
        return Ok(None);
    };
    report.exists = true;
    let Look { snapshot, skipped } = dir.look()?;
    report.memories = counts(&snapshot, day(report.now));
    report.skipped = skipped
        .into_iter()
        .map(|skipped| FileLeftOut {
            path: skipped.path.display().to_string(),
            why: skipped.why,
        })
        .collect();
    let settings = &host.settings();
    report.inbox = dir.inbox()?.items.len();
    report.consolidation = consolidation(dir.consolidation_lock(LOCK_AGE).status()?);
    report.pending = host
        .system()
        .files
        .metadata(&found.root.join(PENDING))
        .is_ok();
    let text = snapshot.index();
    let loaded = index::load(&text, limits(settings));
    let (lines, bytes) = (text.lines().count(), text.len());
    let past = dir.index_past(&snapshot)?;
    let facts = index::IndexFacts {
        today: day(report.now),
        limits: limits(settings),
        past: &past,
        missing: index::Missing::Keep,
    };
    let drift = index::drift(&snapshot, &facts);
    report.index = IndexState {
        lines,
        bytes,
        lines_loaded: loaded.cut.map_or(lines, |cut| cut.lines_shown),
        bytes_loaded: loaded.cut.map_or(bytes, |cut| cut.bytes_shown),
        cut: loaded.cut.is_some(),
        warning: match loaded.cut {
            // The last line of a cut index is the sentence that tells the model about the cut.
            Some(_) => loaded.text.lines().last().map(str::to_owned),
            None => index::nearness(&text, limits(settings)),
        },
        // Long or doubled lines are no drift: the index still fits the files.
        drift: drift.missing.len()
            + drift.unlisted.len()
            + drift.outdated.len()
            + drift.removable.len(),
    };
    let path = found.root.join(INDEX);
    Ok((!text.is_empty()).then_some(MemoryIndex {
        path,
        text: loaded.text,
    }))
}

/// The section of the system prompt, rendered to learn its length.
fn section(host: &Host, report: &mut MemoryStatus) {
    let settings = &host.settings();
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
    report.prompt = report.load.loaded.last().map(|loaded| PromptSection {
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

fn counts(snapshot: &Snapshot, today: jiff::civil::Date) -> MemoryCounts {
    let mut counts = MemoryCounts::default();
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

/// The instruction files that a session would begin with.
fn instructions(
    host: &Host,
    memory_index: Option<MemoryIndex>,
    report: &mut MemoryStatus,
) -> Result<(), HostError> {
    let settings = &host.settings();
    let files = &host.system().files;
    let known = host.places();
    // Instructions are looked for from here upwards; a link would lead up another tree.
    let current = files.real_path(&known.current_dir)?;
    let repository = Repository::around(&**files, &current)?;
    let user_home = user_home(host.system());
    let around = Around {
        home: &known.home,
        user_home: user_home.as_deref(),
        project_root: repository.as_ref().map(|found| found.worktree.as_path()),
        working_dir: &current,
        trust: host.loaded().trust,
    };
    let source = DiskSource(Arc::clone(files));
    let places = places(settings, around, memory_index);
    let loaded = if settings.get(keys::INSTRUCTIONS) {
        load(
            &places,
            &file_limits(settings),
            // No approvals: a file outside the project is reported and not read.
            &Approvals::default(),
            &source,
        )
    } else {
        report.load.leave(
            Source::Instructions,
            MemoryStatus::ALL_FILES,
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
        // Most places for instructions are empty; only a missing include is a mistake worth a line.
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

/// The outcome of one file, added to the report of a session.
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
        // Nothing of these is loaded and nothing is missing.
        Taken::OnlyIncludes | Taken::Empty => {}
        other => load.leave(source, &name, 0, other),
    }
}

fn budget(host: &Host, report: &mut MemoryStatus) {
    let settings = &host.settings();
    let spent = Budget::new(host.system(), &host.places().home).today();
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
