//! `dormouse hook`: memory for sessions of another agent.

#[cfg(test)]
mod faults;

use crate::program::{Machine, Run};
use dormouse_system::{Access, Files as _, RealFiles};
use dormouse_testkit::processes::until;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};

const STAGING: &str = "---\nname: Staging port\ndescription: The staging server listens on port 9443\ntype: project\n---\nThe staging server listens on port 9443 since the move.\n";
const TABS: &str = "---\nname: Tabs\ndescription: Always use tabs for indentation\ntype: feedback\n---\nAlways use tabs for indentation.\n";
const SQL: &str = "---\nname: Migrations\ndescription: Migrations are never edited after they ran\ntype: feedback\ntriggers:\n  paths: [\"**/*.sql\"]\n---\nMigrations are never edited after they ran; a new one follows.\n";
const QUESTION: &str = "Which port does the staging server listen on?";

/// A machine whose memory lies in `memory`.
fn machine(files: &[(&str, &str)]) -> Machine {
    let machine = Machine::new(files);
    let memory = machine.home().join("memory").display().to_string();
    machine.with_variable("DORMOUSE_MEMORY_DIR", memory)
}

fn remembering() -> Machine {
    machine(&[
        (
            "memory/MEMORY.md",
            "- [Staging port](staging.md) — where staging listens\n- [Tabs](tabs.md) — tabs, not spaces\n",
        ),
        ("memory/staging.md", STAGING),
        ("memory/tabs.md", TABS),
        ("memory/sql.md", SQL),
    ])
}

fn event(machine: &Machine, session: &str, more: Value) -> Value {
    let mut event = json!({
        "session_id": session,
        "transcript_path": machine.home().join(format!(".claude/projects/p/{session}.jsonl")),
        "cwd": machine.home().join("project"),
    });
    let Value::Object(more) = more else {
        panic!("facts are an object: {more}");
    };
    for (key, value) in more {
        event[key] = value;
    }
    event
}

