//! Files beside sessions that nothing refers to any more.
//!
//! # Not here
//! Finding and judging them: `survey` and `plan_gc` of `dormouse-store`. This module chooses the
//! folders and reports.

use crate::error::{HostError, chain};
use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::id::SessionId;
use dormouse_core::units::Millis;
use dormouse_memdir::MemoryDir;
use dormouse_memory::snapshot::INDEX;
use dormouse_store::{GcPlan, LeftAlone, NotRemoved, ProjectFolder, Why, collect, plan_gc, survey};
use dormouse_system::{Access, FileKind, Files, OptionalFile as _};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of a project's memory in its folder.
const MEMORY: &str = "memory";

/// Age from which a temporary file is taken for abandoned: no write takes an hour.
const GRACE: Duration = Duration::from_hours(1);

/// Treatment of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// Files are listed and stay.
    Show,
    /// Files are removed, one by one.
    Remove,
}

/// Files that nothing refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GcReport {
    /// The folder of projects, in Dormouse's home.
    pub projects: String,
    /// Set if the files were removed.
    pub deleted: bool,
    /// Number of files, those that could not be removed left out.
    pub total_files: usize,
    /// Sum of the lengths of those files, in bytes.
    pub total_bytes: u64,
    /// The files, grouped by project.
    pub files: Vec<GarbageFile>,
    /// Sessions that were not looked at.
    pub left_alone: Vec<SessionLeft>,
    /// Files that could not be removed.
    pub failed: Vec<NotRemovedFile>,
}

/// A file that nothing refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GarbageFile {
    /// Folder of the project it lies in.
    pub project: String,
    /// Its session, where it belongs to one.
    pub session: Option<SessionId>,
    /// Absolute path of the file.
    pub path: String,
    /// Length in bytes, on disk.
    pub bytes: u64,
    /// `unreferenced`, `log_gone` or `interrupted`.
    pub why: &'static str,
}

/// A session that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionLeft {
    /// Folder of the project it lies in.
    pub project: String,
    /// Id of the session, which is its file's stem.
    pub session: SessionId,
    /// The reason: `in_use` or `unreadable`.
    pub why: &'static str,
}

/// A file that could not be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotRemovedFile {
    /// Absolute path of the file.
    pub path: String,
    /// The error, with its causes.
    pub error: String,
}

/// The scope of one search: a project's folder, and in it one session or all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Scope {
    project: PathBuf,
    session: Option<SessionId>,
}

impl Host {
    /// Looks for files that no log names, in all projects or in those that paths name, and for
    /// temporary files of killed writers in their memories and in memory directories that paths
    /// name; removes them if told to. Nothing else outside the folder of projects is ever removed.
    ///
    /// # Errors
    /// When a path is neither there nor a memory directory, or a folder cannot be listed. Files that
    /// could not be removed are part of the answer.
    pub fn gc(&self, paths: &[PathBuf], garbage: Garbage) -> Result<GcReport, HostError> {
        let home = &self.places().home;
        let files = &*self.system().files;
        let folder = self.sessions_folder();
        let mut report = GcReport {
            projects: folder.display().to_string(),
            deleted: garbage == Garbage::Remove,
            total_files: 0,
            total_bytes: 0,
            files: Vec::new(),
            left_alone: Vec::new(),
            failed: Vec::new(),
        };
        // Without the folder nothing was ever stored.
        let projects = files.real_path(&folder).optional()?;
        let scopes = match (&projects, paths) {
            (Some(projects), _) => scopes(paths, files, home, projects)?,
            (None, paths) => memories_alone(paths, files, &folder)?,
        };
        let scopes = self.with_configured(scopes, paths);
        for scope in scopes.projects {
            self.collect_garbage(&scope, garbage, &mut report)?;
        }
        for root in scopes.memories {
            self.collect_leftovers(&root, garbage, &mut report)?;
        }
        report.total_files = report.files.len();
        report.total_bytes = report.files.iter().map(|file| file.bytes).sum();
        Ok(report)
    }

