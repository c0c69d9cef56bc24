//! Options of the agent without a screen, in the spellings of Claude Code where it has them.

use crate::app::App;
use crate::error::{Exit, Failure, UserError};
use clap::{ArgGroup, ValueEnum};
use dormouse_agent::{AgentAsk, Mode, Resume, ServerAsk, ServerConfig, UnknownMode};
use dormouse_core::id::SessionId;
use dormouse_core::usage::Usd;
use dormouse_host::Host;
use serde_json::Value;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

/// Longest prompt from the standard input, in bytes; a longer text belongs into a file.
const LONGEST_INPUT: u64 = 10 * 1024 * 1024;

/// Options of the agent.
#[derive(Debug, clap::Args)]
#[command(
    next_help_heading = "Agent",
    group(ArgGroup::new("work").args(["print", "input_format"]).multiple(true))
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag of the command line is one"
)]
pub struct Args {
    /// Let the agent work on PROMPT and print its answer; text from a pipe is added
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1, default_missing_value = "")]
    pub(super) print: Option<String>,
    /// Go on with the newest session of this project
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    go_on: bool,
    /// Go on with a session: its id or the beginning of it, a file, or `latest`; those of Claude Code, Codex and pi
    /// are converted first
    #[arg(short, long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "latest")]
    resume: Option<String>,
    /// Go on with a copy; the session that is named stays as it is
    #[arg(hide_short_help = true, long, visible_alias = "fork-session")]
    fork: bool,
    /// Give the new session this id
    #[arg(hide_short_help = true, long, value_name = "ID")]
    session_id: Option<String>,
    /// Answer to calls that no rule decides: ask, accept-edits, plan, sandbox, deny or all
    #[arg(long, visible_alias = "permission-mode", value_name = "MODE", default_value = "ask", hide_default_value = true, value_parser = mode)]
    mode: Mode,
    /// Print text, one JSON object at the end, or one a line as things happen
    #[arg(long, value_name = "FORMAT", requires = "work")]
    pub(super) output_format: Option<OutputFormat>,
    /// Read one prompt as text, or one JSON object a line until the input ends
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FORMAT",
        default_value = "text",
        hide_default_value = true
    )]
    pub(super) input_format: InputFormat,
    /// Print pieces of answers as they come, with stream-json
    #[arg(hide_short_help = true, long, requires = "work")]
    pub(super) include_partial_messages: bool,
    /// Repeat messages from the input on the output, with stream-json
    #[arg(hide_short_help = true, long, requires = "work")]
    pub(super) replay_user_messages: bool,
    /// Words in place of the system prompt
    #[arg(hide_short_help = true, long, value_name = "TEXT")]
    pub(super) system_prompt: Option<String>,
    /// Words that follow the system prompt
    #[arg(hide_short_help = true, long, value_name = "TEXT")]
    append_system_prompt: Option<String>,
    /// Rules that allow tool calls in this run, such as `Bash(cargo test *)`; several by commas
    #[arg(hide_short_help = true, long = "allowedTools", visible_alias = "allowed-tools", value_name = "RULES", num_args = 1..)]
    allowed_tools: Vec<String>,
    /// Rules that refuse tool calls in this run
    #[arg(hide_short_help = true, long = "disallowedTools", visible_alias = "disallowed-tools", value_name = "RULES", num_args = 1..)]
    disallowed_tools: Vec<String>,
    /// Offer these of the agent's tools only; an empty list offers none, `default` all
    #[arg(hide_short_help = true, long, value_name = "NAMES", num_args = 1..)]
    tools: Option<Vec<String>>,
    /// Folders besides this one in which files may be read and changed
    #[arg(hide_short_help = true, long, value_name = "DIR", num_args = 1..)]
    add_dir: Vec<PathBuf>,
    /// End the turn after this many requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
    /// End the work once it has cost this many dollars
    #[arg(hide_short_help = true, long, value_name = "USD")]
    max_budget_usd: Option<Usd>,
    /// Talk to this model instead of the one of the settings
    #[arg(long, value_name = "NAME")]
    pub(super) model: Option<String>,
    /// Without memory, instruction files and notes
    #[arg(hide_short_help = true, long)]
    pub(super) bare: bool,
    /// Ask for permission through the pipes of stream-json: `stdio`
    #[arg(hide_short_help = true, long, value_name = "TOOL", requires = "work")]
    permission_prompt_tool: Option<String>,
    /// Servers of tools as JSON or a file of it; those of the type `sdk` live in the program
    #[arg(hide_short_help = true, long, value_name = "JSON", num_args = 1..)]
    mcp_config: Vec<String>,
    /// Take over from an overloaded model with this one
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    pub(super) fallback_model: Option<String>,
    /// Connect to the servers of --mcp-config only
    #[arg(hide_short_help = true, long)]
    strict_mcp_config: bool,
    /// Draw no screen: lines only, for screen readers and plain terminals
    #[arg(hide_short_help = true, long, conflicts_with = "work")]
    pub(super) plain: bool,
    /// Accepted for programs that set it; stream-json is always complete
    #[arg(long, hide = true)]
    verbose: bool,
}

