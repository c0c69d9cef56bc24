//! `dormouse recall`: which memories a question would bring in.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Line, Out, Report, Role, figures};
use dormouse_host::{
    Grounds, Mark, MemoryFound, Near, RecallQuestion, Recalled, UseSoFar, Which, Work,
};
use serde::Serialize;
use std::path::PathBuf;

const HELP: &str = "\
Shows exactly what a session here would be given with this prompt. No model is
asked, and nothing is written. Only what is certain goes in: nothing is better than
noise. Where nothing is certain, the nearest are shown under a heading of their own;
--all shows them beside certain ones too, and in JSON.
--file and --ran stand for the work of the session: rules that it calls for go in
whatever the words.

Examples:
  dormouse recall which port does staging use
  dormouse recall --all 'database tests'
  dormouse recall --why which port does staging use
  dormouse recall fix the build --file src/main.rs --ran 'cargo test'

JSON: {\"query\", \"abstained\", \"skipped\", \"memories\": [{\"path\", \"name\", \"description\", \"type\",
\"trust\", \"modified\", \"score\", \"confidence\", \"words\", \"mark\", \"over\",
\"untrusted\", \"pinned\", \"team\", \"why\", \"grounds\"}], \"uncertain\": [the same, with --all]}
With --why \"grounds\" is {\"words\": [{\"word\", \"found\", \"weight\", \"cover\"}], \"asked\": [{\"what\",
\"told\"}], \"trigger\", \"usage\": {\"shown\", \"used\", \"useful\", \"wrong\"}, \"age_days\", \"verified\",
\"threshold\"}.";

/// Arguments of `dormouse recall`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The question, as a user would ask it in a session
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: String,
    /// Further words of the question, where it is not in quotes
    #[arg(value_name = "WORDS", hide = true)]
    more: Vec<String>,
    /// Memories at most; the setting `recall.files` if not given
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Also show the nearest memories that are not certain
    #[arg(long)]
    all: bool,
    /// Tell the grounds of each decision: words and weights, use, age, checks
    #[arg(long)]
    why: bool,
    /// As if the session had worked on this file; may be repeated
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<String>,
    /// As if the session had run this command; may be repeated
    #[arg(long = "ran", value_name = "COMMAND", allow_hyphen_values = true)]
    commands: Vec<String>,
    /// Look in the memory in DIR instead of the project's
    #[arg(long, value_name = "DIR", conflicts_with = "team")]
    dir: Option<PathBuf>,
    /// Look only in the memory shared by the people of the project
    #[arg(long)]
    team: bool,
}

/// Missing files and symbols that the mark "stale" names: three fit one line of a screen beside the
/// other facts.
const GONE: usize = 3;

/// The answer, and the wish to see the nearest beside it.
#[derive(Serialize)]
#[serde(transparent)]
struct RecallScreen {
    recalled: Recalled,
    #[serde(skip)]
    all: bool,
}

/// Recalls memories for a question, as a session would, without a model and without a trace.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let mut work = Work::new();
    for file in &args.files {
        work.add_path(file);
    }
    for command in &args.commands {
        work.add_command_line(command);
    }
    // A person can judge what is uncertain; a program would take it for an answer.
    let near = if args.all || !app.is_for_programs() {
        Near::Show
    } else {
        Near::Hide
    };
    let recalled = app.host()?.recall(&RecallQuestion {
        // Words without quotes are several arguments and still one question.
        prompt: app.free_text(&args.query, &args.more)?,
        which: Which::of(args.dir.as_deref(), args.team),
        work,
        most: args.limit,
        near,
        explain: args.why,
    })?;
    app.tell(&RecallScreen {
        recalled,
        all: args.all,
    })
}

impl Report for RecallScreen {
    fn text(&self, out: &mut Out) -> Outcome {
        let Recalled {
            abstained,
            skipped,
            memories,
            uncertain,
            ..
        } = &self.recalled;
        list(memories, out)?;
        // A question that recall does not look at (too short, switched off) has no nearest either.
        if let Some(why) = skipped {
            out.line(format!("No memory goes in: {why}."))?;
            return Ok(());
        }
        if *abstained {
            out.line("No memory certainly answers this.")?;
        } else if !self.all {
            return Ok(());
        }
        if !uncertain.is_empty() {
            out.blank()?;
            out.line(Line::new().role(Role::Dim, "Not certain:"))?;
            list(uncertain, out)?;
        } else if *abstained {
            out.line("None comes near it either.")?;
        }
        Ok(())
    }
}

