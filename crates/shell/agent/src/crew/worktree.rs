//! A worktree of the project's repository for one sub-agent: its changes touch nothing else.
//!
//! # Model
//! The worktree begins at the commit that is checked out, without a branch. When the agent has ended
//! it is removed if nothing was changed or committed in it; otherwise it is kept, and the result names it.
//!
//! # Not here
//! Bringing the changes together: that is for the conversation that gave the task.

use dormouse_host::Host;
use dormouse_system::{End, System};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for git; a checkout of a large repository takes a while.
const PATIENCE: Duration = Duration::from_mins(2);
/// Folder of worktrees in the home.
const FOLDER: &str = "worktrees";

/// A worktree that a sub-agent works in.
#[derive(Debug)]
pub(super) struct Worktree {
    system: System,
    /// Folder of the repository that it belongs to.
    root: PathBuf,
    pub(super) path: PathBuf,
    /// Commit that it began at.
    base: String,
}

impl Worktree {
    /// Makes a worktree under this name, or finds the one of an agent that goes on. Blocks.
    ///
    /// # Errors
    /// Words for the model, if git cannot make one.
    pub(super) fn new(host: &Host, name: &str) -> Result<Self, String> {
        let system = host.system().clone();
        let root = host.places().current_dir.clone();
        let path = host.places().home.join(FOLDER).join(name);
        let base = git(&system, &root, "rev-parse HEAD")
            .map_err(|why| format!("There can be no worktree here: {why}."))?;
        if system.files.metadata(&path).is_err() {
            git(
                &system,
                &root,
                &format!("worktree add --detach {}", quoted(&path)),
            )
            .map_err(|why| format!("git could not make a worktree: {why}."))?;
        }
        Ok(Self {
            system,
            root,
            path,
            base: base.trim().to_owned(),
        })
    }

    /// Removes the worktree if nothing changed in it; otherwise returns its path.
    pub(super) async fn cleared(self) -> Option<PathBuf> {
        let path = self.path.clone();
        let cleared = tokio::task::spawn_blocking(move || self.end()).await;
        // In doubt it is kept: it may hold work.
        cleared.unwrap_or(Some(path))
    }

    fn end(self) -> Option<PathBuf> {
        let status = git(&self.system, &self.path, "status --porcelain");
        let head = git(&self.system, &self.path, "rev-parse HEAD");
        let unchanged = status.is_ok_and(|status| status.trim().is_empty())
            && head.is_ok_and(|head| head.trim() == self.base);
        let remove = format!("worktree remove --force {}", quoted(&self.path));
        if unchanged && git(&self.system, &self.root, &remove).is_ok() {
            return None;
        }
        Some(self.path)
    }
}

/// Output of git in a folder; no hooks of the repository run.
fn git(system: &System, folder: &Path, line: &str) -> Result<String, String> {
    let line = format!("git -c core.hooksPath=/dev/null {line} 2>&1");
    match system.commands.capture(&line, folder, PATIENCE) {
        Ok(Some((End::Exit(0), output))) => Ok(String::from_utf8_lossy(&output).into_owned()),
        Ok(Some((_, output))) => {
            let text = String::from_utf8_lossy(&output);
            Err(text.lines().last().unwrap_or("git failed").to_owned())
        }
        Ok(None) => Err("git took too long".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
