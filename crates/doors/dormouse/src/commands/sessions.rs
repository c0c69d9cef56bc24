//! `dormouse sessions`: the sessions below a folder.

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Format, Role, Table, figures};
use crate::transcript::Opener;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage_book::UsageBook;
use dormouse_store::{
    FoundLog, LogFile, ReadError, SessionSummary, discover, scan_usage, summarise,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const HELP: &str = "\
Without DIR: the sessions of Dormouse's home. Newest first. TOKENS is what the
session holds now; COST includes its sub-agents.

Examples:
  dormouse sessions
  dormouse sessions ~/.claude/projects --limit 20
  dormouse sessions . --json | jq -r '.sessions[].file'

JSON:
  {\"sessions\": [{\"file\", \"session\", \"title\", \"first\", \"last\", \"messages\",
    \"tokens\", \"cost_usd\", \"model\", \"compactions\": [{\"at\", \"trigger\",
    \"pre_tokens\", \"post_tokens\"}], \"agents\", \"cwd\", \"git_branch\", \"bytes\",
    \"skipped_lines\"}], \"unreadable\": [message]}";

/// Arguments of `sessions`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The folder to look in
    dir: Option<PathBuf>,
    /// Show at most this many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Report {
    sessions: Vec<Row>,
    unreadable: Vec<String>,
}

#[derive(Serialize)]
struct Row {
    file: String,
    session: String,
    title: Option<String>,
    first: Option<String>,
    last: Option<String>,
    messages: u64,
    tokens: u64,
    cost_usd: Option<f64>,
    model: String,
    compactions: Vec<Compaction>,
    agents: usize,
    cwd: Option<String>,
    git_branch: Option<String>,
    bytes: u64,
    skipped_lines: u64,
    #[serde(skip)]
    newest: Millis,
}

#[derive(Serialize)]
struct Compaction {
    at: Option<String>,
    trigger: Option<String>,
    pre_tokens: Option<u64>,
    post_tokens: Option<u64>,
}

/// Lists sessions.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let config = app.config()?;
    let models = Arc::clone(&config.loaded.models);
    let home = config.loader.places().home.join("projects");
    let dir = args.dir.clone().unwrap_or_else(|| home.clone());
    let mut report = report(&dir, args.dir.is_none(), &models, app)?;
    report
        .sessions
        .sort_by_key(|row| std::cmp::Reverse(row.newest));
    report.sessions.truncate(args.limit.unwrap_or(usize::MAX));
    match app.out.format() {
        Format::Json => Ok(app.out.json(&report)?),
        Format::Text => show(&report, &dir, app),
    }
}

fn report(
    dir: &Path,
    is_home: bool,
    models: &Arc<ModelTable>,
    app: &mut App,
) -> Result<Report, Failure> {
    let files = Arc::clone(&app.system.files);
    let found = match discover(&*files, dir) {
        Ok(found) => found,
        // A home where nothing was ever stored is no mistake.
        Err(error) if is_home && error.not_found() => {
            return Ok(Report {
                sessions: Vec::new(),
                unreadable: Vec::new(),
            });
        }
        Err(error) => {
            let hint = "name a folder with transcripts, such as ~/.claude/projects";
            let kind = if error.not_found() {
                Exit::Unreadable
            } else {
                Exit::Unsuitable
            };
            return Err(UserError::of(kind, &error).hint(hint).into());
        }
    };
    let mut agents: BTreeMap<&SessionId, Vec<&FoundLog>> = BTreeMap::new();
    for log in found.logs.iter().filter(|log| log.agent.is_some()) {
        agents.entry(&log.session).or_default().push(log);
    }
    let mut report = Report {
        sessions: Vec::new(),
        unreadable: found.refused.iter().map(ToString::to_string).collect(),
    };
    for log in found.logs.iter().filter(|log| log.agent.is_none()) {
        let beside = agents.get(&log.session).map_or(&[][..], Vec::as_slice);
        match row(log, beside, models, app) {
            Ok(row) => report.sessions.push(row),
            Err(Unreadable(message)) => report.unreadable.push(message),
        }
    }
    Ok(report)
}

/// Why a file is not in the list.
struct Unreadable(String);

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        Self(error.to_string())
    }
}

