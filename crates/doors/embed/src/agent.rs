//! The parts of a conversation, and opening it.
//!
//! # Not here
//! Running turns: the [`Session`] that opening gives. Functions of tools: `tool`.

use crate::tool::{Tool, Toolbox};
use dormouse_ask::Params;
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::LineContext;
use dormouse_core::settings::{Settings, Trust, flags_layer, resolve};
use dormouse_core::units::Tokens;
use dormouse_engine::{
    AskModel, BlockingLog, DiskRestorer, EngineError, LogStore, NoCompanion, NoHooks, Notice,
    Notices, Ports, Session, SessionConfig, SessionPlace,
};
use dormouse_model::Model;
use dormouse_store::{FileBlobs, FileLog};
use dormouse_system::System;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest answer asked for: enough for a long file, and below the least of the known models.
const MOST_OUTPUT: Tokens = Tokens(8_000);

/// Home on the disk in memory, where no real one was given.
const MEMORY_HOME: &str = "/dormouse";

/// Reason why a conversation could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A pair that is no setting.
    #[error("setting `{pair}`: {why}")]
    Setting {
        /// The pair as it was given.
        pair: String,
        /// Reason, as the settings table states it.
        why: String,
    },
    /// A tool whose definition is not JSON that a request can carry.
    #[error("tool definition cannot be used")]
    Tool(#[source] serde_json::Error),
    /// Request parameters that the model's name does not allow.
    #[error("request parameters cannot be used")]
    Params(#[source] serde_json::Error),
    /// The log is locked by another process or cannot be read.
    #[error("session log cannot be opened")]
    Log(#[source] dormouse_store::OpenError),
    /// The engine could not begin.
    #[error("session cannot be opened")]
    Engine(#[source] EngineError),
}

/// A conversation that is being put together.
pub struct Agent {
    name: String,
    model: Arc<dyn Model>,
    instructions: String,
    tools: Vec<Tool>,
    settings: Vec<String>,
    window: Option<Tokens>,
    home: Option<PathBuf>,
    notices: Notices,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.name)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent on a model of this name, in memory and without tools.
    pub fn new(name: &str, model: Arc<dyn Model>) -> Self {
        Self {
            name: name.to_owned(),
            model,
            instructions: String::new(),
            tools: Vec::new(),
            settings: Vec::new(),
            window: None,
            home: None,
            notices: Arc::new(drop::<Notice>),
        }
    }

    /// Sets the system prompt; a later call replaces it.
    #[must_use]
    pub fn instructions(mut self, text: &str) -> Self {
        text.clone_into(&mut self.instructions);
        self
    }

    /// Offers a tool. A later one of the same name replaces it.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools
            .retain(|known| known.definition()["name"] != tool.definition()["name"]);
        self.tools.push(tool);
        self
    }

    /// Overrides a setting, as `key=value`; `docs/settings.md` lists them.
    #[must_use]
    pub fn setting(mut self, pair: &str) -> Self {
        self.settings.push(pair.to_owned());
        self
    }

    /// Bounds the prompt to fewer tokens than the model's own window.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(Tokens(tokens));
        self
    }

    /// Keeps logs and files below a folder, so that a session can be resumed by its name.
    #[must_use]
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }

    /// Hands over notices for the user: results moved to files, compactions, retries. Answers are
    /// returned by the session, and considerations of the layers are for `explain`; neither comes
    /// here.
    #[must_use]
    pub fn notices(mut self, take: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        self.notices = Arc::new(move |notice| {
            if !matches!(notice, Notice::Answer(_) | Notice::Considered { .. }) {
                take(notice);
            }
        });
        self
    }

    /// Opens the session of this name: a new one, or where it stopped.
    ///
    /// # Errors
    /// When a setting or tool is malformed, or the log is locked or cannot be written.
    pub async fn open(self, session: &str) -> Result<Session, OpenError> {
        let settings = settings(&self.settings)?;
        let definitions = self.tools.iter().map(|tool| Part::tool(&tool.definition()));
        let definitions: Result<Vec<Part>, _> = definitions.collect();
        let system = vec![Part::block("system", &Block::text(&self.instructions))];
        let prefix = RenderedPrefix::new(definitions.map_err(OpenError::Tool)?, system, Vec::new());
        let params = Params::new(&self.name, MOST_OUTPUT).map_err(OpenError::Params)?;
        let models = Arc::new(ModelTable::builtin().clone());
        let mut config = SessionConfig::new(&self.name, models, params, Arc::new(prefix));
        config.window = self.window;

        let (system, home) = match self.home {
            Some(home) => (System::real(), home),
            None => (System::memory(), PathBuf::from(MEMORY_HOME)),
        };
        let place = place(&home, session);
        let ports = Ports {
            log: log(&system, &place)?,
            blobs: Arc::new(FileBlobs::new(Arc::clone(&system.files), &place.folder)),
            asker: Arc::new(AskModel(self.model)),
            tools: Arc::new(Toolbox::new(self.tools)),
            hooks: Arc::new(NoHooks),
            restorer: Arc::new(DiskRestorer::new(
                Arc::clone(&system.files),
                vec![place.folder.clone()],
            )),
            companion: Arc::new(NoCompanion),
            settings: Arc::new(move || Arc::clone(&settings)),
            notices: self.notices,
            system,
        };
        let opened = Session::open(ports, place, config).await;
        opened
            .map(|(session, _)| session)
            .map_err(OpenError::Engine)
    }
}

fn settings(pairs: &[String]) -> Result<Arc<Settings>, OpenError> {
    for pair in pairs {
        // One at a time, so that the error can name the pair.
        let (_, issues) = flags_layer([pair.as_str()]);
        if let Some(issue) = issues.first() {
            return Err(OpenError::Setting {
                pair: pair.clone(),
                why: issue.to_string(),
            });
        }
    }
    let (layer, _) = flags_layer(pairs.iter().map(String::as_str));
    // Trust is about files of a project; here the program itself gives every value.
    Ok(Arc::new(resolve(&[layer], Trust::Trusted)))
}

fn place(home: &Path, session: &str) -> SessionPlace {
    let sessions = home.join("sessions");
    SessionPlace {
        session: SessionId::new(session),
        log: sessions.join(format!("{session}.jsonl")),
        folder: sessions.join(session),
        home: home.to_owned(),
        project: home.display().to_string(),
    }
}

fn log(system: &System, place: &SessionPlace) -> Result<Arc<dyn LogStore>, OpenError> {
    let context = LineContext::default();
    let log = FileLog::open(system, &place.log, context, place.session.clone());
    Ok(Arc::new(BlockingLog::new(log.map_err(OpenError::Log)?)))
}
