//! The trace file: spans of the shell crates, for a developer who looks for a fault.
//!
//! Off unless `DORMOUSE_LOG` names a file. Spans carry names, sizes, times and ids; content of a
//! conversation, keys and headers are never put into one, so a trace can be attached to a report.

use dormouse_system::{Access, AppendFile, System};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// The environment variable that names the file. A variable, not a setting: the trace begins before
/// the settings are read, and shows how they are.
const VARIABLE: &str = "DORMOUSE_LOG";

/// Begins to write the trace file, if one is wanted. The error says why it cannot be written.
///
/// # Errors
/// When the file cannot be opened for appending.
pub fn start(system: &System) -> Result<(), String> {
    let Some(path) = system.env.var(VARIABLE).filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let file = system
        .files
        // The owner alone may read it: names of files and sessions are in it, though no content.
        .append(Path::new(&path), Access::Private)
        .map_err(|error| format!("{VARIABLE}: the trace file cannot be written: {error}"))?;
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(TraceFile(Arc::new(Mutex::new(file))))
        .with_ansi(false)
        // Libraries below have traces of their own, and promise nothing about content in them.
        .with_filter(Targets::new().with_target("dormouse", LevelFilter::DEBUG));
    let registry = tracing_subscriber::registry().with(layer);
    registry.try_init().map_err(|error| error.to_string())
}

/// The opened file, shared by all threads; one write a line.
#[derive(Clone, Debug)]
struct TraceFile(Arc<Mutex<Box<dyn AppendFile>>>);

impl Write for TraceFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A thread that panicked while writing left a torn line at most; the others go on writing.
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.append(line)
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for TraceFile {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
