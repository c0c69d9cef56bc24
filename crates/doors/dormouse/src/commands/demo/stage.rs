//! The stage of the demonstration: a folder, a project, a provider, a clock.

use super::script;
use crate::captured::Captured;
use crate::commands::print;
use crate::commands::screen::{self, door::Door};
use crate::error::{Exit, Failure, UserError};
use dormouse_agent::{AgentAsk, Mode, open as open_agent};
use dormouse_core::id::SessionId;
use dormouse_core::units::Millis;
use dormouse_host::Host;
use dormouse_sim::{AnswerConfig, Server, SimConfig, serve};
use dormouse_system::{Access, Clock, MapEnvironment, RealClock, System, Ticks};
use dormouse_tui::{Looks, Opened, Scene, Start, Talk, Tour};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

/// Model that the simulator plays: its prices are those of the figures on the screen.
const MODEL: &str = "claude-sonnet-4-5";
/// Settings of the demonstration. The window is small, so that it fills within minutes.
const SETTINGS: [&str; 2] = ["context.window=40000", "budget.background_day=50"];
/// Milliseconds between two pieces of an answer, if a person watches: a fast model.
const PIECE_MS: u64 = 12;

/// Clock that can be put forward.
#[derive(Debug)]
pub(in crate::commands) struct StageClock {
    real: RealClock,
    /// Milliseconds ahead of the real one.
    ahead: AtomicI64,
}

impl StageClock {
    fn new() -> Self {
        Self {
            real: RealClock::new(),
            ahead: AtomicI64::new(0),
        }
    }

    /// Puts the stage's clock ahead of the real one, so that caches go cold without waiting.
    pub(in crate::commands) fn put_forward(&self, minutes: u64) {
        let millis = i64::try_from(minutes.saturating_mul(60_000)).unwrap_or(i64::MAX);
        self.ahead.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for StageClock {
    fn now(&self) -> Millis {
        let ahead = self.ahead.load(Ordering::SeqCst);
        Millis(self.real.now().0.saturating_add(ahead))
    }

    fn ticks(&self) -> Ticks {
        self.real.ticks()
    }
}

/// Folder and provider, which live as long as the scene.
#[derive(Debug)]
struct Stage {
    _provider: Server,
    // Behind the provider, so that it goes last.
    _folder: TempDir,
}

/// Opens the scene of the demonstration. `watched` if a person looks on.
pub(in crate::commands) async fn open(looks: Looks, watched: bool) -> Result<Scene, Failure> {
    let unexpected = |error: &dyn std::error::Error| UserError::of(Exit::Unexpected, error);
    let real = System::real();
    let folder = tempfile::Builder::new().prefix("dormouse-demo-").tempdir();
    let folder = folder.map_err(|error| unexpected(&error))?;
    // Without links: tools compare paths as the system resolves them.
    let root = real.files.real_path(folder.path())?;
    let (home, project) = (root.join("home"), root.join("relay"));
    set_up(&real, &home, &project)?;
    let clock = Arc::new(StageClock::new());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.map_err(|error| unexpected(&error))?;
    let address = listener.local_addr().map_err(|error| unexpected(&error))?;
    let env = MapEnvironment::default();
    env.set_home(Some(home));
    env.set_current_dir(Some(project));
    env.set("PATH", real.env.var("PATH").unwrap_or_default());
    env.set("ANTHROPIC_API_KEY", "any");
    env.set("ANTHROPIC_MODEL", MODEL);
    env.set("ANTHROPIC_BASE_URL", format!("http://{address}"));
    let system = System {
        clock: Arc::clone(&clock) as _,
        env: Arc::new(env),
        ..real
    };
    let config = SimConfig {
        answers: AnswerConfig {
            script: script::answers(),
            side: script::aside(),
            tool_rounds: Some(0),
            ..AnswerConfig::default()
        },
        piece_ms: if watched { PIECE_MS } else { 0 },
        ..SimConfig::default()
    };
    let provider = serve(config, listener, Arc::clone(&clock) as _);
    let provider = provider.map_err(|error| unexpected(&error))?;
    let settings: Vec<String> = SETTINGS.map(str::to_owned).to_vec();
    let host = Arc::new(Host::open(&system, settings.clone())?);
    let session = SessionId::new("demo");
    remember(&system, &host, &session)?;
    let ask = AgentAsk {
        session: Some(session),
        mode: Mode::Ask,
        attended: true,
        allow: vec!["Bash".to_owned()],
        ..AgentAsk::default()
    };
    let agent = Box::pin(open_agent(Arc::clone(&host), ask)).await;
    let agent = agent.map_err(print::failed)?;
    let start = Start {
        folder: "a small project in a temporary folder".to_owned(),
        ..screen::start(&system, &host)
    };
    let door = Door::new(Captured { system, settings }, host, looks).with_clock(clock);
    Ok(Scene {
        start,
        opened: Some(Opened {
            talk: Talk::Agent(Box::new(agent)),
            history: Vec::new(),
            whole: true,
        }),
        opens: false,
        services: Arc::new(door),
        tour: Some(Tour {
            steps: script::steps(),
            paced: watched,
        }),
        keeps: Some(Box::new(Stage {
            _provider: provider,
            _folder: folder,
        })),
    })
}

/// Writes the memories that earlier sessions left, beside the folder of a session.
fn remember(system: &System, host: &Host, session: &SessionId) -> Result<(), Failure> {
    let place = host.session_folder(session)?;
    let memory = place.with_file_name("memory");
    system.files.create_dir_all(&memory, Access::Private)?;
    for (name, text) in script::memories() {
        let file = memory.join(name);
        system
            .files
            .replace(&file, text.as_bytes(), Access::Private)?;
    }
    Ok(())
}

/// Writes the project's files.
fn set_up(system: &System, home: &Path, project: &Path) -> Result<(), Failure> {
    let files = &system.files;
    files.create_dir_all(home, Access::Private)?;
    files.create_dir_all(&project.join("src"), Access::Private)?;
    for (name, text) in script::files() {
        files.replace(&project.join(name), text.as_bytes(), Access::Private)?;
    }
    Ok(())
}
