//! One server over a session: connected, lost, connected again.
//!
//! # Model
//! A server is connected in the background. If its connection is lost, it is noticed by the next call,
//! which connects anew: at once the first time, later after a pause that doubles. A call whose
//! connection is lost on the way is not made again: it may have had effects. Tools stay known while
//! their server is away, so that a call can bring it back.

use crate::clean::ServerTool;
use crate::config::ServerConfig;
use crate::link::{CallFault, Greeting, Link};
use dormouse_system::Commands;
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Time for a connection with its greeting: packages may have to be fetched first.
const CONNECT: Duration = Duration::from_secs(30);
/// Pause after the second failure in a row; the first has none.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// State of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerState {
    /// Name of the server.
    pub name: String,
    /// Its connection, as far as its end was noticed.
    pub status: Status,
    /// Number of its tools, as far as they are known.
    pub tools: usize,
}

/// Connection of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The first attempt is under way.
    Pending,
    /// The server was greeted and answers.
    Connected,
    /// The last attempt failed, or the connection was lost.
    Failed(String),
}

/// Surroundings of a session's servers.
#[derive(Clone)]
pub struct Surroundings {
    /// Port by which processes are started.
    pub commands: Arc<dyn Commands>,
    /// Folder in which processes start.
    pub folder: PathBuf,
    /// Mark of the session, which every process carries.
    pub mark: String,
    /// Time that a call may take.
    pub call_timeout: Duration,
    /// Told when the state of a server changed.
    pub changed: Arc<dyn Fn(&ServerState) + Send + Sync>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

/// A server with its connection and the attempts at one.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    around: Surroundings,
    /// Held while a connection is made: one attempt at a time.
    connecting: tokio::sync::Mutex<Attempts>,
    known: Mutex<Known>,
    /// Counts changes, for those who wait for one.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Attempts {
    /// Failures since the last call that was answered.
    failures: u32,
    not_before: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    link: Option<Arc<Link>>,
    status: Status,
    greeting: Arc<Greeting>,
    /// Set at the end of the session: nothing is connected any more.
    closed: bool,
}

