//! Services of this program for the screen.

use super::{files, opening, panels, shell};
use crate::captured::Captured;
use crate::commands::{demo, editor};
use crate::error::Failure;
use dormouse_agent::{AgentAsk, Resume, rewind_points};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::show;
use dormouse_host::Host;
use dormouse_tui::{
    Gauge, Looks, Opening, Panel, PanelKind, Printed, Scene, ServiceFuture, Services, Wish,
};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// Most bytes of a prompt from an editor: more than any window takes.
const LONGEST_DRAFT: u64 = 16 * 1024 * 1024;

/// Services on one host.
#[derive(Debug)]
pub(in crate::commands) struct Door {
    captured: Captured,
    host: Arc<Host>,
    looks: Looks,
    /// Clock of a demonstration, which can be put forward.
    clock: Option<Arc<demo::stage::StageClock>>,
    /// Wish for the session that is opened behind the first frame.
    ask: Mutex<Option<AgentAsk>>,
    /// Files of the project, as they were when a name was begun.
    files: Arc<Mutex<Arc<Vec<String>>>>,
    /// Reason why it could not be opened.
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Door {
    /// Services that run commands with these settings on this host.
    pub(in crate::commands) fn new(captured: Captured, host: Arc<Host>, looks: Looks) -> Self {
        Self {
            captured,
            host,
            looks,
            clock: None,
            ask: Mutex::default(),
            files: Arc::default(),
            failure: Arc::default(),
        }
    }

    /// The same with a session that is opened behind the first frame.
    pub(super) fn opening(self, ask: AgentAsk) -> Self {
        Self {
            ask: Mutex::new(Some(ask)),
            ..self
        }
    }

    /// Reason why the session could not be opened, once.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        lock(&self.failure).take()
    }

    /// The same with a clock of its own.
    pub(in crate::commands) fn with_clock(self, clock: Arc<demo::stage::StageClock>) -> Self {
        Self {
            clock: Some(clock),
            ..self
        }
    }
}

impl Services for Door {
    fn open(&self, news: mpsc::UnboundedSender<Opening>) {
        let Some(ask) = lock(&self.ask).take() else {
            return;
        };
        let (host, failure) = (Arc::clone(&self.host), Arc::clone(&self.failure));
        tokio::spawn(async move {
            if let Err(failed) = Box::pin(opening::tell(&host, ask, &news)).await {
                *lock(&failure) = Some(failed);
                // The screen has been left if this fails.
                let _sent = news.send(Opening::Failed);
            }
        });
    }

    fn run(&self, mut words: Vec<String>, columns: usize) -> ServiceFuture<Printed> {
        // By its file: a session that is named by its id is told with its path, which is no news here.
        if let Some(word) = words.get_mut(1)
            && let Ok(log) = self.host.session_log(&SessionId::new(word.as_str()))
            && self.host.system().files.metadata(&log).is_ok()
        {
            *word = log.display().to_string();
        }
        let captured = self.captured.clone();
        let work = blocking(move || {
            let (text, failed) = captured.run(&words, columns);
            Printed { text, failed }
        });
        Box::pin(async move {
            let failed = || Printed {
                text: "the command failed unexpectedly".to_owned(),
                failed: true,
            };
            work.await.unwrap_or_else(failed)
        })
    }

    fn shell(&self, line: String) -> ServiceFuture<Printed> {
        shell::run(Arc::clone(&self.host), line)
    }

    fn point(&self, session: String, number: usize) -> ServiceFuture<Option<RecordId>> {
        let host = Arc::clone(&self.host);
        let work = blocking(move || {
            let (_, points) = rewind_points(&host, Some(&session)).ok()?;
            let found = points.into_iter().find(|point| point.number == number);
            found.map(|point| point.to)
        });
        Box::pin(async move { work.await.flatten() })
    }

    fn gauge(&self, session: String, model: String) -> ServiceFuture<Option<Gauge>> {
        let host = Arc::clone(&self.host);
        let work = blocking(move || {
            let log = host.session_log(&SessionId::new(session)).ok()?;
            // A log without an answer does not name its model.
            let named = (!model.is_empty()).then_some(model);
            let transcripts = host.transcripts().for_model(named);
            let live = transcripts.live(&log).ok()?;
            let window = host.window(&live);
            Some(Gauge {
                used: window.used_tokens.0,
                window: window.window.0,
                // As the policy plans it, which may be long before the window is full.
                compact_at: host.next_compaction(&live).begins_at.map(|at| at.0),
                warning: window.warning.0,
                blocked: window.blocking_limit.0,
            })
        });
        Box::pin(async move { work.await.flatten() })
    }

