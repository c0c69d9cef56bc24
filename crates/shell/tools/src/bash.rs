//! Bash: command lines that only read.
//!
//! The line is judged first, by its text; then it runs in the sandbox as well, which limits reading
//! to the readable directories and git's data, whatever links there are. Where the kernel has no
//! sandbox there is no shell: the call is denied, and the other tools remain.
//!
//! # Not here
//! The judgement (`dormouse_guard::shell`); the sandbox (`dormouse-system`).

use crate::host::Workshop;
use crate::input;
use crate::limits::{COMMAND_OUTPUT, COMMAND_TIME, LONGEST_COMMAND_TIME};
use crate::reply::{Failure, Page, Reply};
use dormouse_core::show;
use dormouse_guard::shell::{Folder, Policy, Reach, Verdict, classify_with};
use dormouse_system::{Confinement, End, FileKind, Files, Finished, Program, SandboxError, Task};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most bytes of a file that names the place of git's data: one line.
const LARGEST_POINTER: u64 = 4_096;

pub(crate) fn bash(workshop: &Workshop, input: &input::Bash) -> Reply {
    let policy = Policy {
        reach: Reach::Below(workshop.desk.places.readable().to_vec()),
        // A command could send files away, or fetch orders for the model.
        network: false,
        folder: Folder::Held,
    };
    if let Verdict::Refuse(reason) = classify_with(&input.command, &policy) {
        return Err(Failure::denied(&input.command, reason.to_string()));
    }
    let asked = input.timeout.map_or(COMMAND_TIME, Duration::from_millis);
    let task = Task {
        program: Program::Line(input.command.clone()),
        directory: workshop.desk.places.working().to_owned(),
        // A model may ask for less, never for more.
        time_limit: asked.min(LONGEST_COMMAND_TIME),
        output_limit: COMMAND_OUTPUT,
    };
    let mut readable = workshop.desk.places.readable().to_vec();
    // Without its data every command of git would fail.
    readable.extend(repository(&*workshop.files, workshop.desk.places.working()));
    let finished = workshop
        .sandbox
        .run_below(&task, &readable)
        .map_err(|error| match error {
            SandboxError::Unconfined { why } => Failure::denied(
                &input.command,
                format!("there is no shell without a sandbox ({why}); use Read, Grep and Glob"),
            ),
            SandboxError::Start { .. } | SandboxError::Watch(_) => {
                Failure::failed(show::chain(&error))
            }
        })?;
    let text = describe(&finished, task.time_limit);
    match finished.end {
        End::Exit(0) => Ok(text),
        // As an error, so that the model looks at it; the output is there all the same.
        End::Exit(_) | End::Signal(_) | End::TimedOut => Err(Failure::Failed(text)),
    }
}

/// Data of the repository that the working directory belongs to. They may lie above it, and those
/// of a second working tree somewhere else altogether.
fn repository(files: &dyn Files, working: &Path) -> Vec<PathBuf> {
    for directory in working.ancestors() {
        let place = directory.join(".git");
        match files.metadata(&place).map(|facts| facts.kind) {
            Ok(FileKind::Directory) => return vec![place],
            Ok(FileKind::File) => return second_tree(files, &place, directory),
            // A link is not followed: it could open any directory to reading.
            Ok(_) | Err(_) => {}
        }
    }
    Vec::new()
}

/// Data of a second working tree, or a submodule: a file names them, and they name the data they
/// share with others. A file in a project is not to be believed, so the data must know the tree
/// too, or lie in a repository around it.
fn second_tree(files: &dyn Files, file: &Path, directory: &Path) -> Vec<PathBuf> {
    let line = |path: &Path| {
        let content = files.read(path, LARGEST_POINTER).ok()?;
        Some(str::from_utf8(&content).ok()?.trim().to_owned())
    };
    let real = |path: PathBuf| files.real_path(&path).ok();
    let own = line(file).and_then(|text| {
        let named = text.strip_prefix("gitdir:")?.trim().to_owned();
        real(directory.join(named))
    });
    let Some(own) = own else {
        return Vec::new();
    };
    let known = line(&own.join("gitdir")).and_then(|tree| real(own.join(tree)));
    let knows_the_tree = known.is_some() && known == real(file.to_owned());
    let lies_around = directory
        .ancestors()
        .filter_map(|above| real(above.join(".git")))
        .any(|data| own.starts_with(data));
    if !knows_the_tree && !lies_around {
        return Vec::new();
    }
    let shared = line(&own.join("commondir")).and_then(|shared| real(own.join(shared)));
    [Some(own), shared].into_iter().flatten().collect()
}

fn describe(finished: &Finished, time_limit: Duration) -> String {
    let mut page = Page::default();
    for stream in [&finished.stdout, &finished.stderr] {
        let text = String::from_utf8_lossy(stream);
        if !text.is_empty() {
            page.text(text.trim_end_matches('\n'));
        }
    }
    let end = match finished.end {
        End::Exit(0) => None,
        End::Exit(code) => Some(format!("exit code {code}")),
        End::Signal(signal) => Some(format!("ended by signal {signal}")),
        End::TimedOut => Some(format!(
            "stopped after {} milliseconds; a command has at most {}",
            time_limit.as_millis(),
            LONGEST_COMMAND_TIME.as_millis()
        )),
    };
    let dropped = (finished.dropped > 0).then(|| {
        let dropped = finished.dropped;
        format!("{dropped} bytes were left out; {COMMAND_OUTPUT} are kept")
    });
    let confinement = match &finished.confinement {
        Confinement::Full => None,
        Confinement::Partial(why) | Confinement::None(why) => {
            Some(format!("the sandbox was incomplete: {why}"))
        }
    };
    page.finish([end, dropped, confinement].into_iter().flatten())
}
