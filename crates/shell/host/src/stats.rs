//! The first-class figures: cache, cost, layers, compactions, memory.
//!
//! # Model
//! One pass over the transcripts gives the responses and the work of the layers; journals, inboxes
//! and figures of the memory directories give the rest. Everything is summed up in one value, with
//! the limits of the settings beside the figures they bound.
//!
//! The cost without layers is an estimate: tokens that a layer freed would have been carried along
//! by every later request of their session, read from the cache where the request read anything
//! from it. Calls that the layers made for themselves are left out of it.
//!
//! # Not here
//! Tokens and dollars by group (`spending`); facts by kind, which need a replay.

mod memory;
mod sums;

use crate::days::Calendar;
use crate::error::HostError;
use crate::host::Host;
use crate::spending::{Scan, UsageAsk};
use dormouse_core::models::ModelTable;
use dormouse_core::record::BoundaryKind;
use dormouse_core::settings::{Percent, Settings, keys};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage_book::ResponseKey;
use dormouse_store::{LogEvent, LogWork};
use jiff::civil::Date;
use memory::Shelves;
pub use memory::{HookStats, MemoryStats, Pollution, RecallStats};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use sums::Sums;

/// A question about the figures.
#[derive(Clone, Debug, Default)]
pub struct StatsAsk {
    /// Transcripts and folders; with `here` unset and none named those of all known agents.
    pub paths: Vec<PathBuf>,
    /// True for this project alone.
    pub here: bool,
    /// First day that counts; `None` for no limit.
    pub since: Option<Date>,
    /// Last day that counts; `None` for no limit.
    pub until: Option<Date>,
}

/// The figures by which Dormouse judges itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatsReport {
    /// Figures over everything that was asked for.
    #[serde(flatten)]
    pub all: SessionStats,
    /// The same for each project, the dearest first.
    pub projects: Vec<ProjectStats>,
    /// Memories written, merged, taken back, waiting.
    pub memory: MemoryStats,
    /// Memories that recall considered and showed, and those that were of use.
    pub recall: RecallStats,
    /// Text that went into sessions of other agents through their hooks.
    pub hooks: HookStats,
    /// Share of the living memory that should not be there.
    pub pollution: Pollution,
    /// Limits of the settings, each with its figure.
    pub limits: Vec<LimitState>,
    /// First day that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Last day that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Transcripts that were read.
    pub files: u64,
    /// Lines that could not be read in full.
    pub skipped_lines: u64,
    /// Transcripts and folders that could not be read.
    pub unreadable_files: u64,
}

/// Figures of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProjectStats {
    /// Folder that its sessions work in; `None` where they do not say.
    pub project: Option<String>,
    /// Figures of its sessions.
    #[serde(flatten)]
    pub stats: SessionStats,
}

/// Figures of the sessions that count.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SessionStats {
    /// Sessions with a response.
    pub sessions: u64,
    /// Messages of the user.
    pub turns: u64,
    /// Responses, those of the layers' own calls included.
    pub requests: u64,
    /// Tokens of all prompts.
    pub prompt_tokens: u64,
    /// Share of them that came from the cache.
    pub cache_hit_rate: Option<f64>,
    /// Dollars; `None` where no price is known.
    pub cost_usd: Option<f64>,
    /// Dollars among them for the layers' own calls.
    pub layers_cost_usd: f64,
    /// Dollars that the same turns would have cost with no layer on, estimated; `None` where no
    /// log tells of a layer.
    pub cost_without_layers_usd: Option<f64>,
    /// Requests that would not have fitted into the window then.
    pub requests_beyond_window: u64,
    /// Tokens that each layer freed.
    pub freed: FreedTokens,
    /// Times that each layer acted.
    pub acted: LayerCounts,
    /// Compactions for each hundred turns.
    pub compactions_per_100_turns: Option<f64>,
    /// Names and figures of the user's at compactions, and those still in the prompt after them.
    pub facts: FactsKept,
    /// Milliseconds that the engine took for a turn, where logs tell: mean and longest.
    pub engine_ms: Option<EngineTime>,
}

/// Tokens that each layer freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FreedTokens {
    /// Long results in files, estimated from their bytes.
    pub offload: u64,
    /// Answered results that became distillates.
    pub distil: u64,
    /// Old results that were cleared.
    pub clear: u64,
    /// Compactions that used the notes.
    pub notes: u64,
    /// Compactions that a summary was written for.
    pub compaction: u64,
}

/// Times that each layer acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LayerCounts {
    /// Results that went into files.
    pub offloads: u64,
    /// Rounds of results that became distillates.
    pub distillations: u64,
    /// Batches of results that were cleared.
    pub clearings: u64,
    /// Updates of session notes.
    pub notes_updates: u64,
    /// Compactions whose summary was the notes.
    pub compactions_notes: u64,
    /// Compactions whose summary a model wrote.
    pub compactions_model: u64,
    /// Compactions without a model.
    pub compactions_offline: u64,
    /// Compactions of other tools.
    pub compactions_foreign: u64,
    /// Dreams that ran beside a session.
    pub dreams: u64,
}

