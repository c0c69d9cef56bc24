//! `dormouse sim`: the provider simulator behind a socket.

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use dormouse_sim::{AnswerConfig, SimConfig, serve};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest configuration or script that is read, in bytes. 64 MiB hold any script written by hand
/// or by a test; a larger file is a wrong path.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

const HELP: &str = "\
An Anthropic-compatible server (and an OpenAI chat-completions one) for tests and
cost studies: exact cache accounting, documented errors, faults on demand. It
listens on loopback until it is interrupted, and forgets everything then.

Faults by header:  x-sim-fault: 429 | 529 | 500 | stall | cut | garbage | slow
Virtual time:      --virtual, then x-sim-now-ms: <milliseconds> on each request

Examples:
  dormouse sim
  dormouse sim --listen 127.0.0.1:4242 --script answers.jsonl
  ANTHROPIC_BASE_URL=http://127.0.0.1:4242 ANTHROPIC_API_KEY=any your-agent

JSON: one line {\"listening\": \"http://…\"} when it is ready.";

/// Arguments of `dormouse sim`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Address and port to listen on; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// A TOML file with the simulator's settings
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Answers to give, one JSON object a line; without it a persona answers
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Seed of everything that looks random
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Take the time from a request header instead of the clock
    #[arg(long = "virtual")]
    virtual_time: bool,
}

/// Serves until interrupted. The address is printed when requests can come, not before.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let config = config(args, app)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    let clock = Arc::clone(&app.system.clock);
    runtime.block_on(async {
        let address = config.listen.clone();
        let listener = tokio::net::TcpListener::bind(&address)
            .await
            .map_err(|error| {
                // A taken port is another process at work, hence refused and not failed.
                let mut user = UserError::new(Exit::Refused, format!("cannot listen on {address}"));
                user.causes.push(error.to_string());
                Failure::from(user.hint("choose another port, or port 0 for any free one"))
            })?;
        let server = serve(config, listener, clock)
            .map_err(|error| Failure::from(UserError::of(Exit::Unsuitable, &error)))?;
        let address = server.address();
        if let Some(warning) = warning(address) {
            app.note(&warning);
        }
        let url = format!("http://{address}");
        // On one line, so that a script knows when it has read all of it.
        app.out.tell_one(&Ready { listening: url })?;
        // An interrupt ends the server. If it cannot be listened for, the server runs until it is
        // killed.
        if tokio::signal::ctrl_c().await.is_err() {
            server.wait().await;
        } else {
            server.stop().await;
        }
        Ok(())
    })
}

/// The warning about an address that other machines can reach: the simulator asks nobody for a key.
fn warning(address: SocketAddr) -> Option<String> {
    (!address.ip().is_loopback()).then(|| {
        format!(
            "{address} can be reached from other machines, and the simulator accepts any key; \
             listen on 127.0.0.1 to keep it to this one"
        )
    })
}

/// The line printed when the simulator takes requests.
#[derive(Serialize)]
struct Ready {
    listening: String,
}

impl Report for Ready {
    fn text(&self, out: &mut Out) -> Outcome {
        let line = Line::new().text("listening on ");
        out.line(line.role(Role::Strong, &self.listening))?;
        Ok(out.line("interrupt to stop")?)
    }
}

fn config(args: &Args, app: &App) -> Result<SimConfig, Failure> {
    let read = |path: &Path| -> Result<String, Failure> {
        let bytes = app.system.files.read(path, MOST_BYTES)?;
        String::from_utf8(bytes.into()).map_err(|_| {
            let message = format!("`{}` is not text", path.display());
            UserError::new(Exit::Unsuitable, message).into()
        })
    };
    let unsuitable = |path: &Path, error: &dyn std::error::Error| {
        let mut user = UserError::of(Exit::Unsuitable, error);
        user.message = format!("`{}`: {}", path.display(), user.message);
        Failure::from(user)
    };
    let mut config = match &args.config {
        // A fixed port, so that examples and shell histories work; the file or `--listen` changes
        // it.
        None => SimConfig {
            listen: "127.0.0.1:4242".to_owned(),
            ..SimConfig::default()
        },
        Some(path) => {
            SimConfig::from_toml(&read(path)?).map_err(|error| unsuitable(path, &error))?
        }
    };
    if let Some(path) = &args.script {
        let script = AnswerConfig::from_json_lines(&read(path)?)
            .map_err(|error| unsuitable(path, &error))?
            .script;
        // Only the script is replaced: the persona of the configuration answers once it has run
        // out.
        config.answers.script = script;
    }
    config.listen = args.listen.clone().unwrap_or(config.listen);
    config.seed = args.seed.unwrap_or(config.seed);
    // A flag can only switch it on; the file may have done so already.
    config.virtual_time |= args.virtual_time;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_beyond_this_machine_is_warned_about() {
        for (address, warned) in [
            ("127.0.0.1:1", false),
            ("[::1]:1", false),
            ("0.0.0.0:1", true),
            ("[::]:1", true),
            ("192.168.1.2:1", true),
        ] {
            let warning = warning(address.parse().unwrap());
            assert_eq!(warning.is_some(), warned, "{address}");
        }
    }
}