/// Form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

/// Form of the prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum InputFormat {
    Text,
    StreamJson,
}

fn mode(text: &str) -> Result<Mode, UnknownMode> {
    text.parse()
}

impl Args {
    /// The name of an option that only the agent has, if one was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.go_on, "--continue"),
            (self.resume.is_some(), "--resume"),
            (self.fork, "--fork"),
            (self.session_id.is_some(), "--session-id"),
            (self.model.is_some(), "--model"),
            (self.bare, "--bare"),
            (self.plain, "--plain"),
            (self.system_prompt.is_some(), "--system-prompt"),
            (
                self.append_system_prompt.is_some(),
                "--append-system-prompt",
            ),
            (!self.allowed_tools.is_empty(), "--allowedTools"),
            (!self.disallowed_tools.is_empty(), "--disallowedTools"),
            (self.tools.is_some(), "--tools"),
            (!self.add_dir.is_empty(), "--add-dir"),
            (self.max_turns.is_some(), "--max-turns"),
            (self.max_budget_usd.is_some(), "--max-budget-usd"),
            (!self.mcp_config.is_empty(), "--mcp-config"),
            (self.strict_mcp_config, "--strict-mcp-config"),
            (self.fallback_model.is_some(), "--fallback-model"),
        ];
        let given = given.into_iter().find(|(given, _)| *given);
        given.map(|(_, name)| name)
    }

    /// True for lines in place of a screen.
    pub const fn is_plain(&self) -> bool {
        self.plain
    }

    /// Sets the settings that the options stand for. Comes before the host is opened.
    pub(in crate::commands) fn apply(&self, app: &mut App) {
        app.set(self.model.as_ref().map(|model| format!("model={model}")));
        let fallback = self.fallback_model.as_ref();
        app.set(fallback.map(|model| format!("fallback_model={model}")));
        app.set(self.bare.then(|| "simple=true".to_owned()));
    }

    /// The agent that the options describe, with a person before it.
    pub(in crate::commands) fn attended(
        &self,
        app: &App,
        host: &Host,
    ) -> Result<AgentAsk, Failure> {
        let mut ask = self.ask()?;
        ask.attended = true;
        ask.one_shot = false;
        let system = self.system_prompt.clone();
        ask.system = system.filter(|text| !text.trim().is_empty());
        ask.servers.given = self.servers(app, host)?.others;
        Ok(ask)
    }

    /// True if the agent is to work.
    pub fn is_wanted(&self) -> bool {
        self.print.is_some() || self.input_format == InputFormat::StreamJson
    }

    pub(super) fn prompt(&self) -> Result<String, Failure> {
        let mut prompt = self.print.clone().unwrap_or_default();
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            let mut piped = String::new();
            let read = stdin
                .lock()
                .take(LONGEST_INPUT + 1)
                .read_to_string(&mut piped);
            let too_long = u64::try_from(piped.len()).is_ok_and(|length| length > LONGEST_INPUT);
            if read.is_err() || too_long {
                let what =
                    format!("the standard input is no text of at most {LONGEST_INPUT} bytes");
                let error = UserError::new(Exit::Unsuitable, what);
                return Err(error
                    .hint("put long or other data into a file and name it")
                    .into());
            }
            if !prompt.is_empty() && !piped.trim().is_empty() {
                prompt.push_str("\n\n");
            }
            prompt.push_str(piped.trim_end());
        }
        if prompt.trim().is_empty() {
            let error = UserError::new(Exit::Usage, "there is no prompt");
            return Err(error
                .hint("write it behind -p, or send it through a pipe: dormouse -p 'fix the test'")
                .into());
        }
        Ok(prompt)
    }

    /// True if the program is asked where nobody else can be.
    pub(super) fn asks_program(&self) -> bool {
        self.permission_prompt_tool.as_deref() == Some("stdio")
    }

    /// Servers that the command line names.
    pub(super) fn servers(&self, app: &App, host: &Host) -> Result<GivenServers, Failure> {
        let mut given = GivenServers::default();
        for named in &self.mcp_config {
            let (text, origin) = if named.trim_start().starts_with('{') {
                (named.clone(), "--mcp-config".to_owned())
            } else {
                let read = app.system.files.read(Path::new(named), LONGEST_INPUT);
                let bytes = read.map_err(|error| UserError::of(Exit::Unreadable, &error))?;
                (
                    String::from_utf8_lossy(&bytes).into_owned(),
                    format!("`{named}`"),
                )
            };
            let mut config: Value = serde_json::from_str(&text).map_err(|error| {
                let what = format!("--mcp-config is no JSON: {error}");
                UserError::new(Exit::Usage, what)
            })?;
            if let Some(servers) = config["mcpServers"].as_object_mut() {
                let in_program = |server: &Value| server["type"] == "sdk";
                let names = servers.iter().filter(|(_, server)| in_program(server));
                given.in_program.extend(names.map(|(name, _)| name.clone()));
                servers.retain(|_, server| !in_program(server));
            }
            let servers = host.read_servers(&config["mcpServers"], &origin);
            given.others.extend(servers);
        }
        Ok(given)
    }

    fn resume(&self) -> Resume {
        match &self.resume {
            Some(name) => Resume::Named(name.clone()),
            None if self.go_on => Resume::Newest,
            None => Resume::New,
        }
    }

    /// The agent that the options describe.
    pub(super) fn ask(&self) -> Result<AgentAsk, Failure> {
        let resumes = self.go_on || self.resume.is_some();
        if self.session_id.is_some() && resumes && !self.fork {
            let what = "a session that goes on keeps its id";
            let error = UserError::new(Exit::Usage, what);
            return Err(error
                .hint("add --fork to give a copy the id of --session-id")
                .into());
        }
        Ok(AgentAsk {
            resume: self.resume(),
            session: self.session_id.as_deref().map(SessionId::new),
            fork: self.fork,
            mode: self.mode,
            allow: rules(&self.allowed_tools),
            deny: rules(&self.disallowed_tools),
            tools: self
                .tools
                .as_deref()
                .map(rules)
                .filter(|names| names != &["default"]),
            folders: self.add_dir.clone(),
            append_system: self.append_system_prompt.clone(),
            most_requests: self
                .max_turns
                .map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            budget: self.max_budget_usd,
            one_shot: self.input_format == InputFormat::Text,
            servers: ServerAsk {
                only_given: self.strict_mcp_config,
                ..ServerAsk::default()
            },
            ..AgentAsk::default()
        })
    }
}