impl LayerCounts {
    /// Compactions of any kind.
    pub const fn compactions(&self) -> u64 {
        self.compactions_notes
            + self.compactions_model
            + self.compactions_offline
            + self.compactions_foreign
    }
}

/// Facts before and after compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FactsKept {
    /// Names and figures in the user's messages, counted at each compaction.
    pub before: u64,
    /// Those in the prompt after it.
    pub after: u64,
    /// Share that survived; `None` without a compaction.
    pub share: Option<f64>,
}

/// Time of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EngineTime {
    /// Turns that tell it.
    pub turns: u64,
    /// Mean of the values.
    pub mean: f64,
    /// Longest of the values.
    pub longest: f64,
}

/// A limit of the settings and the figure it bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitState {
    /// Key of the setting.
    pub setting: &'static str,
    /// Bound as it is set.
    pub limit: f64,
    /// The figure; `None` where there is none, which keeps every limit.
    pub figure: Option<f64>,
    /// False if the figure breaks the limit.
    pub kept: bool,
}

impl Host {
    /// The first-class figures. A response counts once, however many files tell of it.
    ///
    /// # Errors
    /// When a path cannot be read, or no agent has kept a session.
    pub fn stats(&self, ask: &StatsAsk) -> Result<StatsReport, HostError> {
        let paths = if ask.here && ask.paths.is_empty() {
            self.transcript_folders()?
        } else {
            ask.paths.clone()
        };
        if ask.here && paths.is_empty() {
            return Err(HostError::NoSessions);
        }
        let scan = self.scan_layers(&UsageAsk {
            paths,
            ..UsageAsk::default()
        })?;
        let calendar = Calendar::of(self.system());
        let inside = |at: Option<Millis>| {
            if ask.since.is_none() && ask.until.is_none() {
                return true;
            }
            // A line without a time belongs to no day.
            at.map(|at| calendar.day(at)).is_some_and(|day| {
                ask.since.is_none_or(|since| day >= since)
                    && ask.until.is_none_or(|until| day <= until)
            })
        };
        let models = self.models();
        let mut seen = HashSet::new();
        let mut all = Sums::default();
        let mut projects: BTreeMap<Option<String>, Sums> = BTreeMap::new();
        for source in &scan.layers {
            let mut file = Sums::default();
            self.add_file(source, &models, &inside, &mut seen, &mut file);
            all.add(&file);
            projects
                .entry(source.project.clone())
                .or_default()
                .add(&file);
        }
        let shelves = Shelves::read(self, ask.here)?;
        let (memory, recall, hooks) = shelves.figures(&inside, scan.surfaced(&inside));
        let pollution = Pollution::of(&memory, &recall);
        let mut projects: Vec<ProjectStats> = projects
            .into_iter()
            .filter(|(_, sums)| sums.stats.requests + sums.stats.turns > 0)
            .map(|(project, sums)| ProjectStats {
                project,
                stats: sums.finish(),
            })
            .collect();
        projects.sort_by(|a, b| {
            let dear = |project: &ProjectStats| project.stats.cost_usd.unwrap_or_default();
            dear(b).total_cmp(&dear(a))
        });
        let all = all.finish();
        Ok(StatsReport {
            limits: limits(&self.settings(), &all, &pollution),
            all,
            projects,
            memory,
            recall,
            hooks,
            pollution,
            since: ask.since.map(|day| day.to_string()),
            until: ask.until.map(|day| day.to_string()),
            files: scan.files,
            skipped_lines: scan.skipped_lines,
            unreadable_files: scan.unreadable,
        })
    }

