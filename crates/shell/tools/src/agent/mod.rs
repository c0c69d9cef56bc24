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
//! commands are confined ([`Confine`]); memory, persons and the network ([`Services`]).

mod ask;
mod definitions;
mod files;
mod media;
mod notebook;
mod ports;
mod shell;
mod todo;
mod web;

pub use definitions::{AGENT_TOOLS, LEAN_TOOLS, SearchBy, Toolset, agent_definitions};
pub use ports::{
    Changes, Confine, MemoryDesk, NoChanges, NoOne, PageReader, People, PersonAnswer, PersonOption,
    PersonQuestion, Services, Unconfined,
};
pub use todo::{Todo, TodoState};

use crate::background::on_thread;
use crate::host::Desk;
use crate::input::parse;
use crate::places::Places;
use crate::reply::Failure;
use crate::{glob, grep};
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_drive::{ToolCall, ToolFuture, ToolHost, ToolTraits};
use dormouse_system::System;
use files::FilesRead;
use shell::{Attended, Shells, StopOnDrop};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use web::Pages;

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
    services: Services,
    pages: Pages,
    todos: Mutex<Vec<Todo>>,
}

impl AgentTools {
    /// Tools that start in a folder, for files and commands only.
    pub fn new(
        system: &System,
        places: AgentPlaces,
        changes: Arc<dyn Changes>,
        confine: Arc<dyn Confine>,
    ) -> Self {
        Self::with_services(system, places, changes, confine, Services::default())
    }

    /// Tools that start in a folder, with services beyond files and commands.
    pub fn with_services(
        system: &System,
        places: AgentPlaces,
        changes: Arc<dyn Changes>,
        confine: Arc<dyn Confine>,
        services: Services,
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
                services,
                pages: Pages::default(),
                todos: Mutex::default(),
            }),
        }
    }

    /// The list of to-dos as the model left it.
    pub fn todos(&self) -> Vec<Todo> {
        let todos = self.inner.todos.lock();
        todos.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes over the list of a resumed conversation.
    pub fn restore_todos(&self, todos: Vec<Todo>) {
        *self
            .inner
            .todos
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = todos;
    }

    /// Takes over the files that a resumed conversation has read, with the hashes of their contents.
    pub fn restore_read(&self, read: impl Iterator<Item = (PathBuf, Hash)>) {
        self.inner.read.restore(read);
    }

    /// Files that are not as the conversation knows them any more, each state once.
    pub fn changed_outside(&self) -> Vec<PathBuf> {
        let changed = self.inner.read.changed(&*self.inner.system.files);
        changed.into_iter().map(|(path, _)| path).collect()
    }

    /// Background commands that have ended and were not told yet, by id and line.
    pub fn ended(&self) -> Vec<(String, String)> {
        self.inner.shells.ended()
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
            only_reads: matches!(
                tool,
                "Read" | "Grep" | "Glob" | "BashOutput" | "WebFetch" | "WebSearch" | "SearchMemory"
            ),
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
            "WebFetch" => self.web_fetch(&parse(call)?),
            "WebSearch" => self.web_search(&parse(call)?),
            "AskUserQuestion" => self.ask_person(&call.id, &parse(call)?),
            "Memory" => self.memory(call),
            "SearchMemory" => self.search_memory(&parse(call)?),
            other => Err(Failure::failed(format!(
                "There is no tool `{other}`; there are {}.",
                AGENT_TOOLS.join(", ")
            ))),
        };
        text.map(|text| (text, Vec::new()))
    }
}