/// Servers that a command line names.
#[derive(Debug, Default)]
pub(super) struct GivenServers {
    /// Names of those that live in the program.
    pub(super) in_program: Vec<String>,
    /// Processes, and servers that are reached over HTTP.
    pub(super) others: Vec<ServerConfig>,
}

/// The command line of a program that sends lines of JSON, without the options that this version
/// does not know, and their names: such programs are written for agents with more of them. Other
/// command lines stay as they are, so that people hear of their mistakes.
pub fn known_only(
    command: &clap::Command,
    arguments: Vec<OsString>,
) -> (Vec<OsString>, Vec<String>) {
    let streams = arguments
        .windows(2)
        .any(|two| two == ["--input-format", "stream-json"])
        || arguments
            .iter()
            .any(|one| one == "--input-format=stream-json");
    if !streams {
        return (arguments, Vec::new());
    }
    let known: Vec<&str> = command
        .get_arguments()
        .flat_map(|known| {
            let aliases = known.get_all_aliases().unwrap_or_default();
            known.get_long().into_iter().chain(aliases)
        })
        .collect();
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let name = argument.to_str().and_then(|text| text.strip_prefix("--"));
        let (name, value) = match name.map(|name| name.split_once('=').unwrap_or((name, ""))) {
            Some(name) if !name.0.is_empty() && !known.contains(&name.0) => name,
            _ => {
                kept.push(argument);
                continue;
            }
        };
        left_out.push(format!("--{name}"));
        let is_value = |next: &OsString| !next.to_string_lossy().starts_with('-');
        if value.is_empty() && arguments.peek().is_some_and(is_value) {
            arguments.next();
        }
    }
    (kept, left_out)
}

/// Rules of an option, which stand apart by commas or blanks outside of parentheses.
fn rules(given: &[String]) -> Vec<String> {
    let mut rules = Vec::new();
    for text in given {
        let mut rule = String::new();
        let mut depth = 0_usize;
        for char in text.chars() {
            match char {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && (char == ',' || char.is_whitespace()) {
                rules.push(std::mem::take(&mut rule));
            } else {
                rule.push(char);
            }
        }
        rules.push(rule);
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

#[cfg(test)]
mod tests {
    use super::{known_only, rules};
    use crate::cli::Cli;
    use clap::CommandFactory as _;
    use std::ffi::OsString;

    #[test]
    fn options_of_other_agents_are_left_out_for_programs_alone() {
        let line = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = line(
            "dormouse --output-format stream-json --verbose --setting-sources user --input-format \
             stream-json --thinking=adaptive --strict-settings --permission-mode plan",
        );
        let (kept, left_out) = known_only(&Cli::command(), given);
        let expected = "dormouse --output-format stream-json --verbose --input-format stream-json \
                        --permission-mode plan";
        assert_eq!(kept, line(expected));
        let names = ["--setting-sources", "--thinking", "--strict-settings"];
        assert_eq!(left_out, names);
        let typed = line("dormouse --output-fromat json -p hi");
        let (kept, left_out) = known_only(&Cli::command(), typed.clone());
        assert_eq!((kept, left_out.len()), (typed, 0));
    }

    #[test]
    fn rules_stand_apart_by_commas_and_blanks_outside_of_parentheses() {
        let given = [
            "Bash(git log --a, b),Read Edit(src/**)".to_owned(),
            "Grep".to_owned(),
        ];
        let expected = ["Bash(git log --a, b)", "Read", "Edit(src/**)", "Grep"];
        assert_eq!(rules(&given), expected);
    }
}
