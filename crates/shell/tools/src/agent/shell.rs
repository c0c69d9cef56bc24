//! `Bash`, `BashOutput` and `KillShell`.
//!
//! A command starts in the folder that the last one ended in. Its output goes into a file of the
//! session; the model gets the beginning and the end, and the name of the file where that is not
//! all. A command that takes longer than its time goes on in the background, and its output is read
//! later.

use super::Inner;
use crate::reply::{Failure, Reply, shorten};
use dormouse_core::show;
use dormouse_drive::ToolCall;
use dormouse_system::{Access, Confinement, End, Order, Running};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time of a command unless the call says otherwise.
const USUAL_TIME: Duration = Duration::from_mins(2);
/// Longest time that a call may ask for.
const LONGEST_TIME: Duration = Duration::from_mins(10);
/// Bytes of output that a file keeps: a build log has some megabytes.
const OUTPUT_KEPT: u64 = 64 << 20;
/// Bytes of output that a result holds whole. The conversation shortens long results by itself and
/// keeps them where they are found again; only what no conversation could hold is cut here.
const OUTPUT_WHOLE: u64 = 2 << 20;
/// Bytes that a result shows of a longer output, and of one that still grows.
const OUTPUT_SHOWN: u64 = 30_000;
/// Way out for a confined command that failed.
const OUTSIDE: &str = "[it ran in the sandbox: no network, no keys, writes only in the project and for temporary files; \
                       if it failed for that, call it again with `dangerouslyDisableSandbox`, and the user is asked]";
/// Changed files that a result names; a formatter may touch hundreds.
const MOST_NAMED: usize = 10;
/// Commands that may run in the background at once.
const MOST_RUNNING: usize = 32;
/// Programs whose exit code 1 is an answer and no failure.
const ANSWER_BY_CODE: [&str; 8] = ["grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "["];

/// Input of `Bash`, as the model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Bash {
    command: String,
    timeout: Option<u64>,
    #[serde(default)]
    run_in_background: bool,
}

/// Input of `BashOutput`, as the model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct BashOutput {
    bash_id: String,
    filter: Option<String>,
}

/// Input of `KillShell`, as the model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct KillShell {
    #[serde(alias = "bash_id")]
    shell_id: String,
}

/// Commands of a conversation.
#[derive(Debug)]
pub(super) struct Shells(Mutex<State>);

#[derive(Debug)]
struct State {
    folder: PathBuf,
    started: u64,
    background: BTreeMap<String, Background>,
}

#[derive(Clone, Debug)]
struct Background {
    line: String,
    output: PathBuf,
    running: Arc<dyn Running>,
    /// Bytes of output that the model has seen.
    seen: u64,
    /// True if the model knows that it has ended.
    told: bool,
}

