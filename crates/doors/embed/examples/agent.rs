//! An agent with one tool, on a provider simulated in this process.
//!
//! ```sh
//! cargo run -p dormouse-embed --example agent
//! ```
//!
//! The window is kept far smaller than the model's, so that a dozen questions are enough to see the
//! conversation shrink by itself.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use dormouse_embed::{Agent, Block, Tool, sim};
use std::error::Error;

/// Tokens the prompt may have: about ten of the tool's results.
const WINDOW: u64 = 40_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let read = Tool::new("Read", "Reads a file.", schema, |input| async move {
        let path = input["path"].as_str().unwrap_or("README.md").to_owned();
        Ok(format!(
            "# {path}\n{}",
            "A line of the file that was asked for.\n".repeat(200)
        ))
    });
    let model = sim::model(sim::SimConfig::default())?;
    let mut session = Agent::new("claude-sonnet-4-5", model)
        .instructions("You answer questions about a project.")
        .tool(read.only_reads())
        .window(WINDOW)
        .notices(|notice| println!("  · {notice}"))
        .open("example")
        .await?;
    for number in 1..=12 {
        let question = format!("Question {number}: what does file_{number}.md say?");
        let end = session.turn(vec![Block::text(&question)]).await?;
        let used = session.snapshot().used;
        println!(
            "{question}\n  {} requests, {used} tokens in use",
            end.requests
        );
    }
    let used = session.snapshot().used;
    println!("In the window: {used} of {WINDOW} tokens. In the log: everything.");
    Ok(())
}
