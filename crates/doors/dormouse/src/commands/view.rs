//! `dormouse view`: the prompt as the model sees it, now or at an earlier request.

use crate::app::App;
use crate::describe;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_context::plan::rebuild;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::segment::Segment;
use dormouse_context::tokens;
use dormouse_context::validate;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, Derived, Record, Request};
use dormouse_core::units::Tokens;
use dormouse_host::{Transcript, Transcripts};
use serde::Serialize;
use std::collections::HashMap;
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
   \"acceptable\", \"rewrites\": [{\"record\", \"what\"}], \"issues\": [text]}
\"rebuilt\" is true when a recorded request was rebuilt exactly.";

/// Arguments of `view`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A transcript
    file: PathBuf,
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
    /// Show the text in full
    #[arg(long)]
    full: bool,
    /// Print the bytes of the request body and nothing else
    #[arg(long, requires = "request", conflicts_with = "full")]
    raw: bool,
}

/// The prompt as the model sees it.
#[derive(Serialize)]
struct Prompt {
    model: String,
    request: Option<usize>,
    rebuilt: Option<bool>,
    segments: Vec<Row>,
    tokens: Tokens,
    acceptable: Option<String>,
    rewrites: Vec<Rewrite>,
    issues: Vec<String>,
    /// Show the text in full.
    #[serde(skip)]
    full: bool,
}

#[derive(Serialize)]
struct Row {
    at: usize,
    role: &'static str,
    category: &'static str,
    tokens: Tokens,
    record: String,
    origin: String,
    source: String,
    why: Option<String>,
    block: dormouse_core::block::Block,
}

#[derive(Serialize)]
struct Rewrite {
    record: String,
    what: String,
}

/// Shows the prompt.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let opener = app.host()?.transcripts().for_model(args.model.clone());
    let (transcript, request) = match (args.request, args.at, &args.leaf) {
        (Some(number), ..) => at_request(&opener, args, number)?,
        (None, Some(line), _) => (opener.at_line(&args.file, line)?, None),
        (None, None, Some(leaf)) => {
            let read = opener.read(&args.file)?;
            let leaf = RecordId::from(leaf.as_str());
            if !read.records.iter().any(|record| record.id == leaf) {
                let message = format!("`{}` has no record {leaf}", args.file.display());
                let hint = "`dormouse log --json` lists the ids of all records";
                return Err(UserError::new(Exit::Usage, message).hint(hint).into());
            }
            (opener.fold(&args.file, &read.records, Some(&leaf)), None)
        }
        (None, None, None) => (opener.live(&args.file)?, None),
    };
    app.note_all(&opener.take_remarks());
    if args.raw {
        return raw(args, &transcript, request.as_deref(), app);
    }
    app.tell(&prompt(args, &transcript, request.as_deref()))
}

/// The session at its N-th request: a recorded one, or in other tools' transcripts the point just
/// before the N-th response.
fn at_request(
    opener: &Transcripts,
    args: &Args,
    number: usize,
) -> Result<(Transcript, Option<Box<Request>>), Failure> {
    let read = opener.read(&args.file)?;
    let requests: Vec<&Record> = read
        .records
        .iter()
        .filter(|record| matches!(record.body, Body::Request(_)))
        .collect();
    let missing = |count: usize| {
        let message = format!("`{}` has no request {number}", args.file.display());
        let hint = format!("requests count from 1 to {count}");
        Failure::from(UserError::new(Exit::Usage, message).hint(hint))
    };
    if !requests.is_empty() {
        let record = number.checked_sub(1).and_then(|index| requests.get(index));
        let record = record.ok_or_else(|| missing(requests.len()))?;
        let transcript = opener.fold(&args.file, &read.records, Some(&record.id));
        let request = match &record.body {
            Body::Request(request) => Some(request.clone()),
            _ => None,
        };
        return Ok((transcript, request));
    }
    let mut seen = std::collections::HashSet::new();
    let starts: Vec<usize> = read
        .records
        .iter()
        .enumerate()
        .filter(|(_, record)| !record.side_chain)
        .filter_map(|(at, record)| match &record.body {
            Body::Message(message) => Some((at, message.id.as_ref()?)),
            _ => None,
        })
        .filter(|(_, id)| seen.insert(*id))
        .map(|(at, _)| at)
        .collect();
    let start = number.checked_sub(1).and_then(|index| starts.get(index));
    let start = *start.ok_or_else(|| missing(starts.len()))?;
    let before = read.records[start].parent.as_ref();
    Ok((
        opener.fold(&args.file, &read.records[..start], before),
        None,
    ))
}