    /// Adds the memory directory that the settings name, if all are looked at.
    fn with_configured(&self, mut scopes: Scopes, paths: &[PathBuf]) -> Scopes {
        if paths.is_empty() {
            // Without memory there is no directory; that is no fault of a collection.
            let place = self.project_place().ok().map(|place| place.memory);
            let files = &self.system().files;
            scopes
                .memories
                .extend(place.and_then(|place| files.real_path(&place).ok()));
        }
        scopes.memories.sort();
        scopes.memories.dedup();
        scopes
    }

    /// Looks for temporary files of killed writers in a memory directory.
    fn collect_leftovers(
        &self,
        root: &Path,
        treatment: Garbage,
        report: &mut GcReport,
    ) -> Result<(), HostError> {
        let Some(dir) = MemoryDir::find(self.system(), root, Access::Private)? else {
            return Ok(());
        };
        let young = i64::try_from(GRACE.as_millis()).unwrap_or(i64::MAX);
        let before = Millis(self.now().0.saturating_sub(young));
        for leftover in dir.leftovers(before)? {
            let path = root.join(&leftover.path).display().to_string();
            if treatment == Garbage::Remove
                && let Err(error) = dir.remove_leftover(&leftover)
            {
                let error = chain(&error);
                report.failed.push(NotRemovedFile { path, error });
                continue;
            }
            report.files.push(GarbageFile {
                project: root.display().to_string(),
                session: None,
                path,
                bytes: leftover.bytes,
                why: why_name(Why::Interrupted),
            });
        }
        Ok(())
    }

    /// Looks at one project, and removes what is in the scope if told to.
    fn collect_garbage(
        &self,
        scope: &Scope,
        treatment: Garbage,
        report: &mut GcReport,
    ) -> Result<(), HostError> {
        let files = &*self.system().files;
        let remove = treatment == Garbage::Remove;
        // The survey takes locks when files are to be removed, so that no session can begin to
        // refer to one meanwhile.
        let held = survey(files, &scope.project, remove)?;
        for refused in &held.refused {
            let why = refused.to_string();
            self.remark(Remark::Unlisted { why });
        }
        let GcPlan { garbage, left } = plan_gc(&held, self.now());
        // The whole project is surveyed even for one session: a fork refers to the files of its
        // parent.
        let in_scope = |session: Option<&SessionId>| {
            // Memories lie beside the sessions and are looked at by themselves.
            let memory = session.is_some_and(|session| session.as_str() == MEMORY);
            !memory && (scope.session.is_none() || session == scope.session.as_ref())
        };
        let plan = GcPlan {
            garbage: garbage
                .into_iter()
                .filter(|garbage| in_scope(garbage.session.as_ref()))
                .collect(),
            left: left
                .into_iter()
                .filter(|(session, _)| in_scope(Some(session)))
                .collect(),
        };
        let project = scope.project.display().to_string();
        let failed = if remove {
            collect(files, &held, &plan)
        } else {
            Vec::new()
        };
        // A file that could not be removed is listed as failed, not as removed.
        let removed = |path: &Path| failed.iter().all(|failed| failed.garbage.path != path);
        let found = plan.garbage.iter().filter(|found| removed(&found.path));
        report.files.extend(found.map(|garbage| GarbageFile {
            project: project.clone(),
            session: garbage.session.clone(),
            path: garbage.path.display().to_string(),
            bytes: garbage.bytes,
            why: why_name(garbage.why),
        }));
        let left = plan.left.into_iter().map(|(session, left)| SessionLeft {
            project: project.clone(),
            session,
            why: match left {
                LeftAlone::InUse => "in_use",
                LeftAlone::Unreadable => "unreadable",
            },
        });
        report.left_alone.extend(left);
        let failed = failed.into_iter();
        report
            .failed
            .extend(failed.map(|NotRemoved { garbage, error }| NotRemovedFile {
                path: garbage.path.display().to_string(),
                error: chain(&error),
            }));
        Ok(())
    }
}