    /// Adds the events of one transcript, in their order.
    fn add_file(
        &self,
        source: &LayerSource,
        models: &ModelTable,
        inside: &dyn Fn(Option<Millis>) -> bool,
        seen: &mut HashSet<ResponseKey>,
        sums: &mut Sums,
    ) {
        // Tokens that would still be in the prompt, and those among them that no request has sent.
        let (mut carried, mut unsent) = (0_u64, 0_u64);
        // Ratio of the model that answered last, for results in files.
        let mut ratio = models.lookup("").info.bytes_per_token.text;
        let mut responses = 0;
        for LogEvent { at, what } in &source.events {
            let counts = inside(*at);
            let freed = &mut sums.stats.freed;
            let acted = &mut sums.stats.acted;
            match what {
                LogWork::Prompt => sums.stats.turns += u64::from(counts),
                LogWork::Response {
                    key,
                    model,
                    usage,
                    purpose,
                } => {
                    ratio = models.lookup(model).info.bytes_per_token.text;
                    let fresh = std::mem::take(&mut unsent);
                    // A fork repeats its parent's beginning: it counts there.
                    if !seen.insert(key.clone()) || !counts {
                        continue;
                    }
                    responses += 1;
                    sums.response(model, *usage, *purpose, carried, fresh, models);
                }
                LogWork::Offloaded {
                    file,
                    blob,
                    preview,
                } => {
                    let bytes = self.result_bytes(&source.path, file.as_deref(), blob);
                    let tokens = ratio.tokens_of(bytes.saturating_sub(*preview)).get();
                    carried += tokens;
                    unsent += tokens;
                    sums.told = true;
                    if counts {
                        acted.offloads += 1;
                        freed.offload += tokens;
                    }
                }
                LogWork::Distilled(tokens) | LogWork::Cleared(tokens) => {
                    carried += tokens.get();
                    sums.told = true;
                    if counts && matches!(what, LogWork::Distilled(_)) {
                        acted.distillations += 1;
                        freed.distil += tokens.get();
                    } else if counts {
                        acted.clearings += 1;
                        freed.clear += tokens.get();
                    }
                }
                LogWork::Notes => {
                    sums.told = true;
                    acted.notes_updates += u64::from(counts);
                }
                LogWork::Compacted {
                    kind,
                    freed: tokens,
                    facts,
                    ..
                } => {
                    let tokens = tokens.map_or(0, Tokens::get);
                    carried += tokens;
                    sums.told = true;
                    if !counts {
                        continue;
                    }
                    let count = match kind {
                        BoundaryKind::Notes => &mut acted.compactions_notes,
                        BoundaryKind::Full | BoundaryKind::Partial => &mut acted.compactions_model,
                        BoundaryKind::Offline => &mut acted.compactions_offline,
                        BoundaryKind::Foreign => &mut acted.compactions_foreign,
                    };
                    *count += 1;
                    if *kind == BoundaryKind::Notes {
                        freed.notes += tokens;
                    } else {
                        freed.compaction += tokens;
                    }
                    if let Some((before, after)) = facts {
                        sums.stats.facts.before += before;
                        sums.stats.facts.after += after;
                    }
                }
                LogWork::Dream => acted.dreams += u64::from(counts),
                LogWork::Engine(micros) if counts => {
                    sums.micros += micros;
                    sums.longest = sums.longest.max(*micros);
                    sums.engine_turns += 1;
                }
                LogWork::Engine(_) | LogWork::Surfaced(_) => {}
            }
        }
        sums.stats.sessions += u64::from(responses > 0);
    }

    /// Bytes of a result that lies in a file; zero if it was removed, so that the estimate is low.
    fn result_bytes(&self, log: &Path, file: Option<&str>, blob: &str) -> u64 {
        let folder = log.with_extension("");
        let path = match file {
            Some(file) => folder.join("tool-results").join(file),
            None => folder.join("blobs").join(blob),
        };
        let facts = self.system().files.metadata(&path);
        facts.map(|facts| facts.len).unwrap_or_default()
    }
}

/// Events of one transcript.
pub(crate) struct LayerSource {
    pub(crate) path: PathBuf,
    pub(crate) project: Option<String>,
    pub(crate) events: Vec<LogEvent>,
}

impl Scan {
    /// Memories that were shown in the sessions.
    fn surfaced(&self, inside: &dyn Fn(Option<Millis>) -> bool) -> u64 {
        let events = self.layers.iter().flat_map(|source| &source.events);
        let shown = events.filter_map(|event| match event.what {
            LogWork::Surfaced(memories) if inside(event.at) => Some(memories),
            _ => None,
        });
        shown.sum()
    }
}

/// Limits that are set, each with its figure.
fn limits(settings: &Settings, all: &SessionStats, pollution: &Pollution) -> Vec<LimitState> {
    let percent = Percent::as_f64;
    let share = |share: Option<f64>| share.map(|share| share * 100.0);
    let least = [
        (
            keys::STATS_MIN_HIT_RATE,
            "stats.min_hit_rate",
            share(all.cache_hit_rate),
        ),
        (
            keys::STATS_MIN_FACTS,
            "stats.min_facts",
            share(all.facts.share),
        ),
    ];
    let most = [
        (
            keys::STATS_MAX_POLLUTION,
            "stats.max_pollution",
            pollution.per_100_written,
        ),
        (
            keys::STATS_MAX_COMPACTIONS,
            "stats.max_compactions",
            all.compactions_per_100_turns,
        ),
    ];
    let least = least.into_iter().filter_map(|(key, setting, figure)| {
        let limit = percent(settings.get(key)?);
        let kept = figure.is_none_or(|figure| figure >= limit);
        Some(LimitState {
            setting,
            limit,
            figure,
            kept,
        })
    });
    let most = most.into_iter().filter_map(|(key, setting, figure)| {
        let limit = percent(settings.get(key)?);
        let kept = figure.is_none_or(|figure| figure <= limit);
        Some(LimitState {
            setting,
            limit,
            figure,
            kept,
        })
    });
    least.chain(most).collect()
}

/// Share of a part; `None` of nothing.
pub(super) fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| float(part) / float(whole))
}

#[expect(clippy::cast_precision_loss, reason = "a share for people and scripts")]
fn float(number: u64) -> f64 {
    number as f64
}
