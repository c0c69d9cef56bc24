//! `dormouse guard call`: tool calls that may run here, and the rule that decides.

use super::input;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use dormouse_host::{CallText, Judged, Mode, Ruling, UnknownMode};
use serde::Serialize;
use serde_json::{Value, json};

const EXAMPLES: &str = "\
One call a line of the standard input: `Tool: argument`, or JSON with the tool
and its input, as a hook before a tool gets it. Rules come from the settings
permissions.allow, .ask and .deny and from Claude Code's settings files. Nothing
is run.

Examples:
  echo 'Bash: cargo test && git push' | dormouse guard call
  echo 'Edit: src/main.rs' | dormouse guard call --mode accept-edits
  echo '{\"tool_name\": \"Read\", \"tool_input\": {\"file_path\": \"/etc/hosts\"}}' |
    dormouse guard call

Exit codes: 0 if every call would run, 5 if any would be asked about or refused.

JSON:
  {\"mode\", \"calls\": [{\"call\", \"ruling\": run|run_confined|ask|refuse, \"because\",
  \"rules_to_add\"}]}";

/// Arguments of `guard call`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Judge as in this mode: ask, accept-edits, plan, sandbox, deny or all
    #[arg(long, default_value = "ask", value_parser = mode)]
    mode: Mode,
}

fn mode(text: &str) -> Result<Mode, UnknownMode> {
    text.parse()
}

#[derive(Serialize)]
struct Judgement {
    mode: &'static str,
    calls: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    call: String,
    ruling: &'static str,
    because: String,
    rules_to_add: Vec<String>,
}

/// Judges every call of the standard input; nothing is run.
pub(super) fn run(args: &Args, app: &mut App) -> Outcome {
    let calls = calls(&input()?)?;
    let permissions = app.host()?.permissions();
    let judged = calls.iter().map(|call| permissions.judge(call, args.mode));
    let report = Judgement {
        mode: args.mode.name(),
        calls: judged.map(Shown::new).collect(),
    };
    app.tell(&report)
}

impl Shown {
    fn new(judged: Judged) -> Self {
        let (ruling, rules_to_add) = match judged.verdict.ruling {
            Ruling::Run => ("run", Vec::new()),
            Ruling::RunConfined => ("run_confined", Vec::new()),
            Ruling::Ask { lasting } => ("ask", lasting),
            Ruling::Refuse => ("refuse", Vec::new()),
        };
        Self {
            call: judged.call,
            ruling,
            because: judged.verdict.because.to_string(),
            rules_to_add,
        }
    }
}

impl Report for Judgement {
    fn text(&self, out: &mut Out) -> Outcome {
        for shown in &self.calls {
            let (role, word) = match shown.ruling {
                "run" => (Role::Good, "run     "),
                "run_confined" => (Role::Good, "confined"),
                "ask" => (Role::Warning, "ask     "),
                _ => (Role::Error, "refuse  "),
            };
            let line = Line::new().role(role, word).text("  ").text(&shown.call);
            out.line(line.role(Role::Dim, format!("  ({})", shown.because)))?;
            if !shown.rules_to_add.is_empty() {
                let rules = shown.rules_to_add.join(", ");
                let offer = format!("          to allow such calls: {rules}");
                out.line(Line::new().role(Role::Dim, offer))?;
            }
        }
        Ok(())
    }

    fn verdict(&self) -> Outcome {
        let runs = |shown: &&Shown| shown.ruling.starts_with("run");
        let stopped = self.calls.len() - self.calls.iter().filter(runs).count();
        if stopped == 0 {
            return Ok(());
        }
        let what = format!(
            "{stopped} of {} calls would not simply run",
            self.calls.len()
        );
        Err(UserError::new(Exit::Refused, what)
            .hint("a rule in permissions.allow lets a call run without a question")
            .into())
    }
}

/// Calls of the input, blank lines left out.
fn calls(bytes: &[u8]) -> Result<Vec<CallText>, Failure> {
    let text = String::from_utf8_lossy(bytes);
    let mut calls = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('{') {
            calls.push(json_call(line, at + 1)?);
        } else if !line.trim().is_empty() {
            calls.push(plain_call(line.trim()));
        }
    }
    // An empty pipe is most likely a mistake before it; "0 refused" would hide that.
    if calls.is_empty() {
        let error = UserError::new(Exit::Unsuitable, "there is no call to judge");
        return Err(error
            .hint("send some through a pipe, one a line: echo 'Bash: ls' | dormouse guard call")
            .into());
    }
    Ok(calls)
}

fn json_call(line: &str, number: usize) -> Result<CallText, Failure> {
    serde_json::from_str(line).map_err(|error| {
        let what = format!("line {number} is no call");
        let failed = UserError {
            causes: vec![error.to_string()],
            ..UserError::new(Exit::Unsuitable, what)
        };
        failed
            .hint("write {\"tool\": \"Bash\", \"input\": {\"command\": \"ls\"}} on one line")
            .into()
    })
}

/// `Tool: argument`, with the argument under the name that the tool gives it.
fn plain_call(line: &str) -> CallText {
    let (tool, argument) = line.split_once(':').unwrap_or((line, ""));
    let name = match tool {
        "Bash" => "command",
        "WebFetch" => "url",
        "Grep" | "Glob" => "path",
        _ => "file_path",
    };
    let input = match argument.trim() {
        "" => Value::Null,
        argument => json!({ (name): argument }),
    };
    CallText {
        tool: tool.to_owned(),
        input,
    }
}
