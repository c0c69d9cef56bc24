//! Tokens and dollars of transcripts: in sum, and by what a person asks for.
//!
//! # Model
//! Transcripts are read once into a book that has one entry for each response. Everything else is
//! a sum over these entries: by day and week of the machine's time zone, by project, session,
//! model, or by the tools whose results made up the prompts. The sums of all groups come to the
//! total exactly, since each response, or each part of one, is in one group.
//!
//! # Not here
//! Reading the figures: `dormouse-store`. Prices: the model table.

mod groups;

use crate::days::Calendar;
use crate::error::HostError;
use crate::host::Host;
use crate::remark::Remark;
use crate::stats::LayerSource;
use dormouse_core::meter::PartPrices;
use dormouse_core::models::ModelTable;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::Usd;
use dormouse_core::usage_book::{Booked, UsageBook, UsageSum, UsageTotals};
use dormouse_store::{Depth, LogFile, ReadError, discover, scan_usage_in};
use dormouse_system::FileKind;
use groups::{ToolSum, by_tool, group_name, response_groups, tool_groups};
use jiff::civil::Date;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Groups that a person can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageBy {
    /// Days of the machine's time zone.
    Day,
    /// Calendar weeks, from Monday.
    Week,
    /// Folders that sessions work in.
    Project,
    /// Sessions, with their sub-agents.
    Session,
    /// Models as the transcripts name them.
    Model,
    /// Tools, by the results that they brought into the prompts.
    Tool,
}

/// A question about tokens and dollars.
#[derive(Clone, Debug, Default)]
pub struct UsageAsk {
    /// Transcripts and folders; those of all known agents if there are none.
    pub paths: Vec<PathBuf>,
    /// Groups, if any are wanted.
    pub by: Option<UsageBy>,
    /// First day that counts; `None` for no limit.
    pub since: Option<Date>,
    /// Last day that counts; `None` for no limit.
    pub until: Option<Date>,
}

impl UsageAsk {
    /// The question about one transcript or folder.
    pub fn of(path: &Path) -> Self {
        Self {
            paths: vec![path.to_owned()],
            ..Self::default()
        }
    }
}

/// Tokens and dollars of transcripts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsageReport {
    /// Figures over everything that was asked for.
    #[serde(flatten)]
    pub all: UsageFigures,
    /// The same for each model.
    pub by_model: BTreeMap<String, UsageFigures>,
    /// Kind of the groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<UsageBy>,
    /// Groups: days and weeks in their order, all others by cost, the dearest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<UsageGroup>>,
    /// First day that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Last day that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Share of the prompt tokens that came from the cache.
    pub cache_hit_rate: Option<f64>,
    /// Responses of models without a known price.
    pub unpriced_requests: u64,
    /// Responses without a time, left out where days were asked for.
    pub undated_requests: u64,
    /// Transcripts that were read.
    pub files: u64,
    /// Folders and transcripts that were looked at.
    pub paths: Vec<String>,
    /// Lines that could not be read in full.
    pub skipped_lines: u64,
    /// Transcripts and folders that could not be read.
    pub unreadable_files: u64,
    /// Files of the folders that are no transcripts.
    pub other_files: u64,
    /// Models without a known price.
    #[serde(skip)]
    pub unpriced_models: Vec<String>,
    /// The exact sums by model.
    #[serde(skip)]
    pub sums: UsageTotals,
}

/// Figures of one group, or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UsageFigures {
    /// Responses that were counted.
    pub requests: u64,
    /// Prompt tokens at the full price.
    pub input_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Prompt tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens of the answers, thinking included.
    pub output_tokens: u64,
    /// Dollars; `None` where no price is known.
    pub cost_usd: Option<f64>,
    /// Dollars that breaks of the cache cost, and files that were read twice.
    #[serde(flatten)]
    pub waste: Waste,
    /// The exact sum, for adding up.
    #[serde(skip)]
    pub sum: UsageSum,
}

/// Cost of breaks of the cache and of files that were read twice; part of the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waste {
    /// Responses that read less from the cache than it held, a compaction apart.
    pub cache_breaks: u64,
    /// Tokens that were sent again because of them.
    pub cache_break_tokens: u64,
    /// Their price less the price of reading them.
    #[serde(serialize_with = "dollars")]
    pub cache_break_cost_usd: Usd,
    /// Tokens of results that repeat a file read before, when they first came in.
    pub repeated_read_tokens: u64,
    /// Price of bringing them in and carrying them along.
    #[serde(serialize_with = "dollars")]
    pub repeated_read_cost_usd: Usd,
}

fn dollars<S: serde::Serializer>(amount: &Usd, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(amount.as_f64())
}

/// A group of responses, or of parts of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsageGroup {
    /// Its name: a day, a week, a path, an id, a model, a tool.
    pub name: String,
    /// Figures of the group; of a tool only the cost is known.
    #[serde(flatten)]
    pub figures: GroupFigures,
}

