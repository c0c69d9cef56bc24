//! `dormouse usage`: tokens and dollars, in sum and by what a person asks for.

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_host::{
    GroupFigures, Host, UsageAsk, UsageBy, UsageFigures, UsageGroup, UsageReport, Waste,
};
use jiff::civil::Date;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Without PATH: the sessions of all known agents on this machine (Dormouse, Claude
Code, Codex, pi). A response counts once, however many lines and files tell of it
(a session that was forked repeats its beginning); the largest figures count.
Folders include the transcripts of sub-agents. Days are those of this machine's
time zone.

Groups are sorted by cost, days and weeks by time. With --by tool the cost of
each prompt is divided among the tools whose results it held, carrying them along
included; their tokens are estimated from their bytes, those read from the cache
priced as read, the rest as written. Everything else, answers included, is
(conversation), and so are prompts of Codex and pi, which are not divided. The
groups add up to the total.

Two amounts are part of the cost and could have been saved. Cache breaks: tokens
that the cache held and that were sent again, at the price of writing less that
of reading; compactions are not counted. Files read twice: the result of the same
read, brought in again and carried along.

Examples:
  dormouse usage
  dormouse usage --by day --since 'last week'
  dormouse usage --by project --since 2026-01-01 --until 2026-01-31
  dormouse usage ~/.claude/projects --by tool
  dormouse usage session.jsonl
  dormouse usage --by day --json | jq '.groups[] | [.name, .cost_usd]'

JSON:
  {\"requests\", \"input_tokens\", \"cache_read_input_tokens\",
   \"cache_creation_input_tokens\", \"output_tokens\", \"cost_usd\",
   \"cache_breaks\", \"cache_break_tokens\", \"cache_break_cost_usd\",
   \"repeated_read_tokens\", \"repeated_read_cost_usd\",
   \"by_model\": {model: the same fields}, \"by\", \"groups\": [{\"name\", the same
   fields, \"project\", \"last\"}], \"since\", \"until\", \"cache_hit_rate\",
   \"unpriced_requests\", \"undated_requests\", \"files\", \"paths\",
   \"skipped_lines\", \"unreadable_files\", \"other_files\"}
Groups of tools have \"name\", \"results\", \"result_tokens\" and \"cost_usd\".
cost_usd leaves out requests whose price is not known (unpriced_requests); it
is null where no price is known at all.";

/// Arguments of `dormouse usage`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Transcripts, folders with transcripts, ids of sessions, `latest`
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Add up by day, week, project, session, model or tool
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    by: Option<By>,
    /// Leave out what was before: a date, `yesterday`, `last week`, `30 days`
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
    /// Leave out what was after this day
    #[arg(long, value_name = "DAY")]
    until: Option<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum By {
    Day,
    Week,
    Project,
    Session,
    Model,
    Tool,
}

impl From<By> for UsageBy {
    fn from(by: By) -> Self {
        match by {
            By::Day => Self::Day,
            By::Week => Self::Week,
            By::Project => Self::Project,
            By::Session => Self::Session,
            By::Model => Self::Model,
            By::Tool => Self::Tool,
        }
    }
}

/// Adds up tokens and dollars, each response once.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    let (since, until) = days(&host, args.since.as_deref(), args.until.as_deref())?;
    let paths = args.paths.iter().map(|path| app.session(Some(path)));
    let ask = UsageAsk {
        paths: paths.collect::<Result<_, _>>()?,
        by: args.by.map(Into::into),
        since,
        until,
    };
    app.out.progress("reading sessions");
    let usage = host.usage(&ask);
    app.out.progress("");
    app.tell(&usage?)
}

/// The first and the last day that a person means.
pub(super) fn days(
    host: &Host,
    since: Option<&str>,
    until: Option<&str>,
) -> Result<(Option<Date>, Option<Date>), Failure> {
    let day = |text: Option<&str>| match text {
        None => Ok(None),
        Some(text) => host.days_meant(text).map(Some).ok_or_else(|| no_day(text)),
    };
    let since = day(since)?.map(|(first, _)| first);
    let until = day(until)?.map(|(_, last)| last);
    if let (Some(since), Some(until)) = (since, until)
        && since > until
    {
        let message = format!("--since {since} is after --until {until}");
        return Err(UserError::new(Exit::Usage, message).into());
    }
    Ok((since, until))
}

