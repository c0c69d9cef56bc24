//! `dormouse doctor`, and a server on this machine as the provider.

use crate::program::{Machine, Run};
use crate::simulator::Running;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Search path of the machine: the shells and git.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A machine with a server of chat completions on it, which no key or setting points to.
fn with_server(script: &[Value]) -> (Machine, Running) {
    let machine = Machine::new(&[("project/notes.txt", "whisper\n")]);
    let lines: Vec<String> = script.iter().map(ToString::to_string).collect();
    machine.write("script.jsonl", &lines.join("\n"));
    machine.write("sim.toml", "[answers]\ntool_rounds = 0\n");
    let home = machine.home();
    let options = format!(
        "--config {0}/sim.toml --script {0}/script.jsonl",
        home.display()
    );
    let server = Running::new(&machine, &options);
    let url = format!("http://{}/v1", server.address());
    let machine = machine
        .with_variable("DORMOUSE_LOCAL_BASE_URL", url)
        .with_variable("PATH", PATH);
    (machine, server)
}

fn run(machine: &Machine, arguments: &[&str]) -> Run {
    machine.ran(&mut machine.command_of(arguments))
}

#[test]
fn a_session_works_over_chat_completions() {
    let (machine, _server) = with_server(&[
        json!({ "content": [{ "tool": "Read", "input": { "file_path": "notes.txt" } }] }),
        json!({ "content": [{ "text": "It says: whisper." }] }),
        json!({ "content": [{ "text": "As I said." }] }),
    ]);
    let set = ["--set", "provider=vllm", "--set", "model=local-one"];
    let first = run(
        &machine,
        &[&set[..], &["-p", "What do the notes say?"]].concat(),
    );
    assert_eq!(
        (first.code, first.stdout.as_str()),
        (0, "It says: whisper.\n"),
        "{first:?}"
    );
    let again = run(&machine, &[&set[..], &["-c", "-p", "Again?"]].concat());
    assert_eq!(again.stdout, "As I said.\n", "{again:?}");
    let usage = machine.json("usage --json");
    assert_eq!(usage["requests"], 3, "{usage}");
    assert!(usage["input_tokens"].as_u64() > Some(0), "{usage}");
}

#[test]
fn a_server_that_runs_is_offered_where_no_key_is_set() {
    let (machine, _server) = with_server(&[]);
    let refused = run(&machine, &["-p", "hello"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(
        refused.stderr.contains("dormouse config set provider vllm"),
        "{refused:?}"
    );
    let report = run(&machine, &["doctor", "--json"]);
    assert_eq!(report.code, 3, "{report:?}");
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["ready"], false);
    let servers = report["servers"].as_array().unwrap();
    let ours = servers.iter().find(|server| server["usual"] == false);
    let models = ours.unwrap()["models"].as_array().unwrap();
    assert!(!models.is_empty(), "{report}");
    // The commands that are offered work as they stand.
    for (key, value) in [("provider", "vllm"), ("model", "local-one")] {
        let set = run(&machine, &["config", "set", key, value]);
        assert_eq!(set.code, 0, "{set:?}");
    }
    let mended = run(&machine, &["doctor"]);
    assert_eq!(mended.code, 0, "{mended:?}");
    assert!(mended.stdout.contains("A session can start"), "{mended:?}");
}

#[test]
fn keys_are_found_and_never_printed() {
    // Made here, so that no file of the project holds anything that looks like a key.
    let key = format!("sk-ant-{}", "k3y".repeat(12));
    let machine = Machine::new(&[(".dormouse/settings.toml", "modle = \"x\"\n")])
        .with_variable("ANTHROPIC_API_KEY", key.clone())
        .with_variable("ANTHROPIC_MODEL", "claude-sonnet-4-5")
        .with_variable("PATH", PATH);
    let text = run(&machine, &["doctor"]);
    let json = run(&machine, &["doctor", "--json"]);
    for run in [&text, &json] {
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!format!("{run:?}").contains("k3yk3y"), "{run:?}");
    }
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    let from = "environment variable ANTHROPIC_API_KEY";
    assert_eq!(
        report["keys"],
        json!([{ "setting": "anthropic.api_key", "from": from }])
    );
    assert!(report["issues"][0].as_str().unwrap().contains("modle"));
    assert_eq!(report["trust"]["trusted"], false);
    let git = &report["programs"][0];
    assert!(git["name"] == "git" && git["path"].is_string(), "{report}");
}

#[test]
fn the_screen_fits_narrow_terminals() {
    for columns in [80, 40] {
        let machine = Machine::new(&[]).with_variable("COLUMNS", columns.to_string());
        for command in ["doctor", "stats"] {
            let run = machine.run(command);
            // Addresses and paths have no blank to break at.
            let long = run
                .stdout
                .lines()
                .find(|line| line.chars().count() > columns && !line.trim().contains('/'));
            assert_eq!(long, None, "{command}: {run:?}");
        }
    }
}

#[test]
fn a_home_that_cannot_be_written_is_told() {
    let machine = Machine::new(&[("file", "no folder\n")])
        .with_variable("ANTHROPIC_API_KEY", "any")
        .with_variable("ANTHROPIC_MODEL", "claude-sonnet-4-5");
    let home = machine.home().join("file/home");
    let run = run(
        &machine,
        &["--home", home.to_str().unwrap(), "doctor", "--json"],
    );
    assert_eq!(run.code, 3, "{run:?}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(report["home"]["unwritable"].is_string(), "{report}");
}

#[test]
fn a_provider_without_its_key_names_the_variable() {
    let machine = Machine::new(&[]).with_variable("ANTHROPIC_MODEL", "claude-sonnet-4-5");
    for (provider, variable) in [
        ("openrouter", "OPENROUTER_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
    ] {
        let set = format!("provider={provider}");
        let run = run(&machine, &["--set", &set, "-p", "hello"]);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stderr.contains(variable), "{run:?}");
    }
    // A model of another task is checked when the session begins, not in its midst.
    let machine = machine.with_variable("ANTHROPIC_API_KEY", "any");
    let set = [
        "--set",
        "fallback_model=x",
        "--set",
        "fallback_provider=openai",
    ];
    let run = run(&machine, &[&set[..], &["-p", "hello"]].concat());
    assert!(run.stderr.contains("fallback_model"), "{run:?}");
    assert!(run.stderr.contains("OPENAI_API_KEY"), "{run:?}");
}