/// Figures of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum GroupFigures {
    /// A group of whole responses.
    Responses {
        /// Sums over the responses.
        #[serde(flatten)]
        figures: Box<UsageFigures>,
        /// Folder that a session works in.
        #[serde(skip_serializing_if = "Option::is_none")]
        project: Option<String>,
        /// Day of the newest response.
        #[serde(skip_serializing_if = "Option::is_none")]
        last: Option<String>,
    },
    /// A group of parts of responses, such as one tool's results.
    Parts {
        /// Results that the tool brought.
        results: u64,
        /// Tokens of its results when they first came in, estimated.
        result_tokens: u64,
        /// Dollars for bringing them in and carrying them along; of the conversation, the rest.
        cost_usd: f64,
        /// The exact sum, for adding up.
        #[serde(skip)]
        cost: Usd,
    },
}

impl GroupFigures {
    /// Exact cost of the group.
    pub fn cost(&self) -> Usd {
        match self {
            Self::Responses { figures, .. } => figures.sum.cost,
            Self::Parts { cost, .. } => *cost,
        }
    }
}

/// A transcript that was read, for the groups.
struct Source {
    session: String,
    project: Option<String>,
}

/// Usage gathered from transcripts, and the figures about reading them.
#[derive(Default)]
pub(crate) struct Scan {
    book: UsageBook,
    /// Transcripts by their numbers in the book.
    sources: BTreeMap<u32, Source>,
    /// Events of each transcript, if the work of the layers was asked for.
    pub(crate) layers: Vec<LayerSource>,
    pub(crate) files: u64,
    pub(crate) skipped_lines: u64,
    pub(crate) unreadable: u64,
    others: u64,
    paths: Vec<String>,
}

impl Host {
    /// Tokens and dollars. A response counts once, however many lines and files tell of it.
    ///
    /// # Errors
    /// When a path cannot be read or has no transcript, or no agent has kept any.
    pub fn usage(&self, ask: &UsageAsk) -> Result<UsageReport, HostError> {
        let models = self.models();
        let scan = self.scan_spending(ask, Depth::Parts(&models))?;
        let calendar = Calendar::of(self.system());
        Ok(report(&scan, ask, &calendar, &self.models()))
    }

    /// Responses and the work of the layers.
    pub(crate) fn scan_layers(&self, ask: &UsageAsk) -> Result<Scan, HostError> {
        self.scan_spending(ask, Depth::Layers)
    }

    fn scan_spending(&self, ask: &UsageAsk, depth: Depth<'_>) -> Result<Scan, HostError> {
        let mut scan = Scan::default();
        let files = &*self.system().files;
        let mut paths = ask.paths.clone();
        if paths.is_empty() {
            let folders = self.agent_folders();
            let there = |path: &&Path| files.metadata(path).is_ok();
            paths = folders.all().filter(there).map(Path::to_owned).collect();
        }
        if paths.is_empty() {
            return Err(HostError::NoSessions);
        }
        for path in &paths {
            scan.paths.push(path.display().to_string());
            let facts = files.metadata(path);
            // A path that is not there goes this way, too: opening it gives the better error.
            if !facts.is_ok_and(|facts| facts.kind == FileKind::Directory) {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                self.scan_file(path, &stem, depth, &mut scan)?;
                continue;
            }
            let found = discover(files, path)?;
            for refused in &found.refused {
                scan.unreadable += 1;
                let why = refused.to_string();
                self.remark(Remark::Unlisted { why });
            }
            let before = scan.files + scan.unreadable;
            for log in &found.logs {
                match self.scan_file(&log.path, log.session.as_str(), depth, &mut scan) {
                    Ok(()) => {}
                    // An empty file has used nothing and is no fault.
                    Err(ReadError::Empty { .. }) => scan.files += 1,
                    Err(ReadError::NotATranscript { .. }) => scan.others += 1,
                    Err(error) => {
                        scan.unreadable += 1;
                        let why = error.to_string();
                        self.remark(Remark::LeftOut { why });
                    }
                }
            }
            // Zero everywhere would look like a result; a folder that was not named may be empty.
            if scan.files + scan.unreadable == before && !ask.paths.is_empty() {
                return Err(HostError::NoTranscripts(path.clone()));
            }
        }
        Ok(scan)
    }

    fn scan_file(
        &self,
        path: &Path,
        session: &str,
        depth: Depth<'_>,
        scan: &mut Scan,
    ) -> Result<(), ReadError> {
        let log = LogFile::open(&*self.system().files, path)?;
        let read = scan_usage_in(&log, &mut scan.book, depth)?;
        scan.files += 1;
        scan.skipped_lines += read.issues.total();
        // Old transcripts of sub-agents lie beside the sessions and name theirs inside.
        let session = match read.session {
            Some(named) if session.starts_with("agent-") => named,
            _ => session.to_owned(),
        };
        let project = read.cwd;
        if matches!(depth, Depth::Layers) {
            scan.layers.push(LayerSource {
                path: path.to_owned(),
                project: project.clone(),
                events: read.events,
            });
        }
        scan.sources
            .insert(read.source, Source { session, project });
        Ok(())
    }
}

