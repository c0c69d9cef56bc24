//! `dormouse guard shell`: command lines that only read, told from those that may do more.

use super::input;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use dormouse_guard::shell::{Folder, Policy, Reach, Reason, Verdict, classify_with};
use serde::Serialize;
use std::path::PathBuf;

const EXAMPLES: &str = "\
One command line a line of the standard input, or one JSON string a line, for
those that have line breaks. Nothing is run.

Examples:
  echo 'git log | head -5' | dormouse guard shell
  dormouse guard shell --below /srv/notes < commands.txt

Exit codes: 0 if every line only reads, 5 if any was refused.

JSON:
  {\"allowed\", \"refused\", \"lines\": [{\"line\", \"allowed\", \"reason\",
  \"message\"}]}";

/// Arguments of `guard shell`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Let contents be read below DIR too; may be repeated
    #[arg(long, value_name = "DIR", conflicts_with = "anywhere")]
    below: Vec<PathBuf>,
    /// Let contents be read anywhere, devices excepted
    #[arg(long)]
    anywhere: bool,
    /// Refuse commands that ask the network, as side tasks do
    #[arg(long)]
    no_network: bool,
    /// Refuse commands that start programs which the folder's settings name
    #[arg(long)]
    no_sandbox: bool,
}

#[derive(Serialize)]
struct Judgement {
    allowed: usize,
    refused: usize,
    lines: Vec<Judged>,
}

#[derive(Serialize)]
struct Judged {
    line: String,
    allowed: bool,
    reason: Option<Reason>,
    message: Option<String>,
}

/// Judges every line of the standard input; nothing is run.
pub(super) fn run(args: &Args, app: &mut App) -> Outcome {
    let policy = args.policy()?;
    let lines = command_lines(&input()?)?;
    let judged: Vec<Judged> = lines.into_iter().map(|line| judge(line, &policy)).collect();
    let allowed = judged.iter().filter(|judged| judged.allowed).count();
    let report = Judgement {
        allowed,
        refused: judged.len() - allowed,
        lines: judged,
    };
    app.tell(&report)
}

impl Report for Judgement {
    fn text(&self, out: &mut Out) -> Outcome {
        for judged in &self.lines {
            out.line(shown(judged))?;
        }
        Ok(())
    }

    fn verdict(&self) -> Outcome {
        if self.refused == 0 {
            return Ok(());
        }
        let total = self.lines.len();
        let what = format!("{} of {total} command lines refused", self.refused);
        Err(UserError::new(Exit::Refused, what)
            .hint("each says why; what only reads can be written in plain words and listed flags")
            .into())
    }
}

impl Args {
    fn policy(&self) -> Result<Policy, Failure> {
        // A relative folder would mean another place for every command that is judged.
        if let Some(relative) = self.below.iter().find(|path| !path.is_absolute()) {
            let what = format!("`{}` is not an absolute path", relative.display());
            return Err(UserError::new(Exit::Usage, what)
                .hint("write the whole path after --below")
                .into());
        }
        let reach = match (self.anywhere, self.below.is_empty()) {
            (true, _) => Reach::Anywhere,
            (false, true) => Reach::Inside,
            (false, false) => Reach::Below(self.below.clone()),
        };
        Ok(Policy {
            reach,
            network: !self.no_network,
            folder: if self.no_sandbox {
                Folder::Loose
            } else {
                Folder::Held
            },
        })
    }
}

fn judge(line: String, policy: &Policy) -> Judged {
    let reason = match classify_with(&line, policy) {
        Verdict::Allow => None,
        Verdict::Refuse(reason) => Some(reason),
    };
    Judged {
        line,
        allowed: reason.is_none(),
        message: reason.as_ref().map(ToString::to_string),
        reason,
    }
}

fn shown(judged: &Judged) -> Line {
    let line = Line::new();
    match &judged.message {
        None => line
            .role(Role::Good, "allow")
            .text("   ")
            .text(&judged.line),
        Some(message) => line
            .role(Role::Error, "refuse")
            .text("  ")
            .text(&judged.line)
            .role(Role::Dim, format!("  ({message})")),
    }
}

/// The command lines of the input, blank ones left out. A line that begins with a quote is a JSON
/// string, which can hold line breaks.
fn command_lines(bytes: &[u8]) -> Result<Vec<String>, Failure> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        // A command line rarely begins with a quote, so the quote can mark the other form.
        if line.starts_with('"') {
            lines.push(json_string(line, at + 1)?);
        } else if !line.trim().is_empty() {
            lines.push(line.to_owned());
        }
    }
    // An empty pipe is most likely a mistake before it; "0 refused" would hide that.
    if lines.is_empty() {
        let error = UserError::new(Exit::Unsuitable, "there is no command line to judge");
        return Err(error
            .hint("send some through a pipe, one a line: echo ls | dormouse guard shell")
            .into());
    }
    Ok(lines)
}

fn json_string(line: &str, number: usize) -> Result<String, Failure> {
    serde_json::from_str(line).map_err(|error| {
        let what = format!("line {number} begins with a quote and is no JSON string");
        let failed = UserError {
            causes: vec![error.to_string()],
            ..UserError::new(Exit::Unsuitable, what)
        };
        failed
            .hint("put a space before a command line that begins with a quote")
            .into()
    })
}
