//! Lines of a person for the shell.

use super::door::blocking;
use dormouse_host::Host;
use dormouse_system::{End, Order, Running, SandboxError};
use dormouse_tui::{Printed, ServiceFuture};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the output that are shown, from its end: some screens.
const MOST_SHOWN: usize = 64 * 1024;
/// Bytes of the output that are kept: a line that prints for ever must not fill the disk.
const MOST_KEPT: u64 = 64 * 1024 * 1024;
/// Time of one wait; the line is waited for again and again.
const WAIT: Duration = Duration::from_hours(1);

/// Line that runs. Dropped before its end, it is ended with everything that it started.
struct Guarded {
    host: Arc<Host>,
    running: Arc<dyn Running>,
    mark: String,
    over: bool,
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !self.over {
            self.running.stop();
            // Children that went into a group of their own.
            self.host.system().commands.sweep(&self.mark);
        }
    }
}

/// Runs a line as the user. Dropping the future ends the line and its children.
pub(super) fn run(host: Arc<Host>, line: String) -> ServiceFuture<Printed> {
    Box::pin(async move {
        let failed = |why: &dyn std::fmt::Display| Printed {
            text: format!("the shell cannot be started: {why}"),
            failed: true,
        };
        let folder = match tempfile::Builder::new().prefix("dormouse-line-").tempdir() {
            Ok(folder) => folder,
            Err(error) => return failed(&error),
        };
        let output = folder.path().join("output");
        let mut guarded = match start(host, line, &output) {
            Ok(guarded) => guarded,
            Err(error) => return failed(&error),
        };
        let running = Arc::clone(&guarded.running);
        let waited = blocking(move || {
            loop {
                if let Some(end) = running.wait(WAIT) {
                    return end;
                }
            }
        });
        let end = waited.await;
        guarded.over = true;
        let kept = guarded.host.system().files.read(&output, MOST_KEPT);
        printed(end.as_ref(), &kept.unwrap_or_default())
    })
}

fn start(host: Arc<Host>, line: String, output: &Path) -> Result<Guarded, SandboxError> {
    let system = host.system();
    let mark = format!("screen-{}", system.ids.fresh());
    let order = Order {
        line,
        directory: host.places().current_dir.clone(),
        output: output.to_owned(),
        output_limit: MOST_KEPT,
        folder_file: None,
        mark: mark.clone(),
        confined_to: None,
    };
    let running = system.commands.start(&order)?;
    Ok(Guarded {
        host,
        running,
        mark,
        over: false,
    })
}

fn printed(end: Option<&End>, kept: &[u8]) -> Printed {
    let cut = kept.len().saturating_sub(MOST_SHOWN);
    let mut text = String::from_utf8_lossy(&kept[cut..]).into_owned();
    if cut > 0 {
        text = format!("… {cut} bytes before this\n{text}");
    }
    let ending = match end {
        Some(End::Exit(0)) => None,
        Some(End::Exit(code)) => Some(format!("exit code {code}")),
        Some(End::Signal(signal)) => Some(format!("ended by signal {signal}")),
        Some(End::TimedOut) | None => Some("ended before its time".to_owned()),
    };
    if let Some(ending) = &ending {
        text = format!("{}\n{ending}", text.trim_end());
    }
    Printed {
        text: text.trim_start_matches('\n').to_owned(),
        failed: ending.is_some(),
    }
}
