//! `dormouse -p`: the agent against the simulator, as processes of their own.

use crate::program::{Machine, Run};
use crate::simulator::Running;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A machine whose model answers by a script, one object a line.
pub(crate) struct Scene {
    pub(crate) machine: Machine,
    _provider: Running,
}

impl Scene {
    pub(crate) fn new(script: &[Value], files: &[(&str, &str)]) -> Self {
        Self::with_side_answers(script, files, "")
    }

    /// A scene whose simulator answers side calls of the agent, too.
    pub(crate) fn with_side_answers(script: &[Value], files: &[(&str, &str)], side: &str) -> Self {
        let machine = Machine::new(files);
        let lines: Vec<String> = script.iter().map(ToString::to_string).collect();
        machine.write("script.jsonl", &lines.join("\n"));
        // A persona that calls nothing: what comes behind the script is text.
        machine.write("sim.toml", &format!("[answers]\ntool_rounds = 0\n{side}"));
        // Confined commands may write in the folder for temporary files, and the tests lie in it.
        machine.write("temporary/empty", "");
        let home = machine.home();
        let temporary = home.join("temporary").display().to_string();
        let options = format!(
            "--config {0}/sim.toml --script {0}/script.jsonl",
            home.display()
        );
        let provider = Running::new(&machine, &options);
        let machine = machine
            .with_variable(
                "ANTHROPIC_BASE_URL",
                format!("http://{}", provider.address()),
            )
            .with_variable("ANTHROPIC_API_KEY", "any")
            .with_variable("ANTHROPIC_MODEL", "claude-opus-4-6")
            .with_variable("TMPDIR", temporary)
            .with_variable("PATH", "/usr/local/bin:/usr/bin:/bin");
        Self {
            machine,
            _provider: provider,
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.machine.ran(&mut self.machine.command_of(arguments))
    }

    /// The frames that a run with `stream-json` printed.
    pub(crate) fn frames(&self, arguments: &[&str]) -> Vec<Value> {
        let all = [arguments, &["--output-format", "stream-json"]].concat();
        let run = self.run(&all);
        let lines = run.stdout.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

pub(crate) fn says(text: &str) -> Value {
    json!({ "content": [{ "text": text }] })
}

pub(crate) fn calls(tool: &str, input: &Value) -> Value {
    json!({ "content": [{ "tool": tool, "input": input }] })
}

/// Text of the result that a frame carries.
pub(crate) fn result_of(frame: &Value) -> &str {
    let content = &frame["message"]["content"][0]["content"];
    content
        .as_str()
        .or_else(|| content[0]["text"].as_str())
        .unwrap()
}

/// Texts of all results among the frames, in their order.
pub(crate) fn results_of(frames: &[Value]) -> Vec<&str> {
    let results = frames.iter().filter(|frame| frame["type"] == "user");
    results.map(result_of).collect()
}

#[test]
fn the_answer_is_printed_and_the_session_kept() {
    let scene = Scene::new(
        &[
            calls("Read", &json!({ "file_path": "notes.txt" })),
            says("It says: whisper."),
            says("As I said."),
        ],
        &[("project/notes.txt", "whisper\n")],
    );
    let run = scene.run(&["-p", "What do the notes say?"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "It says: whisper.\n"),
        "{run:?}"
    );
    let again = scene.run(&["--continue", "-p", "Again?"]);
    assert_eq!(again.stdout, "As I said.\n", "{again:?}");
    // One session, with both turns in it.
    let listed = scene.run(&["sessions", "--json"]);
    let sessions: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(
        sessions["sessions"].as_array().unwrap().len(),
        1,
        "{listed:?}"
    );
    let found = scene.run(&["search", "whisper"]);
    assert!(found.stdout.contains("whisper"), "{found:?}");
}

#[test]
fn a_call_that_no_rule_allows_is_refused_and_told() {
    let script = [
        calls("Bash", &json!({ "command": "touch made.txt" })),
        says("Done."),
    ];
    let scene = Scene::new(&script, &[]);
    let run = scene.run(&["-p", "make it", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        result["permission_denials"][0]["tool_name"], "Bash",
        "{run:?}"
    );
    assert!(!scene.machine.home().join("project/made.txt").exists());

    let scene = Scene::new(&script, &[]);
    let frames = scene.frames(&["--mode", "all", "-p", "make it"]);
    assert!(
        scene.machine.home().join("project/made.txt").exists(),
        "{frames:?}"
    );

    // A rule of the user's allows it in the mode that asks.
    let rule = (
        "project/.dormouse/settings.toml",
        "permissions.allow = [\"Bash(touch *)\"]\n",
    );
    let scene = Scene::new(&script, &[rule]);
    // A project that is not trusted cannot allow anything.
    let run = scene.run(&["-p", "make it"]);
    assert!(
        !scene.machine.home().join("project/made.txt").exists(),
        "{run:?}"
    );
    let scene = Scene::new(&script, &[(".dormouse/settings.toml", rule.1)]);
    scene.run(&["-p", "make it"]);
    assert!(scene.machine.home().join("project/made.txt").exists());
}

#[test]
fn frames_tell_calls_results_and_the_end() {
    let scene = Scene::new(
        &[
            calls(
                "Write",
                &json!({ "file_path": "a.txt", "content": "one\n" }),
            ),
            calls(
                "Edit",
                &json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }),
            ),
            calls("Bash", &json!({ "command": "cat a.txt; exit 3" })),
            says("Finished."),
        ],
        &[],
    );
    let frames = scene.frames(&["--permission-mode", "bypassPermissions", "-p", "go"]);
    let kinds: Vec<&str> = frames
        .iter()
        .map(|frame| frame["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "system",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant",
            "result"
        ]
    );
    assert_eq!(frames[0]["permissionMode"], "bypassPermissions");
    assert_eq!(frames[1]["message"]["content"][0]["name"], "Write");
    assert!(
        result_of(&frames[4]).contains("-one\n+two"),
        "{}",
        frames[4]
    );
    assert_eq!(result_of(&frames[6]), "two\n[exit code 3]");
    let end = &frames[8];
    assert_eq!(
        (&end["subtype"], &end["num_turns"]),
        (&json!("success"), &json!(4)),
        "{end}"
    );
    assert_eq!(end["result"], "Finished.");
    assert!(end["total_cost_usd"].as_f64().unwrap() > 0.0);
    let session = frames[0]["session_id"].as_str().unwrap();
    assert!(frames.iter().all(|frame| frame["session_id"] == session));
}

#[test]
fn a_session_of_claude_code_goes_on_and_stays_as_it_was() {
    let line = |uuid: &str, parent: Option<&str>, role: &str, text: &str| {
        json!({ "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "abc-1",
            "timestamp": "2026-11-01T10:00:00.000Z", "cwd": "/somewhere", "version": "2.1.0",
            "message": { "role": role, "content": [{ "type": "text", "text": text }] } })
    };
    let original = format!(
        "{}\n{}\n",
        line("u1", None, "user", "The code word is heron."),
        line("u2", Some("u1"), "assistant", "Noted.")
    );
    let scene = Scene::new(&[says("Going on.")], &[("abc-1.jsonl", &original)]);
    let file = scene.machine.home().join("abc-1.jsonl");
    let run = scene.run(&["--resume", file.to_str().unwrap(), "-p", "Go on."]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "Going on.\n"),
        "{run:?}"
    );
    assert_eq!(scene.machine.read("abc-1.jsonl"), original);
    let view = scene.run(&["view", "abc-1"]);
    assert!(
        view.stdout.contains("heron") && view.stdout.contains("Going on."),
        "{view:?}"
    );
}

#[test]
fn limits_and_bad_input_have_their_own_exit_codes() {
    let script: Vec<Value> = (0..5)
        .map(|_| calls("Glob", &json!({ "pattern": "*" })))
        .collect();
    let scene = Scene::new(&script, &[]);
    let run = scene.run(&["-p", "look", "--max-turns", "2"]);
    assert_eq!(run.code, 6, "{run:?}");
    assert!(run.stderr.contains("--resume"), "{run:?}");

    let machine = Machine::new(&[]);
    let run = machine.run("-p");
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("there is no prompt"), "{run:?}");
    // Without a model it says which setting is missing.
    let run = machine.run("-p hello");
    assert!(run.code != 0 && run.stderr.contains("model"), "{run:?}");
    let run = machine.run("--continue");
    assert_eq!(run.code, 2, "{run:?}");
}

#[test]
fn nothing_that_a_command_started_outlives_the_session() {
    let scene = Scene::new(
        &[
            calls(
                "Bash",
                &json!({ "command": "setsid sleep 1000 >/dev/null 2>&1 & echo $! > pid", "timeout": 5000 }),
            ),
            says("Started."),
        ],
        &[],
    );
    let run = scene.run(&["--mode", "all", "-p", "start it"]);
    assert_eq!(run.stdout, "Started.\n", "{run:?}");
    let pid = scene.machine.read("project/pid");
    dormouse_testkit::processes::await_end(&pid);
}

#[test]
fn the_static_prefix_is_short() {
    let scene = Scene::new(&[says("Yes.")], &[]);
    let run = scene.run(&["-p", "hello", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&run.stdout).unwrap();
    let usage = &result["usage"];
    let written = ["input_tokens", "cache_creation_input_tokens"];
    let tokens: u64 = written
        .iter()
        .map(|name| usage[name].as_u64().unwrap())
        .sum();
    // Prompt, tools, memory section, surroundings and the question together; the static part alone
    // is held within 5,000 by a test of the agent's.
    assert!(tokens < 5_400, "{usage}");
}
