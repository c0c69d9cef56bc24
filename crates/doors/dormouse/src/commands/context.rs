//! `dormouse context`: the window at a point of a session.

use crate::app::App;
use crate::arguments::WindowOption;
use crate::commands::screen::panels::next_words;
use crate::error::Outcome;
use crate::output::{Bar, Line, Out, Report, Role, figures};
use dormouse_context::category::Category;
use dormouse_context::tokens::Basis;
use dormouse_core::units::Tokens;
use dormouse_host::{ContextWindow, NextCompaction};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const HELP: &str = "\
Without --at only the live part of the file is read, however long it is. The
window is the one that is set (--window, context.window), else the one that the
log proves: the longest prompt that was answered, the length at which it
compacted by itself, a window that it names; else the model's.

Examples:
  dormouse context                         The newest session of this folder
  dormouse context session.jsonl
  dormouse context 1b2c                    An id, or the beginning of one
  dormouse context session.jsonl --at 1200
  dormouse context session.jsonl --json | jq .percent_left

JSON:
  {\"used_tokens\", \"basis\": measured|estimated, \"model\", \"window\",
   \"window_from\", \"effective_window\", \"autocompact_target\", \"limit_shown\",
   \"warning\", \"error\", \"blocking_limit\", \"percent_left\", \"gauge\",
   \"auto_compact\", \"categories\": {name: tokens}, \"prefix_inferred\",
   \"duplicate_reads\", \"estimate_drift_percent\", \"segments\",
   \"next_compaction\": {\"used\", \"begins_at\", \"why\", \"policy\", \"drops\", \"stays\",
    \"summary\", \"price\", \"request_now\", \"request_then\", \"nothing\",
    \"parts\": [{\"category\", \"tokens\", \"words\"}], \"more\"}}";

/// Per cent by which estimates may be off unmentioned. Below it they still fall on the right side
/// of the warning in a window of usual size.
const DRIFT: f64 = 20.0;

/// Columns below which lines are broken: the title's figures and their basis no longer fit one.
const NARROW: usize = 72;

/// Arguments of `dormouse context`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A session: a transcript, an id or its beginning, `latest`, or - for a pipe;
    /// without one the newest of this folder
    #[arg(value_name = "SESSION")]
    file: Option<PathBuf>,
    /// The window as it was after this line of the file
    #[arg(long, value_name = "LINE")]
    at: Option<u64>,
    /// Count for this model instead of the one last used
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    window: WindowOption,
}

/// Shows the window. Without `--at` only the live part of the file is read: a log may have
/// gigabytes that compactions left behind.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    app.set(args.window.setting());
    let host = app.host()?;
    // Counting for another model answers "would this session fit?" before switching to it.
    let transcripts = host.transcripts().for_model(args.model.clone());
    let file = app.session(args.file.as_deref())?;
    let transcript = match args.at {
        None => transcripts.live(&file)?,
        Some(line) => transcripts.at_line(&file, line)?,
    };
    app.note_all(&transcripts.take_remarks());
    // Of a moment in the past nothing comes next.
    let next = args.at.is_none().then(|| host.next_compaction(&transcript));
    app.tell(&ContextScreen {
        window: host.window(&transcript),
        next_compaction: next,
    })
}

/// The window, and what the next compaction would do to it.
#[derive(Serialize)]
struct ContextScreen {
    #[serde(flatten)]
    window: ContextWindow,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_compaction: Option<NextCompaction>,
}

impl Report for ContextScreen {
    fn text(&self, out: &mut Out) -> Outcome {
        self.window.text(out)?;
        let Some(next) = &self.next_compaction else {
            return Ok(());
        };
        out.blank()?;
        for line in next_words(next) {
            out.paragraph(Role::Plain, &line, 2)?;
        }
        let mut sorts: BTreeMap<&str, (usize, Tokens)> = BTreeMap::new();
        for part in &next.parts {
            let sum = sorts.entry(part.category).or_default();
            sum.0 += 1;
            sum.1 += part.tokens;
        }
        let mut sorts: Vec<_> = sorts.into_iter().collect();
        sorts.sort_by_key(|(_, (_, tokens))| std::cmp::Reverse(*tokens));
        for (sort, (count, tokens)) in sorts {
            let parts = figures::count(count, "part", "parts");
            let line = format!("  {:>7}  {sort}, {parts}", figures::tokens(tokens));
            out.line(Line::new().role(Role::Dim, line))?;
        }
        Ok(())
    }
}

impl Report for ContextWindow {
    fn text(&self, out: &mut Out) -> Outcome {
        let report = self;
        let number = |tokens: Tokens| figures::thousands(tokens.get());
        let role = match report.gauge {
            "ok" => Role::Good,
            "warning" => Role::Warning,
            _ => Role::Error,
        };
        let basis = match report.basis {
            Basis::Measured => "measured by the provider",
            Basis::Estimated => "estimated until the next response",
        };
        let title = Line::new()
            .role(
                Role::Strong,
                format!("{} tokens", number(report.used_tokens)),
            )
            .text(format!(" of {} · ", number(report.window)))
            .role(role, format!("{} % left", report.percent_left));
        let rest = format!("{} · {basis}", report.gauge);
        // On a narrow screen the figures stand alone.
        if out.width() < NARROW {
            out.line(title)?;
            out.paragraph(Role::Plain, &rest, 2)?;
        } else {
            out.line(title.text(format!(" · {rest}")))?;
        }
        let from = format!("{}, window from {}", report.model, report.window_from);
        out.paragraph(Role::Dim, &from, 2)?;
        out.blank()?;
        let mut bar = Bar::new(report.window);
        for (category, tokens) in &report.categories {
            // Logs of other clients lack the prefix: its size is inferred, and system prompt and
            // tools cannot be told apart in it.
            let label = if report.prefix_inferred && *category == Category::System {
                "system prompt and tools (not in the log)"
            } else {
                category.label()
            };
            bar.add(label, *tokens);
        }
        out.bar(&bar)?;
        out.blank()?;
        let compact = if report.auto_compact {
            format!("compacts at {}", number(report.autocompact_target))
        } else {
            "automatic compaction is off".to_owned()
        };
        let limits = format!(
            "warns at {} · {compact} · blocks at {} · effective window {}",
            number(report.warning),
            number(report.blocking_limit),
            number(report.effective_window),
        );
        if out.width() < NARROW {
            out.paragraph(Role::Plain, &limits, 2)?;
        } else {
            out.line(limits)?;
        }
        if report.duplicate_reads > Tokens::ZERO {
            let tokens = number(report.duplicate_reads);
            let told = format!("{tokens} tokens are earlier copies of files that were read again");
            out.paragraph(Role::Plain, &told, 2)?;
        }
        // Small corrections are normal and would only worry the reader.
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        let drift = report.estimate_drift_percent.abs() as f64;
        if drift > DRIFT {
            let told = format!(
                "estimates for this model are corrected by {:+} %, as measured in this session",
                report.estimate_drift_percent
            );
            out.paragraph(Role::Plain, &told, 2)?;
        }
        Ok(())
    }
}
