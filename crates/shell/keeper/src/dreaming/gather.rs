//! What a dream read of transcripts, as evidence for what it writes.
//!
//! # Model
//! The tools' results pass through here. What Read and Grep show of a transcript is read as records,
//! so that what a person said counts as said by a person; what they show of other files counts as
//! the output of a tool. The dream's own copy is no source, nor is what a command line prints: a
//! model could have it print anything.

use super::SharedTask;
use crate::keeper::Keeper;
use dormouse_core::record::Record;
use dormouse_engine::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_memory::dream::{Excerpt, TaskEvent};
use dormouse_memory::extract::{Span, spans};
use dormouse_memory::trust::Trust;
use dormouse_system::Clock;
use dormouse_tools::ForkTools;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How the names of transcripts end.
const LOG_ENDING: &str = ".jsonl";
/// Bytes of evidence that are kept at most.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Tools that remember what they showed.
#[derive(Debug)]
pub(super) struct Gathering {
    tools: ForkTools,
    task: SharedTask,
    clock: Arc<dyn Clock>,
    sources: Arc<Sources>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A result, and what it was read from.
#[derive(Debug)]
struct Seen {
    text: String,
    from: ReadFrom,
}

/// What a result was read from.
#[derive(Clone, Debug)]
enum ReadFrom {
    /// One file.
    File(PathBuf),
    /// Files whose names stand at the beginning of the lines.
    Named,
}

/// Which files are a source.
#[derive(Debug)]
pub(super) struct Sources {
    /// Where relative paths begin.
    working: PathBuf,
    /// Folders with transcripts, by all their names.
    transcripts: Vec<PathBuf>,
    /// The memory, which may lie beside the transcripts, with the copy in it; by all its names.
    memory: Vec<PathBuf>,
}

/// What a file is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// People speak in it.
    Transcript,
    /// It is what a tool found.
    Other,
    /// It is no source.
    Nothing,
}

impl Sources {
    /// The sources of a keeper's dreams.
    pub(super) fn of(keeper: &Keeper) -> Self {
        // A folder that a link leads to has two names.
        let names = |path: &Path| {
            let real = keeper.system.files.real_path(path).ok();
            std::iter::once(path.to_owned()).chain(real)
        };
        let transcripts = keeper.places.transcripts.iter();
        Self {
            working: keeper.places.working_dir.clone(),
            transcripts: transcripts.flat_map(|place| names(place)).collect(),
            memory: names(keeper.memory.root()).collect(),
        }
    }

    fn worth(&self, path: &Path) -> Worth {
        let path = self.working.join(path);
        let winding = path.components().any(|part| part == Component::ParentDir);
        if winding || self.memory.iter().any(|root| path.starts_with(root)) {
            return Worth::Nothing;
        }
        let is_log = path.extension().is_some_and(|ending| ending == "jsonl");
        let among = self.transcripts.iter().any(|place| path.starts_with(place));
        if is_log && among {
            Worth::Transcript
        } else {
            Worth::Other
        }
    }

    /// What a line of Grep is worth: it begins with the name of the file it is from.
    fn worth_of_line(&self, line: &str) -> Worth {
        let log = line
            .find(LOG_ENDING)
            .map(|at| &line[..at + LOG_ENDING.len()]);
        if let Some(log) = log
            && self.worth(Path::new(log)) == Worth::Transcript
        {
            return Worth::Transcript;
        }
        let in_memory = |root: &PathBuf| root.to_str().is_none_or(|root| line.starts_with(root));
        if self.memory.iter().any(in_memory) {
            Worth::Nothing
        } else {
            Worth::Other
        }
    }
}

impl Gathering {
    pub(super) fn new(
        tools: ForkTools,
        task: SharedTask,
        clock: Arc<dyn Clock>,
        sources: Sources,
    ) -> Self {
        Self {
            tools,
            task,
            clock,
            sources: Arc::new(sources),
            seen: Arc::default(),
        }
    }

    /// What was read, by who said it.
    pub(super) fn excerpts(&self) -> Vec<Excerpt> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter()
            .flat_map(|seen| excerpts_of(seen, &self.sources))
            .collect()
    }
}

impl ToolHost for Gathering {
    fn traits(&self, tool: &str) -> ToolTraits {
        self.tools.traits(tool)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let from = from_of(&call);
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.handle(TaskEvent::ToolCalled, self.clock.now());
        drop(task);
        let running = self.tools.run(call);
        let seen = Arc::clone(&self.seen);
        Box::pin(async move {
            let output = running.await;
            if let Some(from) = from.filter(|_| !output.is_error) {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                let kept: usize = seen.iter().map(|seen| seen.text.len()).sum();
                if kept + output.text.len() <= MOST_BYTES {
                    let text = output.text.clone();
                    seen.push(Seen { text, from });
                }
            }
            output
        })
    }
}

/// What a call reads from, if its result can be a source.
fn from_of(call: &ToolCall) -> Option<ReadFrom> {
    match call.tool.as_str() {
        "Read" => Some(ReadFrom::File(call.block.input_text("file_path")?.into())),
        "Grep" => Some(ReadFrom::Named),
        _ => None,
    }
}

/// The pieces of a result: records where lines are some of a transcript, else the text as it is.
fn excerpts_of(seen: &Seen, sources: &Sources) -> Vec<Excerpt> {
    let mut found = Vec::new();
    let mut rest = String::new();
    for line in seen.text.lines() {
        let worth = match &seen.from {
            ReadFrom::File(path) => sources.worth(path),
            ReadFrom::Named => sources.worth_of_line(line),
        };
        if worth == Worth::Nothing {
            continue;
        }
        let Some(record) = record(line).filter(|_| worth == Worth::Transcript) else {
            rest.push_str(line);
            rest.push('\n');
            continue;
        };
        let said = spans(std::slice::from_ref(&record), None);
        found.extend(said.into_iter().filter_map(excerpt));
    }
    if !rest.trim().is_empty() {
        found.push(Excerpt {
            text: rest,
            trust: Trust::ToolOutput,
            day: None,
        });
    }
    found
}

/// What somebody said; fragments are nobody's words.
fn excerpt(span: Span) -> Option<Excerpt> {
    let at = jiff::Timestamp::from_millisecond(span.time.0).ok();
    let day = at.map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).date());
    Some(Excerpt {
        trust: span.trust()?,
        text: span.text,
        day: day.filter(|_| span.time.0 > 0),
    })
}

/// A line of a transcript; tools put names and numbers in front of it.
fn record(line: &str) -> Option<Record> {
    let json = line.get(line.find('{')?..)?;
    serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
    let bytes = bytes::Bytes::copy_from_slice(json.as_bytes());
    Some(Record::parse(&bytes, 0).ok()?.record)
}
