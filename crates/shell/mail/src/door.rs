//! The socket of a session, for other sessions of the same user.
//!
//! # Model
//! One connection carries one letter: a line in, a line back. [`Door`] puts the letter into its
//! inbox before it answers, so that an answer means that the letter outlives both processes. A
//! sender that gets no answer sends again under the same id.
//!
//! The socket lies in a folder of the user's own with mode 0600, and the peer's user is asked of the
//! kernel: a socket reached in another way, such as an inherited one, is refused as well.
//!
//! # Not here
//! Other machines.

use crate::error::{MailError, MailResult};
use crate::inbox::Inbox;
use crate::letter::{LONGEST, Letter};
use dormouse_system::{Files, OptionalFile as _};
use serde::{Deserialize, Serialize};
use std::fs::Permissions;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// Time for one letter in either direction: a peer on the same machine needs milliseconds, and a
/// mute one must not hold a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// Letters that are taken in at the same time; others wait in the listener's queue.
const MOST_AT_ONCE: usize = 32;

/// Answer to a letter.
#[derive(Debug, Serialize, Deserialize)]
struct Receipt {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Open socket of a session. Dropping it closes the socket and removes its file.
#[derive(Debug)]
pub struct Door {
    path: PathBuf,
    files: Arc<dyn Files>,
    task: JoinHandle<()>,
}

impl Door {
    /// Opens a socket whose letters go into `inbox`; `arrived` is called when one lies there. A socket
    /// file without a living owner, left by a killed session, is replaced.
    ///
    /// # Errors
    /// When another session listens there, or the socket cannot be made. Needs a Tokio runtime.
    pub fn open(
        path: &Path,
        inbox: Inbox,
        arrived: impl Fn() + Send + Sync + 'static,
    ) -> MailResult<Self> {
        let failed = |what| {
            move |source| MailError::Socket {
                path: path.to_owned(),
                what,
                source,
            }
        };
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            let source = io::Error::from(io::ErrorKind::AddrInUse);
            return Err(failed("is another session's")(source));
        }
        inbox.files().remove_file(path).optional()?;
        let files = Arc::clone(inbox.files());
        let listener = UnixListener::bind(path).map_err(failed("cannot be opened"))?;
        std::fs::set_permissions(path, Permissions::from_mode(0o600))
            .map_err(failed("cannot be made private"))?;
        let task = tokio::spawn(serve(listener, inbox, Arc::new(arrived)));
        Ok(Self {
            path: path.to_owned(),
            files,
            task,
        })
    }

    /// Path by which other sessions reach this one.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
        // A file that stays is replaced by the next session of this name.
        let _gone = self.files.remove_file(&self.path);
    }
}

/// Called when a letter has come.
type Arrived = Arc<dyn Fn() + Send + Sync>;

async fn serve(listener: UnixListener, inbox: Inbox, arrived: Arrived) {
    let places = Arc::new(Semaphore::new(MOST_AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of handles: the next connection may find some.
            tokio::task::yield_now().await;
            continue;
        };
        let (inbox, arrived) = (inbox.clone(), Arc::clone(&arrived));
        tokio::spawn(async move {
            let _answered = tokio::time::timeout(PATIENCE, answer(stream, inbox, arrived)).await;
            drop(place);
        });
    }
}

async fn answer(stream: UnixStream, inbox: Inbox, arrived: Arrived) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        // No word to strangers.
        return Ok(());
    }
    let (read, mut write) = stream.into_split();
    let mut line = Vec::new();
    // One byte more than a letter may have, so that a longer one is seen to be longer.
    let mut limited = tokio::io::BufReader::new(read.take(LONGEST as u64 + 1));
    limited.read_until(b'\n', &mut line).await?;
    let receipt = match serde_json::from_slice::<Letter>(&line) {
        Ok(letter) => take_in(letter, inbox, &arrived).await,
        Err(_) if line.len() > LONGEST => Receipt {
            taken: None,
            error: Some(format!("a letter has at most {LONGEST} bytes")),
        },
        Err(error) => Receipt {
            taken: None,
            error: Some(format!("this is no letter: {error}")),
        },
    };
    let mut reply = serde_json::to_vec(&receipt)?;
    reply.push(b'\n');
    write.write_all(&reply).await?;
    write.shutdown().await
}

async fn take_in(letter: Letter, inbox: Inbox, arrived: &Arrived) -> Receipt {
    let letter = Letter {
        to: inbox.owner().clone(),
        ..letter
    };
    let id = letter.id.to_string();
    let taken = tokio::task::spawn_blocking(move || inbox.accept(&letter)).await;
    match taken {
        Ok(Ok(_)) => {
            arrived();
            Receipt {
                taken: Some(id),
                error: None,
            }
        }
        Ok(Err(error)) => Receipt {
            taken: None,
            error: Some(error.to_string()),
        },
        Err(error) => Receipt {
            taken: None,
            error: Some(error.to_string()),
        },
    }
}

/// Sends a letter through another session's socket, and waits until that session has it on disk.
/// Blocks.
///
/// # Errors
/// When nobody listens there or the session refuses. Sending again is safe.
pub fn send_through(path: &Path, letter: &Letter) -> MailResult<()> {
    let failed = |what| {
        move |source| MailError::Socket {
            path: path.to_owned(),
            what,
            source,
        }
    };
    let line = letter.line()?;
    let stream = std::os::unix::net::UnixStream::connect(path)
        .map_err(failed("leads to no running session"))?;
    let patience = Some(PATIENCE);
    stream
        .set_read_timeout(patience)
        .and_then(|()| stream.set_write_timeout(patience))
        .and_then(|()| (&stream).write_all(&line))
        .map_err(failed("took no letter"))?;
    let mut reply = String::new();
    BufReader::new((&stream).take(LONGEST as u64))
        .read_line(&mut reply)
        .map_err(failed("gave no answer"))?;
    let refused = |reason: String| MailError::Refused {
        path: path.to_owned(),
        reason,
    };
    let receipt: Receipt = serde_json::from_str(&reply)
        .map_err(|_| refused("it gave no answer that can be read".to_owned()))?;
    match (receipt.taken, receipt.error) {
        (Some(id), _) if id == letter.id.as_str() => Ok(()),
        (_, Some(reason)) => Err(refused(reason)),
        _ => Err(refused("it answered another letter".to_owned())),
    }
}
