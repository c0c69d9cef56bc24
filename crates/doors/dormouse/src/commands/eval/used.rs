//! `dormouse eval fidelity --used`: of what a session needed again, what each policy had kept.
//!
//! # Not here
//! Finding the uses and looking for them: `dormouse-replay`. Mined facts: `fidelity`.

use super::fidelity::Places;
use crate::app::App;
use crate::commands::frontier::{self, Point};
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_context::policy::Policy;
use dormouse_core::units::Tokens;
use dormouse_replay::fidelity::used::{Age, Use, Used, UsedKind, measure_used, uses};
use dormouse_replay::fidelity::{FoundIn, Tally, has_search};
use dormouse_replay::{RunOptions, Script};
use dormouse_system::Access;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Tools that the table by tool names: the columns that fit beside a policy's name.
const MOST_TOOLS: usize = 6;

/// A session, and what it used later.
struct Subject {
    name: String,
    script: Script,
    uses: Vec<Use>,
}

#[derive(Serialize)]
struct Needed {
    policies: Vec<PolicyNeeds>,
    files: Vec<FileUses>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Vec<MissingUse>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plot: Option<String>,
}

#[derive(Serialize)]
struct PolicyNeeds {
    name: &'static str,
    searches: bool,
    requests: usize,
    cost_usd: f64,
    total: Places,
    ages: BTreeMap<&'static str, Places>,
    kinds: BTreeMap<&'static str, Places>,
    tools: BTreeMap<String, Places>,
    ended_early: Vec<Ended>,
}

#[derive(Serialize)]
struct Ended {
    file: String,
    why: String,
}

#[derive(Serialize)]
struct FileUses {
    file: String,
    requests: usize,
    uses: usize,
}

#[derive(Serialize)]
struct MissingUse {
    file: String,
    policy: &'static str,
    step: usize,
    age: usize,
    kind: &'static str,
    tool: Option<Arc<str>>,
    value: String,
    #[serde(rename = "where")]
    place: &'static str,
}

/// Conditions of the measurement, from the command line.
pub(super) struct Ask {
    pub(super) policies: Vec<Arc<dyn Policy>>,
    pub(super) window: Option<Tokens>,
    pub(super) missing: bool,
    pub(super) plot: Option<PathBuf>,
}

/// Plays every session under every policy and looks for what was used later.
pub(super) fn run(ask: &Ask, scripts: Vec<(String, Script)>, app: &mut App) -> Outcome {
    let host = app.host()?;
    let (models, settings) = (host.models(), host.settings());
    let clock = Arc::clone(&app.system.clock);
    let subjects: Vec<Subject> = scripts
        .into_iter()
        .map(|(name, script)| Subject {
            uses: uses(&script),
            name,
            script,
        })
        .collect();
    let mut report = Needed {
        policies: Vec::new(),
        files: subjects.iter().map(FileUses::of).collect(),
        missing: ask.missing.then(Vec::new),
        plot: None,
    };
    let mut points = Vec::new();
    for policy in &ask.policies {
        let mut sum = Used::default();
        let mut ended_early = Vec::new();
        for (at, subject) in subjects.iter().enumerate() {
            let doing = format!(
                "playing {}, session {} of {}",
                policy.name(),
                at + 1,
                subjects.len()
            );
            app.out.progress(&doing);
            let options = RunOptions {
                window: ask.window,
                settings: Arc::clone(&settings),
                ..RunOptions::new(Arc::clone(policy))
            };
            let found = measure_used(&subject.script, &subject.uses, &options, &models, &clock)
                .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
            if let Some(why) = &found.ended_early {
                ended_early.push(Ended {
                    file: subject.name.clone(),
                    why: why.clone(),
                });
            }
            if let Some(missing) = &mut report.missing {
                let rows = found.elsewhere.iter();
                missing.extend(
                    rows.map(|(used, place)| MissingUse::of(subject, policy.name(), used, *place)),
                );
            }
            sum.merge(&found);
        }
        points.extend(Point::of(policy.name(), &sum, !ended_early.is_empty()));
        report
            .policies
            .push(PolicyNeeds::of(&**policy, &sum, ended_early));
    }
    app.out.progress("");
    if let Some(path) = &ask.plot {
        let drawing = frontier::svg(&points);
        app.system
            .files
            .replace(path, drawing.as_bytes(), Access::Shared)?;
        report.plot = Some(path.display().to_string());
    }
    app.tell(&report)
}

impl FileUses {
    fn of(subject: &Subject) -> Self {
        Self {
            file: subject.name.clone(),
            requests: subject.script.steps.len(),
            uses: subject.uses.len(),
        }
    }
}

impl MissingUse {
    fn of(subject: &Subject, policy: &'static str, used: &Use, place: FoundIn) -> Self {
        Self {
            file: subject.name.clone(),
            policy,
            step: used.step,
            age: used.age,
            kind: used.kind.name(),
            tool: used.tool.clone(),
            value: used.value.clone(),
            place: place.name(),
        }
    }
}

