//! What a session needs from those who open it.

use dormouse_context::compaction::{RestoredKind, RestoredPart};
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::record::{FragmentKind, Trigger};
use dormouse_model::{Capabilities, Model, Request, ResponseStream};
use dormouse_system::Files;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// The conversation itself.
    Turn,
    /// An update of the session notes.
    Notes,
    /// The summary of a compaction.
    Compaction,
    /// Any other fork.
    Fork,
}

/// A way to ask a model. The purpose lets a caller account for forks apart.
pub trait Asker: fmt::Debug + Send + Sync {
    /// What the model of this name can do.
    fn capabilities(&self, model: &str) -> Capabilities;

    /// Asks.
    fn ask(&self, purpose: Purpose, request: Request) -> ResponseStream;
}

/// Asks a model, whatever the purpose.
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

/// A tool call of the model.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// Its id.
    pub id: CallId,
    /// The tool.
    pub tool: String,
    /// The whole block; its input is read from it.
    pub block: Block,
}

/// What the engine must know of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolTraits {
    /// The longest result the tool wants to stay whole, in characters.
    pub declared_limit: Option<u64>,
    /// It reads files: its results are files already and never put into one.
    pub reads_files: bool,
}

/// The future of a result.
pub type ToolFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// Whoever runs the tools.
pub trait ToolHost: fmt::Debug + Send + Sync {
    /// What is to be known of a tool.
    fn traits(&self, tool: &str) -> ToolTraits;

    /// Runs a call. A failure is a result too: the model is told.
    fn run(&self, call: ToolCall) -> ToolFuture;
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

/// What the hooks before a compaction have to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookAnswer {
    /// Wishes for the summary.
    pub instructions: Vec<String>,
    /// Why an automatic compaction must not be made.
    pub blocked: Option<String>,
}

/// The future of the hooks' answer.
pub type HookFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Hooks around a compaction.
pub trait CompactHooks: fmt::Debug + Send + Sync {
    /// Before a summary is asked for.
    fn before(&self, trigger: Trigger, instructions: &[String]) -> HookFuture<HookAnswer>;

    /// When the conversation goes on: what they want the model to see.
    fn after(&self, trigger: Trigger) -> HookFuture<Vec<RestoredPart>>;
}

/// No hooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl CompactHooks for NoHooks {
    fn before(&self, _: Trigger, _: &[String]) -> HookFuture<HookAnswer> {
        Box::pin(std::future::ready(HookAnswer::default()))
    }

    fn after(&self, _: Trigger) -> HookFuture<Vec<RestoredPart>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// Something that a companion wants the model to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// What it is about.
    pub kind: FragmentKind,
    /// The text, final as it is.
    pub text: String,
    /// The memories in it, with their size: they count as shown from here on.
    pub memories: Vec<(String, u64)>,
}

/// What a companion may look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Memories the model has been shown, with their size.
    pub memories: BTreeMap<String, u64>,
    /// Files the agent has read itself.
    pub files: Vec<String>,
}

/// Whoever adds something to the conversation at its own time: recalled memories above all. What it
/// says is recorded as it was sent. It must never hold the conversation up.
pub trait Companion: fmt::Debug + Send + Sync {
    /// The user says something: what goes in with it.
    fn on_prompt(&self, prompt: &str, seen: Seen) -> HookFuture<Vec<Injection>>;

    /// Tools were called and their results are in: what goes in with them.
    fn on_results(&self, calls: &[ToolCall], seen: Seen) -> HookFuture<Vec<Injection>>;

    /// The turn is over, also when it failed or was ended: what was not asked for by now is dropped.
    fn on_end(&self);
}

/// Nobody.
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
}

/// What is shown again after a compaction.
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
    /// Never shown: the session's own files.
    hidden: Vec<std::path::PathBuf>,
}

/// More of a file than this is never shown again, so that it need not be read.
const MOST_OF_FILE: u64 = 256 * 1024;

impl DiskRestorer {
    /// Reads through `files`, but nothing below the folders given.
    pub fn new(files: Arc<dyn Files>, hidden: Vec<std::path::PathBuf>) -> Self {
        Self { files, hidden }
    }
}

impl Restorer for DiskRestorer {
    fn restore(&self, files: &[String]) -> Vec<RestoredPart> {
        let shown = files.iter().filter(|path| {
            let path = Path::new(path);
            !self.hidden.iter().any(|hidden| path.starts_with(hidden))
        });
        shown
            .filter_map(|path| {
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
