//! Excerpts of transcripts that a dream read, as evidence for its writes.
//!
//! # Model
//! The tools' results pass through here. Lines of a transcript that Read and Grep show are read as
//! records, so that a person's words count as a person's; lines of other files count as the output
//! of a tool. The dream's own copy is no source, nor is the output of a command line: a model could
//! have it print anything.
//!
//! # Not here
//! Comparing sentences with the excerpts (`dormouse_memory::dream`).

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

/// Ending of the names of transcripts.
const LOG_ENDING: &str = ".jsonl";
/// Most bytes of evidence that are kept. A dream of sixty requests reads less; a model in a loop
/// must not fill the memory.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Tools that record the results they showed.
#[derive(Debug)]
pub(super) struct Gathering {
    tools: ForkTools,
    task: SharedTask,
    clock: Arc<dyn Clock>,
    sources: Arc<Sources>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// Result with its source.
#[derive(Debug)]
struct Seen {
    text: String,
    from: ReadFrom,
}

/// Source of a result.
#[derive(Clone, Debug)]
enum ReadFrom {
    /// One file, named by the call.
    File(PathBuf),
    /// Files whose names stand at the beginning of the lines.
    Named,
}

/// Files that count as sources.
#[derive(Debug)]
pub(super) struct Sources {
    /// Directory that relative paths begin at.
    working: PathBuf,
    /// Folders with transcripts, by all their names.
    transcripts: Vec<PathBuf>,
    /// Memory directory, which may lie beside the transcripts, with the copy in it; by all its
    /// names.
    memory: Vec<PathBuf>,
}

/// Worth of a file as a source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// Transcript: people speak in it.
    Transcript,
    /// Output of a tool, with a tool's trust.
    Other,
    /// No source: the memory itself.
    Nothing,
}

impl Sources {
    /// Sources of a keeper's dreams.
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
        // A path with `..` could name the memory by a detour.
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

    /// Worth of a line of Grep, which begins with the name of its file.
    fn worth_of_line(&self, line: &str) -> Worth {
        let log = line
            .find(LOG_ENDING)
            .map(|at| &line[..at + LOG_ENDING.len()]);
        if let Some(log) = log
            && self.worth(Path::new(log)) == Worth::Transcript
        {
            return Worth::Transcript;
        }
        // A root that is no text cannot be compared; then nothing counts, rather than the memory
        // itself.
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

    /// Excerpts of the recorded results, each with its speaker's trust.
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
        // Released before the tool runs: a screen reads the task meanwhile.
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

/// Source of a call's result; `None` if it cannot be evidence.
fn from_of(call: &ToolCall) -> Option<ReadFrom> {
    match call.tool.as_str() {
        "Read" => Some(ReadFrom::File(call.block.input_text("file_path")?.into())),
        "Grep" => Some(ReadFrom::Named),
        _ => None,
    }
}

/// Excerpts of a result: records from lines of a transcript, otherwise the text as it is.
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

/// Excerpt of a span; fragments belong to no speaker and give none.
fn excerpt(span: Span) -> Option<Excerpt> {
    let at = jiff::Timestamp::from_millisecond(span.time.0).ok();
    let day = at.map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).date());
    Some(Excerpt {
        trust: span.trust()?,
        text: span.text,
        day: day.filter(|_| span.time.0 > 0),
    })
}

/// Record in a line of a transcript; tools put names and numbers in front of it.
fn record(line: &str) -> Option<Record> {
    let json = line.get(line.find('{')?..)?;
    // Cheap test first: most lines that Grep shows are cut, and a cut record must not be read.
    serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
    let bytes = bytes::Bytes::copy_from_slice(json.as_bytes());
    Some(Record::parse(&bytes, 0).ok()?.record)
}
