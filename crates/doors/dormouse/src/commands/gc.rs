//! `dormouse gc`: what nothing refers to any more in the folders of sessions.

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Format, Line, Out, OutResult, Role, Table, figures};
use dormouse_core::id::SessionId;
use dormouse_store::{GcPlan, LeftAlone, NotRemoved, ProjectFolder, Why, collect, plan_gc, survey};
use dormouse_system::{FileKind, Files, OptionalFile as _};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const HELP: &str = "\
Beside its log a session keeps long tool results and blobs. They live as long as
the log names them; this command shows what no log names, what was left when a
log was deleted, and what interrupted writes left behind. A fork keeps what its
parent holds. Sessions that are open, files younger than an hour, links, and
everything else in the folders are left alone.

Nothing is removed without --delete.

Examples:
  dormouse gc                  All projects
  dormouse gc .                The project in this folder
  dormouse gc --files          Every file by name
  dormouse gc --delete

JSON:
  {\"projects\", \"deleted\", \"total_files\", \"total_bytes\",
   \"files\": [{\"project\", \"session\", \"path\", \"bytes\", \"why\"}],
   \"left_alone\": [{\"project\", \"session\", \"why\"}],
   \"failed\": [{\"path\", \"error\"}]}
\"why\" is unreferenced, log_gone or interrupted for files, in_use or unreadable
for sessions.";

/// Arguments of `gc`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Projects, or folders and logs of sessions in Dormouse's home; all if none is given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Remove what is shown
    #[arg(long, conflicts_with = "dry_run")]
    delete: bool,
    /// Only show; this is what happens without --delete
    #[arg(long)]
    dry_run: bool,
    /// List every file
    #[arg(long)]
    files: bool,
}

#[derive(Serialize)]
struct Report {
    projects: String,
    deleted: bool,
    total_files: usize,
    total_bytes: u64,
    files: Vec<FileReport>,
    left_alone: Vec<LeftReport>,
    failed: Vec<FailedReport>,
}

#[derive(Serialize)]
struct FileReport {
    project: String,
    session: Option<SessionId>,
    path: String,
    bytes: u64,
    why: &'static str,
}

#[derive(Serialize)]
struct LeftReport {
    project: String,
    session: SessionId,
    why: &'static str,
}

#[derive(Serialize)]
struct FailedReport {
    path: String,
    error: String,
}

/// What is looked at: a project's folder, and in it one session or all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Scope {
    project: PathBuf,
    session: Option<SessionId>,
}

/// Shows what can go, and removes it if told to.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let config = app.config()?;
    let home = config.loader.places().home.clone();
    let files = Arc::clone(&app.system.files);
    let mut report = Report {
        projects: home.join("projects").display().to_string(),
        deleted: args.delete,
        total_files: 0,
        total_bytes: 0,
        files: Vec::new(),
        left_alone: Vec::new(),
        failed: Vec::new(),
    };
    // Without the folder nothing was ever stored.
    let projects = files.real_path(&home.join("projects")).optional()?;
    let scopes = match &projects {
        Some(projects) => scopes(args, &*files, &home, projects)?,
        None if args.paths.is_empty() => Vec::new(),
        None => return Err(outside(&args.paths[0], &home.join("projects"))),
    };
    for scope in scopes {
        look(&scope, args, &mut report, app)?;
    }
    report.total_files = report.files.len();
    report.total_bytes = report.files.iter().map(|file| file.bytes).sum();
    match app.out.format() {
        Format::Json => app.out.json(&report)?,
        Format::Text => show(&report, args, &mut app.out)?,
    }
    if report.failed.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{} could not be removed",
        count(report.failed.len(), "file", "files")
    );
    let mut error = UserError::new(Exit::Unexpected, message);
    error.causes = report.failed.into_iter().map(|file| file.error).collect();
    Err(error.hint("check who may write there").into())
}

/// Looks at one project, and removes what is in the scope if told to.
fn look(scope: &Scope, args: &Args, report: &mut Report, app: &mut App) -> Outcome {
    let files = Arc::clone(&app.system.files);
    let held = survey(&*files, &scope.project, args.delete)?;
    for refused in &held.refused {
        app.note(&refused.to_string());
    }
    let GcPlan { garbage, left } = plan_gc(&held, app.system.clock.now());
    let in_scope =
        |session: Option<&SessionId>| scope.session.is_none() || session == scope.session.as_ref();
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
    let failed = if args.delete {
        collect(&*files, &held, &plan)
    } else {
        Vec::new()
    };
    let removed = |path: &Path| failed.iter().all(|failed| failed.garbage.path != path);
    let found = plan.garbage.iter().filter(|found| removed(&found.path));
    report.files.extend(found.map(|garbage| FileReport {
        project: project.clone(),
        session: garbage.session.clone(),
        path: garbage.path.display().to_string(),
        bytes: garbage.bytes,
        why: why_name(garbage.why),
    }));
    report
        .left_alone
        .extend(plan.left.into_iter().map(|(session, left)| LeftReport {
            project: project.clone(),
            session,
            why: match left {
                LeftAlone::InUse => "in_use",
                LeftAlone::Unreadable => "unreadable",
            },
        }));
    let failed = failed.into_iter();
    report
        .failed
        .extend(failed.map(|NotRemoved { garbage, error }| {
            FailedReport {
                path: garbage.path.display().to_string(),
                error: std::iter::once(error.to_string())
                    .chain(crate::error::causes(&error))
                    .collect::<Vec<_>>()
                    .join(": "),
            }
        }));
    Ok(())
}