fn no_day(text: &str) -> Failure {
    UserError::new(Exit::Usage, format!("`{text}` is no day"))
        .hint("write one like 2026-03-15, yesterday, monday, last week or 30 days")
        .into()
}

impl Report for UsageReport {
    fn text(&self, out: &mut Out) -> Outcome {
        let narrow = out.width() < NARROW;
        match (&self.groups, self.by) {
            (Some(groups), Some(UsageBy::Tool)) => tools(self, groups, out)?,
            (Some(groups), Some(by)) => grouped(self, by, groups, narrow, out)?,
            _ => models(self, narrow, out)?,
        }
        out.blank()?;
        remarks(self, out)
    }
}

/// Width in columns below which models lose the parts of their names that all share.
const NARROW: usize = 60;
/// Columns that a name keeps while figures can still be left out: `sonnet-4-5-20250929` fits.
const NAME: usize = 20;

/// The table of figures. On a narrow screen the name and the cost stay; kinds of tokens go first.
fn columns(first: &'static str) -> Table {
    Table::new([
        Column::left(first).gives_way_until(NAME),
        Column::right("REQUESTS").can_go(),
        Column::right("INPUT").can_go(),
        Column::right("CACHE READ").can_go(),
        Column::right("CACHE WRITE").can_go(),
        Column::right("OUTPUT").can_go(),
        Column::right("COST"),
    ])
}

fn row(table: &mut Table, name: Cell, figures: &UsageFigures) {
    let number = |tokens: u64| Cell::new(figures::thousands(tokens));
    table.row([
        name,
        number(figures.requests),
        number(figures.input_tokens),
        number(figures.cache_read_input_tokens),
        number(figures.cache_creation_input_tokens),
        number(figures.output_tokens),
        money(figures),
    ]);
}

fn money(figures: &UsageFigures) -> Cell {
    // A sum of nothing but unknown prices would be $0.00, which is false.
    let text = match figures.cost_usd {
        None => "unknown".to_owned(),
        Some(_) => figures.sum.cost.to_string(),
    };
    text.into()
}

fn models(report: &UsageReport, narrow: bool, out: &mut Out) -> Outcome {
    let mut table = columns("MODEL");
    for (model, figures) in &report.by_model {
        row(&mut table, Cell::new(shortened(model, narrow)), figures);
    }
    // With a single model the sum would repeat its row.
    if report.by_model.len() != 1 {
        let name = Cell::with_role(Role::Strong, "all");
        row(&mut table, name, &report.all);
    }
    Ok(out.table(&table)?)
}

/// A model's name for people; some transcripts name none.
fn named(model: &str) -> &str {
    match model {
        "" => "(no name)",
        named => named,
    }
}

/// A model's name without the parts that all names share: on a narrow screen names are cut at the
/// end, where they differ.
fn shortened(model: &str, narrow: bool) -> String {
    let model = named(model);
    if !narrow {
        return model.to_owned();
    }
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("claude-").unwrap_or(name);
    let date = |text: &&str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once('-') {
        Some((name, last)) if date(&last) => name.to_owned(),
        _ => name.to_owned(),
    }
}

fn grouped(
    report: &UsageReport,
    by: UsageBy,
    groups: &[UsageGroup],
    narrow: bool,
    out: &mut Out,
) -> Outcome {
    let heading = match by {
        UsageBy::Day => "DAY",
        UsageBy::Week => "WEEK",
        UsageBy::Project => "PROJECT",
        UsageBy::Session => "SESSION",
        UsageBy::Model => "MODEL",
        UsageBy::Tool => "TOOL",
    };
    let mut table = columns(heading);
    for group in groups {
        let GroupFigures::Responses {
            figures,
            project,
            last,
        } = &group.figures
        else {
            continue;
        };
        let name = match by {
            UsageBy::Session => session_name(&group.name, project.as_deref(), last.as_deref()),
            UsageBy::Model => shortened(&group.name, narrow),
            UsageBy::Project if narrow => base_name(&group.name).to_owned(),
            _ => group.name.clone(),
        };
        row(&mut table, Cell::new(name), figures);
    }
    if groups.len() != 1 {
        let name = Cell::with_role(Role::Strong, "all");
        row(&mut table, name, &report.all);
    }
    Ok(out.table(&table)?)
}