impl Shells {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(Mutex::new(State {
            folder,
            started: 0,
            background: BTreeMap::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commands that still run, by id and line.
    pub(super) fn running(&self) -> Vec<(String, String)> {
        let state = self.lock();
        let running = state.background.iter();
        running
            .filter(|(_, it)| it.running.wait(Duration::ZERO).is_none())
            .map(|(id, it)| (id.clone(), it.line.clone()))
            .collect()
    }

    /// Commands that have ended and were not told yet, by id and line.
    pub(super) fn ended(&self) -> Vec<(String, String)> {
        let mut state = self.lock();
        let mut ended = Vec::new();
        for (id, it) in &mut state.background {
            if !it.told && it.running.wait(Duration::ZERO).is_some() {
                it.told = true;
                ended.push((id.clone(), it.line.clone()));
            }
        }
        ended
    }

    pub(super) fn stop_all(&self) {
        let state = self.lock();
        state.background.values().for_each(|it| it.running.stop());
    }
}

/// Command of a call, for whoever may have to end it.
#[derive(Clone, Debug, Default)]
pub(super) struct Attended(Arc<Mutex<Attention>>);

#[derive(Debug, Default)]
struct Attention {
    running: Option<Arc<dyn Running>>,
    /// True if nobody waits for the result any more.
    over: bool,
}

impl Attended {
    fn lock(&self) -> MutexGuard<'_, Attention> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, running: &Arc<dyn Running>) {
        let mut attention = self.lock();
        // The turn was stopped before the command had started.
        if attention.over {
            running.stop();
        }
        attention.running = Some(Arc::clone(running));
    }
}

/// Ends the command of a call whose result nobody waits for any more.
#[derive(Debug)]
pub(super) struct StopOnDrop(Option<Attended>);

impl StopOnDrop {
    pub(super) fn new(attended: Attended) -> Self {
        Self(Some(attended))
    }

    /// The result is there: a command in the background goes on.
    pub(super) fn defuse(mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(attended) = &self.0 {
            let mut attention = attended.lock();
            attention.over = true;
            if let Some(running) = attention.running.take() {
                running.stop();
            }
        }
    }
}

impl Inner {
    pub(super) fn bash(&self, call: &ToolCall, input: &Bash, attended: &Attended) -> Reply {
        let (id, order) = self.order(call, input)?;
        let running = self
            .system
            .commands
            .start(&order)
            .map_err(|error| Failure::failed(show::chain(&error)))?;
        let asked = input.timeout.map_or(USUAL_TIME, Duration::from_millis);
        let end = if input.run_in_background {
            None
        } else {
            attended.watch(&running);
            running.wait(asked.min(LONGEST_TIME))
        };
        let confined = confinement(&running.confinement(), order.confined_to.is_some());
        let Some(end) = end else {
            let mut background = Background {
                line: input.command.clone(),
                output: order.output,
                running,
                seen: 0,
                told: false,
            };
            let text = self.new_output(&mut background, None)?;
            self.shells.lock().background.insert(id.clone(), background);
            let why = if input.run_in_background {
                "It runs"
            } else {
                "It takes longer than its time and runs on"
            };
            return Ok(joined([
                text,
                format!(
                    "[{why} in the background as {id}; BashOutput reads it, KillShell ends it]"
                ),
                confined,
            ]));
        };
        let moved = self.follow(order.folder_file.as_deref());
        let text = joined([
            self.shown(&order.output, &*running)?,
            said(end),
            moved,
            confined,
            self.changed_by_command(),
        ]);
        let text = if text.is_empty() {
            "[no output]".to_owned()
        } else {
            text
        };
        if succeeded(end, &input.command) {
            Ok(text)
        } else if order.confined_to.is_some() {
            Err(Failure::Failed(format!("{text}\n{OUTSIDE}")))
        } else {
            Err(Failure::Failed(text))
        }
    }

    /// Files that were read and are not as they were: a rewind does not know their content before.
    fn changed_by_command(&self) -> String {
        let changed = self.read.changed(&*self.system.files);
        if changed.is_empty() {
            return String::new();
        }
        let names = changed.iter().take(MOST_NAMED);
        let names: Vec<String> = names.map(|(path, _)| path.display().to_string()).collect();
        let more = match changed.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "[changed since they were read: {}{more}; a rewind does not cover this]",
            names.join(", ")
        )
    }

    fn order(&self, call: &ToolCall, input: &Bash) -> Result<(String, Order), Failure> {
        let results = &self.places.results;
        self.system.files.create_dir_all(results, Access::Private)?;
        let mut state = self.shells.lock();
        let alive = |it: &&Background| it.running.wait(Duration::ZERO).is_none();
        if input.run_in_background
            && state.background.values().filter(alive).count() >= MOST_RUNNING
        {
            return Err(Failure::failed(format!(
                "{MOST_RUNNING} commands run in the background already; end some with KillShell."
            )));
        }
        // A folder that is gone would fail every further command.
        if self.system.files.metadata(&state.folder).is_err() {
            state.folder.clone_from(&self.places.folder);
        }
        state.started += 1;
        let id = format!("bash_{}", state.started);
        // Fresh: a resumed session counts from one again.
        let fresh = self.system.ids.fresh();
        let mut confined_to = self.confine.room(call);
        // A folder of its own: a confined command must not reach the results of others.
        let folders = results.join("folders");
        self.system
            .files
            .create_dir_all(&folders, Access::Private)?;
        if let Some(room) = &mut confined_to {
            room.writable.push(folders.clone());
        }
        let order = Order {
            line: input.command.clone(),
            directory: state.folder.clone(),
            output: results.join(format!("{id}-{fresh}.txt")),
            output_limit: OUTPUT_KEPT,
            folder_file: Some(folders.join(format!("{id}-{fresh}"))),
            mark: self.places.mark.clone(),
            confined_to,
        };
        Ok((id, order))
    }

    /// Takes over the folder that a command ended in. Outside the work it is left again, and said.
    fn follow(&self, file: Option<&Path>) -> String {
        let Some(file) = file else {
            return String::new();
        };
        let left = self.system.files.read(file, 8_192).ok();
        // It was only a message.
        let _gone = self.system.files.remove_file(file);
        let folder = left.and_then(|text| {
            let text = str::from_utf8(&text)
                .ok()?
                .trim_end_matches('\n')
                .to_owned();
            (!text.is_empty()).then(|| PathBuf::from(text))
        });
        // The command wrote the text itself: `..` in it could lead anywhere.
        let real = folder.and_then(|folder| self.system.files.real_path(&folder).ok());
        let Some(folder) = real else {
            return String::new();
        };
        let mut state = self.shells.lock();
        if folder == state.folder {
            return String::new();
        }
        let files = &self.system.files;
        let work = &self.places.folder;
        let real = files.real_path(work).unwrap_or_else(|_| work.clone());
        if folder.starts_with(&real) || folder.starts_with(work) {
            state.folder = folder;
            return String::new();
        }
        state.folder.clone_from(work);
        format!(
            "[the folder is {} again: commands start below it]",
            work.display()
        )
    }

    /// Output of a command that has ended.
    fn shown(&self, output: &Path, running: &dyn Running) -> Result<String, Failure> {
        let kept = running.output();
        let file = self.system.files.open(output)?;
        if kept.kept <= OUTPUT_WHOLE && kept.dropped == 0 {
            let bytes = file.read_range(0, kept.kept)?;
            // Nothing is left to look up.
            let _gone = self.system.files.remove_file(output);
            return Ok(text_of(&bytes));
        }
        // The beginning names the work, the end says how it went.
        let (head, tail) = (OUTPUT_SHOWN / 3, OUTPUT_SHOWN - OUTPUT_SHOWN / 3);
        let begin = text_of(&file.read_range(0, head)?);
        let rest = kept.kept.saturating_sub(head);
        let from = head + rest.saturating_sub(tail);
        let end = text_of(&file.read_range(from, tail)?);
        let lost = match kept.dropped {
            0 => String::new(),
            dropped => format!(", without {dropped} bytes that were too many"),
        };
        Ok(format!(
            "{begin}\n[{} bytes left out; the whole output{lost} is in {}]\n{end}",
            from - head,
            output.display()
        ))
    }

    pub(super) fn bash_output(&self, input: &BashOutput) -> Reply {
        let found = self.shells.lock().background.get(&input.bash_id).cloned();
        let Some(mut background) = found else {
            return Err(self.no_shell(&input.bash_id));
        };
        let end = background.running.wait(Duration::ZERO);
        let text = self.new_output(&mut background, input.filter.as_deref())?;
        let state = match end {
            Some(end) => {
                let said = said(end);
                if said.is_empty() {
                    "[it has ended well]".to_owned()
                } else {
                    said
                }
            }
            None => "[it still runs]".to_owned(),
        };
        let mut shells = self.shells.lock();
        if let Some(kept) = shells.background.get_mut(&input.bash_id) {
            kept.seen = kept.seen.max(background.seen);
            kept.told |= end.is_some();
        }
        Ok(joined([text, state]))
    }

    pub(super) fn kill_shell(&self, input: &KillShell) -> Reply {
        let found = self.shells.lock().background.remove(&input.shell_id);
        let Some(background) = found else {
            return Err(self.no_shell(&input.shell_id));
        };
        background.running.stop();
        Ok(format!("Ended {}: {}", input.shell_id, background.line))
    }

    /// Output of a command in the background that the model has not seen.
    fn new_output(
        &self,
        background: &mut Background,
        filter: Option<&str>,
    ) -> Result<String, Failure> {
        let kept = background.running.output().kept;
        let from = background.seen.max(kept.saturating_sub(OUTPUT_SHOWN));
        let skipped = from - background.seen;
        let file = self.system.files.open(&background.output)?;
        let text = text_of(&file.read_range(from, kept.saturating_sub(from))?);
        background.seen = kept;
        let text = match filter {
            None => text,
            Some(filter) => {
                let filter = grep_regex::RegexMatcher::new(filter).map_err(|error| {
                    Failure::failed(format!("This is no regular expression: {error}"))
                })?;
                let matches = |line: &&str| grep_matches(&filter, line);
                let lines: Vec<&str> = text.lines().filter(matches).collect();
                lines.join("\n")
            }
        };
        let left_out = match skipped {
            0 => String::new(),
            skipped => format!(
                "[{skipped} bytes left out; the whole output is in {}]",
                background.output.display()
            ),
        };
        Ok(joined([left_out, text]))
    }

    fn no_shell(&self, id: &str) -> Failure {
        let state = self.shells.lock();
        let ids: Vec<&str> = state.background.keys().map(String::as_str).collect();
        Failure::failed(match ids.as_slice() {
            [] => format!(
                "There is no command `{}` in the background.",
                shorten(id, 80)
            ),
            ids => format!(
                "There is no command `{}` in the background; there are {}.",
                shorten(id, 80),
                ids.join(", ")
            ),
        })
    }
}

/// True if a line matches; a search that fails finds nothing.
fn grep_matches(filter: &grep_regex::RegexMatcher, line: &str) -> bool {
    use grep_matcher::Matcher as _;
    filter.is_match(line.as_bytes()).unwrap_or(false)
}

/// Parts on lines of their own, empty ones left out.
fn joined<const N: usize>(parts: [String; N]) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// Text without the newline at its end, which costs tokens and says nothing.
fn text_of(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_end_matches('\n').to_owned()
}

/// End of a command in words; nothing for a good one.
fn said(end: End) -> String {
    match end {
        End::Exit(0) => String::new(),
        End::Exit(code) => format!("[exit code {code}]"),
        End::Signal(signal) => format!("[ended by signal {signal}]"),
        End::TimedOut => "[stopped: its time is over]".to_owned(),
    }
}

fn confinement(confinement: &Confinement, asked: bool) -> String {
    match confinement {
        Confinement::Partial(why) => format!("[the sandbox is incomplete: {why}]"),
        Confinement::None(why) if asked => format!("[there is no sandbox: {why}]"),
        Confinement::Full | Confinement::None(_) => String::new(),
    }
}

/// True if the end is no failure. Some programs answer by their code.
fn succeeded(end: End, line: &str) -> bool {
    let answers = || {
        let parts = dormouse_guard::shell::parts(line).unwrap_or_default();
        let last = parts.last().and_then(|part| part.words.first());
        last.is_some_and(|name| ANSWER_BY_CODE.contains(&name.as_str()))
    };
    match end {
        End::Exit(0) => true,
        End::Exit(1) => answers(),
        End::Exit(_) | End::Signal(_) | End::TimedOut => false,
    }
}
