//! What a dream read of transcripts, as evidence for what it writes.
//!
//! # Model
//! The tools' results pass through here. Lines of transcripts in them are read as records, so that
//! what a person said counts as said by a person, and everything else as the output of a tool.

use super::SharedTask;
use dormouse_core::record::Record;
use dormouse_engine::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_memory::dream::{Excerpt, TaskEvent};
use dormouse_memory::extract::{Span, spans};
use dormouse_memory::trust::Trust;
use dormouse_system::Clock;
use dormouse_tools::ForkTools;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of evidence that are kept at most.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Tools that remember what they showed.
#[derive(Debug)]
pub(super) struct Gathering {
    tools: ForkTools,
    task: SharedTask,
    clock: Arc<dyn Clock>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Gathering {
    pub(super) fn new(tools: ForkTools, task: SharedTask, clock: Arc<dyn Clock>) -> Self {
        Self {
            tools,
            task,
            clock,
            seen: Arc::default(),
        }
    }

    /// What was read, by who said it.
    pub(super) fn excerpts(&self) -> Vec<Excerpt> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().flat_map(|text| excerpts_of(text)).collect()
    }
}

impl ToolHost for Gathering {
    fn traits(&self, tool: &str) -> ToolTraits {
        self.tools.traits(tool)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let reads = matches!(call.tool.as_str(), "Read" | "Grep" | "Bash");
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.handle(TaskEvent::ToolCalled, self.clock.now());
        drop(task);
        let running = self.tools.run(call);
        let seen = Arc::clone(&self.seen);
        Box::pin(async move {
            let output = running.await;
            if reads && !output.is_error {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                let kept: usize = seen.iter().map(String::len).sum();
                if kept + output.text.len() <= MOST_BYTES {
                    seen.push(output.text.clone());
                }
            }
            output
        })
    }
}

/// The pieces of a result: records where lines are some, else the text as it is.
fn excerpts_of(text: &str) -> Vec<Excerpt> {
    let mut found = Vec::new();
    let mut rest = String::new();
    for line in text.lines() {
        let Some(record) = record(line) else {
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
