//! The plugin for Claude Code: a marketplace folder with hooks, server, skills.
//!
//! # Model
//! Files as values. Claude Code copies the folder when the plugin is installed, so that the command
//! lines in it name the program by its whole path and refer to nothing in the folder.
//!
//! # Not here
//! Writing the files and registering them (the parent module); the answers of the hooks (`guest`).

use super::clients::NAME;
use serde_json::{Value, json};

/// Seconds after which Claude Code gives a hook up. Ours ends by itself after two.
const TIMEOUT: u32 = 5;

/// Hooks of the client with the moments of `guest` that they are answered by.
const HOOKS: [(&str, &str); 7] = [
    ("SessionStart", "session-start"),
    ("UserPromptSubmit", "user-prompt-submit"),
    ("SubagentStart", "subagent-start"),
    ("PostToolUse", "post-tool-use"),
    ("PreCompact", "pre-compact"),
    ("Stop", "stop"),
    ("SessionEnd", "session-end"),
];

const README: &str = "\
# Dormouse for Claude Code

Gives sessions of Claude Code the memory of Dormouse: your rules and the index of what is known when a
session begins, a memory with a prompt that it certainly fits, rules that belong to a file or a command
when that is touched, and the evidence of a session after a compaction. What you say becomes memory when
a turn is over, in a process of its own.

`/dormouse:remember TEXT` keeps something, `/dormouse:recall QUESTION` looks something up,
`/dormouse:dream` sorts the memories. `dormouse uninstall claude-code` takes the plugin away.
";

/// Files of the marketplace, by their paths in it. `line` makes a command line for the shell of the
/// words behind the program's name, `words` the list of them for a server.
pub(super) fn files(
    version: &str,
    line: &dyn Fn(&[&str]) -> String,
    words: &[String],
) -> Vec<(&'static str, String)> {
    let about = "Long-term memory: rules, recall, dreams";
    let owner = json!({ "name": "Dormouse" });
    let marketplace = json!({
        "name": NAME,
        "owner": owner,
        "plugins": [{ "name": NAME, "source": "./dormouse", "description": about }],
    });
    let plugin = json!({
        "name": NAME,
        "version": version,
        "description": about,
        "author": owner,
        "license": "MIT OR Apache-2.0",
    });
    let hooks: serde_json::Map<String, Value> = HOOKS
        .iter()
        .map(|(event, moment)| {
            let command = line(&["hook", moment]);
            let hook = json!({ "type": "command", "command": command, "timeout": TIMEOUT });
            ((*event).to_owned(), json!([{ "hooks": [hook] }]))
        })
        .collect();
    let (program, arguments) = words
        .split_first()
        .map_or((NAME, &[][..]), |(first, rest)| (first.as_str(), rest));
    let servers = json!({
        "mcpServers": { NAME: { "command": program, "args": arguments } }
    });
    vec![
        (".claude-plugin/marketplace.json", pretty(&marketplace)),
        ("dormouse/.claude-plugin/plugin.json", pretty(&plugin)),
        (
            "dormouse/hooks/hooks.json",
            pretty(&json!({ "description": about, "hooks": hooks })),
        ),
        ("dormouse/.mcp.json", pretty(&servers)),
        ("dormouse/README.md", README.to_owned()),
        ("dormouse/skills/remember/SKILL.md", remember(line)),
        ("dormouse/skills/recall/SKILL.md", recall()),
        ("dormouse/skills/dream/SKILL.md", dream(line)),
    ]
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

// Skills that only the user calls: their descriptions take no room in the prompt.

fn remember(line: &dyn Fn(&[&str]) -> String) -> String {
    let command = line(&["memory", "add"]);
    format!(
        "---\nname: remember\ndescription: Keep something in long-term memory\nargument-hint: TEXT\n\
         disable-model-invocation: true\nallowed-tools: Bash({command}:*)\n---\n\
         The user wants this kept in long-term memory, in their own words:\n\n$ARGUMENTS\n\n\
         Run `{command} -- 'TEXT'` once, with the user's words as TEXT, quoted for the shell and \
         otherwise unchanged. If there are no words above, ask what to remember. Then say in one \
         line what was kept, or why it was refused.\n"
    )
}

fn recall() -> String {
    "---\nname: recall\ndescription: Look something up in long-term memory\nargument-hint: QUESTION\n\
     disable-model-invocation: true\n---\n\
     Ask the tool `recall` of the server `dormouse` this question, and answer from what it returns:\n\n\
     $ARGUMENTS\n\n\
     Get a memory whole by its id where its line is not enough. Where nothing certain is returned, \
     try the tool `search`, which also looks into earlier sessions; if that finds nothing, say so.\n"
        .to_owned()
}

fn dream(line: &dyn Fn(&[&str]) -> String) -> String {
    let command = line(&["dream"]);
    format!(
        "---\nname: dream\ndescription: Merge, correct and prune long-term memory\n\
         argument-hint: \"[--dry-run]\"\ndisable-model-invocation: true\n\
         allowed-tools: Bash({command}:*)\n---\n\
         Run `{command} $ARGUMENTS` once and tell the user what it changed, in a few lines. Changes \
         can be taken back with `dormouse memory undo`.\n"
    )
}
