//! Programs that drive the agent through its pipes, as the official agent SDKs do: permission, hooks,
//! tools inside the program, changes on the way.

use crate::agent::{Scene, calls, result_of, says};
use crate::headless::{Piped, STREAMS, user};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Command line of an SDK, with options that only other agents know.
const SDK: [&str; 6] = [
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
    "--setting-sources",
    "",
    "--bare",
];

fn request(id: &str, request: &Value) -> String {
    json!({ "type": "control_request", "request_id": id, "request": request }).to_string()
}

fn answer(asked: &Value, response: &Value) -> String {
    let response = json!({
        "subtype": "success", "request_id": asked["request_id"], "response": response,
    });
    json!({ "type": "control_response", "response": response }).to_string()
}

/// An agent that was greeted as SDKs greet it.
fn greeted(scene: &Scene, more: &[&str], hello: &Value) -> Piped {
    let arguments = [&STREAMS[..], &SDK, more].concat();
    let mut agent = Piped::new(scene, &arguments);
    let mut hello = hello.clone();
    hello["subtype"] = json!("initialize");
    agent.send(&request("r1", &hello));
    let welcome = agent.until("control_response");
    assert_eq!(welcome["response"]["request_id"], "r1");
    assert_eq!(welcome["response"]["subtype"], "success", "{welcome}");
    agent
}

fn finished(mut agent: Piped) {
    drop(agent.child.stdin.take());
    while agent.next().is_some() {}
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
}

fn touch(name: &str) -> Value {
    calls("Bash", &json!({ "command": format!("touch {name}") }))
}

#[test]
fn the_program_gives_and_refuses_permission() {
    let script = [touch("one"), says("Made."), touch("three"), says("Well.")];
    let scene = Scene::new(&script, &[]);
    let mut agent = greeted(&scene, &[], &json!({}));
    agent.send(&user("make one"));
    let asked = agent.until("control_request");
    let wish = &asked["request"];
    assert_eq!(wish["subtype"], "can_use_tool");
    assert_eq!(wish["tool_name"], "Bash");
    assert_eq!(wish["input"]["command"], "touch one");
    assert!(wish["permission_suggestions"].is_array(), "{wish}");
    let changed = json!({ "behavior": "allow", "updatedInput": { "command": "touch two" } });
    agent.send(&answer(&asked, &changed));
    assert_eq!(agent.until("result")["result"], "Made.");
    let made = |name: &str| scene.machine.home().join("project").join(name).exists();
    assert!(made("two") && !made("one"));

    agent.send(&user("make three"));
    let asked = agent.until("control_request");
    agent.send(&answer(
        &asked,
        &json!({ "behavior": "deny", "message": "not today" }),
    ));
    let told = agent.until("user");
    assert!(result_of(&told).contains("not today"), "{told}");
    assert_eq!(agent.until("result")["result"], "Well.");
    assert!(!made("three"));
    finished(agent);
}

#[test]
fn a_program_that_goes_away_gives_no_permission() {
    let scene = Scene::new(&[touch("one"), says("A pity.")], &[]);
    let mut agent = greeted(&scene, &[], &json!({}));
    agent.send(&user("make one"));
    agent.until("control_request");
    drop(agent.child.stdin.take());
    let told = agent.until("user");
    assert!(result_of(&told).contains("gave no permission"), "{told}");
    finished(agent);
    assert!(!scene.machine.home().join("project/one").exists());
}

#[test]
fn hooks_of_the_program_decide_and_speak() {
    let scene = Scene::new(&[touch("one"), says("I see.")], &[]);
    let hooks = json!({ "hooks": {
        "UserPromptSubmit": [{ "hookCallbackIds": ["hook_0"] }],
        "PreToolUse": [{ "matcher": "Bash", "hookCallbackIds": ["hook_1"], "timeout": 60 }],
    }});
    let mut agent = greeted(&scene, &["--mode", "all"], &hooks);
    agent.send(&user("make one"));
    let prompt = agent.until("control_request");
    assert_eq!(prompt["request"]["callback_id"], "hook_0");
    assert_eq!(prompt["request"]["input"]["prompt"], "make one");
    agent.send(&answer(&prompt, &json!({})));
    let call = agent.until("control_request");
    assert_eq!(call["request"]["callback_id"], "hook_1");
    assert_eq!(
        call["request"]["input"]["tool_input"]["command"],
        "touch one"
    );
    assert_eq!(
        call["request"]["tool_use_id"],
        call["request"]["input"]["tool_use_id"]
    );
    agent.send(&answer(
        &call,
        &json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "the freezer is closed",
        }}),
    ));
    let told = agent.until("user");
    assert!(result_of(&told).contains("the freezer is closed"), "{told}");
    assert_eq!(agent.until("result")["result"], "I see.");
    finished(agent);
    assert!(!scene.machine.home().join("project/one").exists());
}

/// The program's part in the protocol of its server.
fn serve(agent: &mut Piped, server: &str, tools: &Value) {
    for method in ["initialize", "notifications/initialized", "tools/list"] {
        let asked = agent.until("control_request");
        assert_eq!(asked["request"]["subtype"], "mcp_message");
        assert_eq!(asked["request"]["server_name"], server);
        let message = &asked["request"]["message"];
        assert_eq!(message["method"], method);
        let result = match method {
            "initialize" => json!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": server, "version": "1" },
            }),
            "tools/list" => json!({ "tools": tools }),
            _ => json!({}),
        };
        let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        agent.send(&answer(&asked, &json!({ "mcp_response": reply })));
    }
}