/// Shows memories, two lines each and what they say.
pub(super) fn list(memories: &[MemoryFound], out: &mut Out) -> Outcome {
    for memory in memories {
        out.line(Line::new().role(Role::Strong, &memory.path))?;
        out.indented(Role::Plain, memory.says(), 2)?;
        out.indented(Role::Dim, &about(memory, out), 2)?;
        if let Some(grounds) = &memory.grounds {
            for line in reasons(memory, grounds) {
                out.indented(Role::Dim, &line, 4)?;
            }
        }
    }
    Ok(())
}

/// Grounds of a decision, a line each.
pub(in crate::commands) fn reasons(memory: &MemoryFound, grounds: &Grounds) -> Vec<String> {
    let mut lines = Vec::new();
    let words = grounds.words.iter().map(|word| {
        let share = word.weight * 100.0;
        match &word.found {
            None => format!("{} {share:.0} % missing", word.word),
            Some(_) if word.cover >= 1.0 => format!("{} {share:.0} %", word.word),
            Some(found) => format!("{} {share:.0} % as {found} ({:.1})", word.word, word.cover),
        }
    });
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        lines.push(format!("words: {}", words.join(", ")));
    }
    for asked in &grounds.asked {
        let told = if asked.told {
            "tells one"
        } else {
            "tells none"
        };
        lines.push(format!("asked for {}: it {told}", asked.what));
    }
    if let Some(trigger) = &grounds.trigger {
        lines.push(format!("work: {trigger}"));
    }
    let UseSoFar {
        shown,
        used,
        useful,
        wrong,
    } = grounds.usage;
    lines.push(format!(
        "use: shown {shown}, of use {used}; called useful {useful}, wrong {wrong}"
    ));
    let checked = grounds.verified.as_deref().unwrap_or("never");
    let trust = memory.trust.unwrap_or("user, by hand");
    let days = figures::count(
        usize::try_from(grounds.age_days).unwrap_or(0),
        "day",
        "days",
    );
    lines.push(format!(
        "said {days} ago; checked {checked}; trust: {trust}"
    ));
    if let Some(confidence) = memory.confidence {
        let threshold = grounds.threshold * 100.0;
        lines.push(format!(
            "confidence: {:.0} %, {threshold:.0} % needed",
            confidence * 100.0
        ));
    }
    lines
}

/// Facts that a reader should know of a memory.
fn about(memory: &MemoryFound, out: &Out) -> String {
    let mut about = Vec::new();
    // A confidence exists for ranked memories only; a rule that the work called for has a reason.
    match (memory.confidence, &memory.why) {
        (Some(confidence), _) => about.push(format!("{:.0} % sure", confidence * 100.0)),
        (None, Some(why)) => about.push(why.clone()),
        (None, None) => {}
    }
    about.push(format!("changed {}", figures::age(out.now(), memory.at)));
    if !memory.words.is_empty() {
        about.push(format!("has {}", memory.words.join(", ")));
    }
    let facts = [
        (memory.team, "team"),
        (memory.pinned, "pinned"),
        (memory.over, "overtaken"),
        (memory.untrusted, "not trusted"),
    ];
    let facts = facts.into_iter().filter(|(holds, _)| *holds);
    about.extend(facts.map(|(_, word)| word.to_owned()));
    match &memory.mark {
        Mark::Fresh => about.push("fresh".to_owned()),
        Mark::Stale { gone, .. } => about.push(stale(gone)),
        // The memory names nothing that could be looked up: no mark is better than a guess.
        Mark::Unverifiable => {}
    }
    about.join(" · ")
}

/// Says what is gone, in part if it is much.
fn stale(gone: &[String]) -> String {
    let named: Vec<&str> = gone.iter().take(GONE).map(String::as_str).collect();
    let more = match gone.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("stale: no {}{more} here", named.join(", "))
}
