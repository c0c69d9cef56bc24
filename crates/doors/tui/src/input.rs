//! Inputs from outside: keys, lines, sizes, signals.

use crate::model::Input;
use crossterm::event::{self, KeyCode, KeyModifiers};
use std::io::{self, BufRead as _};
use std::sync::mpsc::Receiver;
use tokio::sync::mpsc;

/// Columns and rows of the terminal; those of the oldest where it does not say.
pub(crate) fn size() -> (usize, usize) {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    (usize::from(columns).max(8), usize::from(rows).max(4))
}

/// True for the key that may give the terminal to an editor: no further one is read until it was
/// carried out, because they would be the editor's.
pub(crate) fn waits_behind(input: &Input) -> bool {
    let Input::Key(key) = input else {
        return false;
    };
    key.code == KeyCode::Char('g') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Passes keys on until the terminal or the screen is gone; blocks. The gate opens when a key that
/// is waited behind was carried out.
pub(crate) fn read_keys(keys: &mpsc::Sender<Input>, gate: &Receiver<()>) {
    loop {
        let input = match event::read() {
            Ok(event::Event::Key(key)) => Input::Key(key),
            Ok(event::Event::Paste(text)) => Input::Paste(text),
            Ok(event::Event::Resize(..)) => Input::Resize,
            Ok(event::Event::FocusGained) => Input::Focus(true),
            Ok(event::Event::FocusLost) => Input::Focus(false),
            Ok(_) => continue,
            Err(_) => return,
        };
        let waits = waits_behind(&input);
        if keys.blocking_send(input).is_err() || waits && gate.recv().is_err() {
            return;
        }
    }
}

/// Passes lines on until their end; blocks.
pub(crate) fn read_lines(keys: &mpsc::Sender<Input>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else {
            return;
        };
        if keys.blocking_send(Input::Line(line)).is_err() {
            return;
        }
    }
}

/// Signals that the screen answers.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hang_up: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "the other systems can fail")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(unix)]
    /// Waits for the system to ask for the end.
    pub(crate) async fn terminate(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }

    #[cfg(not(unix))]
    /// Waits for the system to ask for the end.
    pub(crate) async fn terminate(&mut self) {
        std::future::pending().await
    }
}

/// Ctrl+C as a signal: with the modes set it is a key.
pub(crate) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
