//! `dormouse view`: the prompt as the model sees it, now or at an earlier request.

use crate::app::App;
use crate::arguments::WindowOption;
use crate::describe;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_core::id::RecordId;
use dormouse_core::units::Tokens;
use dormouse_host::{Point, PromptView};
use serde::Serialize;
use std::path::PathBuf;

const HELP: &str = "\
Requests count from 1. In a log of Dormouse's every request can be rebuilt byte
for byte (--request N --raw); other tools do not write down what they sent, so
there the messages are shown as they must have been.

Examples:
  dormouse view session.jsonl
  dormouse view session.jsonl --request 12
  dormouse view session.jsonl --request 12 --raw > body.json
  dormouse view session.jsonl --leaf UUID      Another branch or a sub-agent

JSON:
  {\"model\", \"request\", \"rebuilt\", \"segments\": [{\"at\", \"role\", \"category\",
    \"tokens\", \"record\", \"origin\", \"source\", \"why\", \"block\"}], \"tokens\",
   \"acceptable\", \"rewrites\": [{\"record\", \"what\"}], \"issues\": [text],
   \"window\", \"window_from\"}
\"rebuilt\" is true when a recorded request was rebuilt exactly.";

/// Arguments of `dormouse view`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A session: a transcript, an id or its beginning, `latest`, or - for a pipe;
    /// without one the newest of this folder
    #[arg(value_name = "SESSION")]
    file: Option<PathBuf>,
    /// The prompt of the N-th request
    #[arg(long, value_name = "N", conflicts_with_all = ["at", "leaf"])]
    request: Option<usize>,
    /// The prompt as it was after this line of the file
    #[arg(long, value_name = "LINE", conflicts_with = "leaf")]
    at: Option<u64>,
    /// The end of a branch or of a sub-agent's conversation
    #[arg(long, value_name = "UUID")]
    leaf: Option<String>,
    /// Make it for this model instead of the one last used
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    window: WindowOption,
    /// Show the text of every segment in full
    #[arg(long)]
    full: bool,
    /// Print the bytes of the request body and nothing else
    #[arg(long, requires = "request", conflicts_with = "full")]
    raw: bool,
}

/// The prompt as the model sees it, and the form in which it is shown.
#[derive(Serialize)]
struct Prompt {
    #[serde(flatten)]
    view: PromptView,
    /// Tokens that the model takes, prompt and answer together.
    window: Tokens,
    /// The rule that decided about the window.
    window_from: String,
    /// True with `--full`: whole texts instead of one line each.
    #[serde(skip)]
    full: bool,
}

/// Shows the prompt, or prints the bytes of the request with `--raw`.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    app.set(args.window.setting());
    let host = app.host()?;
    let transcripts = host.transcripts().for_model(args.model.clone());
    // The parser lets at most one of them through.
    let point = match (args.request, args.at, &args.leaf) {
        (Some(number), ..) => Point::Request(number),
        (None, Some(line), _) => Point::Line(line),
        (None, None, Some(leaf)) => Point::Leaf(RecordId::from(leaf.as_str())),
        (None, None, None) => Point::Now,
    };
    let file = app.session(args.file.as_deref())?;
    let prompt = transcripts.prompt_at(&file, &point)?;
    app.note_all(&transcripts.take_remarks());
    // Bytes only, no report around them: the output is a request body to send or to compare.
    if args.raw {
        return Ok(app.out.bytes(&prompt.body(&file)?)?);
    }
    let view = prompt.view(describe::rewrite);
    let window = host.window(prompt.transcript());
    app.tell(&Prompt {
        view,
        window: window.window,
        window_from: window.window_from,
        full: args.full,
    })
}

impl Report for Prompt {
    fn text(&self, out: &mut Out) -> Outcome {
        let report = &self.view;
        let title = format!(
            "{} segments",
            figures::thousands(report.segments.len() as u64)
        );
        let tokens = figures::thousands(report.tokens.get());
        out.line(Line::new().role(Role::Strong, title).text(format!(
            " · {tokens} tokens of {} · for {}",
            figures::thousands(self.window.get()),
            report.model
        )))?;
        match report.rebuilt {
            Some(true) => out.line("This request was rebuilt exactly as it was sent.")?,
            Some(false) => {
                out.line("This request could not be rebuilt exactly; see the issues below.")?;
            }
            None => {}
        }
        out.blank()?;
        if self.full {
            show_full(report, out)?;
        } else {
            show_table(report, out)?;
        }
        if !report.rewrites.is_empty() {
            out.blank()?;
            out.line(Line::new().role(Role::Strong, "Rewrites"))?;
            for rewrite in &report.rewrites {
                // Eight characters of an id are enough to find the record with `dormouse log`.
                let id: String = rewrite.record.chars().take(8).collect();
                out.line(format!("  {id}  {}", rewrite.what))?;
            }
        }
        for issue in &report.issues {
            out.line(
                Line::new()
                    .role(Role::Warning, "issue")
                    .text(format!(": {issue}")),
            )?;
        }
        // Told last: it is the reason why a request made from this view would fail.
        if let Some(invalid) = &report.acceptable {
            out.line(
                Line::new()
                    .role(Role::Error, "a provider would refuse this")
                    .text(format!(": {invalid}")),
            )?;
        }
        Ok(())
    }
}

fn show_table(report: &PromptView, out: &mut Out) -> Outcome {
    let mut table = Table::new([
        Column::right("#"),
        Column::left("ROLE"),
        Column::right("TOKENS"),
        Column::left("WHAT").gives_way(),
    ]);
    let mut last = "";
    for row in &report.segments {
        // A turn's role stands once, so that turns can be seen.
        let role = if row.role == last { "" } else { row.role };
        last = row.role;
        table.row([
            row.at.into(),
            Cell::with_role(Role::Strong, role),
            figures::tokens(row.tokens).into(),
            Cell::new(describe::block(&row.block)),
        ]);
        if let Some(why) = &row.why {
            table.note(format!("↳ {why}"));
        }
    }
    Ok(out.table(&table)?)
}

fn show_full(report: &PromptView, out: &mut Out) -> Outcome {
    for row in &report.segments {
        let head = format!("{} {} · {} tokens", row.at, row.role, row.tokens);
        let mut line = Line::new().role(Role::Strong, head);
        if let Some(why) = &row.why {
            line = line.role(Role::Dim, format!(" ↳ {why}"));
        }
        out.line(line)?;
        let text = row.block.readable_text();
        // Blocks without readable text (images, calls) are shown as their JSON.
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(row.block.bytes()).into_owned());
        for line in text.lines() {
            out.line(format!("  {line}"))?;
        }
        out.blank()?;
    }
    Ok(())
}
