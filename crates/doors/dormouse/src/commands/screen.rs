//! A bare `dormouse` on a terminal: the agent's screen.
//!
//! # Not here
//! The screen itself: `dormouse-tui`. Its services: `door`. Options: `print::Args`, which the agent
//! without a screen has as well.

pub(super) mod door;
mod files;
mod opening;
pub(super) mod panels;
mod shell;
mod watch;

use super::print;
use crate::app::App;
use crate::captured::Captured;
use crate::error::{Exit, Failure, Outcome, UserError};
use door::Door;
use dormouse_agent::AgentAsk;
use dormouse_host::Host;
use dormouse_system::System;
use dormouse_tui::{Looks, Scene, Start, Theme};
use std::sync::Arc;

/// Opens the screen, with an agent if a model is set.
pub(super) fn run(args: &print::Args, app: &mut App) -> Outcome {
    args.apply(app);
    let host = app.living_host()?;
    let ask = args.attended(app, &host)?;
    let runtime = runtime()?;
    let outcome = runtime.block_on(Box::pin(serve(args, app, host, ask)));
    // A thread that waits for keys would keep the program alive.
    runtime.shutdown_background();
    outcome
}

/// Runtime of a screen: one thread draws, one lets the agent work.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    Ok(runtime.map_err(|error| UserError::of(Exit::Unexpected, &error))?)
}

async fn serve(args: &print::Args, app: &mut App, host: Arc<Host>, ask: AgentAsk) -> Outcome {
    app.remarks();
    app.out.flush()?;
    let looks = looks(app, args.is_plain());
    let start = start(&app.system, &host);
    let door = Arc::new(Door::new(app.captured(), host, looks).opening(ask));
    let scene = Scene {
        start,
        opened: None,
        opens: true,
        services: Arc::clone(&door) as _,
        tour: None,
        keeps: None,
    };
    let ended = dormouse_tui::run(scene, looks).await;
    ended.map_err(|error| no_screen(&error))?;
    door.take_failure().map_or(Ok(()), Err)
}

/// A terminal that cannot show a screen, in words.
pub(super) fn no_screen(error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        return Failure::ReaderIsGone;
    }
    let error = UserError::of(Exit::Unexpected, error);
    Failure::from(error.hint("`dormouse --plain` needs lines only"))
}

/// Facts for the first lines.
pub(super) fn start(system: &System, host: &Host) -> Start {
    Start {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        folder: folder(system, host),
        branch: branch(system, host),
        without_agent: None,
        commands: Captured::commands(),
    }
}

/// Colours and abilities of the terminal, from the environment.
pub(super) fn looks(app: &App, plain: bool) -> Looks {
    let text = |name: &str| app.system.env.text(name).unwrap_or_default();
    let term = text("TERM");
    // The background is the last of the colours that some terminals announce.
    let light = matches!(text("COLORFGBG").rsplit(';').next(), Some("7" | "15"));
    let theme = match (app.out.has_color(), light) {
        (false, _) => Theme::Mono,
        (true, true) => Theme::Light,
        (true, false) => Theme::Dark,
    };
    // The console, xterm itself and old multiplexers cut long rows; all others break them.
    let cuts = term == "linux" || term.starts_with("screen") || !text("XTERM_VERSION").is_empty();
    Looks {
        theme,
        reflows: !cuts || !text("TMUX").is_empty(),
        tmux: !text("TMUX").is_empty(),
        plain: plain || term == "dumb" || term.is_empty(),
        ..Looks::default()
    }
}

/// The folder as a person writes it.
fn folder(system: &System, host: &Host) -> String {
    let folder = &host.places().current_dir;
    let home = system.env.home_dir();
    let below = home.and_then(|home| {
        folder
            .strip_prefix(home)
            .ok()
            .map(|path| path.display().to_string())
    });
    match below {
        Some(below) if below.is_empty() => "~".to_owned(),
        Some(below) => format!("~/{below}"),
        None => folder.display().to_string(),
    }
}

/// Branch of the repository, from its head.
fn branch(system: &System, host: &Host) -> Option<String> {
    let folder = &host.places().current_dir;
    let head = folder.ancestors().map(|folder| folder.join(".git/HEAD"));
    let head = head
        .take(8)
        .find_map(|head| system.files.read(&head, 4_096).ok())?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let name = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(
        name.chars()
            .filter(|character| !character.is_control())
            .collect(),
    )
}
