//! `dormouse top`: sessions at work in this folder, as a table, a line or JSON.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Out, Report, Role, Table, figures};
use dormouse_core::units::{Millis, Tokens};
use dormouse_host::{LiveSession, StatusInput, TopReport};
use serde::Serialize;
use std::io::{IsTerminal as _, Read as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const HELP: &str = "\
Sessions of Dormouse, Claude Code, Codex and pi in this folder whose transcript has
changed within a quarter of an hour; if there is none, the newest one. Cost and cache
include sub-agents.

--line prints one line for a status line and nothing on any fault. On a pipe it reads
what Claude Code tells its status line, and takes context and cost from that.

Examples:
  dormouse top
  dormouse top --json | jq '.sessions[0].percent_left'
  \"statusLine\": {\"type\": \"command\", \"command\": \"dormouse top --line\"}

JSON:
  {\"sessions\": [{\"agent\", \"session\", \"file\", \"live\", \"model\", \"used_tokens\",
   \"window\", \"percent_left\", \"cache_hit_rate\", \"requests\", \"cost_usd\",
   \"last\": {\"layer\", \"at\", \"freed_tokens\"}, \"changed\"}]}";

/// Longest wait for a client's figures: a status line is asked for several times a second.
const LONGEST: Duration = Duration::from_millis(500);
/// Most bytes of them.
const MOST_BYTES: u64 = 1024 * 1024;

/// Arguments of `dormouse top`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Print one line, for a status line
    #[arg(long)]
    line: bool,
}

/// A session for a status line.
#[derive(Serialize)]
#[serde(transparent)]
struct StatusLine {
    session: LiveSession,
}

/// Shows the sessions at work.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    if !args.line {
        let report = host.top()?;
        return app.tell(&report);
    }
    let session = match told() {
        Some(input) => Some(host.status_line(&input)),
        // A status line without a session is empty: an error there would be shown all day.
        None => host
            .top()
            .ok()
            .and_then(|report| report.sessions.into_iter().next()),
    };
    // Remarks would stand in the middle of a screen.
    drop(host.take_remarks());
    let Some(session) = session else {
        return Ok(());
    };
    app.tell(&StatusLine { session })
}

/// Figures of a client on the standard input, if it is a pipe with such.
fn told() -> Option<StatusInput> {
    if std::io::stdin().is_terminal() {
        return None;
    }
    let (send, done) = mpsc::channel();
    // The thread ends with the process: a pipe that stays open must not hold the line up.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(MOST_BYTES).read_to_end(&mut bytes);
        // Too late: the receiver is gone.
        let _late = send.send(read.map(|_| bytes));
    });
    let bytes = done.recv_timeout(LONGEST).ok()?.ok()?;
    StatusInput::read(&bytes)
}

/// A session in one line, the most urgent figure first.
fn line(session: &LiveSession, now: Millis) -> String {
    let mut parts = Vec::new();
    if let Some(left) = session.percent_left {
        parts.push(format!("{left} % left"));
    }
    if let Some(rate) = session.cache_hit_rate {
        parts.push(format!("cache {}", percent(rate)));
    }
    if let Some(cost) = session.cost_usd {
        parts.push(format!("${cost:.2}"));
    }
    parts.extend(last(session, now));
    parts.join(" · ")
}

/// The last act of a layer, with its age.
fn last(session: &LiveSession, now: Millis) -> Option<String> {
    let act = session.last.as_ref()?;
    Some(match act.at_millis {
        Some(at) => format!("{} {}", act.layer, figures::age(now, at)),
        None => act.layer.to_owned(),
    })
}

fn percent(rate: f64) -> String {
    format!("{:.0} %", rate * 100.0)
}

impl Report for StatusLine {
    fn text(&self, out: &mut Out) -> Outcome {
        let line = line(&self.session, out.now());
        Ok(out.line(line)?)
    }
}

impl Report for TopReport {
    fn text(&self, out: &mut Out) -> Outcome {
        let now = out.now();
        let mut table = Table::new([
            Column::left("AGENT"),
            Column::left("SESSION").gives_way(),
            Column::left("MODEL").gives_way(),
            Column::right("CONTEXT"),
            Column::right("LEFT"),
            Column::right("CACHE"),
            Column::right("COST"),
            Column::left("LAST LAYER"),
            Column::left("CHANGED"),
        ]);
        let none = || Cell::with_role(Role::Dim, "–");
        for session in &self.sessions {
            let tokens = session
                .used_tokens
                .map(|used| figures::tokens(Tokens(used)));
            let left = session.percent_left.map(|left| format!("{left} %"));
            let cost = session.cost_usd.map(|cost| format!("${cost:.2}"));
            let cell = |text: Option<String>| text.map_or_else(none, Cell::new);
            table.row([
                cell(session.agent.map(str::to_owned)),
                session.session.as_str().into(),
                session.model.as_str().into(),
                cell(tokens),
                cell(left),
                cell(session.cache_hit_rate.map(percent)),
                cell(cost),
                cell(last(session, now)),
                figures::age(now, session.changed_at).into(),
            ]);
        }
        Ok(out.table(&table)?)
    }
}
