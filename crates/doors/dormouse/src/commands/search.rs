//! `dormouse search`: memories first, then what was said in sessions.
//!
//! # Model
//! Memories are few and ranked whole. Transcripts are many and long: matches that have every word
//! are shown as they are found, those of the newest sessions first. Only if no line has every word,
//! the best of those that have some are shown. An interrupt ends the search and keeps what was found.

use super::memory::lookup::{Ranked, rank};
use super::memory::place::Which;
use super::recall;
use crate::app::{App, Config};
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Format, Line, Role, figures};
use dormouse_core::id::SessionId;
use dormouse_keeper::instructions::{Around, places};
use dormouse_memdir::Repository;
use dormouse_store::{
    FoundLog, ProjectFolder, SearchLimits, TermQuery, TranscriptMatch, TranscriptSearch, discover,
    search_transcripts, slug, stream_transcripts,
};
use dormouse_system::{FileKind, OptionalFile as _};
use dormouse_text::words::{Language, detect};
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

const HELP: &str = "\
Without PATH: the memories of this project, then its sessions, those of Dormouse
and of Claude Code. With PATH: only the transcripts there. A line must have every
word of QUERY; if none has, lines with some of them are shown.

Examples:
  dormouse search 'staging port'
  dormouse search 'out of memory' ~/.claude/projects
  dormouse search retry --sessions --json | jq -r .snippet

JSON: one object a line: {\"kind\": \"memory\", and what `dormouse recall` has of each},
{\"kind\": \"session\", \"session\", \"agent\", \"file\", \"offset\", \"record\", \"time\", \"role\",
\"terms\", \"snippet\"}, at last {\"kind\": \"end\", \"memories\", \"matches\", \"files\",
\"bytes\", \"skipped_lines\", \"unreadable\", \"cancelled\"}";

/// Arguments of `search`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The words; put several in quotes
    #[arg(value_name = "QUERY")]
    query: String,
    /// Transcripts, or folders of them
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Matches at most, of memories and of sessions each
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Only memories
    #[arg(long, conflicts_with_all = ["sessions", "paths"])]
    memories: bool,
    /// Only sessions
    #[arg(long)]
    sessions: bool,
}

/// Searches.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let query = TermQuery::new(words(&args.query));
    if query.terms().is_empty() {
        let error = UserError::new(Exit::Usage, "there is no word to search for");
        return Err(error.hint("dormouse search 'WORDS'").into());
    }
    let wants_memories = !args.sessions && args.paths.is_empty();
    let memories = if wants_memories {
        memories(args, app)?
    } else {
        0
    };
    if args.memories {
        return end(memories, &Tally::default(), app);
    }
    let logs = logs(args, app)?;
    let tally = sessions(args, &query, &logs, app)?;
    end(memories, &tally, app)
}

/// What became of the search of transcripts.
#[derive(Default)]
struct Tally {
    matches: usize,
    report: TranscriptSearch,
}

fn end(memories: usize, tally: &Tally, app: &mut App) -> Outcome {
    let report = &tally.report;
    if app.out.format() == Format::Json {
        let unreadable: Vec<String> = report.refused.iter().map(ToString::to_string).collect();
        return Ok(app.out.json_line(&json!({
            "kind": "end",
            "memories": memories,
            "matches": tally.matches,
            "files": report.files,
            "bytes": report.bytes,
            "skipped_lines": report.skipped,
            "unreadable": unreadable,
            "cancelled": report.cancelled,
        }))?);
    }
    for error in &report.refused {
        app.note(&error.to_string());
    }
    if memories + tally.matches == 0 {
        app.out.line("Nothing was found.")?;
    }
    Ok(())
}

/// The words that matter; all of them if none does.
fn words(query: &str) -> Vec<&str> {
    let bare = |word: &'_ str| -> bool { word.chars().any(char::is_alphanumeric) };
    let all: Vec<&str> = query
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'', ',', '.', '?', '!', ';', '(', ')']))
        .filter(|word| bare(word))
        .collect();
    let language = detect(query).unwrap_or(Language::English);
    let telling: Vec<&str> = all
        .iter()
        .copied()
        .filter(|word| !language.is_stop_word(&word.to_lowercase()))
        .collect();
    if telling.is_empty() { all } else { telling }
}

