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
use dormouse_core::record::{LineContext, Purpose};
use dormouse_core::settings::keys;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_drive::{Judge, SwitchModel};
use dormouse_engine::{
    AskModel, Asker, BlockingLog, Companion, DiskRestorer, HookFuture, Hooks, Injection,
    NoCompanion, Notices, Opened, Ports, Restorer, Seen, Session, SessionConfig, SessionPlace,
    ToolCall, ToolHost,
};
use dormouse_keeper::Keeper;
use dormouse_keeper::client::{ConfiguredModel, configured};
use dormouse_keeper::recaller::Recaller;
use dormouse_model::{Capabilities, Model, Params, Request, ResponseStream};
use dormouse_store::{FileBlobs, FileLog, ProjectFolder, log_in};
use serde::Deserialize;
use std::borrow::Cow;
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
    /// Content that a compaction shows again; `None` for files alone.
    pub restorer: Option<Arc<dyn Restorer>>,
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

/// Share of a small window that an answer may take. Some servers refuse a prompt that leaves no room
/// for the longest answer, and a quarter is more than a model writes between two calls.
const ANSWER_SHARE: u64 = 4;

type Asked = (String, Arc<dyn Asker>, Option<Box<SwitchModel>>);

/// Asks the provider of the model that a request names.
#[derive(Debug)]
struct Routed {
    model: Arc<dyn Model>,
    /// Name of the fallback model.
    name: String,
    fallback: Arc<dyn Model>,
}

impl Routed {
    fn of(&self, name: &str) -> &Arc<dyn Model> {
        if name == self.name {
            &self.fallback
        } else {
            &self.model
        }
    }
}

/// Member of a body that names its model.
#[derive(Deserialize)]
struct Addressed<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
}

impl Asker for Routed {
    fn capabilities(&self, model: &str) -> Capabilities {
        self.of(model).capabilities(model)
    }

    fn ask(&self, _: Purpose, request: Request) -> ResponseStream {
        let addressed: Result<Addressed<'_>, _> = serde_json::from_slice(&request.body);
        // A body without a name is refused by either provider.
        let model = Arc::clone(self.of(&addressed.map_or(Cow::Borrowed(""), |to| to.model)));
        model.stream(request)
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
    /// Memory around it; `None` if memory is off.
    pub memory: Option<SessionMemory>,
}

/// The keeper of a session's memory and the companion that recalls.
pub type SessionMemory = (Arc<Keeper>, Recaller);

impl Host {
    /// Opens a session of this project, with memory where that is on.
    ///
    /// # Errors
    /// When no model is set, the log is locked or cannot be written, or memory cannot be opened.
    pub async fn open_session(&self, ask: SessionAsk) -> Result<OpenedSession, HostError> {
        let system = self.system().clone();
        let (settings, models) = (self.settings(), self.models());
        // A caller that brings its model needs no key in the settings.
        let (name, asker, fallback) = match ask.model {
            Some((name, asker)) => {
                let fallback = settings.get(keys::FALLBACK_MODEL);
                let fallback =
                    fallback.map(|name| self.takes_over(name, |name| asker.capabilities(name)));
                let fallback = fallback.transpose()?;
                (name, asker, fallback.map(Box::new))
            }
            None => self.asked(configured(self.system(), &settings, &models)?)?,
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
            restorer: ask.restorer.unwrap_or_else(|| {
                let hidden = vec![place.folder.clone()];
                Arc::new(DiskRestorer::new(Arc::clone(files), hidden))
            }),
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
        config.fallback = fallback;
        // Doors show what happened, also after a crash.
        config.turn_facts = true;
        let (session, opened) = Session::open(ports, place, config).await?;
        if let Some((_, recaller)) = &memory {
            recaller.attach(session.recorder(), session.conversation().state());
        }
        Ok(OpenedSession {
            session,
            id,
            opened,
            memory,
        })
    }

    /// The way to ask a model, and the one that takes over from it.
    fn asked(&self, model: ConfiguredModel) -> Result<Asked, HostError> {
        let asker: Arc<dyn Asker> = Arc::new(AskModel(Arc::clone(&model.model)));
        let Some((name, other)) = model.fallback else {
            return Ok((model.name, asker, None));
        };
        let fallback = self.takes_over(name.clone(), |name| other.capabilities(name))?;
        // Two providers only if there are two: finding a request's model costs a pass over its
        // body.
        let asker = if Arc::ptr_eq(&model.model, &other) {
            asker
        } else {
            Arc::new(Routed {
                model: model.model,
                name,
                fallback: other,
            })
        };
        Ok((model.name, asker, Some(Box::new(fallback))))
    }

    /// The switch to a model that takes a conversation over.
    fn takes_over(
        &self,
        model: String,
        capabilities: impl FnOnce(&str) -> Capabilities,
    ) -> Result<SwitchModel, HostError> {
        Ok(SwitchModel {
            params: self.params(&model)?,
            capabilities: capabilities(&model),
            model,
        })
    }

    /// Members of every request to a model besides the prompt.
    ///
    /// # Errors
    /// Never in practice: names and numbers can be serialised.
    pub fn params(&self, model: &str) -> Result<Params, HostError> {
        let models = self.models();
        let info = models.lookup(model).info;
        let set = self.settings().get(keys::CONTEXT_WINDOW);
        let window = set.unwrap_or(info.window).get();
        // The longest answer that the model gives, because a shorter limit would cut calls of tools
        // in half, unless the window is small.
        let longest = if info.max_output.get() > window / 2 {
            Tokens(window / ANSWER_SHARE)
        } else {
            info.max_output
        };
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
        if let Some(folder) = self.sub_agents() {
            let log = log_in(folder, id)?;
            return Ok(SessionPlace {
                session: id.clone(),
                folder: log.with_extension(""),
                log,
                home: places.home.clone(),
                project: root.display().to_string(),
            });
        }
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
    fn session_memory(&self) -> Result<Option<SessionMemory>, HostError> {
        // The memory of a sub-agent is its own to keep: nothing is recalled, nothing drawn from it.
        if self.agent_memory.is_some() {
            return Ok(None);
        }
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
