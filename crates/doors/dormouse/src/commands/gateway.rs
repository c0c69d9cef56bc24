//! `dormouse gateway`: an address between any agent and its provider.
//!
//! # Not here
//! The exchange itself: `dormouse-gateway`. Its figures: [`figures`].

pub mod figures;
mod memory;

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use dormouse_core::settings::keys;
use dormouse_gateway::{ClientKeys, Gateway, Limits, Reads, Server, Upstream, serve};
use dormouse_relay::{BookError, Layers, Relay, folder};
use dormouse_system::Clock;
use memory::{Project, Projects};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Bytes of a file of keys: some ten thousand of them.
const LONGEST_KEYS: u64 = 1024 * 1024;

const HELP: &str = "\
Give an agent the address of the gateway, and its conversations pass through the
layers: long tool results become files and short excerpts, older messages become a
summary, whenever that is cheaper than carrying them on. The agent keeps its own
history and sees none of it. Everything else passes byte for byte, over HTTP/1.1
and HTTP/2, each request sent upstream once. `--layers off` changes no prompt.

A model opens such a file by its path, with the agent's own tools. Beyond loopback,
or with `--read tool`, the gateway offers a tool `dormouse_read` in new conversations
and answers its calls itself; the agent sees one reply without them.

With `--memory FOLDER` conversations get the memory of that project: what certainly
fits is put behind the user's words, and memories are drawn from what the user says.
With several folders a conversation names its own in the header x-dormouse-project.

The gateway books tokens and cost of each conversation; `dormouse stats --gateway`
shows them. It keeps no key. Texts that the layers took out of a prompt are files
below `gateway/` in the home.

On loopback, clients send the key of the upstream. Elsewhere --client-keys is
needed: a client then sends one of these keys as its API key, which is replaced by
ANTHROPIC_API_KEY, or as x-dormouse-key beside a key of its own.

GET /metrics has figures for Prometheus, GET /healthz says `ok`. A request with
the header `dormouse-off` is passed on unread. An interrupt lets running answers
end first.

Examples:
  dormouse gateway
  ANTHROPIC_BASE_URL=http://127.0.0.1:4141 your-agent
  dormouse gateway --upstream http://127.0.0.1:4242 --listen 127.0.0.1:0
  dormouse gateway --memory .
  dormouse gateway --listen 0.0.0.0:4141 --client-keys keys.txt

JSON: one line {\"listening\": \"http://…\", \"upstream\"} when it is ready.";

/// Arguments of `dormouse gateway`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Address and port to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4141")]
    listen: String,
    /// Provider to pass requests on to
    #[arg(long, value_name = "URL", default_value = "https://api.anthropic.com")]
    upstream: String,
    /// Layers that shorten prompts
    #[arg(long, value_name = "on|off", value_enum, default_value_t = LayersArg::On)]
    layers: LayersArg,
    /// How a model opens texts that left its prompt: by path on loopback, else by a tool
    #[arg(long, value_name = "path|tool", value_enum)]
    read: Option<ReadArg>,
    /// A project whose memory conversations get; may be given several times
    #[arg(long, value_name = "FOLDER")]
    memory: Vec<PathBuf>,
    /// A file of keys that clients need, one a line
    #[arg(long, value_name = "FILE")]
    client_keys: Option<PathBuf>,
    /// Largest body of a request, in bytes
    #[arg(long, value_name = "BYTES")]
    max_body: Option<usize>,
    /// Requests at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_requests: Option<u32>,
    /// Seconds that running answers have to end when the gateway stops
    #[arg(long, value_name = "SECONDS")]
    drain: Option<u64>,
}

/// Switch of the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LayersArg {
    On,
    Off,
}

/// Way in which models open texts that left their prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ReadArg {
    Path,
    Tool,
}

impl From<ReadArg> for Reads {
    fn from(read: ReadArg) -> Self {
        match read {
            ReadArg::Path => Self::Path,
            ReadArg::Tool => Self::Tool,
        }
    }
}

impl Args {
    fn limits(&self) -> Limits {
        let usual = Limits::default();
        Limits {
            body: self.max_body.unwrap_or(usual.body),
            // Room for one body of the largest size at least.
            bodies: usual.bodies.max(self.max_body.unwrap_or(0)),
            requests: self
                .max_requests
                .and_then(|most| usize::try_from(most).ok())
                .unwrap_or(usual.requests),
            drain: self.drain.map_or(usual.drain, Duration::from_secs),
            ..usual
        }
    }
}

