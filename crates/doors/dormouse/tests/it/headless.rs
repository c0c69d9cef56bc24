//! `dormouse -p` for programs: several prompts, pieces, limits, signals, and death at every line.

use crate::agent::{Scene, calls, says};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

pub(crate) const STREAMS: [&str; 4] = [
    "--output-format",
    "stream-json",
    "--input-format",
    "stream-json",
];

pub(crate) fn user(words: &str) -> String {
    json!({ "type": "user", "message": { "role": "user", "content": words } }).to_string()
}

/// The agent as a process with open pipes.
pub(crate) struct Piped {
    pub(crate) child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Piped {
    pub(crate) fn new(scene: &Scene, arguments: &[&str]) -> Self {
        let mut child = scene
            .machine
            .command_of(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    pub(crate) fn send(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn next(&mut self) -> Option<Value> {
        let line = self.lines.next()?.unwrap();
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Reads on to the frame of a type.
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().unwrap();
            if frame["type"] == kind {
                return frame;
            }
        }
    }
}

#[test]
fn prompts_come_one_a_line_until_the_input_ends() {
    let scene = Scene::new(&[says("One."), says("Two.")], &[]);
    // Without memories, which would be drawn by requests of their own.
    let arguments = [&STREAMS[..], &["--bare"]].concat();
    let mut agent = Piped::new(&scene, &arguments);
    agent.send(&user("first"));
    let init = agent.next().unwrap();
    assert_eq!(init["subtype"], "init");
    let first = agent.until("result");
    assert_eq!(
        (&first["result"], &first["is_error"]),
        (&json!("One."), &json!(false))
    );
    agent.send(&user("second"));
    let second = agent.until("result");
    assert_eq!(second["result"], "Two.");
    assert_eq!(first["session_id"], second["session_id"]);
    assert!(first["uuid"] != second["uuid"]);
    drop(agent.child.stdin.take());
    assert!(agent.next().is_none());
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_line_that_is_no_prompt_is_named() {
    let scene = Scene::new(&[], &[]);
    let mut agent = Piped::new(&scene, &STREAMS);
    agent.send("hello");
    let output = agent.child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("line 1"), "{said}");
}

#[test]
fn the_result_and_the_beginning_have_the_documented_members() {
    let scene = Scene::new(&[says("Yes.")], &[]);
    let frames = scene.frames(&["-p", "hello"]);
    let members = |frame: &Value, names: &[&str]| {
        for name in names {
            assert!(frame.get(name).is_some(), "{name} in {frame}");
        }
    };
    members(
        &frames[0],
        &[
            "session_id",
            "uuid",
            "cwd",
            "model",
            "tools",
            "mcp_servers",
            "permissionMode",
            "slash_commands",
            "skills",
            "plugins",
            "output_style",
            "apiKeySource",
            "claude_code_version",
        ],
    );
    let end = frames.last().unwrap();
    members(
        end,
        &[
            "subtype",
            "is_error",
            "duration_ms",
            "duration_api_ms",
            "num_turns",
            "result",
            "stop_reason",
            "session_id",
            "uuid",
            "total_cost_usd",
            "usage",
            "modelUsage",
            "permission_denials",
            "terminal_reason",
        ],
    );
    let model = &end["modelUsage"]["claude-opus-4-6"];
    members(
        model,
        &[
            "inputTokens",
            "outputTokens",
            "cacheReadInputTokens",
            "cacheCreationInputTokens",
            "costUSD",
            "contextWindow",
            "maxOutputTokens",
        ],
    );
    members(
        &end["usage"],
        &[
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ],
    );
}

#[test]
fn pieces_are_printed_where_they_are_wished_for() {
    let text = "A rather long answer, in many pieces.";
    let scene = Scene::new(&[says(text), says(text)], &[]);
    let whole = scene.frames(&["-p", "talk"]);
    assert!(whole.iter().all(|frame| frame["type"] != "stream_event"));
    let frames = scene.frames(&["-p", "talk", "--include-partial-messages"]);
    let events: Vec<&Value> = frames
        .iter()
        .filter(|frame| frame["type"] == "stream_event")
        .map(|frame| &frame["event"])
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds.first(), Some(&"message_start"));
    assert_eq!(kinds.last(), Some(&"message_stop"));
    let said: String = events
        .iter()
        .filter_map(|event| event["delta"]["text"].as_str())
        .collect();
    assert_eq!(said, text);
}

#[test]
fn copies_ids_rules_and_words_behind_the_prompt() {
    let scene = Scene::new(
        &[
            says("Noted."),
            says("A copy."),
            calls("Bash", &json!({ "command": "touch made.txt" })),
            says("Made."),
        ],
        &[],
    );
    let first = scene.run(&[
        "-p",
        "note",
        "--session-id",
        "one",
        "--output-format",
        "json",
    ]);
    let result: Value = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!(result["session_id"], "one", "{first:?}");
    let taken = scene.run(&["-p", "note", "--session-id", "one"]);
    assert_eq!(taken.code, 5, "{taken:?}");
    let copy = scene.run(&[
        "--resume",
        "one",
        "--fork-session",
        "-p",
        "go on",
        "--output-format",
        "json",
    ]);
    let result: Value = serde_json::from_str(&copy.stdout).unwrap();
    assert_eq!(result["result"], "A copy.", "{copy:?}");
    assert!(result["session_id"] != "one");
    let both = scene.run(&["--resume", "one", "--session-id", "two", "-p", "x"]);
    assert_eq!(both.code, 2, "{both:?}");
    let run = scene.run(&[
        "-p",
        "make it",
        "--allowedTools",
        "Bash(touch *),Read",
        "--append-system-prompt",
        "Speak like a heron.",
        "--bare",
    ]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Made.\n"), "{run:?}");
    assert!(scene.machine.home().join("project/made.txt").exists());
    let wrong = scene.run(&["-p", "x", "--allowedTools", "Bash(("]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

#[test]
fn refusal_limit_and_error_have_exit_codes_of_their_own() {
    let script: Vec<Value> = (0..5)
        .map(|_| calls("Glob", &json!({ "pattern": "*" })))
        .collect();
    let scene = Scene::new(&script, &[]);
    let run = scene.run(&[
        "-p",
        "look",
        "--max-budget-usd",
        "0.000001",
        "--output-format",
        "json",
    ]);
    assert_eq!(run.code, 6, "{run:?}");
    let result: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(result["subtype"], "error_max_budget_usd");
    assert_eq!(result["num_turns"], 1);

    let hook = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [
        { "type": "command", "command": "echo 'not on Sundays' >&2; exit 2" }] }] } });
    let scene = Scene::new(&[], &[(".claude/settings.json", &hook.to_string())]);
    let run = scene.run(&["-p", "work"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("not on Sundays"), "{run:?}");
    // The same hook of a project that nobody trusts does nothing, and is named once.
    let scene = Scene::new(
        &[says("Fine.")],
        &[("project/.claude/settings.json", &hook.to_string())],
    );
    let run = scene.run(&["-p", "work"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Fine.\n"), "{run:?}");
    assert_eq!(
        run.stderr.matches("dormouse config trust").count(),
        1,
        "{run:?}"
    );
}

#[test]
fn sigterm_closes_the_session_in_order() {
    let hook = json!({ "hooks": { "SessionEnd": [{ "hooks": [
        { "type": "command", "command": "cat > ended.json" }] }] } });
    let scene = Scene::new(
        &[calls(
            "Bash",
            &json!({ "command": "echo $$ > pid; exec sleep 1000" }),
        )],
        &[(".claude/settings.json", &hook.to_string())],
    );
    let arguments = [&STREAMS[..], &["--mode", "all"]].concat();
    let mut agent = Piped::new(&scene, &arguments);
    agent.send(&user("wait"));
    agent.until("assistant");
    let terminated = Command::new("kill")
        .arg(agent.child.id().to_string())
        .status();
    assert!(terminated.unwrap().success());
    assert_eq!(agent.child.wait().unwrap().code(), Some(143));
    let ended: Value = serde_json::from_str(&scene.machine.read("project/ended.json")).unwrap();
    assert_eq!(ended["hook_event_name"], "SessionEnd");
    let again = scene.run(&["--continue", "-p", "go on"]);
    assert_eq!(again.code, 0, "{again:?}");
}

/// Sends a signal to the agent.
fn signal(agent: &Piped, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &agent.child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn the_first_interrupt_ends_the_turn_and_the_second_everything() {
    let script = [calls(
        "Bash",
        &json!({ "command": "echo $$ > pid; exec sleep 1000" }),
    )];
    let arguments = [&STREAMS[..], &["--mode", "all"]].concat();
    let scene = Scene::new(&script, &[]);
    let mut agent = Piped::new(&scene, &arguments);
    agent.send(&user("wait"));
    agent.until("assistant");
    signal(&agent, "INT");
    // The turn is over, and the session is not.
    let end = agent.until("result");
    assert_eq!(end["is_error"], true, "{end}");
    agent.send(&user("go on"));
    assert_eq!(agent.until("result")["is_error"], false);
    // The input stays open: only the signal can end it.
    signal(&agent, "INT");
    assert_eq!(agent.child.wait().unwrap().code(), Some(6));
    let again = scene.run(&["--continue", "-p", "go on"]);
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn leaving_waits_for_the_memories_of_the_last_turn() {
    let fact = "the relay of zanzibar listens on port 6543";
    let memory = format!(
        "---\nname: relay\ndescription: {fact}\ntype: project\nsource: \"{fact}\"\n---\n{fact}.\n"
    );
    // Texts are written alike in TOML and in JSON.
    let side = format!(
        "[[answers.side]]\nwhen = [\"You now keep the memory of this project\"]\n\
         content = [{{ tool = \"Write\", input = {{ file_path = \"{{{{folder}}}}/relay.md\", content = {} }} }}]\n",
        json!(memory)
    );
    let scene = Scene::with_side_answers(&[says("Noted.")], &[], &side);
    let mut agent = Piped::new(&scene, &STREAMS);
    agent.send(&user(&format!("By the way, {fact}.")));
    agent.until("result");
    // The input ends with the answer: nothing but the leaving program waits for the memory.
    drop(agent.child.stdin.take());
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
    let listed = scene.run(&["memory", "list"]);
    assert!(listed.stdout.contains("relay"), "{listed:?}");
}

#[test]
fn death_at_any_line_loses_nothing_and_runs_nothing_twice() {
    let script = [
        calls("Bash", &json!({ "command": "echo ran >> runs" })),
        calls("Read", &json!({ "file_path": "runs" })),
        says("Done."),
        says("Gone on."),
        says("Gone on."),
        says("Gone on."),
    ];
    let arguments = [
        &STREAMS[..],
        &["--mode", "all", "--include-partial-messages"],
    ]
    .concat();
    // The number of lines of a whole turn.
    let scene = Scene::new(&script, &[]);
    let mut agent = Piped::new(&scene, &arguments);
    agent.send(&user("work"));
    let mut lines = 1;
    while agent.next().unwrap()["type"] != "result" {
        lines += 1;
    }
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    assert!(lines > 12, "{lines}");
    for at in 1..=lines {
        let scene = Scene::new(&script, &[]);
        let mut agent = Piped::new(&scene, &arguments);
        agent.send(&user("work"));
        let told: Vec<Value> = (0..at).map_while(|_| agent.next()).collect();
        agent.child.kill().unwrap();
        agent.child.wait().unwrap();
        let run = scene.run(&["--continue", "--mode", "all", "-p", "go on"]);
        assert_eq!(run.code, 0, "line {at}: {run:?}");
        let runs = scene.machine.home().join("project/runs");
        if runs.exists() {
            assert_eq!(scene.machine.read("project/runs"), "ran\n", "line {at}");
        }
        // Every message that was printed is in the session.
        let view = scene.run(&["view", "--json"]);
        for frame in told.iter().filter(|frame| frame["type"] == "assistant") {
            let block = &frame["message"]["content"][0];
            let needle = block["id"]
                .as_str()
                .or_else(|| block["text"].as_str())
                .unwrap();
            assert!(
                view.stdout.contains(needle),
                "line {at}: {needle} in {view:?}"
            );
        }
    }
}
