//! Facts about the machine that a session begins with: folder, system, date, state of the
//! repository. They stand at the tail, never in the prefix: they differ from session to session.

use dormouse_core::fragment::{REMINDER, render};
use dormouse_core::record::FragmentKind;
use dormouse_drive::Injection;
use dormouse_system::{Program, System, Task};
use std::path::Path;
use std::time::Duration;

/// Time for git to answer; a repository that takes longer is described without it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of git's answer that are told.
const MOST_OF_STATUS: usize = 2_000;

/// The surroundings as a fragment; `listing` are words about the sub-agents that are defined.
pub(crate) fn fragment(
    system: &System,
    folder: &Path,
    today: &str,
    listing: Option<&str>,
) -> Injection {
    let mut text = facts(folder, today);
    match git(system, folder, &["status", "--short", "--branch"]) {
        Some(status) => {
            text.push_str("Git status when the session began:\n");
            text.push_str(&status);
            if let Some(log) = git(system, folder, &["log", "--oneline", "-n", "5"]) {
                text.push_str("Last commits:\n");
                text.push_str(&log);
            }
        }
        None => text.push_str("Not a git repository.\n"),
    }
    text.extend(listing);
    Injection {
        kind: FragmentKind::Status,
        text: render(&REMINDER, text.trim_end()),
        memories: Vec::new(),
    }
}

/// Facts that hold for the whole session, one a line.
pub(crate) fn facts(folder: &Path, today: &str) -> String {
    format!(
        "Working folder: {}\nSystem: {}\nDate: {today}\n",
        folder.display(),
        std::env::consts::OS
    )
}

/// Output of git, cut between lines; `None` if it fails.
fn git(system: &System, folder: &Path, arguments: &[&str]) -> Option<String> {
    let task = Task {
        program: Program::Direct {
            program: "git".into(),
            arguments: arguments.iter().map(Into::into).collect(),
        },
        directory: folder.to_owned(),
        time_limit: PATIENCE,
        output_limit: MOST_OF_STATUS,
    };
    let finished = system.sandbox.run(&task).ok()?;
    if finished.end != dormouse_system::End::Exit(0) {
        return None;
    }
    let text = String::from_utf8_lossy(&finished.stdout).into_owned();
    if finished.dropped == 0 {
        return Some(text);
    }
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    Some(format!("{}(more)\n", &text[..whole]))
}