impl PolicyNeeds {
    fn of(policy: &dyn Policy, sum: &Used, ended_early: Vec<Ended>) -> Self {
        let of = |tally: Option<&Tally>| Places::from(tally.copied().unwrap_or_default());
        Self {
            name: policy.name(),
            searches: has_search(policy),
            requests: sum.requests,
            cost_usd: sum.cost.as_f64(),
            total: sum.total.into(),
            ages: Age::ALL
                .map(|age| (age.name(), of(sum.ages.get(&age))))
                .into(),
            kinds: UsedKind::ALL
                .map(|kind| (kind.name(), of(sum.kinds.get(&kind))))
                .into(),
            tools: sum
                .tools
                .iter()
                .map(|(tool, tally)| (tool.clone(), (*tally).into()))
                .collect(),
            ended_early,
        }
    }

    /// Dollars of one request; sessions that ended early have fewer of them.
    #[expect(clippy::cast_precision_loss, reason = "a number of requests")]
    fn per_request(&self) -> f64 {
        self.cost_usd / self.requests.max(1) as f64
    }
}

impl Report for Needed {
    fn text(&self, out: &mut Out) -> Outcome {
        for file in &self.files {
            let uses = figures::count(file.uses, "value used later", "values used later");
            let requests = figures::count(file.requests, "request", "requests");
            let line = Line::new().role(Role::Strong, &file.file);
            out.line(line.text(format!(": {requests}, {uses}")))?;
        }
        out.blank()?;
        out.table(&self.needs())?;
        out.blank()?;
        out.line(Line::new().role(Role::Strong, "By the tool that brought the value"))?;
        out.table(&self.by_tool())?;
        out.blank()?;
        out.paragraph(
            Role::Dim,
            "Per cent in the prompt at the moment of use / in the prompt or one call away, by \
             requests since the value was last seen and by its kind. The policies of other agents \
             have no search of their history.",
            0,
        )?;
        for policy in &self.policies {
            for ended in &policy.ended_early {
                let told = format!("{} lost {}: {}", policy.name, ended.file, ended.why);
                out.paragraph(Role::Warning, &told, 2)?;
            }
        }
        if let Some(missing) = self.missing.as_ref().filter(|missing| !missing.is_empty()) {
            out.blank()?;
            out.table(&table_of(missing))?;
        }
        if let Some(plot) = &self.plot {
            out.line(Line::new().text(format!("Plot: {plot}")))?;
        }
        Ok(())
    }
}

impl Needed {
    fn needs(&self) -> Table {
        let mut table = Table::new([
            Column::left("POLICY"),
            Column::right("COST"),
            Column::right("A REQUEST"),
            Column::right("ALL"),
            Column::right("3-9"),
            Column::right("10-29"),
            Column::right("30+"),
            Column::right("PATHS").can_go(),
            Column::right("NAMES").can_go(),
            Column::right("NUMBERS").can_go(),
            Column::right("ERRORS").can_go(),
            Column::right("QUOTES").can_go(),
        ]);
        for policy in &self.policies {
            let mut cells = vec![
                Cell::with_role(Role::Strong, policy.name),
                format!("${:.2}", policy.cost_usd).into(),
                format!("${:.4}", policy.per_request()).into(),
                policy.total.share().into(),
            ];
            let of = |places: Option<&Places>| {
                Cell::new(places.map_or_else(|| "–".to_owned(), |places| places.share()))
            };
            cells.extend(Age::ALL.map(|age| of(policy.ages.get(age.name()))));
            cells.extend(UsedKind::ALL.map(|kind| of(policy.kinds.get(kind.name()))));
            table.cells(cells);
        }
        table
    }

    /// The tools that brought most of what was used, with the shares of each policy.
    fn by_tool(&self) -> Table {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for policy in &self.policies {
            for (tool, places) in &policy.tools {
                let count = counts.entry(tool).or_default();
                *count = (*count).max(places.all());
            }
        }
        let mut tools: Vec<(&str, usize)> = counts.into_iter().collect();
        tools.sort_by_key(|(tool, count)| (std::cmp::Reverse(*count), *tool));
        tools.truncate(MOST_TOOLS);
        let mut columns = vec![Column::left("TOOL"), Column::right("USES")];
        columns.extend(
            self.policies
                .iter()
                .map(|policy| Column::right(policy.name)),
        );
        let mut table = Table::new(columns);
        for (tool, count) in tools {
            let name = if tool.is_empty() { "the user" } else { tool };
            let mut cells = vec![Cell::with_role(Role::Strong, name), count.into()];
            cells.extend(self.policies.iter().map(|policy| {
                let places = policy.tools.get(tool).copied().unwrap_or_default();
                Cell::new(places.share())
            }));
            table.cells(cells);
        }
        table
    }
}

/// The uses whose value was not in the prompt, one a row.
fn table_of(missing: &[MissingUse]) -> Table {
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::right("REQUEST"),
        Column::right("AGE"),
        Column::left("KIND"),
        Column::left("TOOL"),
        Column::left("WHERE"),
        Column::left("VALUE").gives_way(),
    ]);
    for used in missing {
        table.row([
            used.policy.into(),
            used.step.into(),
            used.age.into(),
            used.kind.into(),
            used.tool.as_deref().unwrap_or("the user").into(),
            used.place.into(),
            used.value.as_str().into(),
        ]);
    }
    table
}