fn raw(args: &Args, transcript: &Transcript, request: Option<&Request>, app: &mut App) -> Outcome {
    let Some(request) = request else {
        let message = format!("`{}` does not record what was sent", args.file.display());
        let hint =
            "only logs that Dormouse writes hold requests; leave --raw out to see the messages";
        return Err(UserError::new(Exit::Unsuitable, message).hint(hint).into());
    };
    let empty = RenderedPrefix::default();
    let prefix = match (&transcript.prefix, request.prefix) {
        (Some(prefix), _) => prefix,
        (None, None) => &empty,
        (None, Some(id)) => {
            let message = format!("the blobs of prefix {id} are missing");
            let hint = "they lie in the session's folder beside the log, under `blobs`";
            return Err(UserError::new(Exit::Unsuitable, message).hint(hint).into());
        }
    };
    let body = rebuild(transcript.conversation.view(), request, prefix);
    Ok(app.out.bytes(&body)?)
}

fn prompt(args: &Args, transcript: &Transcript, request: Option<&Request>) -> Prompt {
    let conversation = &transcript.conversation;
    let view = conversation.view();
    let segments = view.segments();
    let reasons = reasons(&transcript.records);
    let calibration = tokens::calibration(conversation.state(), transcript.model());
    let bytes = conversation.bytes_per_token();
    let rows = segments.iter().enumerate().map(|(at, segment)| Row {
        at,
        role: segment.role.as_str(),
        category: segment.category.label(),
        tokens: calibration.correct(tokens::estimate(segment.block.weight(), bytes)),
        record: segment.record().to_string(),
        origin: segment.origin.to_string(),
        source: segment.source().to_string(),
        why: why(segment, &reasons),
        block: segment.block.clone(),
    });
    let rewrites = transcript.records.iter().filter_map(|record| {
        let what = describe::rewrite(record)?;
        Some(Rewrite {
            record: record.id.to_string(),
            what,
        })
    });
    Prompt {
        full: args.full,
        model: transcript.model().to_owned(),
        request: args.request,
        rebuilt: request.map(|request| view.extent() == (request.segments, request.chain)),
        segments: rows.collect(),
        tokens: conversation.count(&transcript.prefix_weight()).tokens,
        acceptable: validate::consistent(segments.iter())
            .err()
            .map(|invalid| invalid.to_string()),
        rewrites: rewrites.collect(),
        issues: view.issues().iter().map(ToString::to_string).collect(),
    }
}

/// What each rewriting record did.
fn reasons(records: &[Record]) -> HashMap<&RecordId, String> {
    records
        .iter()
        .filter_map(|record| Some((&record.id, describe::rewrite(record)?)))
        .collect()
}

/// Why a segment is not simply what was said.
fn why(segment: &Segment, reasons: &HashMap<&RecordId, String>) -> Option<String> {
    let derived = segment.derived.map(|derived| match derived {
        Derived::MissingResult => "the call got no result",
        Derived::LateResult => "the result came too late to be one",
        Derived::Opening => "a conversation begins with the user",
        Derived::NoResponse => "the request before got no answer",
    });
    derived
        .map(str::to_owned)
        .or_else(|| reasons.get(segment.record()).cloned())
}

impl Report for Prompt {
    fn text(&self, out: &mut Out) -> Outcome {
        let report = self;
        let title = format!(
            "{} segments",
            figures::thousands(report.segments.len() as u64)
        );
        let tokens = figures::thousands(report.tokens.get());
        out.line(
            Line::new()
                .role(Role::Strong, title)
                .text(format!(" · {tokens} tokens · for {}", report.model)),
        )?;
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

fn show_table(report: &Prompt, out: &mut Out) -> Outcome {
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

fn show_full(report: &Prompt, out: &mut Out) -> Outcome {
    for row in &report.segments {
        let head = format!("{} {} · {} tokens", row.at, row.role, row.tokens);
        let mut line = Line::new().role(Role::Strong, head);
        if let Some(why) = &row.why {
            line = line.role(Role::Dim, format!(" ↳ {why}"));
        }
        out.line(line)?;
        let text = row.block.readable_text();
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(row.block.bytes()).into_owned());
        for line in text.lines() {
            out.line(format!("  {line}"))?;
        }
        out.blank()?;
    }
    Ok(())
}
