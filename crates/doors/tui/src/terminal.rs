//! The terminal's modes: set while the screen is open, restored on every way out.

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

/// Title kept; bracketed paste, news of the focus, and keys with modifiers told apart (kitty's protocol;
/// others ignore it).
const SET: &[u8] = b"\x1b[22;2t\x1b[?2004h\x1b[?1004h\x1b[>1u";
/// The same, taken back; then the cursor, the colours and updates as a shell expects them.
const RESET: &[u8] = b"\x1b[<1u\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m\x1b[23;2t";
/// The alternate screen, with arrows for the wheel, which is not captured; and back.
pub(crate) const OVER: &str = "\x1b[?1049h\x1b[?1007h";
pub(crate) const BACK: &str = "\x1b[?1007l\x1b[?1049l";
/// Behind a panic: the message stands below the live part.
const BELOW: &[u8] = b"\r\n\x1b[J";

/// True while the modes are set.
static SET_NOW: AtomicBool = AtomicBool::new(false);
/// True while the alternate screen is shown.
pub(crate) static IS_OVER: AtomicBool = AtomicBool::new(false);
/// Thread that draws: a panic elsewhere leaves the screen open.
static DRAWS: Mutex<Option<ThreadId>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Modes of the terminal, taken back when this is dropped or the thread panics.
#[derive(Debug)]
pub(crate) struct Modes(());

impl Modes {
    /// Sets the modes.
    ///
    /// # Errors
    /// When there is no terminal, or it refuses.
    pub(crate) fn set() -> io::Result<Self> {
        enable_raw_mode()?;
        let modes = Self(());
        *DRAWS.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        SET_NOW.store(true, Ordering::SeqCst);
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                let draws = DRAWS
                    .lock()
                    .is_ok_and(|draws| *draws == Some(thread::current().id()));
                if draws && SET_NOW.load(Ordering::SeqCst) {
                    come_back();
                    let _written = write(BELOW);
                    restore();
                }
                before(info);
            }));
        });
        write(SET)?;
        Ok(modes)
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    if SET_NOW.swap(false, Ordering::SeqCst) {
        come_back();
        // There is nobody to tell if the terminal is gone.
        let _written = write(RESET);
        let _cooked = disable_raw_mode();
    }
}

/// Leaves the alternate screen, if it is shown: leaving it twice would move the cursor.
fn come_back() {
    if IS_OVER.swap(false, Ordering::SeqCst) {
        let _written = write(BACK.as_bytes());
    }
}

/// Writes to the terminal, past the lock of the standard output: another part of the program holds
/// it for its whole life, and a panic must not wait for it.
#[cfg(unix)]
pub(crate) fn write(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stdout(), bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn write(bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let mut out = io::stdout();
    out.write_all(bytes)?;
    out.flush()
}

/// Stops the process until the shell continues it.
#[cfg(unix)]
pub(crate) fn stop() -> io::Result<()> {
    use rustix::process::{Signal, getpid, kill_process};
    Ok(kill_process(getpid(), Signal::TSTP)?)
}

#[cfg(not(unix))]
pub(crate) fn stop() -> io::Result<()> {
    Ok(())
}
