//! `dormouse mcp`: memory as a server of tools, by the Model Context Protocol.
//!
//! # Model
//! Both eras of the protocol are spoken: with `initialize` and without sessions; the client's first
//! message decides. The server answers at once and opens the home and the memory when a tool or a
//! resource is first asked for: clients wait for a server before their first request.
//!
//! `rmcp` is known here and in the modules below, and nowhere else among the doors.
//!
//! # Not here
//! Recall, search and memories: `dormouse-host`. Servers that the agent itself uses: `dormouse-mcp`.

mod asking;
mod fixtures;
mod server;
mod tools;
mod watch;
mod web;

use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use rmcp::ServiceExt as _;
use server::MemoryServer;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

const HELP: &str = "\
A server of tools for agents: recall, remember, forget, search, and the index and
each memory as resources. Agents start it themselves, by a command in their settings;
with --http it is reached at an address of this machine.

What an agent wants remembered waits in `dormouse memory inbox` for you; it forgets
only what agents have written. The project is the folder that the client names in
CLAUDE_PROJECT_DIR, else the one it starts in.

With --http the variable DORMOUSE_MCP_KEY, if it is set, is the key that clients send
as `Authorization: Bearer KEY`. Pages of other machines are refused.

Examples:
  claude mcp add -s user dormouse -- dormouse mcp
  codex mcp add dormouse -- dormouse mcp
  dormouse mcp --http 127.0.0.1:4142";

/// Variable with the key that clients over HTTP have to send.
const KEY: &str = "DORMOUSE_MCP_KEY";

/// Arguments of `dormouse mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Listen at this address of the machine instead of the standard streams
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Offer the tools and resources that the conformance suite asks for
    #[arg(long, hide = true)]
    fixtures: bool,
}

/// Serves a client until it closes the input, or until the process is ended.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let folder = app.system.env.var("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.is_absolute());
    let session = app.system.env.text("CLAUDE_CODE_SESSION_ID");
    let server = MemoryServer::new(app.host_opener(folder), session, args.fixtures);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    let outcome = runtime.block_on(async {
        if let Some(address) = args.http {
            let key = app.system.env.text(KEY).filter(|key| !key.is_empty());
            return web::serve(server, address, key, app).await;
        }
        let transport = (tokio::io::stdin(), output()?);
        // A client that leaves before it has said anything is no fault.
        let Ok(running) = server.serve(transport).await else {
            return Ok(());
        };
        let ended = running.waiting().await;
        let ended = ended.map_err(|error| UserError::of(Exit::Unexpected, &error));
        ended.map(drop).map_err(Into::into)
    });
    // A thread that waits for the standard input would keep the program alive.
    runtime.shutdown_background();
    outcome
}

/// The standard output by a handle of its own: the usual one is locked by the program's own output.
fn output() -> Result<tokio::fs::File, UserError> {
    let handle = std::io::stdout().as_fd().try_clone_to_owned();
    let handle = handle.map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    Ok(tokio::fs::File::from_std(handle.into()))
}
