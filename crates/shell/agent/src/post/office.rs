//! The post office of a session: who can be written to, and how they are woken.

use dormouse_core::id::SessionId;
use dormouse_host::Host;
use dormouse_mail::{Address, AgentName, Door, Inbox, Letter, MailError, Team};
use dormouse_system::{Access, Files};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Name of the session's own agent.
pub(crate) const LEAD: &str = "lead";
/// Folder of sockets in the home.
const SOCKETS: &str = "sockets";
/// Bytes of a socket's path, from Linux; macOS has 104.
const LONGEST_SOCKET: usize = 100;

/// Place of one agent in the team.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) name: AgentName,
    /// True if the agent stays after its task, and waits for letters.
    pub(crate) stays: bool,
    /// Set when the agent has agreed to stop.
    leaving: Arc<AtomicBool>,
    /// Signal that wakes the agent when a letter has come.
    pub(super) wake: Arc<Notify>,
}

impl Seat {
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::SeqCst);
    }

    /// True if the agent ends with its turn.
    pub(crate) fn is_leaving(&self) -> bool {
        !self.stays || self.leaving.load(Ordering::SeqCst)
    }
}

/// Post office of a session. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Office(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    team: Team,
    files: Arc<dyn Files>,
    /// Agents that can be written to, each with the way to wake it.
    seats: Mutex<BTreeMap<AgentName, Arc<Notify>>>,
    session: SessionId,
    socket: PathBuf,
    door: Mutex<Option<Door>>,
}

/// Result of sending a letter.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// Agents that have the letter and are at work.
    pub(super) awake: Vec<AgentName>,
    /// Agents that have ended and find it when they are resumed.
    pub(super) asleep: Vec<AgentName>,
    /// Agents that did not get it, each with the reason.
    pub(super) refused: Vec<(AgentName, String)>,
}

impl Office {
    /// The office of a session; `None` if its id cannot be a team's name.
    pub(crate) fn new(host: &Host, session: &SessionId) -> Option<Self> {
        let home = &host.places().home;
        let name = AgentName::new(session.as_str()).ok()?;
        Some(Self(Arc::new(Inner {
            team: Team::new(host.system(), home, &name),
            files: Arc::clone(&host.system().files),
            seats: Mutex::default(),
            session: session.clone(),
            socket: home.join(SOCKETS).join(format!("{name}.sock")),
            door: Mutex::default(),
        })))
    }

    /// A seat under this name.
    ///
    /// # Errors
    /// Words for the model, if the name is taken.
    pub(crate) fn seat(&self, name: &AgentName, stays: bool) -> Result<Seat, String> {
        let mut seats = self.seats();
        if seats.contains_key(name) {
            return Err(format!(
                "There is an agent `{name}` already; give this one another name."
            ));
        }
        let seat = Seat {
            name: name.clone(),
            stays,
            leaving: Arc::default(),
            wake: Arc::default(),
        };
        seats.insert(name.clone(), Arc::clone(&seat.wake));
        Ok(seat)
    }

    /// Gives the seat of an agent back that could not begin.
    pub(crate) fn release(&self, name: &AgentName) {
        self.seats().remove(name);
    }

    /// The mailbox of an agent.
    pub(super) fn inbox(&self, name: &AgentName) -> Result<Inbox, MailError> {
        self.0.team.join(name)
    }

    /// Takes an agent off the list. Letters that it has not read stay for a resume.
    pub(crate) fn leave(&self, inbox: &Inbox) {
        self.seats().remove(inbox.owner());
        // An empty mailbox is not worth a file.
        let len = self.0.files.metadata(inbox.path()).map(|data| data.len);
        if len.is_ok_and(|len| len == 0) {
            let _gone = self.0.files.remove_file(inbox.path());
        }
    }

    /// Opens the socket for other sessions. Without one (the path is too long for the system, or the
    /// folder cannot be made) the session is not reached from outside, and nothing else is lost.
    pub(crate) fn listen(&self, inbox: &Inbox, wake: &Arc<Notify>) {
        let path = &self.0.socket;
        if path.as_os_str().len() > LONGEST_SOCKET {
            return;
        }
        let folder = path.parent().unwrap_or(path);
        if self
            .0
            .files
            .create_dir_all(folder, Access::Private)
            .is_err()
        {
            return;
        }
        let wake = Arc::clone(wake);
        let opened = Door::open(path, inbox.clone(), move || wake.notify_one());
        *self.door() = opened.ok();
    }

    /// Address at which other sessions reach this one.
    pub(crate) fn address(&self) -> Option<String> {
        let open = self.door().is_some();
        open.then(|| format!("uds:{}", self.0.socket.display()))
    }

    /// Closes the socket, and removes a team that never had a letter.
    pub(crate) fn close(&self, inbox: &Inbox) {
        drop(self.door().take());
        self.leave(inbox);
        let inboxes = inbox.path().parent();
        // Folders that still hold letters stay: removing them fails.
        for folder in [inboxes, inboxes.and_then(std::path::Path::parent)] {
            let _gone = folder.map(|folder| self.0.files.remove_dir(folder));
        }
    }

    /// Session that this is the office of.
    pub(super) fn session(&self) -> &SessionId {
        &self.0.session
    }

    /// Sends a letter. Blocks for the disk.
    ///
    /// # Errors
    /// When no agent has the letter.
    pub(super) fn send(&self, letter: &Letter, to: &Address) -> Result<Delivery, MailError> {
        let names: Vec<AgentName> = match to {
            Address::Agent(name) => vec![name.clone()],
            // Those at work: an agent that has ended is not everyone.
            Address::Everyone => {
                let seats = self.seats();
                let others = seats.keys().filter(|name| **name != letter.from);
                others.cloned().collect()
            }
            Address::Session(_) => {
                self.0.team.send(letter, to)?;
                return Ok(Delivery::default());
            }
        };
        let mut delivery = Delivery::default();
        for name in names {
            match self.0.team.send(letter, &Address::Agent(name.clone())) {
                Ok(_) => match self.seats().get(&name) {
                    Some(wake) => {
                        wake.notify_one();
                        delivery.awake.push(name);
                    }
                    None => delivery.asleep.push(name),
                },
                Err(error) if matches!(to, Address::Agent(_)) => return Err(error),
                // One full mailbox must not keep the letter from the others.
                Err(error) => delivery.refused.push((name, error.to_string())),
            }
        }
        Ok(delivery)
    }

    fn seats(&self) -> MutexGuard<'_, BTreeMap<AgentName, Arc<Notify>>> {
        self.0.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn door(&self) -> MutexGuard<'_, Option<Door>> {
        self.0.door.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
