//! Ports: services that a session needs from outside.
//!
//! # Not here
//! The log's port ([`crate::LogStore`]) and the tools' port ([`ToolHost`], from `dormouse-drive`).

use dormouse_context::compaction::RestoredPart;
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::record::{Purpose, Trigger};
use dormouse_drive::{
    HookAnswer, HookCatalog, HookMoment, HookPoint, Injection, Notice, Seen, ToolCall, ToolCatalog,
    ToolFuture, ToolHost, ToolTraits,
};
use dormouse_model::{Capabilities, Model, Request, ResponseStream};
use dormouse_system::Files;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use dormouse_context::compaction::RestoredKind;

/// Receiver of notices, called inside the engine's tasks: it must not block.
pub type Notices = Arc<dyn Fn(Notice) + Send + Sync>;

/// A way to ask a model. The purpose lets a caller account for forks apart.
pub trait Asker: fmt::Debug + Send + Sync {
    /// Capabilities of the model of this name.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// Starts one request; nothing is sent before the stream is polled.
    fn ask(&self, purpose: Purpose, request: Request) -> ResponseStream;
}

/// Asks one model for every purpose.
#[derive(Clone, Debug)]
pub struct AskModel(pub Arc<dyn Model>);

impl Asker for AskModel {
    fn capabilities(&self, model: &str) -> Capabilities {
        self.0.capabilities(model)
    }

    fn ask(&self, _: Purpose, request: Request) -> ResponseStream {
        self.0.stream(request)
    }
}

/// No tools: every call fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTools;

impl ToolHost for NoTools {
    fn traits(&self, _: &str) -> ToolTraits {
        ToolTraits::default()
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        Box::pin(async move {
            ToolOutput {
                is_error: true,
                ..ToolOutput::text(call.id, format!("There is no tool `{}` here.", call.tool))
            }
        })
    }
}

/// The traits of a host's tools, for the driver.
#[derive(Clone, Debug)]
pub(crate) struct Catalog(pub(crate) Arc<dyn ToolHost>);

impl ToolCatalog for Catalog {
    fn traits(&self, tool: &str) -> ToolTraits {
        self.0.traits(tool)
    }
}

/// The future of a hook's or companion's answer.
pub type HookFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Hooks that a host runs at certain moments of a conversation.
pub trait Hooks: fmt::Debug + Send + Sync {
    /// Runs before a summary is asked for; may refuse an automatic one or add instructions.
    fn before(&self, trigger: Trigger, instructions: &[String]) -> HookFuture<HookAnswer>;

    /// Runs when the conversation goes on behind a summary; returns parts the hooks want the model to
    /// see.
    fn after(&self, trigger: Trigger, summary: &str) -> HookFuture<Vec<RestoredPart>>;

    /// Runs at any other moment of a turn.
    fn at(&self, point: HookPoint) -> HookFuture<HookAnswer> {
        drop(point);
        Box::pin(std::future::ready(HookAnswer::default()))
    }

    /// True if a hook runs at a moment, for a tool where the moment has one: the driver asks before
    /// it waits.
    fn wants(&self, moment: HookMoment, _tool: Option<&str>) -> bool {
        moment == HookMoment::Compaction
    }
}

/// Hooks of a session as the driver sees them.
#[derive(Debug)]
pub(crate) struct HookPoints(pub(crate) Arc<dyn Hooks>);

impl HookCatalog for HookPoints {
    fn wants(&self, moment: HookMoment, tool: Option<&str>) -> bool {
        self.0.wants(moment, tool)
    }
}

/// No hooks at all, for forks and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn before(&self, _: Trigger, _: &[String]) -> HookFuture<HookAnswer> {
        Box::pin(std::future::ready(HookAnswer::default()))
    }

    fn after(&self, _: Trigger, _: &str) -> HookFuture<Vec<RestoredPart>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn wants(&self, _: HookMoment, _: Option<&str>) -> bool {
        false
    }
}

/// Adds something to the conversation at its own time: recalled memories above all. Its words are
/// recorded as they were sent. It must never hold the conversation up.
pub trait Companion: fmt::Debug + Send + Sync {
    /// The user says something: fragments that go in with it.
    fn on_prompt(&self, prompt: &str, seen: Seen) -> HookFuture<Vec<Injection>>;

    /// Tools were called and their results are in: fragments that go in with them.
    fn on_results(&self, calls: &[ToolCall], seen: Seen) -> HookFuture<Vec<Injection>>;

    /// The turn is over, also when it failed or was cancelled: selections not asked for by now are
    /// dropped.
    fn on_end(&self);

    /// False if it never adds anything: the driver then does not wait for it.
    fn speaks(&self) -> bool {
        true
    }
}

/// No companion at all, for forks and tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCompanion;

impl Companion for NoCompanion {
    fn on_prompt(&self, _: &str, _: Seen) -> HookFuture<Vec<Injection>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn on_results(&self, _: &[ToolCall], _: Seen) -> HookFuture<Vec<Injection>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn on_end(&self) {}

    fn speaks(&self) -> bool {
        false
    }
}

/// Shows content again after a compaction. Called on the blocking pool.
pub trait Restorer: fmt::Debug + Send + Sync {
    /// The files as they are now, newest first, then skills, plan, to-dos, agents and listings.
    fn restore(&self, files: &[String]) -> Vec<RestoredPart>;

    /// System prompt, tools and instructions, rendered anew: instruction files may have changed.
    /// `None` leaves them as they are.
    fn prefix(&self) -> Option<Arc<RenderedPrefix>> {
        None
    }
}

/// Reads files from disk, and has nothing else to show.
#[derive(Clone, Debug)]
pub struct DiskRestorer {
    files: Arc<dyn Files>,
    /// Folders that are never shown: the session's own files.
    hidden: Vec<std::path::PathBuf>,
}

/// Bytes of a file that are read to be shown again; the limits of the settings are far below, and a
/// larger file would only cost time and memory.
const MOST_OF_FILE: u64 = 256 * 1024;

impl DiskRestorer {
    /// Reads through `files`, but nothing below the folders given.
    pub fn new(files: Arc<dyn Files>, hidden: Vec<std::path::PathBuf>) -> Self {
        Self { files, hidden }
    }
}

impl Restorer for DiskRestorer {
    fn restore(&self, files: &[String]) -> Vec<RestoredPart> {
        // The session's own notes and results are in the prompt in another form already.
        let shown = files.iter().filter(|path| {
            let path = Path::new(path);
            !self.hidden.iter().any(|hidden| path.starts_with(hidden))
        });
        shown
            .filter_map(|path| {
                // A file that is gone or not text any more is left out: the compaction must not
                // fail over it.
                let content = self.files.read(Path::new(path), MOST_OF_FILE).ok()?;
                let text = String::from_utf8(content.to_vec()).ok()?;
                Some(RestoredPart {
                    kind: RestoredKind::File,
                    name: path.clone(),
                    text,
                })
            })
            .collect()
    }
}