/// Sums of one group while they are added up.
#[derive(Clone, Debug, Default)]
struct Group {
    sum: UsageSum,
    waste: Waste,
    last: Option<Millis>,
}

impl Group {
    fn add(&mut self, response: &Booked<'_>) {
        self.sum.count(response.usage, response.cost);
        self.last = self.last.max(response.told.at);
        let (Some(parts), Some(prices)) = (response.parts, response.prices) else {
            return;
        };
        let prices = PartPrices::new(prices, &response.usage);
        if parts.lost > Tokens::ZERO {
            self.waste.cache_breaks += 1;
            self.waste.cache_break_tokens += parts.lost.get();
            self.waste.cache_break_cost_usd += prices.lost(parts.lost);
        }
        for part in &parts.tools {
            self.waste.repeated_read_tokens += part.fresh_again.get();
            self.waste.repeated_read_cost_usd += prices.again(part);
        }
    }

    fn figures(&self) -> UsageFigures {
        let usage = self.sum.usage;
        UsageFigures {
            requests: self.sum.responses,
            input_tokens: usage.input.get(),
            cache_read_input_tokens: usage.cache_read.get(),
            cache_creation_input_tokens: (usage.cache_write_5m + usage.cache_write_1h).get(),
            output_tokens: usage.output.get(),
            cost_usd: cost(&self.sum),
            waste: self.waste,
            sum: self.sum,
        }
    }
}

/// Dollars, unless no price is known: a sum of nothing would read as free.
pub(crate) fn cost(sum: &UsageSum) -> Option<f64> {
    let nothing_priced = sum.responses > 0 && sum.unpriced == sum.responses;
    (!nothing_priced).then(|| sum.cost.as_f64())
}

fn report(scan: &Scan, ask: &UsageAsk, calendar: &Calendar, models: &ModelTable) -> UsageReport {
    let mut all = Group::default();
    let mut by_model: BTreeMap<Arc<str>, Group> = BTreeMap::new();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut tools: BTreeMap<Arc<str>, ToolSum> = BTreeMap::new();
    let mut undated = 0;
    let wants_days = ask.since.is_some() || ask.until.is_some();
    for response in scan.book.responses(models) {
        let day = response.told.at.map(|at| calendar.day(at));
        if wants_days {
            let Some(day) = day else {
                undated += 1;
                continue;
            };
            let before = ask.since.is_some_and(|since| day < since);
            if before || ask.until.is_some_and(|until| day > until) {
                continue;
            }
        }
        all.add(&response);
        let model = by_model.entry(Arc::clone(response.model)).or_default();
        model.add(&response);
        match ask.by {
            None | Some(UsageBy::Model) => {}
            Some(UsageBy::Tool) => by_tool(&response, &mut tools),
            Some(by) => {
                let name = group_name(by, &response, day, scan);
                groups.entry(name).or_default().add(&response);
            }
        }
    }
    let groups = ask.by.map(|by| match by {
        UsageBy::Tool => tool_groups(tools),
        UsageBy::Model => {
            let named = by_model
                .iter()
                .map(|(name, group)| (name.to_string(), group));
            response_groups(by, named, scan, calendar)
        }
        _ => {
            let named = groups.iter().map(|(name, group)| (name.clone(), group));
            response_groups(by, named, scan, calendar)
        }
    });
    let unpriced = by_model.iter().filter(|(_, group)| group.sum.unpriced > 0);
    let unpriced_models = unpriced.map(|(model, _)| model.to_string()).collect();
    UsageReport {
        cache_hit_rate: hit_rate(&all.sum),
        unpriced_requests: all.sum.unpriced,
        undated_requests: undated,
        files: scan.files,
        paths: scan.paths.clone(),
        skipped_lines: scan.skipped_lines,
        unreadable_files: scan.unreadable,
        other_files: scan.others,
        unpriced_models,
        sums: UsageTotals {
            by_model: by_model
                .iter()
                .map(|(model, group)| (Arc::clone(model), group.sum))
                .collect(),
            all: all.sum,
            synthetic: 0,
        },
        by_model: by_model
            .iter()
            .map(|(model, group)| (model.to_string(), group.figures()))
            .collect(),
        by: ask.by,
        groups,
        since: ask.since.map(|day| day.to_string()),
        until: ask.until.map(|day| day.to_string()),
        all: all.figures(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people and scripts")]
pub(crate) fn hit_rate(sum: &UsageSum) -> Option<f64> {
    let prompt = sum.usage.prompt().get();
    // No prompt, no rate: zero would accuse the cache.
    (prompt > 0).then(|| sum.usage.cache_read.get() as f64 / prompt as f64)
}
