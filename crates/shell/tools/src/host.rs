//! Host of the tools of a side task.
//!
//! # Model
//! A call is parsed, run on a thread of its own, and answered with a text: a result, a failure, or
//! a denial, which is also listed.
//!
//! # Not here
//! The tools themselves (`read`, `grep`, `glob`, `bash`, `edit`); places (`places`).

use crate::background::on_thread;
use crate::definitions::{READING_TOOLS, TOOL_NAMES};
use crate::input::parse;
use crate::limits::MOST_DENIALS;
use crate::places::Places;
use crate::reply::{Denial, Failure, Reply};
use crate::{bash, edit, glob, grep, read};
use bytes::Bytes;
use dormouse_context::offload::ToolOutput;
use dormouse_drive::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_guard::paths::SafePath;
use dormouse_system::{Clock, Files, Sandbox, System};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Port that Edit and Write act on. The caller checks, records the origin, and applies.
pub trait MemoryWrites: fmt::Debug + Send + Sync {
    /// Present content of a file, as this task sees it; `None` if there is none.
    ///
    /// # Errors
    /// A text for the model, if the file is there but cannot be read.
    fn read(&self, path: &SafePath) -> Result<Option<Bytes>, String>;

    /// Gives a file this content. The returned text is for the model.
    ///
    /// # Errors
    /// A text for the model that says why not, and what to do.
    fn write(&self, path: &SafePath, content: Bytes) -> Result<String, String>;
}

/// Directories of a side task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Working directory: command lines run and relative paths begin here; readable. Absolute.
    pub working: PathBuf,
    /// Memory directory: readable, and the only one that Edit and Write reach. Absolute.
    pub memory: PathBuf,
    /// Other readable directories, such as those of the transcripts. Absolute.
    pub readable: Vec<PathBuf>,
}

/// Tools of side tasks. Clones share the list of denials.
#[derive(Clone, Debug)]
pub struct ForkTools {
    workshop: Arc<Workshop>,
}

/// Places and clock: all that searching and reading need.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) places: Places,
    pub(crate) clock: Arc<dyn Clock>,
}

/// State that the tools of a side task work with.
#[derive(Debug)]
pub(crate) struct Workshop {
    pub(crate) desk: Desk,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) sandbox: Arc<dyn Sandbox>,
    pub(crate) writes: Arc<dyn MemoryWrites>,
    denials: Mutex<Denials>,
}

#[derive(Debug, Default)]
struct Denials {
    kept: Vec<Denial>,
    count: u64,
}

impl ForkTools {
    /// Tools over these directories.
    pub fn new(system: &System, roots: Roots, writes: Arc<dyn MemoryWrites>) -> Self {
        let Roots {
            working,
            memory,
            readable,
        } = roots;
        let places = Places::new(Arc::clone(&system.files), working, &memory, &readable);
        Self {
            workshop: Arc::new(Workshop {
                desk: Desk {
                    places,
                    clock: Arc::clone(&system.clock),
                },
                files: Arc::clone(&system.files),
                sandbox: Arc::clone(&system.sandbox),
                writes,
                denials: Mutex::default(),
            }),
        }
    }

    /// Denied calls so far, the first [`MOST_DENIALS`].
    pub fn denials(&self) -> Vec<Denial> {
        self.workshop.denials().kept.clone()
    }

    /// Number of denied calls, also those that are not kept.
    pub fn denial_count(&self) -> u64 {
        self.workshop.denials().count
    }

    /// Runs a call on this thread, for callers that may block.
    pub fn run_blocking(&self, call: &ToolCall) -> ToolOutput {
        self.workshop.run(call)
    }
}

impl ToolHost for ForkTools {
    fn traits(&self, tool: &str) -> ToolTraits {
        ToolTraits {
            declared_limit: None,
            reads_files: tool == "Read",
            // Bash refuses every command line that could change something.
            only_reads: READING_TOOLS.contains(&tool),
        }
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let workshop = Arc::clone(&self.workshop);
        Box::pin(on_thread(call.id.clone(), move || workshop.run(&call)))
    }
}

impl Workshop {
    fn run(&self, call: &ToolCall) -> ToolOutput {
        let (is_error, text) = match self.reply(call) {
            Ok(text) => (false, text),
            Err(Failure::Failed(text)) => (true, text),
            // Listed as well: a denial may be an attempt of injected text, which the user should
            // see.
            Err(Failure::Denied { target, reason }) => {
                let text = format!("Not allowed: {reason}.");
                self.note_denial(Denial {
                    tool: call.tool.clone(),
                    target,
                    reason,
                });
                (true, text)
            }
        };
        ToolOutput {
            is_error,
            ..ToolOutput::text(call.id.clone(), text)
        }
    }

    fn reply(&self, call: &ToolCall) -> Reply {
        match call.tool.as_str() {
            "Read" => read::read(self, &parse(call)?),
            "Grep" => grep::grep(&self.desk, &parse(call)?),
            "Glob" => glob::glob(&self.desk, &parse(call)?),
            "Bash" => bash::bash(self, &parse(call)?),
            "Edit" => edit::edit(self, &parse(call)?),
            "Write" => edit::write(self, parse(call)?),
            // A fork has seen the tools of its conversation and calls them by habit.
            other => Err(Failure::denied(
                other,
                format!("side tasks have only the tools {}", TOOL_NAMES.join(", ")),
            )),
        }
    }

    fn note_denial(&self, denial: Denial) {
        let mut denials = self.denials();
        denials.count += 1;
        // A model in a loop must not fill the memory with its denials.
        if denials.kept.len() < MOST_DENIALS {
            denials.kept.push(denial);
        }
    }

    fn denials(&self) -> MutexGuard<'_, Denials> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