fn row(
    found: &FoundLog,
    agents: &[&FoundLog],
    models: &Arc<ModelTable>,
    app: &mut App,
) -> Result<Row, Unreadable> {
    let files = Arc::clone(&app.system.files);
    let log = LogFile::open(&*files, &found.path)?;
    let summary = summarise(&log)?;
    let mut book = UsageBook::new();
    scan_usage(&log, &mut book)?;
    for agent in agents {
        // A sub-agent's transcript that cannot be read costs its figures, not the session.
        if let Ok(log) = LogFile::open(&*files, &agent.path) {
            scan_usage(&log, &mut book)?;
        }
    }
    let totals = book.totals(models).all;
    let live = Opener::new(app, Arc::clone(models), None)
        .quiet()
        .live(&found.path);
    let transcript =
        live.map_err(|_| Unreadable(format!("`{}` cannot be read", found.path.display())))?;
    let count = transcript.conversation.count(&transcript.prefix_weight());
    let priced = totals.responses == 0 || totals.unpriced < totals.responses;
    let SessionSummary {
        title, first, last, ..
    } = &summary;
    let time = |at: &Option<Millis>| at.map(|at| at.to_string());
    Ok(Row {
        file: found.path.display().to_string(),
        session: found.session.to_string(),
        title: title.clone(),
        first: time(first),
        last: time(last),
        messages: summary.human_messages + summary.assistant_messages,
        tokens: count.tokens.get(),
        cost_usd: priced.then(|| totals.cost.as_f64()),
        model: transcript.model().to_owned(),
        compactions: compactions(&summary),
        agents: agents.len(),
        cwd: summary.cwd.clone(),
        git_branch: summary.git_branch.clone(),
        bytes: summary.bytes,
        skipped_lines: summary.skipped.total(),
        newest: last.unwrap_or(found.modified),
    })
}

fn compactions(summary: &SessionSummary) -> Vec<Compaction> {
    let boundaries = summary.boundaries.iter();
    boundaries
        .map(|boundary| Compaction {
            at: boundary.at.map(|at| at.to_string()),
            trigger: boundary.trigger.clone(),
            pre_tokens: boundary.pre_tokens.map(Tokens::get),
            post_tokens: boundary.post_tokens.map(Tokens::get),
        })
        .collect()
}

fn show(report: &Report, dir: &Path, app: &mut App) -> Outcome {
    let now = app.system.clock.now();
    let out = &mut app.out;
    let (listed, silent): (Vec<&Row>, Vec<&Row>) =
        report.sessions.iter().partition(|row| row.messages > 0);
    if listed.is_empty() {
        out.line(format!("No session below `{}`.", dir.display()))?;
        out.line("Claude Code keeps its transcripts in ~/.claude/projects.")?;
    } else {
        let mut table = Table::new([
            Column::left("TITLE").gives_way(),
            Column::right("AGE"),
            Column::right("MESSAGES"),
            Column::right("TOKENS"),
            Column::right("COST"),
            Column::left("SESSION"),
        ]);
        for row in &listed {
            let title = match &row.title {
                Some(title) => Cell::new(title),
                None => Cell::with_role(Role::Dim, "(no title)"),
            };
            let cost = row
                .cost_usd
                .map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.2}"));
            table.row([
                title,
                figures::age(now, row.newest).into(),
                figures::thousands(row.messages).into(),
                figures::tokens(Tokens(row.tokens)).into(),
                cost.into(),
                Cell::with_role(Role::Dim, row.session.chars().take(8).collect::<String>()),
            ]);
        }
        out.table(&table)?;
    }
    if !silent.is_empty() {
        let files = plural(silent.len(), "file holds", "files hold");
        app.note(&format!("{files} no message that Dormouse understands"));
    }
    let damaged = listed.iter().filter(|row| row.skipped_lines > 0).count();
    if damaged > 0 {
        let files = plural(damaged, "session has", "sessions have");
        app.note(&format!(
            "{files} lines that could not be read; see `dormouse log FILE --issues`"
        ));
    }
    for message in &report.unreadable {
        app.note(&format!("left out: {message}"));
    }
    Ok(())
}

fn plural(count: usize, one: &str, many: &str) -> String {
    let figure = figures::thousands(count as u64);
    format!("{figure} {}", if count == 1 { one } else { many })
}
