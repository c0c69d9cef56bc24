//! A program behind a pseudo-terminal.

use crate::emulator::{Emulator, Recording, Step};
use dormouse_testkit::processes::until;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use std::ffi::OsStr;
use std::io::{Read as _, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// Program that writes to a terminal of its own.
pub struct Pty {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    shared: Arc<Mutex<Shared>>,
    reader: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Pty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.screen())
    }
}

struct Shared {
    emulator: Emulator,
    recording: Recording,
}

impl Pty {
    /// Starts a program in a folder with exactly these variables, on a terminal of a size.
    pub fn start<'a>(
        program: &Path,
        arguments: &[&str],
        variables: impl IntoIterator<Item = (&'a str, &'a OsStr)>,
        folder: &Path,
        (columns, rows): (u16, u16),
    ) -> Self {
        let pair = native_pty_system()
            .openpty(pty_size(columns, rows))
            .expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.env_clear();
        for (name, value) in variables {
            command.env(name, value);
        }
        command.cwd(folder);
        let child = pair
            .slave
            .spawn_command(command)
            .expect("the program starts");
        // The reader ends when no process has the other side open.
        drop(pair.slave);
        let mut source = pair.master.try_clone_reader().expect("a reader");
        let writer = pair.master.take_writer().expect("a writer");
        let shared = Arc::new(Mutex::new(Shared {
            emulator: Emulator::new(columns, rows),
            recording: Recording {
                steps: vec![Step::Size(columns, rows)],
                once: Vec::new(),
            },
        }));
        let heard = Arc::clone(&shared);
        let reader = std::thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            while let Ok(count @ 1..) = source.read(&mut piece) {
                let bytes = &piece[..count];
                let mut shared = heard.lock().unwrap_or_else(PoisonError::into_inner);
                shared.emulator.write(bytes);
                shared.recording.steps.push(Step::Bytes(bytes.to_vec()));
            }
        });
        Self {
            master: pair.master,
            child,
            writer,
            shared,
            reader: Some(reader),
        }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what a person types.
    pub fn send(&mut self, text: &str) {
        self.writer
            .write_all(text.as_bytes())
            .expect("the program reads");
        self.writer.flush().expect("the program reads");
    }

    /// Sends a text as a terminal sends a paste.
    pub fn paste(&mut self, text: &str) {
        self.send(&format!("\u{1b}[200~{text}\u{1b}[201~"));
    }

    /// Rows of the screen.
    pub fn screen(&self) -> String {
        self.shared().emulator.screen()
    }

    /// Row and column of the cursor.
    pub fn cursor(&self) -> (u16, u16) {
        self.shared().emulator.cursor()
    }

    /// Everything that a person can scroll to.
    pub fn lines(&self) -> Vec<String> {
        self.shared().emulator.lines()
    }

    /// Bytes that the program has written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared().recording.bytes()
    }

    /// Waits until the screen shows a text.
    pub fn shows(&self, text: &str) {
        self.waits(
            |screen| screen.contains(text),
            &format!("the screen does not show {text:?}"),
        );
    }

    /// Waits until the screen shows a text no more.
    pub fn hides(&self, text: &str) {
        self.waits(
            |screen| !screen.contains(text),
            &format!("the screen still shows {text:?}"),
        );
    }

    /// Waits until the program has written a text, wherever it stands.
    pub fn wrote(&self, text: &str) {
        let wrote = || {
            let bytes = self.shared().recording.bytes();
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        self.waits(
            |_| wrote(),
            &format!("the program has not written {text:?}"),
        );
    }

    /// Waits until the screen is as it should be.
    pub fn waits(&self, holds: impl Fn(&str) -> bool, otherwise: &str) {
        let look = || until(|| holds(&self.screen()), otherwise);
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
        assert!(seen.is_ok(), "{otherwise}:\n{}", self.screen());
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let mut shared = self.shared();
        shared.emulator.resize(columns, rows);
        shared.recording.steps.push(Step::Size(columns, rows));
        self.master
            .resize(pty_size(columns, rows))
            .expect("the terminal takes the size");
    }

    /// Number of the program's process.
    pub fn process(&self) -> u32 {
        self.child.process_id().expect("a process has a number")
    }

    /// Waits for the end of the program; its exit status and the life of its terminal.
    pub fn ended(mut self) -> (ExitStatus, Recording, Vec<String>) {
        let status = self.child.wait().expect("the program ends");
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader ends");
        }
        let lines = self.lines();
        let recording = std::mem::take(&mut self.shared().recording);
        (status, recording, lines)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // Ended already, or the test has failed.
        let _killed = self.child.kill();
        let _waited = self.child.wait();
    }
}

const fn pty_size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}