#[test]
fn tools_inside_the_program_are_offered_and_called() {
    let script = [
        calls("mcp__larder__count", &json!({ "what": "nuts" })),
        says("Seven."),
    ];
    let scene = Scene::new(&script, &[]);
    // Given as the Python SDK does; the other one names its servers when it says hello.
    let config = json!({ "mcpServers": { "larder": { "type": "sdk", "name": "larder" } } });
    let more = [
        "--mcp-config",
        &config.to_string(),
        "--allowedTools",
        "mcp__larder__count",
    ];
    let mut agent = greeted(&scene, &more, &json!({}));
    let schema = json!({ "type": "object", "properties": { "what": { "type": "string" } } });
    let tools = json!([{ "name": "count", "description": "Counts.", "inputSchema": schema }]);
    serve(&mut agent, "larder", &tools);
    agent.send(&user("how many nuts?"));
    let init = agent.until("system");
    let offered = init["tools"].as_array().unwrap();
    assert!(offered.contains(&json!("mcp__larder__count")), "{init}");
    let asked = agent.until("control_request");
    let message = &asked["request"]["message"];
    assert_eq!(message["method"], "tools/call");
    let params = json!({ "name": "count", "arguments": { "what": "nuts" } });
    assert_eq!(message["params"], params);
    let result = json!({ "content": [{ "type": "text", "text": "seven" }] });
    let reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    agent.send(&answer(&asked, &json!({ "mcp_response": reply })));
    let told = agent.until("user");
    assert_eq!(result_of(&told), "seven");
    assert_eq!(agent.until("result")["result"], "Seven.");
    agent.send(&request("r2", &json!({ "subtype": "mcp_status" })));
    let status = agent.until("control_response");
    let server = json!([{ "name": "larder", "status": "connected" }]);
    assert_eq!(status["response"]["response"]["mcpServers"], server);
    finished(agent);
}

#[test]
fn every_request_is_answered() {
    let scene = Scene::new(&[says("One.")], &[]);
    let mut agent = greeted(&scene, &[], &json!({}));
    let cases = [
        (
            json!({ "subtype": "set_permission_mode", "mode": "acceptEdits" }),
            "success",
        ),
        (
            json!({ "subtype": "set_permission_mode", "mode": "wild" }),
            "error",
        ),
        (
            json!({ "subtype": "set_model", "model": "claude-haiku-4-5" }),
            "success",
        ),
        (json!({ "subtype": "set_model" }), "error"),
        (
            json!({ "subtype": "stop_task", "task_id": "none" }),
            "success",
        ),
        (json!({ "subtype": "interrupt" }), "success"),
        (json!({ "subtype": "initialize" }), "error"),
        (json!({ "subtype": "something_new" }), "error"),
        (json!({}), "error"),
    ];
    for (number, (wish, expected)) in cases.iter().enumerate() {
        let id = format!("q{number}");
        agent.send(&request(&id, wish));
        let reply = agent.until("control_response");
        assert_eq!(reply["response"]["request_id"], id);
        assert_eq!(reply["response"]["subtype"], *expected, "{wish}: {reply}");
    }
    agent.send(&user("hello"));
    let result = agent.until("result");
    assert_eq!(result["result"], "One.");
    assert!(
        result["modelUsage"].get("claude-haiku-4-5").is_some(),
        "{result}"
    );
    finished(agent);
}

#[test]
fn a_list_of_tools_hides_the_others() {
    let scene = Scene::new(&[says("One.")], &[]);
    let mut agent = greeted(&scene, &["--tools", "Read,Grep"], &json!({}));
    agent.send(&user("hello"));
    let init = agent.until("system");
    assert_eq!(init["tools"], json!(["Read", "Grep"]));
    agent.until("result");
    finished(agent);
}

#[test]
fn the_program_sends_a_plan_back_and_approves_it() {
    let plan = |text: &str| calls("ExitPlanMode", &json!({ "plan": text }));
    let script = [plan("Short."), plan("Longer."), touch("one"), says("Done.")];
    let scene = Scene::new(&script, &[(".dormouse/commands/review.md", "Review.\n")]);
    let mut agent = greeted(&scene, &["--permission-mode", "plan"], &json!({}));
    agent.send(&user("plan it"));
    let asked = agent.until("control_request");
    assert_eq!(asked["request"]["tool_name"], "ExitPlanMode");
    assert_eq!(asked["request"]["input"]["plan"], "Short.");
    let back = json!({ "behavior": "deny", "message": "say more" });
    agent.send(&answer(&asked, &back));
    let told = agent.until("user");
    assert!(result_of(&told).contains("say more"), "{told}");
    let asked = agent.until("control_request");
    assert_eq!(asked["request"]["input"]["plan"], "Longer.");
    let mode =
        json!([{ "type": "setMode", "mode": "bypassPermissions", "destination": "session" }]);
    let yes = json!({ "behavior": "allow", "updatedInput": { "plan": "Longer." }, "updatedPermissions": mode });
    agent.send(&answer(&asked, &yes));
    assert_eq!(agent.until("result")["result"], "Done.");
    assert!(scene.machine.home().join("project/one").exists());
    finished(agent);
}

#[test]
fn the_greeting_tells_the_commands() {
    let review = "---\ndescription: Reviews\nargument-hint: number\n---\nReview $1.\n";
    let scene = Scene::new(&[], &[(".dormouse/commands/review.md", review)]);
    let arguments = [&STREAMS[..], &SDK].concat();
    let mut agent = Piped::new(&scene, &arguments);
    agent.send(&request("r1", &json!({ "subtype": "initialize" })));
    let welcome = agent.until("control_response");
    let commands = welcome["response"]["response"]["commands"]
        .as_array()
        .unwrap();
    let review = json!({ "name": "review", "description": "Reviews", "argumentHint": "number" });
    assert!(commands.contains(&review), "{welcome}");
    finished(agent);
}
