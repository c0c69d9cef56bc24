//! Files beside sessions that nothing refers to any more.
//!
//! # Not here
//! Finding and judging them: `survey` and `plan_gc` of `dormouse-store`. This module chooses the
//! folders and reports.

use crate::error::{HostError, chain};
use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::id::SessionId;
use dormouse_store::{GcPlan, LeftAlone, NotRemoved, ProjectFolder, Why, collect, plan_gc, survey};
use dormouse_system::{FileKind, Files, OptionalFile as _};
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    /// Looks for files that no log names, in all projects or in those that paths name, and removes
    /// them if told to. Nothing outside the folder of projects is ever removed.
    ///
    /// # Errors
    /// When a path lies elsewhere, or a folder cannot be listed. Files that could not be removed
    /// are part of the answer.
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
            (None, []) => Vec::new(),
            (None, [path, ..]) => return Err(outside(path, &folder)),
        };
        for scope in scopes {
            self.collect_garbage(&scope, garbage, &mut report)?;
        }
        report.total_files = report.files.len();
        report.total_bytes = report.files.iter().map(|file| file.bytes).sum();
        Ok(report)
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
            scope.session.is_none() || session == scope.session.as_ref()
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

/// The scopes that paths name, all of them inside the folder of projects.
fn scopes(
    paths: &[PathBuf],
    files: &dyn Files,
    home: &Path,
    projects: &Path,
) -> Result<Vec<Scope>, HostError> {
    if paths.is_empty() {
        return all(files, projects);
    }
    let mut scopes = Vec::new();
    for path in paths {
        let real = files.real_path(path)?;
        let Ok(inside) = real.strip_prefix(projects) else {
            let Some(found) = ProjectFolder::find(files, home, &real)? else {
                return Err(outside(path, projects));
            };
            scopes.push(Scope {
                project: files.real_path(found.path())?,
                session: None,
            });
            continue;
        };
        let mut parts = inside.iter();
        match (parts.next(), parts.next()) {
            (None, _) => scopes.extend(all(files, projects)?),
            (Some(project), session) => scopes.push(Scope {
                project: projects.join(project),
                session: session.map(|session| {
                    let name = session.to_string_lossy();
                    SessionId::from(name.strip_suffix(".jsonl").unwrap_or(&name))
                }),
            }),
        }
    }
    // A project named twice would be listed twice, and removed from twice.
    scopes.sort();
    scopes.dedup();
    Ok(scopes)
}

fn all(files: &dyn Files, projects: &Path) -> Result<Vec<Scope>, HostError> {
    let entries = files.list(projects)?.into_iter();
    Ok(entries
        // Files between the folders are not Dormouse's.
        .filter(|entry| entry.metadata.kind == FileKind::Directory)
        .map(|entry| Scope {
            project: projects.join(entry.name),
            session: None,
        })
        .collect())
}

fn outside(path: &Path, projects: &Path) -> HostError {
    HostError::Outside {
        path: path.to_owned(),
        projects: projects.to_owned(),
    }
}
