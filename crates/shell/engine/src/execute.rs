//! Executors: one effect, one outcome, no decisions.
//!
//! # Not here
//! Requests ([`crate::ask`]), forks ([`crate::child`]), and the choice of effects
//! (`dormouse-drive`).

use crate::ask::ask;
use crate::child::run_child;
use crate::setup::Ports;
use crate::subscribe::Subscribers;
use dormouse_core::hash::Hash;
use dormouse_core::record::{StateChange, UsageReport};
use dormouse_core::show::chain;
use dormouse_drive::{
    EffectId, EffectOutcome, HookAnswer, HookPoint, NotesFiles, RecallMoment, SaveFile, SavePlace,
    SessionFiles, StoreFailure, StreamEvent, ToolHost, Work, merge_lessons,
};
use dormouse_model::ModelError;
use dormouse_store::AppendError;
use dormouse_system::{Access, Files};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Texts from this length on are hashed on the blocking pool: below, a hash takes less than the
/// hop there and back.
const LONG_TEXT: usize = 256 * 1024;

/// Bytes of notes, templates and prompts that are read. Larger ones were written neither by a
/// person nor by Dormouse.
const MOST_OF_NOTES: u64 = 1024 * 1024;
/// Bytes read of the lessons: those of 48 sessions; a longer file is not Dormouse's.
pub(crate) const MOST_OF_LESSONS: u64 = 64 * 1024;
/// Time that lessons wait for those of another session. A merge takes milliseconds.
const LESSONS_LOCK: Duration = Duration::from_secs(2);

/// Message that a running effect sends before it ends.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// Progress of an answer.
    Stream(EffectId, StreamEvent),
    /// The error behind a failed request of the conversation.
    Failed(ModelError),
    /// A change of state to record, and the place to report to once it is stored.
    Note(StateChange, Option<std::sync::mpsc::Sender<bool>>),
    /// Usage of requests that a tool made.
    Account(Vec<UsageReport>),
}

/// Ports and channels that every executor shares.
#[derive(Clone, Debug)]
pub(crate) struct Executor {
    pub(crate) ports: Arc<Ports>,
    pub(crate) place: SessionFiles,
    /// Dormouse's home: templates of the user.
    pub(crate) home: PathBuf,
    pub(crate) outgoing: mpsc::UnboundedSender<Outgoing>,
    pub(crate) subscribers: Subscribers,
    /// Tools of forks that the driver itself spawns; `None`: they may call nothing.
    pub(crate) child_tools: Option<Arc<dyn ToolHost>>,
}

impl Executor {
    /// The task of an effect.
    pub(crate) fn run(
        &self,
        id: EffectId,
        work: Work,
        stopped: oneshot::Receiver<()>,
    ) -> impl Future<Output = EffectOutcome> + Send + use<> {
        let executor = self.clone();
        async move { executor.outcome(id, work, stopped).await }
    }

    async fn outcome(
        self,
        id: EffectId,
        work: Work,
        stopped: oneshot::Receiver<()>,
    ) -> EffectOutcome {
        match work {
            // A write cannot be taken back: a stop comes too late.
            Work::Append(batch) => {
                let appended = self.ports.log.append(batch).await;
                EffectOutcome::Appended(appended.map_err(|error| failure(&error)))
            }
            Work::Save(files) => self.save(files).await,
            Work::Ask(request) => ask(&self, id, *request, stopped).await,
            // A stopped tool is told apart from a cancelled effect: the model is told that it did
            // not end.
            Work::RunTool(call) => {
                let running = self.ports.tools.run(*call);
                tokio::select! {
                    output = running => digested(output).await,
                    Ok(()) = stopped => EffectOutcome::ToolStopped,
                }
            }
            work => {
                tokio::select! {
                    outcome = self.stoppable(work) => outcome,
                    Ok(()) = stopped => EffectOutcome::Cancelled,
                }
            }
        }
    }

