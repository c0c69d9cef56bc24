//! Servers of tools by way of `dormouse -p`: a real process, named by a project or a command line.

use crate::agent::{Scene, calls, results_of, says};
use crate::headless::{Piped, STREAMS, user};
use dormouse_testkit::SHELL_SERVER;
use dormouse_testkit::processes::{await_end, runs};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A configuration with the server of the test kit under the name `shell`.
fn config(scene: &Scene, env: &Value) -> Value {
    let home = scene.machine.home();
    let args = [home.join("server.sh"), home.join("started")];
    json!({ "mcpServers": { "shell": { "command": "/bin/bash", "args": args, "env": env } } })
}

fn scene(script: &[Value]) -> Scene {
    Scene::new(
        script,
        &[("server.sh", SHELL_SERVER), ("project/.git/HEAD", "")],
    )
}

/// A model that looks for a tool and calls it.
fn script() -> [Value; 3] {
    let input = json!({ "name": "mcp__shell__echo", "arguments": { "text": "hi" } });
    [
        calls("ToolSearch", &json!({ "query": "echo" })),
        calls("CallTool", &input),
        says("Done."),
    ]
}

fn pids(scene: &Scene) -> Vec<String> {
    let made = scene.machine.home().join("started");
    if !made.exists() {
        return Vec::new();
    }
    scene
        .machine
        .read("started")
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_server_of_the_project_works_once_the_folder_is_trusted() {
    let scene = scene(&[
        says("Nothing here."),
        script()[0].clone(),
        script()[1].clone(),
        says("Done."),
    ]);
    scene
        .machine
        .write("project/.mcp.json", &config(&scene, &json!({})).to_string());
    let run = scene.run(&["--bare", "--mode", "all", "-p", "say hi"]);
    assert_eq!(run.stdout, "Nothing here.\n", "{run:?}");
    assert!(
        run.stderr.contains(".mcp.json` are not started until"),
        "{}",
        run.stderr
    );
    assert_eq!(pids(&scene), [""; 0]);

    assert_eq!(scene.run(&["config", "trust"]).code, 0);
    let frames = scene.frames(&["--bare", "--mode", "all", "-p", "say hi"]);
    let servers = &frames[0]["mcp_servers"];
    assert_eq!(servers[0]["name"], "shell", "{servers}");
    let results = results_of(&frames);
    assert!(results[0].contains("mcp__shell__echo"), "{}", results[0]);
    assert!(results[1].starts_with("echo hi of "), "{}", results[1]);
    let pids = pids(&scene);
    assert_eq!(pids.len(), 1);
    // No server outlives its session.
    await_end(&pids[0]);
}

#[test]
fn a_server_of_the_command_line_needs_no_trust_and_gets_the_keys_it_names() {
    for (env, key) in [
        (json!({}), "key none"),
        (json!({ "SERVER_KEY": "${SERVER_KEY}" }), "key of-the-user"),
    ] {
        let mut scene = scene(&script());
        scene.machine = scene.machine.with_variable("SERVER_KEY", "of-the-user");
        let config = config(&scene, &env).to_string();
        let frames = scene.frames(&[
            "--bare",
            "--mode",
            "all",
            "--mcp-config",
            &config,
            "-p",
            "say hi",
        ]);
        let results = results_of(&frames);
        assert!(results[1].contains(key), "{}", results[1]);
    }
}

#[test]
fn rules_of_the_command_line_are_about_the_tool_that_is_called() {
    let scene = scene(&script());
    let config = config(&scene, &json!({})).to_string();
    let refused = scene.frames(&["--bare", "--mcp-config", &config, "-p", "say hi"]);
    assert!(
        results_of(&refused)[1].contains("mcp__shell__echo"),
        "{refused:?}"
    );
    let end = refused.last().unwrap();
    assert_eq!(
        end["permission_denials"][0]["tool_name"], "mcp__shell__echo",
        "{end}"
    );
}

#[test]
fn a_server_ends_with_an_agent_that_is_killed() {
    let scene = scene(&[script()[0].clone(), says("Ready.")]);
    let config = config(&scene, &json!({})).to_string();
    let arguments = [&STREAMS[..], &["--bare", "--mcp-config", &config]].concat();
    let mut agent = Piped::new(&scene, &arguments);
    agent.send(&user("get ready"));
    agent.until("result");
    let status = json!({ "type": "control_request", "request_id": "s", "request": { "subtype": "mcp_status" } });
    agent.send(&status.to_string());
    let answer = agent.until("control_response");
    let servers = &answer["response"]["response"]["mcpServers"];
    assert_eq!(servers[0]["status"], "connected", "{answer}");
    let pids = pids(&scene);
    assert!(runs(&pids[0]));
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    await_end(&pids[0]);
}

#[test]
fn a_configuration_that_cannot_be_used_is_named() {
    let scene = scene(&[says("Well."), says("Well.")]);
    let old = json!({ "mcpServers": { "old": { "type": "sse", "url": "http://127.0.0.1:1" } } });
    let run = scene.run(&["--bare", "--mcp-config", &old.to_string(), "-p", "hi"]);
    assert_eq!(run.stdout, "Well.\n");
    assert!(
        run.stderr
            .contains("the server old of --mcp-config is left out"),
        "{}",
        run.stderr
    );
    let away = json!({ "mcpServers": { "away": { "command": "/no/such/program" } } });
    let run = scene.run(&["--bare", "--mcp-config", &away.to_string(), "-p", "hi"]);
    assert_eq!(run.stdout, "Well.\n");
    assert!(
        run.stderr.contains("the server away is away"),
        "{}",
        run.stderr
    );
}
