//! A session that another process writes: read as it grows.

use super::door::blocking;
use dormouse_agent::protocol::{OpenedSession, PROTOCOL, rebuild};
use dormouse_agent::{AgentError, Mode, Told};
use dormouse_core::id::{Seq, SessionId};
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
pub(super) fn busy_log(error: &AgentError) -> Option<PathBuf> {
    let AgentError::Host(error) = error else {
        return None;
    };
    match &**error {
        HostError::Log(OpenError::Busy { path }) => Some(path.clone()),
        _ => None,
    }
}

/// The session of a log, to be watched.
pub(super) fn watched(host: &Arc<Host>, log: &Path) -> Result<Opened, AgentError> {
    let live = host.transcripts().live(log);
    let live = live.map_err(|error| AgentError::Host(Box::new(error)))?;
    let name = log.file_stem().unwrap_or_default().to_string_lossy();
    let opened = OpenedSession {
        protocol: PROTOCOL,
        session: SessionId::new(&*name),
        resumed: true,
        model: live.model().to_owned(),
        mode: Mode::Ask,
        folder: host.places().current_dir.display().to_string(),
        tools: Vec::new(),
        servers: Vec::new(),
        commands: Vec::new(),
    };
    let history = events(host, log, Seq::default());
    let history = history.map_err(AgentError::Host)?;
    let told = history.last().and_then(|told| told.seq).unwrap_or_default();
    let (sender, events) = mpsc::channel(MOST_EVENTS);
    tokio::spawn(follow(Arc::clone(host), log.to_owned(), told, sender));
    Ok(Opened {
        talk: Talk::Watched(Watched { opened, events }),
        history,
    })
}

/// Events of a log behind a record.
fn events(host: &Host, log: &Path, after: Seq) -> Result<Vec<Told>, Box<HostError>> {
    let records = host.transcripts().records(log).map_err(Box::new)?;
    let mut events = rebuild(&records, &host.models());
    if after > Seq::default() {
        events.retain(|told| told.seq > Some(after));
    }
    Ok(events)
}

/// Tells what is new in a log until the writer or the screen is gone.
async fn follow(host: Arc<Host>, log: PathBuf, mut told: Seq, sender: mpsc::Sender<Told>) {
    let length = |host: &Host| {
        let facts = host.system().files.metadata(&log);
        facts.map_or(0, |facts| facts.len)
    };
    let mut seen = length(&host);
    let mut quiet = 0;
    loop {
        tokio::time::sleep(LOOK).await;
        if sender.is_closed() {
            return;
        }
        let now = length(&host);
        if now == seen {
            quiet += 1;
            if quiet % QUIET == 0 && is_free(&host, &log) {
                // The channel closes, which tells the screen.
                return;
            }
            continue;
        }
        (seen, quiet) = (now, 0);
        let (reader, file) = (Arc::clone(&host), log.clone());
        let found = blocking(move || events(&reader, &file, told)).await;
        for event in found.and_then(Result::ok).unwrap_or_default() {
            told = event.seq.unwrap_or(told);
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