    async fn stoppable(&self, work: Work) -> EffectOutcome {
        let ports = &self.ports;
        match work {
            Work::ReadNotes => self.read_notes().await,
            Work::ReadLog => {
                let records = ports.log.read().await;
                EffectOutcome::LogRead(records.map_err(|error| chain(&error)))
            }
            Work::Hooks(HookPoint::BeforeCompaction { trigger, wishes }) => {
                EffectOutcome::HooksRan(ports.hooks.before(trigger, &wishes).await)
            }
            Work::Hooks(HookPoint::AfterCompaction { trigger, summary }) => {
                let parts = ports.hooks.after(trigger, &summary).await;
                EffectOutcome::HooksRan(HookAnswer {
                    parts,
                    ..HookAnswer::default()
                })
            }
            Work::Hooks(point) => EffectOutcome::HooksRan(ports.hooks.at(point).await),
            Work::Restore { files } => {
                let restorer = Arc::clone(&ports.restorer);
                let restored = blocking(move || EffectOutcome::Restored {
                    parts: restorer.restore(&files),
                    prefix: restorer.prefix(),
                });
                // A restorer that panicked costs its parts, not the compaction.
                restored.await.unwrap_or(EffectOutcome::Cancelled)
            }
            Work::Recall(RecallMoment::Prompt { words, seen }) => {
                EffectOutcome::Recalled(ports.companion.on_prompt(&words, seen).await)
            }
            Work::Recall(RecallMoment::Results { calls, seen }) => {
                EffectOutcome::Recalled(ports.companion.on_results(&calls, seen).await)
            }
            Work::Spawn(driver) => {
                let tools = self.child_tools.clone();
                let report = run_child(*driver, ports, tools).await;
                EffectOutcome::ChildEnded(Box::new(report))
            }
            // Handled in `outcome`; the match stays exhaustive, so that a new kind of work cannot
            // be forgotten.
            Work::Append(_)
            | Work::Save(_)
            | Work::Ask(_)
            | Work::RunTool(_)
            | Work::AskPerson { .. } => EffectOutcome::Cancelled,
        }
    }

    async fn save(&self, files: Vec<SaveFile>) -> EffectOutcome {
        let ports = Arc::clone(&self.ports);
        // On the pool: a write and its sync would hold up the other sessions of this worker.
        let saved = blocking(move || {
            for (at, file) in files.iter().enumerate() {
                // In order, and no further after an error: the driver is told which file failed.
                save_one(&ports, file).map_err(|why| (at, why))?;
            }
            Ok(())
        });
        let panicked = || Err((0, "the store panicked".to_owned()));
        EffectOutcome::Saved(saved.await.unwrap_or_else(panicked))
    }

    async fn read_notes(&self) -> EffectOutcome {
        let files = Arc::clone(&self.ports.system.files);
        let notes = self.place.notes();
        let config = self.home.join("session-memory").join("config");
        let read = blocking(move || {
            let text = |path: &Path| text_of(&*files, path);
            EffectOutcome::NotesRead(NotesFiles {
                notes: text(&notes),
                template: text(&config.join("template.md")),
                prompt: text(&config.join("prompt.md")),
            })
        });
        read.await.unwrap_or(EffectOutcome::Cancelled)
    }
}

fn save_one(ports: &Ports, file: &SaveFile) -> Result<(), String> {
    match &file.place {
        SavePlace::Blob(_) => {
            let put = ports.blobs.put(&file.bytes);
            put.map(drop).map_err(|error| chain(&error))
        }
        SavePlace::File(path) => write_file(ports, path, &file.bytes),
        SavePlace::Lessons(path) => {
            let files = &ports.system.files;
            folder_of(ports, path)?;
            // Two sessions of a project may end at once: read and write are one step.
            let lock = files.lock_waiting(path, LESSONS_LOCK);
            let Some(_lock) = lock.map_err(|error| chain(&error))? else {
                return Err("another session holds the lessons".to_owned());
            };
            let known = files.read(path, MOST_OF_LESSONS).ok();
            write_file(ports, path, &merge_lessons(known.as_deref(), &file.bytes))
        }
    }
}

fn write_file(ports: &Ports, path: &Path, bytes: &[u8]) -> Result<(), String> {
    folder_of(ports, path)?;
    let written = ports.system.files.replace(path, bytes, Access::Private);
    written.map_err(|error| chain(&error))
}

/// Makes the folder of a file.
fn folder_of(ports: &Ports, path: &Path) -> Result<(), String> {
    // A relative name has an empty parent: the folder of the process, which is there.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), |folder| {
        ports.system.files.create_dir_all(folder, Access::Private)
    });
    made.map_err(|error| chain(&error))
}

fn text_of(files: &dyn Files, path: &Path) -> Option<String> {
    // A file that is missing or too long is the same as none: notes start from the template.
    let bytes = files.read(path, MOST_OF_NOTES).ok()?;
    String::from_utf8(bytes.to_vec()).ok()
}

/// The outcome of a tool, with the hash of a long text.
async fn digested(output: dormouse_context::offload::ToolOutput) -> EffectOutcome {
    if output.text.len() < LONG_TEXT {
        return EffectOutcome::ToolEnded {
            output: Box::new(output),
            digest: None,
        };
    }
    let hashed = blocking(move || {
        let digest = Some(Hash::of(output.text.as_bytes()));
        EffectOutcome::ToolEnded {
            output: Box::new(output),
            digest,
        }
    });
    hashed.await.unwrap_or(EffectOutcome::ToolStopped)
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

fn failure(error: &AppendError) -> StoreFailure {
    match error {
        // Told apart, so that the user learns that another process wrote, not that the disk failed.
        AppendError::HeadMoved { .. } => StoreFailure::Conflict(error.to_string()),
        _ => StoreFailure::Failed(chain(error)),
    }
}
