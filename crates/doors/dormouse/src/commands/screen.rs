//! A bare `dormouse` on a terminal: the agent's screen.
//!
//! # Not here
//! The screen itself: `dormouse-tui`. Options: `print::Args`, which the agent without a screen has as
//! well.

use super::print;
use crate::app::App;
use crate::captured::Captured;
use crate::error::{Exit, Failure, Outcome, UserError};
use dormouse_agent::{AgentAsk, AgentError, open, rewind_points};
use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_host::{Host, HostError};
use dormouse_tui::{Gauge, Looks, Opened, Printed, ServiceFuture, Services, Start, Theme};
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// Bytes of a shell line's output that are shown, from its end: some screens.
const MOST_OUTPUT: usize = 64 * 1024;

/// Opens the screen, with an agent if a model is set.
pub(super) fn run(args: &print::Args, app: &mut App) -> Outcome {
    args.apply(app);
    let host = app.living_host()?;
    let ask = args.attended(app, &host)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    let outcome = runtime.block_on(Box::pin(serve(args, app, host, ask)));
    // A thread that waits for keys would keep the program alive.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: &print::Args, app: &mut App, host: Arc<Host>, ask: AgentAsk) -> Outcome {
    let mut start = Start {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        folder: folder(app, &host),
        branch: branch(app, &host),
        without_agent: None,
        commands: Captured::commands(),
    };
    let opened = match Box::pin(open(Arc::clone(&host), ask)).await {
        Ok(agent) => {
            let history = if agent.opened.resumed {
                agent.missed(Seq::default()).map_err(print::failed)?
            } else {
                Vec::new()
            };
            Some(Opened { agent, history })
        }
        Err(AgentError::Host(error)) => match *error {
            HostError::NoModel(why) if why.is_missing() => {
                let error = print::without_model(&why, &host).await;
                let hint = error
                    .hint
                    .map(|hint| format!("; {hint}"))
                    .unwrap_or_default();
                start.without_agent = Some(format!("{}{hint}", error.message));
                None
            }
            error => return Err(error.into()),
        },
        Err(error) => return Err(print::failed(error)),
    };
    app.remarks();
    app.out.flush()?;
    let services = Arc::new(Door {
        captured: app.captured(),
        host,
    });
    let screen = dormouse_tui::run(start, opened, services, looks(args, app));
    let ended = screen.await;
    ended.map_err(|error| {
        let error = UserError::of(Exit::Unexpected, &error);
        Failure::from(error.hint("`dormouse --plain` needs lines only"))
    })
}

/// Colours and abilities of the terminal, from the environment.
fn looks(args: &print::Args, app: &App) -> Looks {
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
        plain: args.is_plain() || term == "dumb" || term.is_empty(),
    }
}

/// The folder as a person writes it.
fn folder(app: &App, host: &Host) -> String {
    let folder = &host.places().current_dir;
    let home = app.system.env.home_dir();
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
fn branch(app: &App, host: &Host) -> Option<String> {
    let folder = &host.places().current_dir;
    let head = folder.ancestors().map(|folder| folder.join(".git/HEAD"));
    let head = head
        .take(8)
        .find_map(|head| app.system.files.read(&head, 4_096).ok())?;
    let head = String::from_utf8_lossy(&head).into_owned();
    let name = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(
        name.chars()
            .filter(|character| !character.is_control())
            .collect(),
    )
}

/// Services of this program for the screen.
#[derive(Debug)]
struct Door {
    captured: Captured,
    host: Arc<Host>,
}

impl Services for Door {
    fn run(&self, mut words: Vec<String>, columns: usize) -> ServiceFuture<Printed> {
        // By its file: a session that is named by its id is told with its path, which is no news here.
        if let Some(word) = words.get_mut(1)
            && let Ok(log) = self.host.session_log(&SessionId::new(word.as_str()))
            && self.host.system().files.metadata(&log).is_ok()
        {
            *word = log.display().to_string();
        }
        let captured = self.captured.clone();
        let work = blocking(move || {
            let (text, failed) = captured.run(&words, columns);
            Printed { text, failed }
        });
        Box::pin(async move {
            let failed = || Printed {
                text: "the command failed unexpectedly".to_owned(),
                failed: true,
            };
            work.await.unwrap_or_else(failed)
        })
    }

    fn shell(&self, line: String) -> ServiceFuture<Printed> {
        let folder = self.host.places().current_dir.clone();
        Box::pin(async move {
            let mut shell = Command::new("sh");
            // Both outputs in one, in order.
            shell
                .arg("-c")
                .arg("exec 2>&1\neval \"$1\"")
                .arg("sh")
                .arg(line);
            shell
                .current_dir(folder)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .kill_on_drop(true);
            printed_by(shell).await.unwrap_or_else(|error| Printed {
                text: format!("the shell cannot be started: {error}"),
                failed: true,
            })
        })
    }

    fn point(&self, session: String, number: usize) -> ServiceFuture<Option<RecordId>> {
        let host = Arc::clone(&self.host);
        let work = blocking(move || {
            let (_, points) = rewind_points(&host, Some(&session)).ok()?;
            let found = points.into_iter().find(|point| point.number == number);
            found.map(|point| point.to)
        });
        Box::pin(async move { work.await.flatten() })
    }

    fn gauge(&self, session: String) -> ServiceFuture<Option<Gauge>> {
        let host = Arc::clone(&self.host);
        let work = blocking(move || {
            let log = host.session_log(&SessionId::new(session)).ok()?;
            let window = host.window(&host.transcripts().live(&log).ok()?);
            Some(Gauge {
                used: window.used_tokens.0,
                window: window.window.0,
                compact_at: window.auto_compact.then_some(window.autocompact_target.0),
                warning: window.warning.0,
                blocked: window.blocking_limit.0,
            })
        });
        Box::pin(async move { work.await.flatten() })
    }
}

/// Runs work that blocks on a thread of its own: commands may start a runtime, which a thread of this
/// one must not. `None` if it panicked.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = tokio::sync::oneshot::channel();
    let named = std::thread::Builder::new().name("command".to_owned());
    let started = named.spawn(move || {
        // The screen has been left if this fails.
        let _sent = done.send(work());
    });
    started.ok()?;
    result.await.ok()
}

/// Output of a shell line, its end only: a line that prints for ever must not fill the memory.
async fn printed_by(mut shell: Command) -> io::Result<Printed> {
    let mut child = shell.spawn()?;
    let (mut kept, mut cut) = (Vec::new(), 0);
    if let Some(mut output) = child.stdout.take() {
        let mut piece = vec![0; MOST_OUTPUT];
        loop {
            let count = output.read(&mut piece).await?;
            if count == 0 {
                break;
            }
            kept.extend_from_slice(&piece[..count]);
            let over = kept.len().saturating_sub(MOST_OUTPUT);
            kept.drain(..over);
            cut += over;
        }
    }
    let status = child.wait().await?;
    let mut text = String::from_utf8_lossy(&kept).into_owned();
    if cut > 0 {
        text = format!("… {cut} bytes before this\n{text}");
    }
    if let Some(code) = status.code().filter(|code| *code != 0) {
        text = format!("{}\nexit code {code}", text.trim_end());
    }
    Ok(Printed {
        text,
        failed: !status.success(),
    })
}
