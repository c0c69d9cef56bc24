//! Turns of the long session in which the model uses sub-agents and servers of tools.
//!
//! Each takes the place of an ordinary turn. Sub-agents are answered by marks in their orders, since
//! they ask beside the conversation.

use crate::script::tool;
use dormouse_sim::{AnswerBlock, SideAnswer};
use dormouse_system::{Access, Files as _, RealFiles};
use serde_json::{Value, json};
use std::path::Path;

/// Words that only prompts of sub-agents have.
const SUB_AGENT: &str = "You are a sub-agent";
/// Words that only requests of forks have.
const FORK: &str = "You are a fork of this agent";
/// Words that only prompts of the teammate have.
const SCOUT: &str = "You are the teammate `scout`";
/// Letter of the teammate.
const NEWS: &str = "All is quiet at the larder.";
/// Plan that the person approves.
const PLAN: &str = "Move the heron to the reeds.";
/// Words of the skill's file.
const SKILL: &str = "High water comes twice a day.";
/// Words that the server of tools gives back.
const ECHO: &str = "winter";

/// The user's words and the model's calls, for turns that use an extension.
pub(crate) fn turn(number: usize) -> Option<(String, Vec<Vec<AnswerBlock>>)> {
    let echo = || call("echo", &json!({ "text": ECHO }));
    let (words, calls) = match number {
        23 => (
            "Have the parts counted.",
            vec![vec![agent("sync", json!({}))]],
        ),
        43 => (
            "Have the tests watched meanwhile.",
            vec![vec![agent("beside", json!({ "run_in_background": true }))]],
        ),
        63 => (
            "Have a change tried apart.",
            vec![vec![agent("apart", json!({ "isolation": "worktree" }))]],
        ),
        83 => (
            "Have the parts read apart.",
            vec![vec![agent("reading", json!({ "isolation": "worktree" }))]],
        ),
        103 => (
            "Ask the server for an echo.",
            vec![
                vec![tool("ToolSearch", json!({ "query": "echo" }))],
                vec![echo()],
            ],
        ),
        123 => (
            "End the server, and ask it once more.",
            vec![vec![call("die", &json!({}))], vec![echo()]],
        ),
        133 => (
            "Have both sides looked at.",
            vec![vec![fork("left"), fork("right")]],
        ),
        143 => (
            "Plan it before you do it.",
            vec![
                vec![tool("EnterPlanMode", json!({}))],
                vec![tool("ExitPlanMode", json!({ "plan": PLAN }))],
                vec![tool("Bash", json!({ "command": "echo moved > heron.txt" }))],
            ],
        ),
        153 => (
            "Let somebody keep watch.",
            vec![vec![agent("scout", json!({ "name": "scout" }))]],
        ),
        163 => (
            "Ask the watch for news.",
            vec![vec![letter("scout", "Any news? [letter one]")]],
        ),
        193 => (
            "Read the tides.",
            vec![vec![tool("Skill", json!({ "skill": "tides" }))]],
        ),
        // Behind a compaction and a restart it need not be looked for again.
        223 => ("Ask the server for an echo again.", vec![vec![echo()]]),
        _ => return None,
    };
    Some((words.to_owned(), calls))
}

fn call(name: &str, arguments: &Value) -> AnswerBlock {
    let name = format!("mcp__shell__{name}");
    tool("CallTool", json!({ "name": name, "arguments": arguments }))
}

fn fork(name: &str) -> AnswerBlock {
    agent(name, json!({ "subagent_type": "fork" }))
}

fn letter(to: &str, message: &str) -> AnswerBlock {
    tool(
        "SendMessage",
        json!({ "to": to, "message": message, "summary": "news" }),
    )
}

/// A call that starts a sub-agent, whose order has a mark.
fn agent(name: &str, more: Value) -> AnswerBlock {
    let mut input = json!({ "description": name, "prompt": format!("Do it {}.", mark(name)) });
    if let (Some(input), Value::Object(more)) = (input.as_object_mut(), more) {
        input.extend(more);
    }
    tool("Agent", input)
}

fn mark(name: &str) -> String {
    format!("[agent {name}]")
}

/// Answers that the script gives to sub-agents, by the mark in their task.
pub(crate) fn side() -> Vec<SideAnswer> {
    let answers = [
        ("sync", vec![AnswerBlock::text("There are seven parts.")]),
        (
            "beside",
            vec![AnswerBlock::text("The tests fail as before.")],
        ),
        (
            "apart",
            vec![tool(
                "Bash",
                json!({ "command": "echo 'TRIED = 1' >> src/part0.py" }),
            )],
        ),
        ("apart", vec![AnswerBlock::text("It was tried.")]),
        ("reading", vec![AnswerBlock::text("Nothing to change.")]),
    ];
    let agents = answers.into_iter().map(|(name, content)| SideAnswer {
        when: vec![SUB_AGENT.to_owned(), mark(name)],
        content,
    });
    // Requests of both forks have both orders in them: which of them gets which answer is open.
    let forks = ["Left is fine.", "Right is fine."].map(|text| SideAnswer {
        when: vec![FORK.to_owned(), mark("left")],
        content: vec![AnswerBlock::text(text)],
    });
    let scout = [
        (mark("scout"), AnswerBlock::text("Ready.")),
        ("[letter one]".to_owned(), letter("lead", NEWS)),
        ("[letter one]".to_owned(), AnswerBlock::text("Told.")),
    ];
    let scout = scout.map(|(mark, block)| SideAnswer {
        when: vec![SCOUT.to_owned(), mark],
        content: vec![block],
    });
    agents.chain(forks).chain(scout).collect()
}

/// Sets a server of tools and a skill up for the user.
pub(crate) fn set_up(home: &Path) {
    let put = |name: &str, text: &str| {
        let path = home.join(name);
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        RealFiles.create_dir_all(&folder, Access::Private).unwrap();
        RealFiles
            .replace(&path, text.as_bytes(), Access::Private)
            .unwrap();
    };
    put("server.sh", dormouse_testkit::SHELL_SERVER);
    put(
        ".dormouse/skills/tides/SKILL.md",
        &format!("---\ndescription: Reads tides.\n---\n{SKILL}\n"),
    );
    put(
        ".dormouse/settings.toml",
        &format!(
            "[mcp_servers.shell]\ncommand = \"/bin/bash\"\nargs = ['{}', '{}']\n",
            home.join("server.sh").display(),
            home.join("started").display()
        ),
    );
}

/// Looks at what the extensions left behind: results in the log, files, processes.
pub(crate) fn check(records: &str, home: &Path, project: &Path) {
    for words in [
        "There are seven parts.",
        "The tests fail as before.",
        "It was tried.",
        "Nothing to change.",
        "Left is fine.",
        "Right is fine.",
        NEWS,
        PLAN,
        SKILL,
    ] {
        assert!(records.contains(words), "{words}");
    }
    // The plan was approved, or nothing could have been written.
    assert_eq!(crate::read(&project.join("heron.txt")), "moved\n");
    // The change that was tried apart is in its worktree alone.
    assert!(!crate::read(&project.join("src/part0.py")).contains("TRIED"));
    // Three echoes: before the server's end, behind it, and behind the restarts.
    let echoes = records.matches(&format!("echo {ECHO} of ")).count();
    assert!(echoes >= 3, "{echoes}");
    // A process for each opening of the session, and one more for the server that ended.
    let started = crate::read(&home.join("started"));
    let opened = 1 + crate::RESTARTS.len() + crate::script::SHORT;
    assert_eq!(started.lines().count(), opened + 1, "{started}");
}
