//! Tools of the conversation itself: they change files and run commands.
//!
//! # Model
//! A call arrives here after it was judged, so nothing is refused for what it is. What can go wrong
//! on the way is a failure in words that a model can act on: a file that was not read, or that
//! changed since; a text that occurs twice; a command that runs on.
//!
//! [`AgentTools`] keeps what the calls share: the folder that commands start in, the files that were
//! read with the state they were in, the commands that still run, the list of to-dos.
//!
//! # Not here
//! Permission (`dormouse-permit`); where the bytes of a changed file are kept ([`Changes`]); which
//! commands are confined ([`Confine`]).

mod definitions;
mod files;
mod media;
mod notebook;
mod shell;
mod todo;

pub use definitions::{AGENT_TOOLS, agent_definitions};
pub use todo::{Todo, TodoState};

use crate::background::on_thread;
use crate::host::Desk;
use crate::input::parse;
use crate::places::Places;
use crate::reply::Failure;
use crate::{glob, grep};
use bytes::Bytes;
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_drive::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_system::System;
use files::FilesRead;
use shell::{Attended, Shells, StopOnDrop};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Result of a tool: text, perhaps with images, or the failure.
type Answer = Result<(String, Vec<Block>), Failure>;

/// Folders of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlaces {
    /// Folder of the work: relative paths and commands start here. Absolute.
    pub folder: PathBuf,
    /// Folder for the output of commands; made when it is needed.
    pub results: PathBuf,
    /// Mark of the session's processes.
    pub mark: String,
}

/// Port that learns of every file before it changes, so that the change can be taken back.
pub trait Changes: fmt::Debug + Send + Sync {
    /// A call is about to change a file that has this content; `None` if there is no file yet.
    ///
    /// # Errors
    /// The reason, if the content cannot be kept; the file is then left as it is.
    fn before(&self, call: &CallId, path: &Path, content: Option<&Bytes>) -> Result<(), String>;
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChanges;

impl Changes for NoChanges {
    fn before(&self, _: &CallId, _: &Path, _: Option<&Bytes>) -> Result<(), String> {
        Ok(())
    }
}

/// Port that says which commands are confined.
pub trait Confine: fmt::Debug + Send + Sync {
    /// Folders below which the command of this call may write; `None` runs it as the user.
    fn writable(&self, call: &ToolCall) -> Option<Vec<PathBuf>>;
}

/// Confines nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconfined;

impl Confine for Unconfined {
    fn writable(&self, _: &ToolCall) -> Option<Vec<PathBuf>> {
        None
    }
}

/// Tools of a conversation. Clones share everything.
#[derive(Clone, Debug)]
pub struct AgentTools {
    inner: Arc<Inner>,
}

/// State behind the tools.
#[derive(Debug)]
struct Inner {
    system: System,
    places: AgentPlaces,
    desk: Desk,
    read: FilesRead,
    shells: Shells,
    changes: Arc<dyn Changes>,
    confine: Arc<dyn Confine>,
    todos: Mutex<Vec<Todo>>,
}

impl AgentTools {
    /// Tools that start in a folder.
    pub fn new(
        system: &System,
        places: AgentPlaces,
        changes: Arc<dyn Changes>,
        confine: Arc<dyn Confine>,
    ) -> Self {
        let anywhere = Places::anywhere(Arc::clone(&system.files), places.folder.clone());
        Self {
            inner: Arc::new(Inner {
                desk: Desk {
                    places: anywhere,
                    clock: Arc::clone(&system.clock),
                },
                read: FilesRead::default(),
                shells: Shells::new(places.folder.clone()),
                system: system.clone(),
                places,
                changes,
                confine,
                todos: Mutex::default(),
            }),
        }
    }

    /// The list of to-dos as the model left it.
    pub fn todos(&self) -> Vec<Todo> {
        let todos = self.inner.todos.lock();
        todos.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Commands that run in the background, by id and line.
    pub fn running(&self) -> Vec<(String, String)> {
        self.inner.shells.running()
    }

    /// Kills every process that the conversation started, and returns how many there were.
    pub fn close(&self) -> usize {
        self.inner.shells.stop_all();
        self.inner.system.commands.sweep(&self.inner.places.mark)
    }

    /// Runs a call on this thread, for callers that may block.
    pub fn run_blocking(&self, call: &ToolCall) -> ToolOutput {
        self.inner.run(call, &Attended::default())
    }
}

impl ToolHost for AgentTools {
    fn traits(&self, tool: &str) -> ToolTraits {
        ToolTraits {
            declared_limit: None,
            reads_files: tool == "Read",
            only_reads: matches!(tool, "Read" | "Grep" | "Glob" | "BashOutput"),
        }
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let inner = Arc::clone(&self.inner);
        let attended = Attended::default();
        let stop = StopOnDrop::new(attended.clone());
        let work = on_thread(call.id.clone(), move || inner.run(&call, &attended));
        // Held until the result is there: a turn that is stopped ends its command.
        Box::pin(async move {
            let output = work.await;
            stop.defuse();
            output
        })
    }
}

impl Inner {
    fn run(&self, call: &ToolCall, attended: &Attended) -> ToolOutput {
        let answer = self.answer(call, attended);
        let is_error = answer.is_err();
        let (text, media) = answer.unwrap_or_else(|failure| {
            let text = match failure {
                Failure::Failed(text) => text,
                Failure::Denied { reason, .. } => format!("Not allowed: {reason}."),
            };
            (text, Vec::new())
        });
        ToolOutput {
            is_error,
            media,
            ..ToolOutput::text(call.id.clone(), text)
        }
    }

    fn answer(&self, call: &ToolCall, attended: &Attended) -> Answer {
        let text = match call.tool.as_str() {
            "Read" => return self.read(&parse(call)?),
            "Write" => self.write(&call.id, parse(call)?),
            "Edit" => self.edit(&call.id, &parse(call)?),
            "Bash" => self.bash(call, &parse(call)?, attended),
            "BashOutput" => self.bash_output(&parse(call)?),
            "KillShell" => self.kill_shell(&parse(call)?),
            "Grep" => grep::grep(&self.desk, &parse(call)?),
            "Glob" => glob::glob(&self.desk, &parse(call)?),
            "TodoWrite" => self.todo_write(parse(call)?),
            other => Err(Failure::failed(format!(
                "There is no tool `{other}`; there are {}.",
                AGENT_TOOLS.join(", ")
            ))),
        };
        text.map(|text| (text, Vec::new()))
    }
}