const fn why_name(why: Why) -> &'static str {
    match why {
        Why::Unreferenced => "unreferenced",
        Why::LogGone => "log_gone",
        Why::Interrupted => "interrupted",
    }
}

fn why_text(why: &str) -> &'static str {
    match why {
        "unreferenced" => "no log refers to them",
        "log_gone" => "the session's log is gone",
        _ => "left by interrupted writes",
    }
}

/// What the arguments name, all of it inside the folder of projects.
fn scopes(
    args: &Args,
    files: &dyn Files,
    home: &Path,
    projects: &Path,
) -> Result<Vec<Scope>, Failure> {
    if args.paths.is_empty() {
        return all(files, projects);
    }
    let mut scopes = Vec::new();
    for path in &args.paths {
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
    scopes.sort();
    scopes.dedup();
    Ok(scopes)
}

fn all(files: &dyn Files, projects: &Path) -> Result<Vec<Scope>, Failure> {
    let entries = files.list(projects)?.into_iter();
    Ok(entries
        .filter(|entry| entry.metadata.kind == FileKind::Directory)
        .map(|entry| Scope {
            project: projects.join(entry.name),
            session: None,
        })
        .collect())
}

fn outside(path: &Path, projects: &Path) -> Failure {
    let message = format!(
        "`{}` is no project Dormouse knows, nor inside `{}`",
        path.display(),
        projects.display()
    );
    UserError::new(Exit::Refused, message)
        .hint("leave it out to look at all projects; nothing outside that folder is ever removed")
        .into()
}

fn count(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{} {many}", figures::thousands(number as u64)),
    }
}

fn show(report: &Report, args: &Args, out: &mut Out) -> OutResult {
    for found in report.files.chunk_by(|a, b| a.project == b.project) {
        let project = found.first().map_or("", |file| file.project.as_str());
        out.line(Line::new().role(Role::Strong, project))?;
        if args.files {
            out.table(&by_file(found, project))?;
        } else {
            out.table(&by_session(found))?;
        }
        out.blank()?;
    }
    for left in &report.left_alone {
        let why = match left.why {
            "in_use" => "it is open",
            _ => "a log in its project cannot be read to its end",
        };
        out.paragraph(
            Role::Dim,
            &format!("{} was left alone: {why}.", left.session),
            2,
        )?;
    }
    let found = format!(
        "{}, {}",
        count(report.total_files, "file", "files"),
        figures::bytes(report.total_bytes)
    );
    match (report.total_files, report.deleted) {
        (0, _) => out.line(format!(
            "There is nothing to remove in {}.",
            report.projects
        )),
        (_, true) => out.line(
            Line::new()
                .role(Role::Good, "Removed")
                .text(format!(" {found}.")),
        ),
        (_, false) => {
            out.line(Line::new().role(Role::Strong, &found).text(" can go."))?;
            out.line(
                Line::new()
                    .text("Nothing was removed; ")
                    .role(Role::Hint, "dormouse gc --delete")
                    .text(" does it."),
            )
        }
    }
}

fn by_session(found: &[FileReport]) -> Table {
    let mut groups: BTreeMap<(Option<&SessionId>, &str), (usize, u64)> = BTreeMap::new();
    for file in found {
        let group = groups.entry((file.session.as_ref(), file.why)).or_default();
        group.0 += 1;
        group.1 += file.bytes;
    }
    let mut table = Table::new([
        Column::left("SESSION").gives_way(),
        Column::right("FILES"),
        Column::right("SIZE"),
        Column::left("WHY"),
    ]);
    for ((session, why), (number, bytes)) in groups {
        table.row([
            session.map_or_else(|| Cell::with_role(Role::Dim, "–"), Cell::new),
            figures::thousands(number as u64).into(),
            figures::bytes(bytes).into(),
            why_text(why).into(),
        ]);
    }
    table
}

fn by_file(found: &[FileReport], project: &str) -> Table {
    let mut table = Table::new([
        Column::left("FILE").gives_way(),
        Column::right("SIZE"),
        Column::left("WHY"),
    ]);
    for file in found {
        let short = file.path.strip_prefix(project).unwrap_or(&file.path);
        table.row([
            short.trim_start_matches('/').into(),
            figures::bytes(file.bytes).into(),
            why_text(file.why).into(),
        ]);
    }
    table
}