/// Serves until interrupted. The address is printed when requests can come, not before.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    let settings = host.settings();
    let upstream = Upstream::new(
        &args.upstream,
        settings.get(keys::PROXY).as_deref(),
        &settings.get(keys::NO_PROXY),
    )
    .map_err(|error| UserError::of(Exit::Unsuitable, &error))?;
    let keys = args.client_keys.as_deref();
    let keys = keys.map(|path| client_keys(path, app)).transpose()?;
    let memory = memory(args, app)?;
    // One thread for all connections: a piece passes without a change of threads, which takes longer
    // than passing it. Reading and hashing bodies has threads of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    runtime.block_on(async {
        let listener = listen(&args.listen, keys.is_some()).await?;
        let folder = folder(&host.places().home);
        let relay = Relay::open(&app.system, &folder, host.models());
        let mut layers = Layers::new(&app.system, &folder, host.models(), &settings);
        if let Some(memory) = memory {
            layers = layers.with_memory(Arc::new(memory));
        }
        let relay = Arc::new(relay.map_err(book_failure)?);
        let layers = (args.layers == LayersArg::On).then(|| Arc::new(layers));
        if let Some(layers) = &layers {
            let clock = Arc::clone(&app.system.clock);
            let days = settings.get(keys::RETENTION_DAYS);
            tokio::spawn(sweep_daily(Arc::clone(layers), clock, days));
        }
        let gateway = Gateway {
            relay: Arc::clone(&relay),
            layers,
            reads: args.read.map(Reads::from),
            upstream,
            keys,
            upstream_key: app.system.env.text("ANTHROPIC_API_KEY"),
            limits: args.limits(),
        };
        let unexpected = |error: std::io::Error| UserError::of(Exit::Unexpected, &error);
        let server = serve(gateway, &app.system, listener).map_err(unexpected)?;
        app.remarks();
        app.out.tell_one(&Ready {
            listening: format!("http://{}", server.address()),
            upstream: args.upstream.clone(),
        })?;
        interrupted(server).await;
        Ok(())
    })
}

/// Memory of the projects that were named; `None` if there is none.
fn memory(args: &Args, app: &mut App) -> Result<Option<Projects>, Failure> {
    if args.memory.is_empty() {
        return Ok(None);
    }
    if args.layers == LayersArg::Off {
        let message = "memory needs the layers: it changes prompts";
        return Err(UserError::new(Exit::Usage, message)
            .hint("leave out --layers off, or --memory")
            .into());
    }
    let mut projects = Vec::new();
    for folder in &args.memory {
        // As a client would name it in its header.
        let folder = app.system.files.real_path(folder)?;
        let host = app.host_in(&folder)?;
        projects.push(Project { folder, host });
    }
    Ok(Some(Projects {
        all: projects,
        system: app.system.clone(),
        settings: app.pass_settings_on(),
    }))
}

/// Removes files of the layers that nothing needs, now and once a day.
async fn sweep_daily(layers: Arc<Layers>, clock: Arc<dyn Clock>, days: Option<u64>) {
    let mut daily = tokio::time::interval(Duration::from_hours(24));
    loop {
        daily.tick().await;
        let (layers, now) = (Arc::clone(&layers), clock.now());
        let swept = tokio::task::spawn_blocking(move || layers.sweep(now, days));
        // Whatever failed is tried again tomorrow; the files harm no request.
        drop(swept.await);
    }
}

async fn listen(address: &str, has_keys: bool) -> Result<TcpListener, Failure> {
    let failed = |error: std::io::Error| {
        // A taken port is another process at work, hence refused and not failed.
        let mut user = UserError::new(Exit::Refused, format!("cannot listen on {address}"));
        user.causes.push(error.to_string());
        Failure::from(user.hint("choose another port, or port 0 for any free one"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    if needs_keys(bound) && !has_keys {
        let message = format!("{address} can be reached from other machines");
        return Err(UserError::new(Exit::Refused, message)
            .hint("name a file of keys with --client-keys, or listen on 127.0.0.1")
            .into());
    }
    Ok(listener)
}

/// True for an address that other machines can reach.
fn needs_keys(address: SocketAddr) -> bool {
    !address.ip().is_loopback()
}

/// Waits for an interrupt or an order to end, then for the running answers.
async fn interrupted(server: Server) {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            // Then only an interrupt ends it.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        result = tokio::signal::ctrl_c() => match result {
            Ok(()) => server.stop().await,
            // If it cannot be listened for, the server runs until it is killed.
            Err(_) => server.wait().await,
        },
        () = terminated => server.stop().await,
    }
}

fn client_keys(path: &Path, app: &App) -> Result<ClientKeys, Failure> {
    let bytes = app.system.files.read(path, LONGEST_KEYS)?;
    ClientKeys::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| {
        let message = format!("`{}`: {error}", path.display());
        let hint = "one key a line, such as `openssl rand -hex 24` prints";
        UserError::new(Exit::Unsuitable, message).hint(hint).into()
    })
}

/// The failure of a book that cannot be opened.
fn book_failure(error: BookError) -> Failure {
    match error {
        BookError::Taken(_) => UserError::of(Exit::Refused, &error)
            .hint("stop the other one, or give this one another --home")
            .into(),
        BookError::File(error) => error.into(),
    }
}

/// The line printed when the gateway takes requests.
#[derive(Serialize)]
struct Ready {
    listening: String,
    upstream: String,
}

impl Report for Ready {
    fn text(&self, out: &mut Out) -> Outcome {
        let line = Line::new().text("listening on ");
        let line = line.role(Role::Strong, &self.listening);
        out.line(line.text(format!(", upstream {}", self.upstream)))?;
        Ok(out.line("interrupt to stop")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_beyond_this_machine_needs_keys() {
        for (address, expected) in [
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
            ("192.168.1.2:1", true),
        ] {
            assert_eq!(needs_keys(address.parse().unwrap()), expected, "{address}");
        }
    }
}
