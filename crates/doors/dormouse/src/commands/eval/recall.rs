//! `dormouse eval recall`: the share of questions whose answers the ranker finds.

use super::recall_read::{self, Set};
use super::recall_text;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Out, Report};
use dormouse_recall::evaluation::{CUTOFFS, Group, Tally};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const HELP: &str = "\
DOCS has one JSON object a line: {\"id\", \"text\"} and maybe \"group\", \"time\",
\"session\" (or \"parent\", \"doc\", \"conversation_session\"), \"speaker\", \"title\",
\"summary\". QUERIES has {\"query\", \"relevant\": [ids]} and maybe \"group\" and
\"category\". Each query is ranked only among the documents of its group, in an
index of their own.

Documents of one session are its turns: who stands next to a turn and what the
session is about count, too. Where no field names the session it is told from the
id (D3:12, s1_t4, a#5, a/5) or from a time that several share, in the order of
the file; short documents whose ids only count up are one conversation, if there
are several groups. Long documents are also ranked by their best passage. What is relevant
plays no part in any of this.

With --dir every Markdown file is a document and its title the query, which is
taken out of it; files without a title and README, LICENSE and the like are left
out. The name of the folder is a part of the document.

R@k is the share of a query's relevant documents among the first k, on average;
any@k and all@k the share of queries with at least one, with all of them there.
Milliseconds are those of the search alone.

If queries have a \"category\", \"question_type\", \"type\" or \"ability\", there is a
row for each; with --group-by a field, and no such field, one for each group if
these are at most 20.

Examples:
  dormouse eval recall --docs docs.jsonl --queries queries.jsonl
  dormouse eval recall --docs docs.jsonl --queries queries.jsonl --group-by chat
  dormouse eval recall --dir ~/notes --json | jq '.[\"r@5\"]'

JSON:
  {\"documents\", \"groups\", \"queries\", \"without_answer\", \"r@1\", \"r@3\", \"r@5\",
   \"r@10\", \"any@1\" ..., \"all@1\" ..., \"mrr\", \"p50_ms\", \"p99_ms\",
   \"rows\": [{\"name\", \"queries\", \"r@1\" ..., \"mrr\"}],
   \"misses\": [{\"query\", \"group\", \"relevant\", \"found\"}]}
\"misses\" is there with --misses: queries whose first document is not relevant.";

/// Arguments of `eval recall`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Documents, one JSON object a line
    #[arg(
        long,
        value_name = "FILE",
        requires = "queries",
        required_unless_present = "dir"
    )]
    pub(super) docs: Option<PathBuf>,
    /// Queries, one JSON object a line
    #[arg(long, value_name = "FILE", requires = "docs")]
    pub(super) queries: Option<PathBuf>,
    /// A folder of Markdown files, whose titles are the queries
    #[arg(long, value_name = "DIR", conflicts_with_all = ["docs", "queries", "group_by"])]
    pub(super) dir: Option<PathBuf>,
    /// The field that names the group of a document
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "group",
        hide_default_value = true
    )]
    pub(super) group_by: String,
    /// List the queries whose first document is not relevant
    #[arg(long)]
    pub(super) misses: bool,
}

/// The figures of a whole set.
#[derive(serde::Serialize)]
pub(super) struct Measured {
    pub(super) documents: usize,
    pub(super) groups: usize,
    pub(super) queries: u32,
    pub(super) without_answer: usize,
    #[serde(flatten)]
    pub(super) figures: Figures,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) misses: Option<Vec<Miss>>,
}

/// The figures of the queries of one category or group.
#[derive(serde::Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) queries: u32,
    #[serde(flatten)]
    pub(super) figures: Figures,
}

/// A query whose first document is not relevant.
#[derive(serde::Serialize)]
pub(super) struct Miss {
    pub(super) query: String,
    pub(super) group: String,
    pub(super) relevant: Vec<String>,
    pub(super) found: Vec<String>,
}

/// A tally under the names of the field: recall, any, all at a depth, and MRR.
pub(super) struct Figures(pub(super) Tally);

impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tally = &self.0;
        // A map, since `r@1` cannot be the name of a field.
        let mut map = serializer.serialize_map(None)?;
        for (name, values) in [
            ("r", tally.recall()),
            ("any", tally.any()),
            ("all", tally.all()),
        ] {
            for (depth, value) in CUTOFFS.iter().zip(values) {
                map.serialize_entry(&format!("{name}@{depth}"), &rounded(value))?;
            }
        }
        map.serialize_entry("mrr", &rounded(tally.reciprocal_rank()))?;
        map.end()
    }
}

/// Four digits: a set of ten thousand queries has no more.
fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Documents of a miss that are listed: the depth that people look at, and that R@5 measures.
const SHOWN: usize = 5;

/// Measures a set of documents and queries.
pub(super) fn run(args: &Args, app: &mut App) -> Outcome {
    let set = recall_read::read(args, app)?;
    // Shares of nothing would be printed as zero.
    if set.questions() == 0 {
        let message = "there is no query with a relevant document";
        return Err(UserError::new(Exit::Unsuitable, message).into());
    }
    let report = measure(&set, args, app)?;
    if report.without_answer > 0 {
        app.note(&format!(
            "queries left out because nothing is relevant to them: {}",
            report.without_answer
        ));
    }
    app.tell(&report)
}

impl Report for Measured {
    fn text(&self, out: &mut Out) -> Outcome {
        recall_text::show(self, out)
    }
}

fn measure(set: &Set, args: &Args, app: &mut App) -> Result<Measured, Failure> {
    let clock = Arc::clone(&app.system.clock);
    let origin = clock.ticks();
    let mut total = Tally::default();
    let mut rows: BTreeMap<String, Tally> = BTreeMap::new();
    let mut times: Vec<Duration> = Vec::new();
    let mut misses = Vec::new();
    let all = set.questions();
    for (name, group) in &set.groups {
        // Building an index that is never asked costs time and no figure needs it.
        if group.questions.is_empty() {
            continue;
        }
        let mut index =
            Group::new(&group.entries).map_err(|error| UserError::of(Exit::Unsuitable, &error))?;
        for asked in &group.questions {
            // Progress every hundred queries: a line for each would only flicker.
            if times.len().is_multiple_of(100) {
                app.out
                    .progress(&format!("query {} of {all}", times.len() + 1));
            }
            let question = &asked.question;
            let answer = index.ask(&question.text, || clock.ticks().since(origin));
            times.push(answer.took);
            total.add(&answer.ranked, &question.relevant);
            if let Some(row) = &asked.row {
                rows.entry(row.clone())
                    .or_default()
                    .add(&answer.ranked, &question.relevant);
            }
            let first = answer.ranked.first();
            if args.misses && first.is_none_or(|first| !question.relevant.contains(first)) {
                let id = |place: &usize| group.entries.get(*place).map(|entry| entry.id.clone());
                misses.push(Miss {
                    query: question.text.clone(),
                    group: name.clone(),
                    relevant: question.relevant.iter().filter_map(id).collect(),
                    found: answer.ranked.iter().take(SHOWN).filter_map(id).collect(),
                });
            }
        }
    }
    app.out.progress("");
    times.sort_unstable();
    let row = |(name, tally): (String, Tally)| Row {
        name,
        queries: tally.questions(),
        figures: Figures(tally),
    };
    Ok(Measured {
        documents: set.groups.values().map(|group| group.entries.len()).sum(),
        groups: set.groups.len(),
        queries: total.questions(),
        without_answer: set.without_answer,
        figures: Figures(total),
        p50_ms: percentile(&times, 50),
        p99_ms: percentile(&times, 99),
        rows: rows.into_iter().map(row).collect(),
        misses: args.misses.then_some(misses),
    })
}

fn percentile(sorted: &[Duration], per_cent: usize) -> f64 {
    // Nearest rank; with fewer than a hundred times the 99th percentile is the slowest.
    let place = (sorted.len() * per_cent / 100).min(sorted.len().saturating_sub(1));
    let time = sorted.get(place).copied().unwrap_or_default();
    rounded(time.as_secs_f64() * 1_000.0)
}