const fn why_name(why: Why) -> &'static str {
    match why {
        Why::Unreferenced => "unreferenced",
        Why::LogGone => "log_gone",
        Why::Interrupted => "interrupted",
    }
}

/// Places that are looked at.
#[derive(Debug, Default)]
struct Scopes {
    projects: Vec<Scope>,
    /// Memory directories, by their real paths.
    memories: Vec<PathBuf>,
}

impl Scopes {
    /// Adds a project with its memory.
    fn add(&mut self, project: PathBuf, files: &dyn Files) {
        self.memories
            .extend(files.real_path(&project.join(MEMORY)).ok());
        self.projects.push(Scope {
            project,
            session: None,
        });
    }
}

/// The scopes that paths name: inside the folder of projects, or memory directories anywhere.
fn scopes(
    paths: &[PathBuf],
    files: &dyn Files,
    home: &Path,
    projects: &Path,
) -> Result<Scopes, HostError> {
    let mut scopes = Scopes::default();
    if paths.is_empty() {
        all(files, projects, &mut scopes)?;
    }
    for path in paths {
        // Links are resolved first: a link inside must not lead to files outside.
        let real = files.real_path(path)?;
        let Ok(inside) = real.strip_prefix(projects) else {
            // A path elsewhere may be a memory directory, or the project itself, whose folder in
            // the home is meant.
            let memory = is_memory(files, &real);
            let found = ProjectFolder::find(files, home, &real)?;
            if let Some(found) = &found {
                scopes.add(files.real_path(found.path())?, files);
            }
            if memory {
                scopes.memories.push(real);
            } else if found.is_none() {
                return Err(outside(path, projects));
            }
            continue;
        };
        let mut parts = inside.iter();
        match (parts.next(), parts.next()) {
            (None, _) => all(files, projects, &mut scopes)?,
            (Some(project), None) => scopes.add(projects.join(project), files),
            (Some(project), Some(part)) if part == MEMORY => {
                scopes.memories.push(projects.join(project).join(MEMORY));
            }
            (Some(project), Some(session)) => scopes.projects.push(Scope {
                project: projects.join(project),
                session: Some({
                    // A session may be named by its log or by its folder.
                    let name = session.to_string_lossy();
                    SessionId::from(name.strip_suffix(".jsonl").unwrap_or(&name))
                }),
            }),
        }
    }
    // A project named twice would be listed twice, and removed from twice.
    scopes.projects.sort();
    scopes.projects.dedup();
    Ok(scopes)
}

/// The memory directories that paths name where there is no folder of projects.
fn memories_alone(
    paths: &[PathBuf],
    files: &dyn Files,
    folder: &Path,
) -> Result<Scopes, HostError> {
    let mut scopes = Scopes::default();
    for path in paths {
        let real = files.real_path(path)?;
        if !is_memory(files, &real) {
            return Err(outside(path, folder));
        }
        scopes.memories.push(real);
    }
    Ok(scopes)
}

/// True for a directory with a journal of memories or an index.
fn is_memory(files: &dyn Files, path: &Path) -> bool {
    [".journal", INDEX]
        .into_iter()
        .any(|name| files.metadata(&path.join(name)).is_ok())
}

fn all(files: &dyn Files, projects: &Path, scopes: &mut Scopes) -> Result<(), HostError> {
    for entry in files.list(projects)? {
        // Files between the folders are not Dormouse's.
        if entry.metadata.kind == FileKind::Directory {
            scopes.add(projects.join(entry.name), files);
        }
    }
    Ok(())
}

fn outside(path: &Path, projects: &Path) -> HostError {
    HostError::Outside {
        path: path.to_owned(),
        projects: projects.to_owned(),
    }
}
