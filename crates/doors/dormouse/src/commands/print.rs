//! `dormouse -p`: the agent without a screen. It works until it is done and prints its answer.
//!
//! # Not here
//! The agent itself: `dormouse-agent`.

mod stream;

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Out, Report};
use clap::ValueEnum;
use dormouse_agent::{Agent, AgentAsk, AgentError, Event, Mode, Resume, Turn, UnknownMode};
use dormouse_core::usage::Usd;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::io::{IsTerminal as _, Read as _};
use std::sync::Arc;
use stream::{Stream, frame};

/// Longest prompt from the standard input, in bytes; a longer text belongs into a file.
const LONGEST_INPUT: u64 = 10 * 1024 * 1024;

/// Options of the agent.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Agent")]
pub struct Args {
    /// Let the agent work on PROMPT and print its answer; text from a pipe is added
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    print: Option<String>,
    /// Go on with the newest session of this project
    #[arg(
        short = 'c',
        long = "continue",
        requires = "print",
        conflicts_with = "resume"
    )]
    go_on: bool,
    /// Go on with a session: its id or the beginning of it, a file, or `latest`; those of Claude Code, Codex and pi
    /// are converted first
    #[arg(short, long, value_name = "SESSION", requires = "print", num_args = 0..=1, default_missing_value = "latest")]
    resume: Option<String>,
    /// Answer to calls that no rule decides: ask, accept-edits, plan, sandbox, deny or all
    #[arg(long, visible_alias = "permission-mode", value_name = "MODE", default_value = "ask", hide_default_value = true, value_parser = mode)]
    mode: Mode,
    /// Print text, one JSON object at the end, or one a line as things happen
    #[arg(long, value_name = "FORMAT", requires = "print")]
    output_format: Option<OutputFormat>,
    /// End the turn after this many requests
    #[arg(long, value_name = "N", requires = "print", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
    /// Talk to this model instead of the one of the settings
    #[arg(long, value_name = "NAME", requires = "print")]
    model: Option<String>,
}

/// Form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

fn mode(text: &str) -> Result<Mode, UnknownMode> {
    text.parse()
}

impl Args {
    /// True if the agent is to work.
    pub fn is_wanted(&self) -> bool {
        self.print.is_some()
    }

    fn prompt(&self) -> Result<String, Failure> {
        let mut prompt = self.print.clone().unwrap_or_default();
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            let mut piped = String::new();
            let read = stdin
                .lock()
                .take(LONGEST_INPUT + 1)
                .read_to_string(&mut piped);
            let too_long = u64::try_from(piped.len()).is_ok_and(|length| length > LONGEST_INPUT);
            if read.is_err() || too_long {
                let what =
                    format!("the standard input is no text of at most {LONGEST_INPUT} bytes");
                let error = UserError::new(Exit::Unsuitable, what);
                return Err(error
                    .hint("put long or other data into a file and name it")
                    .into());
            }
            if !prompt.is_empty() && !piped.trim().is_empty() {
                prompt.push_str("\n\n");
            }
            prompt.push_str(piped.trim_end());
        }
        if prompt.trim().is_empty() {
            let error = UserError::new(Exit::Usage, "there is no prompt");
            return Err(error
                .hint("write it behind -p, or send it through a pipe: dormouse -p 'fix the test'")
                .into());
        }
        Ok(prompt)
    }

    fn resume(&self) -> Resume {
        match &self.resume {
            Some(name) => Resume::Named(name.clone()),
            None if self.go_on => Resume::Newest,
            None => Resume::New,
        }
    }
}