fn memories(args: &Args, app: &mut App) -> Result<usize, Failure> {
    let ranked = match rank(&args.query, args.limit, args.limit, &Which::Private, app) {
        Ok(ranked) => ranked,
        // Without memory there are still sessions.
        Err(Failure::Error(error)) if error.kind == Exit::Refused && !args.memories => {
            app.note(&error.message);
            return Ok(0);
        }
        Err(failure) => return Err(failure),
    };
    let found: Vec<Ranked> = ranked
        .into_iter()
        .filter(|memory| !memory.words.is_empty())
        .collect();
    if app.out.format() == Format::Json {
        for memory in &found {
            let mut row = json!(memory);
            row["kind"] = json!("memory");
            app.out.json_line(&row)?;
        }
    } else {
        recall::list(&found, app)?;
        if !found.is_empty() && !args.memories {
            app.out.blank()?;
        }
        app.out.flush()?;
    }
    Ok(found.len())
}

/// The transcripts that are meant.
fn logs(args: &Args, app: &mut App) -> Result<Vec<FoundLog>, Failure> {
    let config = app.config_without_aside()?;
    if args.paths.is_empty() {
        return own_logs(&config, app);
    }
    let current = &config.loader.places().current_dir;
    let mut logs = Vec::new();
    for path in &args.paths {
        logs.extend(logs_at(path, &current.join(path), app)?);
    }
    Ok(logs)
}

fn logs_at(given: &Path, path: &Path, app: &mut App) -> Result<Vec<FoundLog>, Failure> {
    let files = Arc::clone(&app.system.files);
    let Some(facts) = files.metadata(path).optional()? else {
        let message = format!("there is no file or folder `{}`", given.display());
        return Err(UserError::new(Exit::Unreadable, message)
            .hint("put the words of QUERY in quotes; what follows is a path")
            .into());
    };
    if facts.kind == FileKind::Directory {
        let found = discover(&*files, path)?;
        for refused in &found.refused {
            app.note(&refused.to_string());
        }
        return Ok(found.logs);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(vec![FoundLog {
        path: path.to_owned(),
        session: SessionId::from(&*stem),
        agent: None,
        bytes: facts.len,
        modified: facts.modified,
    }])
}

/// The sessions of this project, Dormouse's and Claude Code's.
fn own_logs(config: &Config, app: &mut App) -> Result<Vec<FoundLog>, Failure> {
    let files = Arc::clone(&app.system.files);
    let known = config.loader.places();
    let current = files.real_path(&known.current_dir)?;
    let repository = Repository::around(&*files, &current)?;
    let mut roots = BTreeSet::from([current.clone()]);
    if let Some(repository) = repository {
        roots.insert(repository.worktree);
        roots.insert(repository.root);
    }
    let user_home = app.system.env.home_dir();
    let around = Around {
        home: &known.home,
        user_home: user_home.as_deref(),
        project_root: None,
        working_dir: &current,
    };
    let claude = places(&config.loaded.settings, around, None).claude_home;
    let mut folders = BTreeSet::new();
    for root in &roots {
        if let Some(folder) = ProjectFolder::find(&*files, &known.home, root)? {
            folders.insert(folder.path().to_owned());
        }
        folders.extend(
            claude
                .as_ref()
                .map(|home| home.join("projects").join(slug(root))),
        );
    }
    let mut logs = Vec::new();
    for folder in folders {
        if let Some(found) = discover(&*files, &folder).optional()? {
            // The journal of the memory beside them is no session.
            let hidden = |log: &FoundLog| {
                let below = log.path.strip_prefix(&folder).unwrap_or(&log.path);
                let mut parts = below.components();
                parts.any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
            };
            logs.extend(found.logs.into_iter().filter(|log| !hidden(log)));
        }
    }
    Ok(logs)
}

/// Sets a flag when the user interrupts.
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
    drop(thread::Builder::new().spawn(listen));
    stop
}

