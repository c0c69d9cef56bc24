//! Resolution of path arguments.
//!
//! # Model
//! A path is placed by its text: relative ones start at the working directory, `.` and `..` are
//! taken literally. The result must lie below one of the readable directories; the innermost one
//! gives the handle through which it is used. Detours that the text cannot show (links, mounts,
//! swapped directories) are refused by the handle.
//!
//! A refused link is asked for its target once, and the target is placed like any other path: a
//! link that stays among the readable directories can be read.
//!
//! # Not here
//! The handle that refuses to leave its directory (`dormouse-system`); names that are safe on every
//! disk (`dormouse-guard`).

use crate::limits::LONGEST_PATH;
use crate::reply::Failure;
use dormouse_guard::paths::SafePath;
use dormouse_system::{FileResult, Files};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Directories of a side task.
#[derive(Debug)]
pub(crate) struct Places {
    files: Arc<dyn Files>,
    working: PathBuf,
    memory: Vec<PathBuf>,
    /// Every name under which a readable directory is known.
    readable: Vec<PathBuf>,
    /// True if any path may be used: somebody else has judged it.
    anywhere: bool,
}

/// Place below a readable directory.
#[derive(Debug)]
pub(crate) struct Spot {
    /// Files below that directory.
    pub(crate) files: Arc<dyn Files>,
    /// Directory that the handle is bound to.
    pub(crate) root: PathBuf,
    /// Path of the place, relative to it.
    pub(crate) path: PathBuf,
}

impl Spot {
    /// Name by which the model knows a file below the same directory.
    pub(crate) fn name(&self, path: &Path) -> String {
        self.root.join(path).display().to_string()
    }
}

impl Places {
    pub(crate) fn new(
        files: Arc<dyn Files>,
        working: PathBuf,
        memory: &Path,
        others: &[PathBuf],
    ) -> Self {
        // A directory behind a link has two names, and programs print either.
        let names = |directory: &Path| {
            let real = files.real_path(directory).ok();
            let real = real.filter(|real| real != directory);
            [Some(directory.to_owned()), real].into_iter().flatten()
        };
        let memory: Vec<PathBuf> = names(memory).collect();
        let mut readable = memory.clone();
        readable.extend(names(&working));
        readable.extend(others.iter().flat_map(|other| names(other)));
        Self {
            files,
            working,
            memory,
            readable,
            anywhere: false,
        }
    }

    /// Every place of the machine, for calls that were judged before they got here.
    pub(crate) fn anywhere(files: Arc<dyn Files>, working: PathBuf) -> Self {
        Self {
            files,
            working,
            memory: Vec::new(),
            readable: Vec::new(),
            anywhere: true,
        }
    }

    pub(crate) fn working(&self) -> &Path {
        &self.working
    }

    pub(crate) fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// Place that a path argument means, for reading.
    pub(crate) fn locate(&self, text: &str) -> Result<Spot, Failure> {
        check_text(text)?;
        self.place(&normal(&self.working.join(text)), text)
    }

    /// Does something with the place that a path argument means, or with the one a link there leads
    /// to.
    pub(crate) fn with<T>(
        &self,
        text: &str,
        work: impl Fn(&Spot) -> FileResult<T>,
    ) -> Result<(Spot, T), Failure> {
        let spot = self.locate(text)?;
        let refused = match work(&spot) {
            Ok(value) => return Ok((spot, value)),
            // Only a refusal may be a link; other errors would repeat at the target.
            Err(error) if !error.permission_denied() => return Err(error.into()),
            Err(error) => error,
        };
        let Ok(real) = self.files.real_path(&spot.root.join(&spot.path)) else {
            return Err(refused.into());
        };
        let target = self.place(&real, text)?;
        // Not a link: the refusal stands.
        if target.root == spot.root && target.path == spot.path {
            return Err(refused.into());
        }
        let value = work(&target)?;
        Ok((target, value))
    }

    fn place(&self, absolute: &Path, text: &str) -> Result<Spot, Failure> {
        if self.anywhere {
            return Ok(Spot {
                files: Arc::clone(&self.files),
                root: PathBuf::from("/"),
                path: absolute.to_owned(),
            });
        }
        let below = |root: &&PathBuf| absolute.starts_with(root);
        // The innermost: memory may lie inside the working directory.
        let innermost = self
            .readable
            .iter()
            .filter(below)
            .max_by_key(|root| root.components().count());
        let Some(root) = innermost else {
            return Err(Failure::denied(text, self.readable_only()));
        };
        let path = absolute.strip_prefix(root).unwrap_or(Path::new(""));
        Ok(Spot {
            files: self.files.beneath(root)?,
            root: root.clone(),
            path: path.to_owned(),
        })
    }

    /// File below the memory directory that a path argument means, for writing. Nothing is put
    /// right here: a path that is not plainly below the directory is denied.
    pub(crate) fn memory_path(&self, text: &str) -> Result<SafePath, Failure> {
        check_text(text)?;
        let absolute = self.working.join(text);
        let below = self
            .memory
            .iter()
            .find_map(|memory| absolute.strip_prefix(memory).ok());
        let Some(below) = below.and_then(Path::to_str) else {
            return Err(Failure::denied(text, self.writable_only()));
        };
        let path =
            SafePath::parse(below).map_err(|refusal| Failure::denied(text, refusal.to_string()))?;
        if path.is_hidden() {
            let reason = "names that begin with a dot belong to the memory's own bookkeeping";
            return Err(Failure::denied(text, reason));
        }
        Ok(path)
    }

    fn readable_only(&self) -> String {
        let names: Vec<_> = self
            .readable
            .iter()
            .map(|root| format!("`{}`", root.display()))
            .collect();
        format!("only files below {} can be read here", names.join(", "))
    }

    fn writable_only(&self) -> String {
        let memory = self.memory.first().map(PathBuf::as_path);
        format!(
            "only files below the memory directory `{}` can be written here; give the path in full",
            memory.unwrap_or(Path::new("")).display()
        )
    }
}

fn check_text(text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Err(Failure::failed("The path is empty."));
    }
    if text.len() > LONGEST_PATH {
        let reason = format!("the path is longer than {LONGEST_PATH} bytes");
        return Err(Failure::denied(text, reason));
    }
    // No file has such a name; refused here, the model gets a reason instead of a system error.
    if text.contains('\0') {
        return Err(Failure::denied(text, "the path holds a zero byte"));
    }
    Ok(())
}

/// Path without `.` and `..`, by its text alone.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
