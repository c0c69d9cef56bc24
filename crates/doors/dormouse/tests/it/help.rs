//! Help, version and the list of commands: the program's account of itself.

use crate::program::Machine;
use pretty_assertions::assert_eq;

#[test]
fn without_a_command_it_says_what_works() {
    let machine = Machine::new(&[]);
    let text = machine.stdout("");
    assert_eq!(
        text,
        "\
Dormouse 0.1.0, the memory of a coding agent.
`dormouse -p 'fix the failing test'` lets it work; on a terminal, `dormouse` alone. Commands:

Look      demo         Watch every layer at work for two minutes, without a model
          sessions     List sessions with title, age, messages, tokens and cost
          top          Show the sessions at work here: context, cache, cost
          context      Show what fills the window of a session, and what is left
          usage        Add up tokens and dollars of sessions
          stats        Show cache, cost, layers and memory in figures
          view         Show the prompt as the model sees it, now or earlier
          log          List the records of a transcript
          rewind       Take a session back: conversation, changed files, or both
          export       Print a session for other tools, or for people (Markdown, HTML)
          convert      Make a log from another agent's transcript
Remember  memory …     List, show, add, change and undo memories
          search       Search memories, then what was said in sessions
          recall       Show which memories a question would bring in
          extract      Draw memories from a recorded session
          dream        Merge, correct and prune memories
Study     replay       Play sessions under policies: what each costs, and why
          eval …       Measure how good the engine is at what it does
          sim          Run the provider simulator
          guard …      Judge command lines and tool calls, look for secrets
Set up    doctor       Look at keys, servers, sandbox, settings: what is missing
          config …     Show and document settings, trust folders
          install      Put memory into Claude Code, Codex and other agents
          uninstall    Take memory out of an agent again
          gateway      Shorten prompts between any agent and its provider
          acp          Work inside an editor, by the Agent Client Protocol
          hook         Give another agent's session memory, from its hooks
          mcp          Offer memory to other agents as tools (MCP)
          gc           Show and remove what nothing refers to any more
          completions  Print a completion script for a shell

Start with `dormouse sessions ~/.claude/projects`, then `dormouse context FILE`.
`dormouse help COMMAND` explains each of them.
"
    );
    assert!(text.lines().count() <= 37);
    let json = machine.json("--json");
    assert_eq!(json["version"], "0.1.0");
    assert_eq!(json["commands"][0]["name"], "context");
}

#[test]
fn every_command_that_is_listed_has_help_that_fits_the_screen() {
    let machine = Machine::new(&[]);
    let listed = machine.json("--json");
    let names = listed["commands"].as_array().unwrap().iter();
    let mut names: Vec<&str> = names
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    names.extend(["", "config", "guard"]);
    // 80 columns, and a narrow screen on which help that was broken by hand came out ragged.
    for columns in [80, 60] {
        let machine = Machine::new(&[]).with_variable("COLUMNS", columns.to_string());
        for (name, flag) in names
            .iter()
            .flat_map(|name| [(name, "-h"), (name, "--help")])
        {
            let help = machine.stdout(&format!("{name} {flag}"));
            assert!(help.contains("Usage: dormouse"), "{name}");
            for line in help.lines() {
                assert!(line.chars().count() <= columns, "{name}: {line}");
            }
        }
    }
}

#[test]
fn the_short_help() {
    assert_eq!(
        Machine::new(&[]).stdout("-h"),
        "\
The memory of a coding agent

Usage: dormouse [OPTIONS] [COMMAND]

Look:
  demo         Watch every layer at work for two minutes, without a model
  sessions     List sessions with title, age, messages, tokens and cost
  top          Show the sessions at work here: context, cache, cost
  context      Show what fills the window of a session, and what is left
  usage        Add up tokens and dollars of sessions
  stats        Show cache, cost, layers and memory in figures
  view         Show the prompt as the model sees it, now or earlier
  log          List the records of a transcript
  rewind       Take a session back: conversation, changed files, or both
  export       Print a session for other tools, or for people (Markdown, HTML)
  convert      Make a log from another agent's transcript

Remember:
  memory       List, show, add, change and undo memories
  search       Search memories, then what was said in sessions
  recall       Show which memories a question would bring in
  extract      Draw memories from a recorded session
  dream        Merge, correct and prune memories

Study:
  replay       Play sessions under policies: what each costs, and why
  eval         Measure how good the engine is at what it does
  sim          Run the provider simulator
  guard        Judge command lines and tool calls, look for secrets

Set up:
  doctor       Look at keys, servers, sandbox, settings: what is missing
  config       Show and document settings, trust folders
  install      Put memory into Claude Code, Codex and other agents
  uninstall    Take memory out of an agent again
  gateway      Shorten prompts between any agent and its provider
  acp          Work inside an editor, by the Agent Client Protocol
  hook         Give another agent's session memory, from its hooks
  mcp          Offer memory to other agents as tools (MCP)
  gc           Show and remove what nothing refers to any more
  completions  Print a completion script for a shell

Options:
      --json                    Print JSON, for programs
      --color <WHEN>            Use colour: auto (on a terminal, unless
                                `NO_COLOR` is set), always or never
      --set <KEY=VALUE>         Set a setting for this command only; may be
                                repeated
      --home <DIR>              Keep Dormouse's files in DIR instead of
                                ~/.dormouse
  -p, --print [<PROMPT>]        Let the agent work on PROMPT and print its
                                answer; text from a pipe is added
  -c, --continue                Go on with the newest session of this project
  -r, --resume [<SESSION>]      Go on with a session: its id or the beginning of
                                it, a file, or `latest`; those of Claude Code,
                                Codex and pi are converted first
      --mode <MODE>             Answer to calls that no rule decides: ask,
                                accept-edits, plan, sandbox, deny or all [alias:
                                --permission-mode]
      --output-format <FORMAT>  Print text, one JSON object at the end, or one a
                                line as things happen [possible values: text,
                                json, stream-json]
      --max-turns <N>           End the turn after this many requests
      --model <NAME>            Talk to this model instead of the one of the
                                settings
  -h, --help                    Print help (see more with '--help')
  -V, --version                 Print version

Examples:
  dormouse -p 'fix the failing test'    Let the agent work, print its answer
  dormouse sessions ~/.claude/projects  What is there, what it cost
  dormouse context session.jsonl        What fills the window, what is left
  dormouse usage ~/.claude/projects     Tokens and dollars, each counted once
  dormouse replay --generated           What forgetting costs, by policy
  dormouse memory add 'Use tabs'        Remember something
  dormouse search 'retry upload'        Memories, then what was said in sessions
  dormouse config show                  Settings in force, and why

`dormouse --help` also lists exit codes and JSON output.
"
    );
}

#[test]
fn the_help_of_dreams_says_when_it_is_time() {
    let help = Machine::new(&[]).stdout("dream --help");
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("time to dream once a day has passed"),
        "{help}"
    );
}

#[test]
fn the_version() {
    assert_eq!(Machine::new(&[]).stdout("--version"), "dormouse 0.1.0\n");
}

#[test]
fn completions_know_the_commands() {
    let machine = Machine::new(&[]);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = machine.stdout(&format!("completions {shell}"));
        assert!(script.contains("untrust"), "{shell}");
        let json = machine.json(&format!("completions {shell} --json"));
        assert_eq!(
            (json["shell"].as_str(), json["script"].as_str()),
            (Some(shell), Some(script.as_str()))
        );
    }
}
