//! Servers to connect to, and calls.

use dormouse_context::offload::ToolOutput;
use dormouse_core::block::Block;
use dormouse_drive::ToolCall;
use dormouse_mcp::{ServerConfig, ServerState, Servers, Status, Surroundings, read_servers};
use dormouse_system::RealCommands;
use dormouse_testkit::processes::await_end;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time in which everything of these tests happens; only a fault takes longer.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// States that were told, in their order.
pub(crate) type Told = Arc<Mutex<Vec<ServerState>>>;

/// The server of the example beside these tests.
pub(crate) fn calculator() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().unwrap().parent().unwrap();
    folder.join("examples/calculator")
}

pub(crate) fn configs(servers: &Value) -> Vec<ServerConfig> {
    let (configs, faults) = read_servers(servers, "the test", &|_| None);
    assert_eq!(faults, []);
    configs
}

pub(crate) fn start(servers: &Value, call_timeout: Duration) -> (Servers, Told) {
    let told = Told::default();
    let heard = Arc::clone(&told);
    let around = Surroundings {
        commands: Arc::new(RealCommands),
        folder: std::env::temp_dir(),
        mark: mark(),
        call_timeout,
        changed: Arc::new(move |state| heard.lock().unwrap().push(state.clone())),
    };
    (Servers::start(configs(servers), &around), told)
}

/// A calculator that is connected.
pub(crate) async fn connected() -> (Servers, Told) {
    let (servers, told) = start(&json!({ "calc": { "command": calculator() } }), SOON);
    servers.settled(SOON).await;
    assert_eq!(servers.states()[0].status, Status::Connected, "{servers:?}");
    (servers, told)
}

pub(crate) fn call(tool: &str, input: &Value) -> ToolCall {
    let name = format!("mcp__calc__{tool}");
    let block = json!({ "type": "tool_use", "id": "c1", "name": name, "input": input });
    ToolCall::of(&Block::from_value(&block).unwrap()).unwrap()
}

pub(crate) async fn run(servers: &Servers, tool: &str, input: &Value) -> ToolOutput {
    servers.run(call(tool, input)).await
}

/// Mark of the session that is begun next.
fn mark() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("mcp-test-{}-{number}", std::process::id())
}

/// Waits for the end of a process.
pub(crate) async fn ended(pid: &str) {
    let pid = pid.to_owned();
    let waiting = tokio::task::spawn_blocking(move || await_end(&pid));
    waiting.await.unwrap();
}