/// Lets the agent work and prints its answer.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let prompt = args.prompt()?;
    app.set(args.model.as_ref().map(|model| format!("model={model}")));
    let host = app.host()?;
    let ask = AgentAsk {
        resume: args.resume(),
        mode: args.mode,
        one_shot: true,
        most_requests: args
            .max_turns
            .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    runtime.block_on(async {
        let clock = Arc::clone(&app.system.clock);
        let begun = clock.ticks();
        let mut agent = Agent::open(host, ask).await.map_err(failed)?;
        app.remarks();
        let stream = Stream::new(
            args.output_format == Some(OutputFormat::StreamJson),
            agent.id().as_str(),
        );
        stream.begin(&agent, args.mode, app)?;
        let mut notes = Vec::new();
        let mut listener = |event| match event {
            Event::Notice(text) | Event::Saved(text) => notes.push(text),
            event => stream.tell(&event, app),
        };
        let turn = tokio::select! {
            turn = agent.prompt(&prompt, &mut listener) => Some(turn),
            // The turn is stopped as if the user had pressed the key on a screen.
            _ = tokio::signal::ctrl_c() => None,
        };
        let figures = figures(&agent);
        let id = agent.id().as_str().to_owned();
        let denied = agent.denied();
        let mut saved = |event| {
            if let Event::Saved(text) = event {
                notes.push(text);
            }
        };
        let closed = Box::pin(agent.close(&mut saved)).await;
        for note in &notes {
            app.note(note);
        }
        let outcome = match turn {
            Some(Ok(turn)) => Ok(turn),
            Some(Err(error)) => Err(failed(error)),
            None => {
                let stopped = UserError::new(Exit::Limit, "stopped; everything so far is kept");
                Err(stopped
                    .hint(format!("`dormouse --resume {id} -p …` goes on"))
                    .into())
            }
        };
        let result = Ending {
            session: &id,
            outcome: outcome.as_ref().ok(),
            figures,
            denied: json!(denied),
            millis: clock.ticks().since(begun).as_millis(),
        };
        result.print(args.output_format, app)?;
        let turn = outcome?;
        closed.map_err(failed)?;
        if turn.cut {
            let what = format!("the limit of {} requests has ended the turn", turn.requests);
            let error = UserError::new(Exit::Limit, what);
            return Err(error
                .hint(format!("`dormouse --resume {id} -p 'go on'` goes on"))
                .into());
        }
        Ok(())
    })
}

/// Tokens and dollars of the session.
fn figures(agent: &Agent) -> Value {
    let (usage, cost) = agent.spent();
    json!({ "usage": usage, "total_cost_usd": cost.map(Usd::as_f64), "model": agent.model() })
}

/// End of a run, as it is printed.
struct Ending<'a> {
    session: &'a str,
    outcome: Option<&'a Turn>,
    figures: Value,
    denied: Value,
    millis: u128,
}

impl Report for Ending<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        if let Some(turn) = self.outcome {
            out.line(turn.text.as_str())?;
        }
        Ok(())
    }
}

impl Serialize for Ending<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.object().serialize(serializer)
    }
}

impl Ending<'_> {
    fn print(&self, format: Option<OutputFormat>, app: &mut App) -> Outcome {
        match format {
            // Text, or an object for `--json`.
            None => app.tell(self)?,
            Some(OutputFormat::Text) => self.text(&mut app.out)?,
            Some(OutputFormat::Json) => app.out.json(self)?,
            Some(OutputFormat::StreamJson) => app.out.json_line(self)?,
        }
        Ok(())
    }

    /// The object that ends a run, with the names that the agent SDKs expect.
    fn object(&self) -> Value {
        let subtype = match self.outcome {
            Some(turn) if turn.cut => "error_max_turns",
            Some(_) => "success",
            None => "error_during_execution",
        };
        frame(
            self.session,
            json!({
                "type": "result",
                "subtype": subtype,
                "is_error": subtype != "success",
                "duration_ms": u64::try_from(self.millis).unwrap_or(u64::MAX),
                "num_turns": self.outcome.map_or(0, |turn| turn.requests),
                "result": self.outcome.map(|turn| &turn.text),
                "stop_reason": self.outcome.map(|turn| &turn.stop_reason),
                "total_cost_usd": self.figures["total_cost_usd"],
                "usage": self.figures["usage"],
                "permission_denials": self.denied,
            }),
        )
    }
}

fn failed(error: AgentError) -> Failure {
    match error {
        AgentError::Host(error) => error.into(),
        AgentError::Engine(error) => UserError::of(Exit::Unexpected, &error).into(),
        AgentError::Tools(error) => UserError::of(Exit::Unexpected, &error).into(),
    }
}
