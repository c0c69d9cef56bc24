//! A session that another process writes: read as it grows.

use super::door::blocking;
use super::opening::session_of;
use dormouse_agent::protocol::{OpenedSession, PROTOCOL};
use dormouse_agent::{AgentError, Mode, Past, Told};
use dormouse_host::{Host, HostError, OpenError};
use dormouse_tui::{Opened, Talk, Watched};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Time between two looks at the length of the log: short enough to count as live, long enough to
/// cost nothing.
const LOOK: Duration = Duration::from_millis(400);
/// Looks without a change after which it is asked whether the writer is still there.
const QUIET: u32 = 5;
/// Events that may wait for the screen.
const MOST_EVENTS: usize = 4_096;

/// The log that another process holds, if that is why a session cannot be opened.
pub(super) fn busy_log(error: &HostError) -> Option<PathBuf> {
    match error {
        HostError::Log(OpenError::Busy { path }) => Some(path.clone()),
        _ => None,
    }
}

/// The session of a log, to be watched from where it was read.
pub(super) fn watched(
    host: &Arc<Host>,
    log: &Path,
    past: Option<Past>,
) -> Result<(Opened, Option<Past>), AgentError> {
    let known = past.filter(|past| past.log() == log);
    let (past, history, whole) = if let Some(past) = known {
        (past, Vec::new(), true)
    } else {
        let (past, history) = Past::end_of(host, log)?;
        let whole = past.is_whole();
        (past, history, whole)
    };
    let model = match past.model() {
        Some(model) => model.to_owned(),
        None => host.transcripts().live(log)?.model().to_owned(),
    };
    let opened = OpenedSession {
        protocol: PROTOCOL,
        session: session_of(log),
        resumed: true,
        model,
        mode: Mode::Ask,
        folder: host.places().current_dir.display().to_string(),
        tools: Vec::new(),
        servers: Vec::new(),
        commands: Vec::new(),
    };
    let (sender, events) = mpsc::channel(MOST_EVENTS);
    tokio::spawn(follow(Arc::clone(host), past.clone(), sender));
    let opened = Opened {
        talk: Talk::Watched(Watched { opened, events }),
        history,
        whole,
    };
    Ok((opened, Some(past)))
}

/// Tells what is new in a log until the writer or the screen is gone. Only the bytes that were added
/// are read.
async fn follow(host: Arc<Host>, mut past: Past, sender: mpsc::Sender<Told>) {
    let mut quiet = 0;
    loop {
        tokio::time::sleep(LOOK).await;
        if sender.is_closed() {
            return;
        }
        let length = host.system().files.metadata(past.log());
        if length.map_or(0, |facts| facts.len) == past.read_to() {
            quiet += 1;
            if quiet % QUIET == 0 && is_free(&host, past.log()) {
                // The channel closes, which tells the screen.
                return;
            }
            continue;
        }
        quiet = 0;
        let reader = Arc::clone(&host);
        let found = blocking(move || {
            let added = past.added(&reader);
            (past, added)
        });
        let Some((read, added)) = found.await else {
            return;
        };
        past = read;
        for event in added.unwrap_or_default() {
            if sender.send(event).await.is_err() {
                return;
            }
        }
    }
}

/// True if no process writes the log. The lock is given back at once.
fn is_free(host: &Host, log: &Path) -> bool {
    let lock = host.system().files.lock_exclusive(log);
    lock.is_ok_and(|lock| lock.is_some())
}
