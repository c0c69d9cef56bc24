//! `dormouse search`: memories first, then what was said in sessions.
//!
//! # Model
//! Memories are few and ranked whole. Transcripts are many and long: they are read once, and of the
//! best passages the lines that matter are shown. An interrupt ends the reading; the best of what was
//! read until then is shown.

use super::recall;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role, figures};
use dormouse_host::{Host, HostError, MemoryFound, SearchEnd, SessionMatch, SessionSearch};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const HELP: &str = "\
Without PATH: the memories of this project, then its sessions, those of Dormouse
and of Claude Code. With PATH: only the transcripts there. A passage must have every
word of QUERY; if none has, passages with some of them are shown.

Examples:
  dormouse search 'staging port'
  dormouse search 'out of memory' ~/.claude/projects
  dormouse search retry --sessions --json | jq -r .snippet

JSON: one object a line: {\"kind\": \"memory\", and what `dormouse recall` has of each},
{\"kind\": \"session\", \"session\", \"agent\", \"file\", \"offset\", \"record\", \"time\", \"role\",
\"terms\", \"snippet\"}, at last {\"kind\": \"end\", \"memories\", \"matches\", \"files\",
\"bytes\", \"skipped_lines\", \"unreadable\", \"cancelled\"}";

/// Arguments of `dormouse search`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The words; put several in quotes
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: String,
    /// Transcripts, or folders of them; none searches the project
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Matches at most, of memories and of sessions each
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Search memories only, no sessions
    #[arg(long, conflicts_with_all = ["sessions", "paths"])]
    memories: bool,
    /// Search sessions only, no memories
    #[arg(long)]
    sessions: bool,
}

/// Searches memories, then sessions.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    let nothing = || {
        let error = UserError::new(Exit::Usage, "there is no word to search for");
        Failure::from(error.hint("dormouse search 'WORDS'"))
    };
    // Built first, so that a wrong path fails before any memory is printed.
    let query = app.free_text(&args.query, &[])?;
    let search = host.search_sessions(&query, &args.paths);
    let search = search.map_err(failure)?.ok_or_else(nothing)?;
    let mut end = End::default();
    // A path asks for its transcripts alone; memories belong to this project.
    if !args.sessions && args.paths.is_empty() {
        end.memories = memories(args, &host, app)?;
    }
    // Remarks of loading memory stand before the sessions, whose search may take long.
    app.remarks();
    if !args.memories {
        end.sessions = sessions(&search, args.limit, &host, app)?;
    }
    app.out.tell_one(&end)
}

fn failure(error: HostError) -> Failure {
    // The common mistake: two words without quotes, of which the second is taken for a path.
    if let HostError::NoPath(_) = &error {
        return UserError::of(Exit::Unreadable, &error)
            .hint("put the words of QUERY in quotes; what follows is a path")
            .into();
    }
    error.into()
}

/// The end of a search: figures, and files that could not be read.
#[derive(Default, Serialize)]
#[serde(tag = "kind", rename = "end")]
struct End {
    memories: usize,
    #[serde(flatten)]
    sessions: SearchEnd,
}

impl Report for End {
    fn text(&self, out: &mut Out) -> Outcome {
        for error in &self.sessions.unreadable {
            out.note(error);
        }
        if self.memories + self.sessions.matches == 0 {
            out.line("Nothing was found.")?;
        }
        Ok(())
    }
}

/// A memory among the results, with the `kind` that tells it from a session's match.
#[derive(Serialize)]
struct MemoryLine<'a> {
    #[serde(flatten)]
    memory: &'a MemoryFound,
    kind: &'static str,
}

impl Report for MemoryLine<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        recall::list(std::slice::from_ref(self.memory), out)
    }
}

/// Shows the memories that fit; returns their number.
fn memories(args: &Args, host: &Host, app: &mut App) -> Result<usize, Failure> {
    let found = match host.search_memories(&args.query, args.limit) {
        Ok(found) => found,
        // Without memory there are still sessions.
        Err(error) if error.is_off() && !args.memories => {
            app.note(&error.to_string());
            return Ok(0);
        }
        Err(error) => return Err(error.into()),
    };
    for memory in &found {
        let kind = "memory";
        app.out.tell_one(&MemoryLine { memory, kind })?;
    }
    if !found.is_empty() && !args.memories {
        app.out.heading(Out::blank)?;
    }
    Ok(found.len())
}

/// Flag that is set when the user interrupts. A thread of its own waits for the signal: the search
/// itself is not asynchronous.
fn interrupts() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let listen = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        // Without a way to hear of it, an interrupt ends the program as usual.
        if let Ok(runtime) = runtime
            && runtime.block_on(tokio::signal::ctrl_c()).is_ok()
        {
            flag.store(true, Ordering::Relaxed);
        }
    };
    // Without the thread the search runs on, and an interrupt ends the program as usual.
    drop(thread::Builder::new().spawn(listen));
    stop
}

/// Shows the best passages of sessions.
fn sessions(
    search: &SessionSearch,
    most: usize,
    host: &Host,
    app: &mut App,
) -> Result<SearchEnd, Failure> {
    let answer = search.best(host, most, &interrupts());
    // Said once, above the first partial match, and only if no passage has every word.
    if answer.matches.first().is_some_and(|found| found.partial) {
        let text = "No line has every word; these have some:";
        let line = Line::new().role(Role::Dim, text);
        app.out.heading(|out| out.line(line))?;
    }
    for found in &answer.matches {
        app.out.tell_one(&SessionLine {
            kind: "session",
            found,
            terms: answer.words,
        })?;
    }
    if answer.end.cancelled {
        app.note("interrupted; there may be more");
    }
    Ok(answer.end)
}

/// A match in a session among the results.
#[derive(Serialize)]
struct SessionLine<'a> {
    kind: &'static str,
    #[serde(flatten)]
    found: &'a SessionMatch,
    /// Words of the question, for "2 of 3 words" where a line has not all.
    #[serde(skip)]
    terms: usize,
}

impl Report for SessionLine<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        let found = self.found;
        let age = found.at.map_or_else(
            || "at an unknown time".to_owned(),
            |time| figures::age(out.now(), time),
        );
        let mut about = format!("  {} · {age}", found.role);
        if let Some(agent) = &found.agent {
            // Writing to a string cannot fail.
            let _ = write!(about, " · agent {agent}");
        }
        if found.partial {
            let _ = write!(about, " · {} of {} words", found.terms, self.terms);
        }
        let line = Line::new().role(Role::Strong, &found.session);
        out.line(line.role(Role::Dim, about))?;
        for snippet in found.snippet.lines() {
            out.indented(Role::Plain, snippet, 2)?;
        }
        Ok(())
    }
}
