//! Hooks as processes: JSON on the standard input, two streams and an exit code out.

use dormouse_core::show;
use dormouse_host::HookCommand;
use dormouse_system::{Access, End, Order, Running, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of each stream that are read; an answer has some hundreds, and a hook that prints without
/// end must not fill the memory.
const MOST_OUTPUT: u64 = 1024 * 1024;
/// Bytes of the shell's own output, which goes to a file of its own and is not read.
const SHELL_OUTPUT: u64 = 4_096;
/// Time to look after an end that has come already.
const NO_TIME: Duration = Duration::ZERO;

/// Surroundings of a session's hooks.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) system: System,
    /// Folder for their input and output.
    pub(super) folder: PathBuf,
    /// Folder in which they start.
    pub(super) directory: PathBuf,
    /// Root of the project, which hooks are told.
    pub(super) project: PathBuf,
    /// Mark of the session's processes.
    pub(super) mark: String,
}

/// End of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It ended with a code.
    Exit {
        code: i32,
        stdout: String,
        stderr: String,
    },
    /// It took longer than its time, and was killed.
    TimedOut,
    /// It could not be run, or was killed by another.
    Failed(String),
}

impl Place {
    /// Keeps a text that is too long for the conversation, and says where.
    pub(super) fn keep(&self, text: &str) -> Option<PathBuf> {
        let file = self.folder.join(format!("{}.txt", self.system.ids.fresh()));
        let files = &self.system.files;
        files.create_dir_all(&self.folder, Access::Private).ok()?;
        files
            .replace(&file, text.as_bytes(), Access::Private)
            .ok()?;
        Some(file)
    }

    fn run(&self, command: &HookCommand, time: Duration, input: &str, stop: &Stop) -> Outcome {
        let name = self.system.ids.fresh();
        let file = |end: &str| self.folder.join(format!("{name}.{end}"));
        let all = [file("in"), file("out"), file("err"), file("log")];
        let outcome = self.run_with(command, time, input, stop, &all);
        for path in &all {
            // Left behind where a hook still writes; the session's folder goes as a whole.
            let _gone = self.system.files.remove_file(path);
        }
        outcome.unwrap_or_else(Outcome::Failed)
    }

    fn run_with(
        &self,
        command: &HookCommand,
        time: Duration,
        input: &str,
        stop: &Stop,
        [given, out, err, log]: &[PathBuf; 4],
    ) -> Result<Outcome, String> {
        let files = &self.system.files;
        let said = |error: dormouse_system::FileError| show::chain(&error);
        files
            .create_dir_all(&self.folder, Access::Private)
            .map_err(said)?;
        files
            .replace(given, input.as_bytes(), Access::Private)
            .map_err(said)?;
        let order = Order {
            line: format!(
                "export CLAUDE_PROJECT_DIR={}\n{{\n{}\n}} <{} >{} 2>{}\n",
                quoted(&self.project),
                command.line,
                quoted(given),
                quoted(out),
                quoted(err)
            ),
            directory: self.directory.clone(),
            output: log.clone(),
            output_limit: SHELL_OUTPUT,
            folder_file: None,
            mark: self.mark.clone(),
            confined_to: None,
        };
        let running = self.system.commands.start(&order);
        let running = running.map_err(|error| show::chain(&error))?;
        stop.watch(&running);
        let end = running.wait(time);
        if end.is_none() {
            running.stop();
        }
        let text = |path: &Path| {
            let bytes = files.read(path, MOST_OUTPUT).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ok(match end {
            Some(End::Exit(code)) => Outcome::Exit {
                code,
                stdout: text(out),
                stderr: text(err),
            },
            Some(_) => Outcome::Failed("it was killed".to_owned()),
            None => Outcome::TimedOut,
        })
    }
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Kills the hook of a turn that was stopped.
#[derive(Clone, Debug, Default)]
struct Stop(Arc<std::sync::Mutex<Stopped>>);

/// True once the turn was stopped, and the hook that runs.
type Stopped = (bool, Option<Arc<dyn Running>>);

impl Stop {
    fn watch(&self, running: &Arc<dyn Running>) {
        let mut state = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        // The turn was stopped before the hook had started.
        if state.0 {
            running.stop();
        }
        state.1 = Some(Arc::clone(running));
    }
}

/// Stops a hook that nobody waits for any more.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let mut state = self
            .0
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        state.0 = true;
        if let Some(running) = state.1.take()
            && running.wait(NO_TIME).is_none()
        {
            running.stop();
        }
    }
}

/// Runs hooks side by side, each within its time.
pub(super) async fn run_all(
    place: &Arc<Place>,
    commands: Vec<(HookCommand, Duration)>,
    input: &str,
) -> Vec<(HookCommand, Outcome)> {
    let mut tasks = Vec::new();
    for (command, time) in commands {
        let stop = Stop::default();
        let guard = StopOnDrop(stop.clone());
        let (place, input, hook) = (Arc::clone(place), input.to_owned(), command.clone());
        let task = tokio::task::spawn_blocking(move || place.run(&hook, time, &input, &stop));
        tasks.push((command, task, guard));
    }
    let mut ran = Vec::new();
    for (command, task, _guard) in tasks {
        let outcome = task.await;
        let failed = |_| Outcome::Failed("its thread failed".to_owned());
        ran.push((command, outcome.unwrap_or_else(failed)));
    }
    ran
}
