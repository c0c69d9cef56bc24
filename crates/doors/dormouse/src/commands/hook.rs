//! `dormouse hook`: memory for a session of another agent, called by that agent's hooks.
//!
//! # Model
//! The event is read from the standard input, the answer printed in the form of Claude Code's hooks.
//! The agent waits for this process and takes exit code 2 for a veto: on any fault nothing is printed
//! and the code is 0, also for arguments that are not understood. Work that takes long is left to a
//! further process, which outlives this one.
//!
//! # Not here
//! The answers, and the work: `dormouse-host`.

use crate::app::App;
use crate::cli::Globals;
use crate::error::Outcome;
use clap::{Parser, Subcommand};
use dormouse_host::{GuestAnswer, GuestEvent, GuestMoment};
use serde_json::json;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const HELP: &str = "\
EVENT: session-start, user-prompt-submit, subagent-start, post-tool-use, pre-compact,
stop, session-end. Reads the event as JSON on the standard input and prints the
answer as the hooks of Claude Code expect it; nothing at all is the usual answer.

session-start gives rules and the index of memory, user-prompt-submit the memories
that certainly fit, post-tool-use rules with triggers for the file or command,
subagent-start rules, session-start after a compaction rules and evidence. stop and
session-end hand the transcript to a process of its own, which draws memories from
it and dreams if it is time; without a model by rules. Each session is given a
memory once.

It never stops the agent: on any fault it prints nothing and exits with 0.
`dormouse stats` has what was given and what that cost.

Examples:
  dormouse hook user-prompt-submit < event.json";

/// Name of the event that works the spool off; no agent sends it.
const WORK: &str = "work";
/// Most bytes of an event. Prompts and tool results of megabytes are read, since only their ends are
/// looked at; more is no event.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Longest wait for the event and for the disk. Agents wait for the answer; a pipe that stays open or a
/// slow disk must not stop them.
const LONGEST: Duration = Duration::from_secs(2);

/// Arguments of `dormouse hook`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Moment of the session, by its name
    #[arg(value_name = "EVENT")]
    event: String,
}

/// Command line of a hook. Agents wait for hooks with every prompt and every tool call, and building
/// the parser of all commands takes longer than the answer.
#[derive(Debug, Parser)]
#[command(name = "dormouse")]
pub struct HookLine {
    /// Options that all commands understand.
    #[command(flatten)]
    pub globals: Globals,
    /// The one command.
    #[command(subcommand)]
    pub command: HookCommand,
}

/// The hook as the only command.
#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Give another agent's session memory, from its hooks
    Hook(Args),
}

/// True if the command line is that of a hook, which must not fail. Agents are set up with the name
/// of the command in the first place.
pub fn is_hook(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|word| word == "hook")
}

/// Result of work in a thread of its own; `None` if it takes too long or panics. The thread ends with
/// the process.
fn within<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (send, done) = mpsc::channel();
    thread::spawn(move || send.send(work()));
    done.recv_timeout(LONGEST).ok()
}

/// Answers an event of another agent.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    if args.event == WORK {
        return work(app);
    }
    let Some(moment) = GuestMoment::of(&args.event) else {
        return Ok(());
    };
    let read = || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().take(MOST_BYTES).read_to_end(&mut bytes);
        read.map(|_| bytes)
    };
    let Some(Ok(bytes)) = within(read) else {
        return Ok(());
    };
    let Ok(event) = GuestEvent::read(moment, &bytes) else {
        return Ok(());
    };
    let project = app.system.env.var("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let Some(folder) = event.folder(project) else {
        return Ok(());
    };
    let host = app.host_in(&folder)?;
    // A fault is no answer: the agent is not to notice it.
    let answer = within(move || host.attend(&event).ok()).flatten();
    let Some(GuestAnswer { context, work }) = answer else {
        return Ok(());
    };
    if work {
        let mut arguments = vec!["hook".to_owned(), WORK.to_owned()];
        for setting in app.given_settings() {
            arguments.extend(["--set".to_owned(), setting.clone()]);
        }
        // Not started means that the work waits for the next hook.
        let _started = app.system.commands.detach(&arguments, &folder);
    }
    if let Some(context) = context {
        let event = moment.event();
        app.out.json_line(&json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": context }
        }))?;
    }
    Ok(())
}

/// Works the spool off, until it is empty or another process does it.
fn work(app: &mut App) -> Outcome {
    let host = app.host()?;
    loop {
        let Some(lock) = host.spool_lock()? else {
            return Ok(());
        };
        for task in host.spooled()? {
            host.begin_spooled(&task)?;
            // A task that fails is not tried again: what it leaves undone is found by the next.
            let opened = task.host(&app.system, app.given_settings());
            if let Ok(own) = opened {
                let _worked = own.work_off(&task);
            }
            host.end_spooled(&task)?;
        }
        // Released before the last look: a task that came meanwhile found the lock held.
        drop(lock);
        if host.spooled()?.is_empty() {
            return Ok(());
        }
    }
}