    fn panel(
        &self,
        kind: PanelKind,
        session: Option<String>,
        words: String,
    ) -> ServiceFuture<Result<Panel, String>> {
        let host = Arc::clone(&self.host);
        let work = blocking(move || {
            let read = || -> Result<Panel, Failure> {
                let log = match session {
                    Some(session) => Some(host.session_log(&SessionId::new(session))?),
                    None => None,
                };
                panels::read(&host, kind, log.as_deref(), &words)
            };
            read().map_err(|failure| failure.message())
        });
        Box::pin(async move {
            let failed = || Err("it could not be read".to_owned());
            work.await.unwrap_or_else(failed)
        })
    }

    fn files(&self, begun: String) -> ServiceFuture<Vec<String>> {
        let (host, known) = (Arc::clone(&self.host), Arc::clone(&self.files));
        let work = blocking(move || {
            let mut paths = Arc::clone(&lock(&known));
            // Read when a name is begun; its further letters choose among the same files.
            if begun.is_empty() || paths.is_empty() {
                paths = Arc::new(files::all(&host));
                *lock(&known) = Arc::clone(&paths);
            }
            files::like(&paths, &begun)
        });
        Box::pin(async move { work.await.unwrap_or_default() })
    }

    fn image(&self, path: String) -> ServiceFuture<Option<String>> {
        let host = Arc::clone(&self.host);
        let work = blocking(move || files::named(&host, &path));
        Box::pin(async move { work.await.flatten() })
    }

    fn compose(&self, text: String) -> Result<String, String> {
        let draft = editor::Draft {
            text: &text,
            name: "prompt-",
            longest: LONGEST_DRAFT,
            no_editor: "set VISUAL or EDITOR",
            stays: "the draft stays as it was",
        };
        editor::edit(draft, self.host.system()).map_err(|failure| failure.message())
    }

    fn kept(&self, session: String) -> ServiceFuture<Option<(u64, u64)>> {
        let host = Arc::clone(&self.host);
        let work = blocking(move || {
            let log: PathBuf = host.session_log(&SessionId::new(session)).ok()?;
            host.facts_kept(&log).ok()?.pop()?
        });
        Box::pin(async move { work.await.flatten() })
    }

    fn scene(&self, wish: Wish) -> ServiceFuture<Result<Scene, String>> {
        let looks = self.looks;
        let (session, fork) = match wish {
            Wish::Demo => {
                return Box::pin(async move {
                    // The person watches, whatever the terminal can show.
                    let opened = Box::pin(demo::stage::open(looks, true)).await;
                    opened.map_err(|failure| failure.message())
                });
            }
            Wish::Fork(session) => (session, true),
            Wish::Resume(session) => (session, false),
        };
        let (host, captured) = (Arc::clone(&self.host), self.captured.clone());
        Box::pin(async move {
            let ask = AgentAsk {
                resume: Resume::Named(session),
                fork,
                attended: true,
                ..AgentAsk::default()
            };
            let opened = Box::pin(opening::at_once(&host, ask)).await;
            let opened = opened.map_err(|error| show::chain(&error))?;
            Ok(Scene {
                start: super::start(host.system(), &host),
                opened: Some(opened),
                opens: false,
                services: Arc::new(Self::new(captured, host, looks)),
                tour: None,
                keeps: None,
            })
        })
    }

    fn later(&self, minutes: u64) {
        if let Some(clock) = &self.clock {
            clock.put_forward(minutes);
        }
    }
}

/// Runs work that blocks on a thread of its own: commands may start a runtime, which a thread of this
/// one must not. `None` if it panicked.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, result) = tokio::sync::oneshot::channel();
    let named = std::thread::Builder::new().name("command".to_owned());
    let started = named.spawn(move || {
        // The screen has been left if this fails.
        let _sent = done.send(work());
    });
    started.ok()?;
    result.await.ok()
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