/// Runs a hook with these bytes on its standard input.
fn fed(machine: &Machine, command: &mut Command, input: &[u8]) -> Run {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A hook that has ended before it read everything is no fault of the test.
    let _sent = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let home = machine.home();
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(home.to_str().unwrap(), "~")
    };
    Run {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Text that a hook brings in; `None` if it prints nothing.
fn given(machine: &Machine, name: &str, event: &Value) -> Option<String> {
    let run = fed(
        machine,
        &mut machine.command(&format!("hook {name}")),
        event.to_string().as_bytes(),
    );
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
    if run.stdout.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let output = &answer["hookSpecificOutput"];
    let named = output["hookEventName"].as_str().unwrap();
    assert_eq!(named.to_lowercase(), name.replace('-', ""));
    Some(output["additionalContext"].as_str().unwrap().to_owned())
}

fn asked(machine: &Machine, session: &str, prompt: &str) -> Option<String> {
    let event = event(machine, session, json!({ "prompt": prompt }));
    given(machine, "user-prompt-submit", &event)
}

fn started(machine: &Machine, session: &str, source: &str) -> Option<String> {
    let event = event(machine, session, json!({ "source": source }));
    given(machine, "session-start", &event)
}

/// Lines of a transcript as Claude Code writes them.
fn transcript(machine: &Machine, session: &str, said: &[&str]) {
    let mut lines = String::new();
    let mut parent = Value::Null;
    for (number, text) in said.iter().enumerate() {
        for (role, text) in [("user", *text), ("assistant", "Noted.")] {
            let uuid = format!("{role}-{number}");
            let mut message =
                json!({ "role": role, "content": [{ "type": "text", "text": text }] });
            if role == "assistant" {
                message["id"] = json!(format!("msg_{number}"));
                message["model"] = json!("claude-sonnet-4-5");
                message["usage"] = json!({ "input_tokens": 10, "output_tokens": 2 });
            }
            let line = json!({
                "type": role, "uuid": uuid, "parentUuid": parent, "sessionId": session,
                "timestamp": "2026-11-01T10:00:00.000Z", "cwd": machine.home().join("project"),
                "message": message,
            });
            parent = json!(uuid);
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
    }
    machine.write(&format!(".claude/projects/p/{session}.jsonl"), &lines);
}

fn spool_is_empty(machine: &Machine) -> bool {
    let spool = machine.home().join(".dormouse/spool");
    let listed = RealFiles.list(&spool).unwrap_or_default();
    let task = |name: &std::ffi::OsStr| name.as_encoded_bytes().ends_with(b".json");
    !listed.iter().any(|entry| task(&entry.name))
}

fn memories(machine: &Machine) -> Vec<String> {
    let list = machine.json("memory list --json");
    let rows = list["memories"].as_array().unwrap();
    rows.iter()
        .map(|row| row["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_session_begins_with_rules_and_index_and_resumes_with_the_same_bytes() {
    let machine = remembering();
    let text = started(&machine, "one", "startup").unwrap();
    assert!(
        text.contains("- Always use tabs for indentation."),
        "{text}"
    );
    assert!(text.contains("where staging listens"), "{text}");
    assert!(
        !text.contains("a new one follows"),
        "a rule with triggers comes with its file: {text}"
    );
    assert!(
        !text.contains("tabs, not spaces"),
        "a rule is listed once: {text}"
    );
    assert_eq!(started(&machine, "two", "startup").as_deref(), Some(&*text));
    machine.write("memory/new.md", &TABS.replace("tabs", "semicolons"));
    assert_eq!(started(&machine, "one", "resume").as_deref(), Some(&*text));
    let fresh = started(&machine, "three", "startup").unwrap();
    assert!(fresh.contains("semicolons"), "{fresh}");
}

#[test]
fn the_beginning_keeps_its_budget() {
    let machine = remembering();
    for number in 0..100 {
        let rule = TABS.replace("tabs", &format!("rule number {number} of many"));
        machine.write(&format!("memory/rule_{number:03}.md"), &rule);
    }
    let text = started(&machine, "one", "startup").unwrap();
    assert!((2_000..=6_000).contains(&text.len()), "{}", text.len());
    assert!(text.contains("where staging listens"), "{text}");
}

#[test]
fn a_prompt_is_given_a_memory_once_a_session_and_nothing_otherwise() {
    let machine = remembering();
    let text = asked(&machine, "one", QUESTION).unwrap();
    assert!(text.contains("port 9443"), "{text}");
    assert!(!text.contains("<system-reminder>"), "{text}");
    assert_eq!(asked(&machine, "one", QUESTION), None);
    assert_eq!(
        asked(&machine, "one", "Rename the struct Parser to Reader."),
        None
    );
    let notice = format!("<task-notification>{QUESTION}</task-notification>");
    assert_eq!(asked(&machine, "two", &notice), None);
    assert!(asked(&machine, "two", QUESTION).is_some());
    // A compaction takes the memory out of the prompt.
    started(&machine, "one", "compact").unwrap();
    assert!(asked(&machine, "one", QUESTION).is_some());
}

#[test]
fn a_user_who_wants_no_memory_gets_none_for_the_rest_of_the_session() {
    let machine = remembering();
    assert_eq!(
        asked(
            &machine,
            "one",
            "Ignore your memory in this session, please."
        ),
        None
    );
    assert_eq!(asked(&machine, "one", QUESTION), None);
    assert!(asked(&machine, "two", QUESTION).is_some());
}

#[test]
fn a_rule_shows_up_when_its_file_is_touched_once() {
    let machine = remembering();
    let touched = |session: &str, path: &str, more: Value| {
        let mut event = event(
            &machine,
            session,
            json!({ "tool_name": "Edit", "tool_input": { "file_path": path } }),
        );
        for (key, value) in more.as_object().unwrap() {
            event[key] = value.clone();
        }
        given(&machine, "post-tool-use", &event)
    };
    assert_eq!(touched("one", "src/main.rs", json!({})), None);
    let rule = touched("one", "db/001.sql", json!({})).unwrap();
    assert!(rule.contains("never edited"), "{rule}");
    assert_eq!(touched("one", "db/002.sql", json!({})), None);
    // A sub-agent has a conversation of its own.
    let sub = touched("one", "db/003.sql", json!({ "agent_id": "a1" })).unwrap();
    assert_eq!(sub, rule);
}

#[test]
fn a_sub_agent_gets_rules_and_no_index() {
    let machine = remembering();
    let event = event(
        &machine,
        "one",
        json!({ "agent_id": "a1", "agent_type": "x" }),
    );
    let text = given(&machine, "subagent-start", &event).unwrap();
    assert!(text.contains("tabs"), "{text}");
    assert!(!text.contains("Index"), "{text}");
}

#[test]
fn a_rule_of_one_session_is_learned_behind_it_and_given_to_the_next() {
    let machine = machine(&[]);
    assert_eq!(started(&machine, "one", "startup"), None);
    transcript(
        &machine,
        "one",
        &["From now on, always run the linter before you commit."],
    );
    assert_eq!(
        given(&machine, "stop", &event(&machine, "one", json!({}))),
        None
    );
    until(
        || machine.run("memory list").stdout.contains("linter") && spool_is_empty(&machine),
        "the rule was not learned",
    );
    let learned = memories(&machine);
    let text = started(&machine, "two", "startup").unwrap();
    assert!(text.contains("linter"), "{text}");
    // The end of the session finds nothing new, and what was given has its price.
    started(&machine, "one", "resume");
    transcript(
        &machine,
        "one",
        &[
            "From now on, always run the linter before you commit.",
            "Thanks, that is all.",
        ],
    );
    let end = event(&machine, "one", json!({ "reason": "other" }));
    assert_eq!(given(&machine, "session-end", &end), None);
    until(|| spool_is_empty(&machine), "the end was not worked off");
    assert_eq!(memories(&machine), learned);
    let stats = machine.json("stats --json");
    let hooks = &stats["hooks"];
    assert_eq!(hooks["answers"], 2, "{hooks}");
    assert!(hooks["tokens"].as_u64() > Some(100), "{hooks}");
    assert!(hooks["read_again"].as_u64() > Some(50), "{hooks}");
    assert!(hooks["cost_usd"].as_f64() > Some(0.0), "{hooks}");
    let shown = machine.stdout("stats");
    assert!(shown.contains("Hooks        2 answers"), "{shown}");
}

#[test]
fn a_compaction_of_the_host_keeps_evidence_and_rules() {
    let machine = remembering();
    transcript(
        &machine,
        "one",
        &["The deadline is 2027-03-15 and the limit is 8443 requests."],
    );
    let event = event(&machine, "one", json!({ "trigger": "auto" }));
    assert_eq!(given(&machine, "pre-compact", &event), None);
    until(|| spool_is_empty(&machine), "the evidence was not written");
    let text = started(&machine, "one", "compact").unwrap();
    assert!(text.contains("Always use tabs"), "{text}");
    assert!(text.contains("8443"), "{text}");
    assert!(text.chars().count() <= 9_500);
    // A later start has no use for it.
    let text = started(&machine, "one", "clear").unwrap();
    assert!(!text.contains("8443"), "{text}");
}

#[test]
fn work_is_done_with_the_settings_of_its_own_session() {
    let machine = machine(&[]);
    transcript(
        &machine,
        "one",
        &["From now on, always run the linter before you commit."],
    );
    // The lock keeps the worker of this very hook away, so that another shell's does the work.
    let spool = machine.home().join(".dormouse/spool");
    RealFiles.create_dir_all(&spool, Access::Private).unwrap();
    let lock = RealFiles.lock_exclusive(&spool.join("work")).unwrap();
    let mut hook = machine.command("hook stop");
    // A key of the shell is no business of the task.
    hook.env("ANTHROPIC_API_KEY", "sk-ant-generated");
    let stop = event(&machine, "one", json!({})).to_string();
    fed(&machine, &mut hook, stop.as_bytes());
    let task = RealFiles.list(&spool).unwrap();
    let task = task.iter().find(|entry| {
        let name = std::path::Path::new(&entry.name);
        name.extension().is_some_and(|end| end == "json")
    });
    let task = spool.join(&task.unwrap().name);
    let bytes = RealFiles.read(&task, u64::MAX).unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    // Kept aside while the hook's own worker may still look.
    RealFiles.remove_file(&task).unwrap();
    drop(lock);
    let mut worker = machine.command("hook work --set memory.extra_guidelines=x");
    worker
        .env("DORMOUSE_MEMORY_DIR", machine.home().join("elsewhere"))
        .stdout(Stdio::null());
    RealFiles
        .replace(&task, text.as_bytes(), Access::Private)
        .unwrap();
    assert!(worker.status().unwrap().success());
    until(|| spool_is_empty(&machine), "the task was not worked off");
    assert!(machine.run("memory list").stdout.contains("linter"));
    assert!(
        RealFiles
            .metadata(&machine.home().join("elsewhere"))
            .is_err()
    );
    // The task names the folder of memory and nothing that could be a key.
    assert!(
        text.contains("DORMOUSE_MEMORY_DIR") && !text.contains("sk-ant"),
        "{text}"
    );
}
