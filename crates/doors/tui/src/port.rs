//! Ports of the screen: the agent or the session that is watched, and services of the door.

use crate::line::Theme;
use crate::model::{Gauge, Start};
use crate::panel::{Panel, PanelKind};
use crate::tour::Tour;
use dormouse_agent::protocol::OpenedSession;
use dormouse_agent::{AgentHandle, Figures, Told};
use dormouse_core::id::RecordId;
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Result of a service.
pub type ServiceFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Text that a command printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Text of both outputs.
    pub text: String,
    /// True if the command failed.
    pub failed: bool,
}

/// Port to the door: everything that needs files or processes.
pub trait Services: fmt::Debug + Send + Sync {
    /// Opens the session of a scene that says so, once its first frame is drawn. The news come in the
    /// order of [`Opening`].
    fn open(&self, news: mpsc::UnboundedSender<Opening>);

    /// Runs a command of the command line at a width.
    fn run(&self, words: Vec<String>, columns: usize) -> ServiceFuture<Printed>;

    /// Runs a line in the shell. Dropping the future ends it with its children.
    fn shell(&self, line: String) -> ServiceFuture<Printed>;

    /// Looks for the record before a prompt of a session, by the prompt's number.
    fn point(&self, session: String, number: usize) -> ServiceFuture<Option<RecordId>>;

    /// Reads the figures of a session's window, as this model has it.
    fn gauge(&self, session: String, model: String) -> ServiceFuture<Option<Gauge>>;

    /// Reads the content of a panel.
    fn panel(
        &self,
        kind: PanelKind,
        session: Option<String>,
        words: String,
    ) -> ServiceFuture<Result<Panel, String>>;

    /// Looks for files of the project that a begun name may mean, the likeliest first.
    fn files(&self, begun: String) -> ServiceFuture<Vec<String>>;

    /// The file that a pasted path names, from the root; none if there is no such file.
    fn image(&self, path: String) -> ServiceFuture<Option<String>>;

    /// Lets the person edit a text in an editor of theirs, which has the terminal meanwhile; waits for it.
    ///
    /// # Errors
    /// In words for the person, when there is none or it fails.
    fn compose(&self, text: String) -> Result<String, String>;

    /// Names and figures of the user's before the newest compaction of a session, and those that are
    /// still in its prompt.
    fn kept(&self, session: String) -> ServiceFuture<Option<(u64, u64)>>;

    /// Opens another scene: the demonstration, another session, or a copy of one.
    fn scene(&self, wish: Wish) -> ServiceFuture<Result<Scene, String>>;

    /// Lets minutes pass, where the clock is the scene's own.
    fn later(&self, minutes: u64);
}

/// Wish for another scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The demonstration; this scene goes on behind it.
    Demo,
    /// A copy of a session, by its id, in place of this scene.
    Fork(String),
    /// A session, by its id, in place of this scene.
    Resume(String),
}

/// Everything that a screen shows, with the services it needs.
#[derive(Debug)]
pub struct Scene {
    /// Facts that are known before the first event.
    pub start: Start,
    /// The agent or the session that is watched, if it is open; none without a model.
    pub opened: Option<Opened>,
    /// True if the services open it, behind the first frame.
    pub opens: bool,
    /// Services of the door.
    pub services: Arc<dyn Services>,
    /// Tour that is given.
    pub tour: Option<Tour>,
    /// Things that live as long as the scene, such as a folder.
    pub keeps: Option<Box<dyn Keeps>>,
}

/// Something that lives as long as a scene.
pub trait Keeps: Any + fmt::Debug + Send {}
impl<T: Any + fmt::Debug + Send> Keeps for T {}

/// News on the way to the other end of a scene.
#[derive(Debug)]
pub enum Opening {
    /// Durable events at the end of a log, which can be shown before the session is open.
    Tail {
        /// The events, from a prompt on.
        events: Vec<Told>,
        /// True if nothing lies before them.
        whole: bool,
    },
    /// The other end, with the events behind those that were told.
    Opened(Opened),
    /// Usage before the events that were told.
    Earlier(Figures),
    /// There is no agent; the reason, with the remedy. The screen stays.
    Without(String),
    /// It cannot be opened: the screen ends, and the door says why.
    Failed,
}

/// Session with the events of its log so far.
#[derive(Debug)]
pub struct Opened {
    /// Channel to the agent of the session.
    pub talk: Talk,
    /// Durable events of a resumed session, behind those that were told.
    pub history: Vec<Told>,
    /// True if no event before them is left out.
    pub whole: bool,
}

/// Other end of the screen.
#[derive(Debug)]
pub enum Talk {
    /// An agent that takes commands.
    Agent(Box<AgentHandle>),
    /// A session that another process writes.
    Watched(Watched),
}

/// Session that another process writes.
#[derive(Debug)]
pub struct Watched {
    /// Facts about the session.
    pub opened: OpenedSession,
    /// Events as they get into its log.
    pub events: mpsc::Receiver<Told>,
}

impl Talk {
    /// Id of the session.
    pub(crate) fn session(&self) -> String {
        match self {
            Self::Agent(agent) => agent.opened.session.to_string(),
            Self::Watched(watched) => watched.opened.session.to_string(),
        }
    }

    /// The next event; none if the other end is gone.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        match self {
            Self::Agent(agent) => agent.next().await,
            Self::Watched(watched) => watched.events.recv().await,
        }
    }

    /// An event that waits, if there is one.
    pub(crate) fn try_next(&mut self) -> Option<Told> {
        match self {
            Self::Agent(agent) => {
                let told = agent.events.try_next()?;
                if let dormouse_agent::Event::Opened(opened) = &told.event {
                    agent.opened = (**opened).clone();
                }
                Some(told)
            }
            Self::Watched(watched) => watched.events.try_recv().ok(),
        }
    }
}

/// Abilities and looks of the terminal, as the door knows them.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent abilities of a terminal"
)]
pub struct Looks {
    /// Colours that roles are painted in.
    pub theme: Theme,
    /// True inside tmux, which passes notifications on only if they are wrapped.
    pub tmux: bool,
    /// True if the terminal breaks long rows when it gets narrower.
    pub reflows: bool,
    /// True for lines only: a screen reader, or a terminal without a cursor.
    pub plain: bool,
    /// True if nothing is read: there is no terminal to read from.
    pub deaf: bool,
    /// True if pictures are taken.
    pub records: bool,
    /// Columns and rows in place of the terminal's.
    pub size: Option<(usize, usize)>,
}
