//! The command line as the user typed it. Nothing is looked up or decided here; a command's own
//! arguments stand beside the command.

use crate::commands::{
    acp, completions, config, context, demo, doctor, dream, eval, export, extract, gateway, gc,
    guard, hook, install, log, mcp, memory, print, recall, replay, rewind, search, sessions, sim,
    stats, top, usage, view,
};
use crate::output::{ColorChoice, Format};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum as _};
use std::ffi::OsString;

// A macro, because `concat!` takes literals only and both helps begin with the examples.
macro_rules! examples {
    () => {
        "\
Examples:
  dormouse -p 'fix the failing test'    Let the agent work, print its answer
  dormouse sessions ~/.claude/projects  What is there, what it cost
  dormouse context session.jsonl        What fills the window, what is left
  dormouse usage ~/.claude/projects     Tokens and dollars, each counted once
  dormouse replay --generated           What forgetting costs, by policy
  dormouse memory add 'Use tabs'        Remember something
  dormouse search 'retry upload'        Memories, then what was said in sessions
  dormouse config show                  Settings in force, and why

"
    };
}

const SHORT: &str = concat!(
    examples!(),
    "`dormouse --help` also lists exit codes and JSON output."
);

const LONG: &str = concat!(
    examples!(),
    "\
Exit codes:
  0  all went well, also when a pipe is closed early
  1  something failed that should not have
  2  wrong usage
  3  an input cannot be read: missing, a directory, no permission
  4  an input is not what it should be
  5  refused: locked by another process, written by a newer version, not let
     through by the guard or a hook, or the model declined
  6  a limit that was set: it has ended the agent's work, or a figure breaks it
  143  ended by SIGTERM; the session is closed in order

With --json, results are JSON on stdout. An error is one object on stderr,
  {\"error\": {\"kind\", \"exit_code\", \"message\", \"causes\", \"hint\"}}
and a remark beside a result is an object {\"note\"} there. Field names stay;
new ones may come."
);

/// The memory of a coding agent
#[derive(Debug, Parser)]
#[command(name = "dormouse", version, after_help = SHORT, after_long_help = LONG)]
pub struct Cli {
    /// Options that all commands understand.
    #[command(flatten)]
    pub globals: Globals,
    /// Options of the agent itself.
    #[command(flatten)]
    pub agent: print::Args,
    /// The command; without one, a list of those that work is printed.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options that all commands understand, before or behind the command's name.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
    /// Use colour: auto (on a terminal, unless `NO_COLOR` is set), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub color: ColorChoice,
    /// Set a setting for this command only; may be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub set: Vec<String>,
    /// Keep Dormouse's files in DIR instead of ~/.dormouse
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<String>,
}

impl Globals {
    /// The settings given by flags. `--home` is the more particular way to write its setting.
    pub fn settings(&self) -> Vec<String> {
        let home = self.home.iter().map(|home| format!("home={home}"));
        // Last, so that `--home` wins over `--set home=…`: the later of two flags counts.
        self.set.iter().cloned().chain(home).collect()
    }
}

/// The commands that work; one that is only planned is not listed.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what fills the window of a session, and what is left
    Context(context::Args),
    /// Watch every layer at work for two minutes, without a model
    Demo(demo::Args),
    /// List sessions with title, age, messages, tokens and cost
    Sessions(sessions::Args),
    /// List the records of a transcript
    Log(log::Args),
    /// Show the prompt as the model sees it, now or earlier
    View(view::Args),
    /// Take a session back: conversation, changed files, or both
    Rewind(rewind::Args),
    /// Add up tokens and dollars of sessions
    Usage(usage::Args),
    /// Show cache, cost, layers and memory in figures
    Stats(stats::Args),
    /// Show the sessions at work here: context, cache, cost
    Top(top::Args),
    /// Play sessions under policies: what each costs, and why
    Replay(replay::Args),
    /// Measure how good the engine is at what it does
    Eval(eval::Args),
    /// Shorten prompts between any agent and its provider
    Gateway(gateway::Args),
    /// Run the provider simulator
    Sim(sim::Args),
    /// Print a session for other tools, or for people (Markdown, HTML)
    Export(export::ExportArgs),
    /// Make a log from another agent's transcript
    Convert(export::ConvertArgs),
    /// List, show, add, change and undo memories
    Memory(memory::Args),
    /// Merge, correct and prune memories
    Dream(dream::Args),
    /// Draw memories from a recorded session
    Extract(extract::Args),
    /// Show which memories a question would bring in
    Recall(recall::Args),
    /// Search memories, then what was said in sessions
    Search(search::Args),
    /// Show and document settings, trust folders
    Config(config::Args),
    /// Work inside an editor, by the Agent Client Protocol
    Acp(acp::Args),
    /// Put memory into Claude Code, Codex and other agents
    Install(install::InstallArgs),
    /// Take memory out of an agent again
    Uninstall(install::UninstallArgs),
    /// Give another agent's session memory, from its hooks
    Hook(hook::Args),
    /// Offer memory to other agents as tools (MCP)
    Mcp(mcp::Args),
    /// Look at keys, servers, sandbox, settings: what is missing
    Doctor(doctor::Args),
    /// Judge command lines and tool calls, look for secrets
    Guard(guard::Args),
    /// Show and remove what nothing refers to any more
    Gc(gc::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
}

/// Options read before clap parses: an error about the command line needs its own format and
/// colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Early {
    /// The time for colour; `auto` if the value is not understood.
    pub color: ColorChoice,
    /// The reader of the error, from `--json`.
    pub format: Format,
}

impl Early {
    /// Looks for `--json` and `--color` among the arguments.
    pub fn of(arguments: &[OsString]) -> Self {
        let mut early = Self {
            color: ColorChoice::Auto,
            format: Format::Text,
        };
        let mut texts = arguments
            .iter()
            // The first argument is the program's own path.
            .skip(1)
            // An argument that is not Unicode can be a path, never one of these options.
            .map(|argument| argument.to_str().unwrap_or_default())
            // Behind `--` stand values, even those that look like options.
            .take_while(|argument| *argument != "--");
        while let Some(argument) = texts.next() {
            let color = match argument.strip_prefix("--color") {
                Some("") => texts.next(),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            // A wrong value is left for the parser to complain about.
            if let Some(Ok(choice)) = color.map(|color| ColorChoice::from_str(color, false)) {
                early.color = choice;
            }
            if argument == "--json" {
                early.format = Format::Json;
            }
        }
        early
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn colour_and_json_are_seen_in_a_wrong_command_line_too() {
        let look = |line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let early = Early::of(&arguments);
            (early.color, early.format)
        };
        assert_eq!(look("dormouse nonsense"), (ColorChoice::Auto, Format::Text));
        assert_eq!(
            look("dormouse --color never nonsense --json"),
            (ColorChoice::Never, Format::Json)
        );
        assert_eq!(
            look("dormouse --color=always --color=purple -- --json"),
            (ColorChoice::Always, Format::Text)
        );
    }
}