/// A session by the beginning of its id, the day of its last response and its folder.
fn session_name(id: &str, project: Option<&str>, last: Option<&str>) -> String {
    // Of a rollout's name the id at its end tells sessions apart, not the time before it.
    let id = id.rsplit_once('_').map_or(id, |(_, id)| id);
    let start = id.len().checked_sub(36).filter(|at| *at > 0);
    let id = start.and_then(|at| id.get(at..)).unwrap_or(id);
    let short: String = id.chars().take(8).collect();
    let project = project.map(base_name);
    let parts = [Some(short.as_str()), last, project];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(" ")
}

fn base_name(path: &str) -> &str {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    name.unwrap_or(path)
}

fn tools(report: &UsageReport, groups: &[UsageGroup], out: &mut Out) -> Outcome {
    let mut table = Table::new([
        Column::left("TOOL").gives_way_until(NAME),
        Column::right("RESULTS").can_go(),
        Column::right("TOKENS").can_go(),
        Column::right("COST"),
    ]);
    for group in groups {
        if let GroupFigures::Parts {
            results,
            result_tokens,
            cost,
            ..
        } = &group.figures
        {
            table.row([
                Cell::new(&group.name),
                figures::thousands(*results).into(),
                figures::tokens(Tokens(*result_tokens)).into(),
                cost.to_string().into(),
            ]);
        }
    }
    table.row([
        Cell::with_role(Role::Strong, "all"),
        Cell::new(""),
        Cell::new(""),
        money(&report.all),
    ]);
    Ok(out.table(&table)?)
}

fn remarks(report: &UsageReport, out: &mut Out) -> Outcome {
    // Without a prompt there is no rate; 0 % would accuse the cache.
    if let Some(rate) = report.cache_hit_rate {
        let files = count(report.files, "file", "files");
        let rate = format!(
            "{:.1} % of the prompt tokens came from the cache",
            rate * 100.0
        );
        out.line(
            Line::new()
                .text(rate)
                .role(Role::Dim, format!(" · {files}")),
        )?;
    }
    waste(&report.all.waste, out)?;
    if let (since, until) = (&report.since, &report.until)
        && (since.is_some() || until.is_some())
    {
        let since = since.as_deref().unwrap_or("the first day");
        let until = until.as_deref().unwrap_or("now");
        out.line(format!("from {since} to {until}"))?;
    }
    if report.undated_requests > 0 {
        let count = figures::thousands(report.undated_requests);
        out.line(format!("{count} responses have no time and are left out"))?;
    }
    if !report.unpriced_models.is_empty() {
        let unpriced: Vec<&str> = report.unpriced_models.iter().map(|it| named(it)).collect();
        out.line(format!(
            "no price is known for {}; add it to models.toml in Dormouse's home",
            unpriced.join(", ")
        ))?;
    }
    if report.skipped_lines > 0 {
        let lines = count(report.skipped_lines, "line", "lines");
        out.note(&format!(
            "{lines} could not be read in full; see `dormouse log FILE --issues`"
        ));
    }
    if report.other_files > 0 {
        let files = count(report.other_files, "file holds", "files hold");
        out.note(&format!("{files} no message that Dormouse understands"));
    }
    Ok(())
}

fn count(number: u64, one: &str, many: &str) -> String {
    figures::count(usize::try_from(number).unwrap_or(usize::MAX), one, many)
}

/// The amounts that could have been saved, where there are any.
fn waste(waste: &Waste, out: &mut Out) -> Outcome {
    if waste.cache_breaks > 0 {
        out.line(format!(
            "{} cost {}: {} tokens were sent again",
            count(waste.cache_breaks, "cache break", "cache breaks"),
            waste.cache_break_cost_usd,
            figures::tokens(Tokens(waste.cache_break_tokens)),
        ))?;
    }
    if waste.repeated_read_cost_usd > Usd::ZERO {
        out.line(format!(
            "files read twice cost {}: {} tokens came in again",
            waste.repeated_read_cost_usd,
            figures::tokens(Tokens(waste.repeated_read_tokens)),
        ))?;
    }
    Ok(())
}