fn sessions(
    args: &Args,
    query: &TermQuery,
    logs: &[FoundLog],
    app: &mut App,
) -> Result<Tally, Failure> {
    let interrupted = interrupts();
    let limits = SearchLimits {
        matches: args.limit,
        least_terms: query.terms().len(),
        ..SearchLimits::default()
    };
    let mut tally = streamed(query, logs, &limits, &interrupted, app)?;
    let wants_some = tally.matches == 0 && query.terms().len() > 1;
    if wants_some && !interrupted.load(Ordering::Relaxed) {
        let limits = SearchLimits {
            least_terms: 1,
            ..limits
        };
        let files = Arc::clone(&app.system.files);
        let mut report = search_transcripts(&*files, logs, query, &limits, &interrupted);
        let matches = std::mem::take(&mut report.matches);
        if !matches.is_empty() && app.out.format() == Format::Text {
            let text = "No line has every word; these have some:";
            app.out.line(Line::new().role(Role::Dim, text))?;
        }
        for found in &matches {
            show(found, query, app)?;
        }
        tally = Tally {
            matches: matches.len(),
            report,
        };
    }
    let was_interrupted = interrupted.load(Ordering::Relaxed);
    tally.report.cancelled = was_interrupted;
    if was_interrupted {
        app.note("interrupted; there may be more");
    }
    Ok(tally)
}

/// Shows matches as they are found.
fn streamed(
    query: &TermQuery,
    logs: &[FoundLog],
    limits: &SearchLimits,
    interrupted: &AtomicBool,
    app: &mut App,
) -> Result<Tally, Failure> {
    let files = Arc::clone(&app.system.files);
    let (sender, receiver) = mpsc::channel::<TranscriptMatch>();
    let enough = AtomicBool::new(false);
    let sent = AtomicUsize::new(0);
    thread::scope(|scope| {
        let search = scope.spawn(|| {
            let sender = sender;
            let found = |found: TranscriptMatch| {
                let before = sent.fetch_add(1, Ordering::Relaxed);
                // If whoever listened is gone, nobody wants more.
                let gone = before < limits.matches && sender.send(found).is_err();
                if gone || before + 1 >= limits.matches {
                    enough.store(true, Ordering::Relaxed);
                }
            };
            stream_transcripts(&*files, logs, query, limits, &enough, &found)
        });
        let mut matches = 0;
        let mut printed = Ok(());
        loop {
            match receiver.recv_timeout(PAUSE) {
                Ok(found) => {
                    matches += 1;
                    printed = show(&found, query, app);
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if printed.is_err() || interrupted.load(Ordering::Relaxed) {
                enough.store(true, Ordering::Relaxed);
                break;
            }
        }
        drop(receiver);
        let report = search.join().unwrap_or_default();
        printed.map(|()| Tally { matches, report })
    })
}

/// How long an interrupt may go unheard.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

fn show(found: &TranscriptMatch, query: &TermQuery, app: &mut App) -> Outcome {
    if app.out.format() == Format::Json {
        return Ok(app.out.json_line(&json!({
            "kind": "session",
            "session": found.session.as_str(),
            "agent": found.agent.as_ref().map(dormouse_core::id::AgentId::as_str),
            "file": found.path.display().to_string(),
            "offset": found.offset,
            "record": found.record,
            "time": found.time.map(|time| time.to_string()),
            "role": found.said.name(),
            "terms": found.terms,
            "snippet": found.snippet,
        }))?);
    }
    let age = found.time.map_or_else(
        || "at an unknown time".to_owned(),
        |time| figures::age(app.system.clock.now(), time),
    );
    let mut about = format!("  {} · {age}", found.said.name());
    if let Some(agent) = &found.agent {
        // Writing to a string cannot fail.
        let _ = write!(about, " · agent {}", agent.as_str());
    }
    if query.terms().len() > 1 && found.terms < query.terms().len() {
        let _ = write!(about, " · {} of {} words", found.terms, query.terms().len());
    }
    app.out.line(
        Line::new()
            .role(Role::Strong, found.session.as_str())
            .role(Role::Dim, about),
    )?;
    app.out.indented(Role::Plain, &found.snippet, 2)?;
    Ok(app.out.flush()?)
}