impl Server {
    pub(crate) fn new(
        config: ServerConfig,
        around: Surroundings,
        changes: watch::Sender<u64>,
    ) -> Self {
        Self {
            config,
            around,
            connecting: tokio::sync::Mutex::default(),
            known: Mutex::new(Known {
                link: None,
                status: Status::Pending,
                greeting: Arc::default(),
                closed: false,
            }),
            changes,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> ServerState {
        let known = self.known();
        let lost = known.link.as_ref().is_some_and(|link| link.is_gone());
        ServerState {
            name: self.config.name.clone(),
            status: if lost {
                Status::Failed("its connection is lost; the next call connects again".to_owned())
            } else {
                known.status.clone()
            },
            tools: known.greeting.tools.len(),
        }
    }

    /// Words of the server when it was greeted last.
    pub(crate) fn greeting(&self) -> Arc<Greeting> {
        Arc::clone(&self.known().greeting)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<ServerTool> {
        let greeting = self.greeting();
        greeting
            .tools
            .iter()
            .find(|tool| tool.name == name)
            .cloned()
    }

    fn change(&self, status: Status, link: Option<Arc<Link>>, greeting: Option<Greeting>) {
        {
            let mut known = self.known();
            known.status = status;
            known.link = link;
            if let Some(greeting) = greeting {
                known.greeting = Arc::new(greeting);
            }
        }
        (self.around.changed)(&self.state());
        self.changes.send_modify(|count| *count += 1);
    }

    /// The connection, made anew if there is none.
    pub(crate) async fn connect(&self) -> Result<Arc<Link>, String> {
        let mut attempts = self.connecting.lock().await;
        let current = {
            let known = self.known();
            if known.closed {
                return Err("the session ends".to_owned());
            }
            known.link.clone()
        };
        if let Some(link) = current {
            if !link.is_gone() {
                self.refresh(&link).await;
                return Ok(link);
            }
            attempts.failed();
            self.change(
                Status::Failed("its connection was lost".to_owned()),
                None,
                None,
            );
        }
        if let Some(left) = attempts.left() {
            let why = match self.state().status {
                Status::Failed(why) => why,
                Status::Pending | Status::Connected => String::new(),
            };
            let seconds = left.as_secs() + 1;
            return Err(format!(
                "it is not connected: {why}; the next attempt is possible in {seconds} s"
            ));
        }
        match timeout(CONNECT, self.open()).await {
            Ok(Ok((link, greeting))) => {
                let link = Arc::new(link);
                if self.known().closed {
                    return Err("the session ends".to_owned());
                }
                self.change(Status::Connected, Some(Arc::clone(&link)), Some(greeting));
                Ok(link)
            }
            failed => {
                let why = match failed {
                    Ok(Err(why)) => why,
                    _ => format!("no greeting within {} s", CONNECT.as_secs()),
                };
                attempts.failed();
                self.change(Status::Failed(why.clone()), None, None);
                Err(why)
            }
        }
    }

    async fn open(&self) -> Result<(Link, Greeting), String> {
        let around = &self.around;
        let way = &self.config.way;
        let link = Link::open(way, &around.commands, &around.folder, &around.mark).await?;
        let greeting = link.greeting(&self.config.name).await?;
        Ok((link, greeting))
    }

    /// Asks for the tools again, if the server has said that they changed.
    async fn refresh(&self, link: &Arc<Link>) {
        if link.has_changed()
            && let Ok(Ok(greeting)) = timeout(CONNECT, link.greeting(&self.config.name)).await
        {
            self.change(Status::Connected, Some(Arc::clone(link)), Some(greeting));
        }
    }

    /// Calls a tool by the name that the model knows. The error is in words for the model.
    pub(crate) async fn call(
        &self,
        tool: &str,
        input: Option<Map<String, Value>>,
    ) -> Result<Value, String> {
        let name = &self.config.name;
        let link = self.connect().await;
        let link = link.map_err(|why| format!("The server {name} cannot be reached: {why}."))?;
        let Some(found) = self.tool(tool) else {
            return Err(format!("The server {name} has no tool `{tool}`."));
        };
        let limit = self.around.call_timeout;
        let answer = timeout(limit, link.call(&found.own_name, input)).await;
        match answer {
            Ok(Ok(result)) => {
                *self.connecting.lock().await = Attempts::default();
                Ok(result)
            }
            Ok(Err(CallFault::Said(why))) => Err(format!("The server {name} failed: {why}.")),
            Ok(Err(CallFault::Gone(why))) => {
                self.lost(&link, &why).await;
                Err(format!(
                    "The server {name} went away during the call: {why}. The call may have had \
                     effects. The next call starts the server again."
                ))
            }
            Err(_) => Err(format!(
                "The server {name} did not answer within {} s. The call was cancelled; it may have \
                 had effects.",
                limit.as_secs()
            )),
        }
    }

    /// Gives a connection up that was lost during a call.
    async fn lost(&self, link: &Arc<Link>, why: &str) {
        let mut attempts = self.connecting.lock().await;
        let is_current = self
            .known()
            .link
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, link));
        // Of several calls that are lost with one connection, the first reports it.
        if is_current {
            attempts.failed();
            let why = format!("its connection was lost: {why}");
            self.change(Status::Failed(why), None, None);
        }
    }

    /// Ends the connection for good.
    pub(crate) async fn close(&self) {
        let link = {
            let mut known = self.known();
            known.closed = true;
            known.link.take()
        };
        if let Some(link) = link {
            link.close().await;
        }
    }

    /// True while the first attempt is under way.
    pub(crate) fn is_pending(&self) -> bool {
        self.known().status == Status::Pending
    }
}

impl Attempts {
    fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.not_before = pause(self.failures).map(|pause| Instant::now() + pause);
    }

    /// Time until the next attempt is possible.
    fn left(&self) -> Option<Duration> {
        let left = self.not_before?.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then_some(left)
    }
}

/// Pause after so many failures in a row.
fn pause(failures: u32) -> Option<Duration> {
    let doubled = failures.checked_sub(2)?;
    let pause = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doubled));
    Some(pause.min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn pauses_double_up_to_a_limit_and_the_first_failure_has_none() {
        let pauses: Vec<Option<u64>> = (1..=10)
            .map(|failures| pause(failures).map(|pause| pause.as_secs()))
            .collect();
        let some = [1, 2, 4, 8, 16, 32, 60, 60, 60].map(Some);
        assert_eq!(pauses[0], None);
        assert_eq!(pauses[1..], some);
        assert_eq!(pause(u32::MAX), Some(LONGEST_PAUSE));
    }
}
