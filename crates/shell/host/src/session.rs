//! Opening a session: log, blobs, model, memory and settings put together.
//!
//! # Not here
//! The loop of a conversation (`dormouse-drive`), tools and their permissions: the caller brings
//! them.

use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use crate::remark::Remark;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::id::SessionId;
use dormouse_core::record::LineContext;
use dormouse_core::usage::Usd;
use dormouse_drive::Judge;
use dormouse_engine::{
    AskModel, Asker, BlockingLog, Companion, DiskRestorer, HookFuture, Hooks, Injection,
    NoCompanion, Notices, Opened, Ports, Seen, Session, SessionConfig, SessionPlace, ToolCall,
    ToolHost,
};
use dormouse_keeper::Keeper;
use dormouse_keeper::client::configured;
use dormouse_keeper::recaller::Recaller;
use dormouse_model::Params;
use dormouse_store::{FileBlobs, FileLog, ProjectFolder};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The session that is opened, and what the caller brings to it.
pub struct SessionAsk {
    /// Its id: a new session, or one that goes on. `None` for a new one with a fresh id.
    pub session: Option<SessionId>,
    /// Tools, system prompt and instructions as they are sent, rendered by the caller: their bytes
    /// decide whether the provider's cache is hit.
    pub prefix: Arc<RenderedPrefix>,
    /// The tools that the model may call.
    pub tools: Arc<dyn ToolHost>,
    /// The model by its name and the way to ask it; `None` for the one of the settings.
    pub model: Option<(String, Arc<dyn Asker>)>,
    /// Companion beside recall; `None` for none.
    pub companion: Option<Arc<dyn Companion>>,
    /// Judge of the model's calls.
    pub judge: Arc<dyn Judge>,
    /// Most requests of one turn of the user.
    pub most_requests: usize,
    /// Money that may be spent from the opening on; `None` for no limit.
    pub budget: Option<Usd>,
    /// Hooks that run at certain moments.
    pub hooks: Arc<dyn Hooks>,
    /// Receiver of the session's notices.
    pub notices: Notices,
}

impl fmt::Debug for SessionAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionAsk")
            .field("session", &self.session)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// Companions that speak one after the other.
#[derive(Debug)]
struct Together(Vec<Arc<dyn Companion>>);

impl Together {
    fn all(futures: Vec<HookFuture<Vec<Injection>>>) -> HookFuture<Vec<Injection>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for future in futures {
                all.extend(future.await);
            }
            all
        })
    }
}

impl Companion for Together {
    fn on_prompt(&self, prompt: &str, seen: Seen) -> HookFuture<Vec<Injection>> {
        let each = self.0.iter();
        Self::all(
            each.map(|one| one.on_prompt(prompt, seen.clone()))
                .collect(),
        )
    }

    fn on_results(&self, calls: &[ToolCall], seen: Seen) -> HookFuture<Vec<Injection>> {
        let each = self.0.iter();
        Self::all(
            each.map(|one| one.on_results(calls, seen.clone()))
                .collect(),
        )
    }

    fn on_end(&self) {
        self.0.iter().for_each(|one| one.on_end());
    }
}

/// A session that is open, and its parts.
#[derive(Debug)]
pub struct OpenedSession {
    /// The session, ready for a turn.
    pub session: Session,
    /// Id by which it can be opened again.
    pub id: SessionId,
    /// The state it was found in.
    pub opened: Opened,
    /// The keeper of its memory and the companion that recalls; `None` if memory is off.
    pub memory: Option<(Arc<Keeper>, Recaller)>,
}

impl Host {
    /// Opens a session of this project, with memory where that is on.
    ///
    /// # Errors
    /// When no model is set, the log is locked or cannot be written, or memory cannot be opened.
    pub async fn open_session(&self, ask: SessionAsk) -> Result<OpenedSession, HostError> {
        let system = self.system().clone();
        let (settings, models) = (self.settings(), self.models());
        // A caller that brings its model needs no key in the settings.
        let (name, asker): (String, Arc<dyn Asker>) = if let Some(given) = ask.model {
            given
        } else {
            let model = configured(self.system(), &settings, &models)?;
            (model.name, Arc::new(AskModel(model.model)))
        };
        let params = self.params(&name)?;
        let id = ask
            .session
            .unwrap_or_else(|| SessionId::new(system.ids.fresh()));
        let place = self.session_place(&id)?;
        let line = LineContext {
            cwd: self.places().current_dir.display().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_branch: String::new(),
        };
        let memory = self.session_memory()?;
        let recaller = memory
            .as_ref()
            .map(|(_, recaller)| Arc::new(recaller.clone()) as Arc<dyn Companion>);
        let companion: Arc<dyn Companion> = match (recaller, ask.companion) {
            (Some(one), Some(other)) => Arc::new(Together(vec![other, one])),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Arc::new(NoCompanion),
        };
        // After the memory: a session whose memory cannot be opened leaves no empty log behind.
        let log = FileLog::open(&system, &place.log, line.clone(), id.clone())?;
        let files = &system.files;
        let ports = Ports {
            log: Arc::new(BlockingLog::new(log)),
            blobs: Arc::new(FileBlobs::new(Arc::clone(files), &place.folder)),
            asker,
            tools: ask.tools,
            hooks: ask.hooks,
            restorer: Arc::new(DiskRestorer::new(
                Arc::clone(files),
                vec![place.folder.clone()],
            )),
            companion,
            settings: self.settings_source(),
            notices: ask.notices,
            system,
        };
        let mut config = SessionConfig::new(&name, models, params, ask.prefix);
        config.line = line;
        config.judge = ask.judge;
        config.most_requests = ask.most_requests;
        config.budget = ask.budget;
        // Doors show what happened, also after a crash.
        config.turn_facts = true;
        let (session, opened) = Session::open(ports, place, config).await?;
        Ok(OpenedSession {
            session,
            id,
            opened,
            memory,
        })
    }

    /// Members of every request to a model besides the prompt.
    ///
    /// # Errors
    /// Never in practice: names and numbers can be serialised.
    pub fn params(&self, model: &str) -> Result<Params, HostError> {
        // The longest answer that the model gives: a shorter limit would cut calls of tools in
        // half.
        let longest = self.models().lookup(model).info.max_output;
        Params::new(model, longest).map_err(HostError::Params)
    }

    /// Folder of a session's files: long results, notes.
    ///
    /// # Errors
    /// When the project's folder cannot be made.
    pub fn session_folder(&self, id: &SessionId) -> Result<PathBuf, HostError> {
        Ok(self.session_place(id)?.folder)
    }

    pub(crate) fn session_place(&self, id: &SessionId) -> Result<SessionPlace, HostError> {
        let places = self.places();
        let root = &places.project.real_root;
        let folder = ProjectFolder::prepare(&*self.system().files, &places.home, root)?;
        Ok(SessionPlace {
            session: id.clone(),
            log: folder.log(id)?,
            folder: folder.session_dir(id)?,
            home: places.home.clone(),
            project: root.display().to_string(),
        })
    }

    /// The memory around a session. Memory that is off is a remark, and the conversation goes on;
    /// memory that cannot be opened is an error.
    fn session_memory(&self) -> Result<Option<(Arc<Keeper>, Recaller)>, HostError> {
        match self.keeper(&Which::Private) {
            Ok(opened) => {
                let recaller = Recaller::new(Arc::clone(&opened.keeper));
                Ok(Some((opened.keeper, recaller)))
            }
            Err(error) if error.is_off() => {
                let why = error.to_string();
                self.remark(Remark::NoMemory { why });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
