//! `dormouse acp` against a client of our own, which reads every message with the types of the protocol.

use crate::agent::{Scene, calls, says};
use crate::headless::Piped;
use agent_client_protocol_schema::v1::{
    InitializeResponse, LoadSessionResponse, NewSessionResponse, PromptResponse,
    RequestPermissionRequest, SessionNotification, SessionUpdate, StopReason, ToolCallStatus,
};
use pretty_assertions::assert_eq;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An editor with the updates that it was sent.
struct Editor {
    agent: Piped,
    next: u64,
    updates: Vec<SessionUpdate>,
}

impl Editor {
    fn new(scene: &Scene) -> Self {
        let mut editor = Self {
            // Without memories, which would be drawn by requests of their own.
            agent: Piped::new(scene, &["acp", "--set", "simple=true"]),
            next: 0,
            updates: Vec::new(),
        };
        let hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        let welcome: InitializeResponse = editor.call("initialize", &hello);
        assert!(welcome.agent_capabilities.load_session);
        editor
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.agent.send(&request.to_string());
        id
    }

    /// The next message that is no update.
    fn next(&mut self) -> Value {
        loop {
            let message = self.agent.next().unwrap();
            assert_eq!(message["jsonrpc"], "2.0");
            if message["method"] != "session/update" {
                return message;
            }
            let note: SessionNotification =
                serde_json::from_value(message["params"].clone()).unwrap();
            self.updates.push(note.update);
        }
    }

    fn answer<T: DeserializeOwned>(&mut self, id: u64) -> T {
        let message = self.next();
        assert_eq!(message["id"], id, "{message}");
        serde_json::from_value(message["result"].clone()).unwrap()
    }

    fn call<T: DeserializeOwned>(&mut self, method: &str, params: &Value) -> T {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn session(&mut self, scene: &Scene) -> String {
        let folder = scene.machine.home().join("project");
        let params = json!({ "cwd": folder, "mcpServers": [] });
        let opened: NewSessionResponse = self.call("session/new", &params);
        assert_eq!(opened.modes.unwrap().current_mode_id.0.as_ref(), "ask");
        opened.session_id.0.to_string()
    }

    fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.send(
            "session/prompt",
            &json!({ "sessionId": session, "prompt": prompt }),
        )
    }

    /// Answers a request for permission and returns it.
    fn decide(&mut self, option: &str) -> RequestPermissionRequest {
        let asked = self.next();
        assert_eq!(asked["method"], "session/request_permission", "{asked}");
        let outcome = json!({ "outcome": { "outcome": "selected", "optionId": option } });
        let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": outcome });
        self.agent.send(&reply.to_string());
        serde_json::from_value(asked["params"].clone()).unwrap()
    }

    fn words(&self) -> String {
        let text = |update: &SessionUpdate| match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                let value = serde_json::to_value(&chunk.content).unwrap();
                value["text"].as_str().map(str::to_owned)
            }
            _ => None,
        };
        self.updates.iter().filter_map(text).collect()
    }

    fn statuses(&self) -> Vec<ToolCallStatus> {
        let status = |update: &SessionUpdate| match update {
            SessionUpdate::ToolCall(call) => Some(call.status),
            SessionUpdate::ToolCallUpdate(call) => call.fields.status,
            _ => None,
        };
        self.updates.iter().filter_map(status).collect()
    }

    fn close(mut self) {
        drop(self.agent.child.stdin.take());
        while self.agent.next().is_some() {}
        assert_eq!(self.agent.child.wait().unwrap().code(), Some(0));
    }
}

fn touch(name: &str) -> Value {
    calls("Bash", &json!({ "command": format!("touch {name}") }))
}

#[test]
fn a_turn_with_a_permission() {
    let script = [
        touch("one"),
        says("Made."),
        touch("two"),
        says("As you like."),
    ];
    let scene = Scene::new(&script, &[]);
    let mut editor = Editor::new(&scene);
    let session = editor.session(&scene);
    let request = editor.prompt(&session, "make one");
    let asked = editor.decide("once");
    assert_eq!(
        asked.tool_call.fields.title.as_deref(),
        Some("Bash touch one")
    );
    let ended: PromptResponse = editor.answer(request);
    assert_eq!(ended.stop_reason, StopReason::EndTurn);
    assert_eq!(editor.words(), "Made.");
    let course = [
        ToolCallStatus::Pending,
        ToolCallStatus::InProgress,
        ToolCallStatus::Completed,
    ];
    assert_eq!(editor.statuses(), course);
    let used = |update: &SessionUpdate| matches!(update, SessionUpdate::UsageUpdate(_));
    assert!(editor.updates.iter().any(used), "{:?}", editor.updates);

    let request = editor.prompt(&session, "make two");
    editor.decide("no");
    let ended: PromptResponse = editor.answer(request);
    assert_eq!(ended.stop_reason, StopReason::EndTurn);
    let made = |name: &str| scene.machine.home().join("project").join(name).exists();
    assert!(made("one") && !made("two"));
    editor.close();
}

#[test]
fn a_cancelled_turn_says_so_and_the_next_one_works() {
    let script = [
        calls("Bash", &json!({ "command": "sleep 60" })),
        says("Again."),
    ];
    let scene = Scene::new(&script, &[]);
    let mut editor = Editor::new(&scene);
    let session = editor.session(&scene);
    let set = json!({ "sessionId": session, "modeId": "all" });
    let _set: Value = editor.call("session/set_mode", &set);
    let request = editor.prompt(&session, "wait");
    // The command runs once its update has come.
    while !editor.statuses().contains(&ToolCallStatus::InProgress) {
        let message = editor.agent.next().unwrap();
        if message["method"] == "session/update" {
            let note: SessionNotification =
                serde_json::from_value(message["params"].clone()).unwrap();
            editor.updates.push(note.update);
        }
    }
    let cancel = json!({
        "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session },
    });
    editor.agent.send(&cancel.to_string());
    let ended: PromptResponse = editor.answer(request);
    assert_eq!(ended.stop_reason, StopReason::Cancelled);
    let request = editor.prompt(&session, "again");
    let ended: PromptResponse = editor.answer(request);
    assert_eq!(ended.stop_reason, StopReason::EndTurn);
    assert_eq!(editor.words(), "Again.");
    editor.close();
}

#[test]
fn a_session_is_loaded_and_told_again() {
    let scene = Scene::new(&[says("Hello."), says("Hello again.")], &[]);
    let mut editor = Editor::new(&scene);
    let session = editor.session(&scene);
    let request = editor.prompt(&session, "greet me");
    let _ended: PromptResponse = editor.answer(request);
    editor.close();

    let mut editor = Editor::new(&scene);
    let folder = scene.machine.home().join("project");
    let params = json!({ "sessionId": session, "cwd": folder, "mcpServers": [] });
    let _loaded: LoadSessionResponse = editor.call("session/load", &params);
    // Told before the answer, as the protocol wants it.
    assert_eq!(editor.words(), "Hello.");
    let request = editor.prompt(&session, "and again");
    let _ended: PromptResponse = editor.answer(request);
    assert_eq!(editor.words(), "Hello.Hello again.");
    let said = |update: &SessionUpdate| matches!(update, SessionUpdate::UserMessageChunk(_));
    assert_eq!(
        editor.updates.iter().filter(|update| said(update)).count(),
        1
    );
    editor.close();
}

#[test]
fn servers_of_the_editor_are_reached() {
    let input = json!({ "name": "mcp__larder__echo", "arguments": { "text": "cheese" } });
    let script = [
        calls("ToolSearch", &json!({ "query": "echo" })),
        calls("CallTool", &input),
        says("Cheese."),
    ];
    let scene = Scene::new(&script, &[("server.sh", dormouse_testkit::SHELL_SERVER)]);
    let mut editor = Editor::new(&scene);
    let home = scene.machine.home();
    let server = json!({
        "name": "larder", "command": "/bin/bash", "args": [home.join("server.sh"), home.join("started")],
        "env": [{ "name": "SERVER_KEY", "value": "of-the-editor" }],
    });
    let params = json!({ "cwd": home.join("project"), "mcpServers": [server] });
    let opened: NewSessionResponse = editor.call("session/new", &params);
    let request = editor.prompt(opened.session_id.0.as_ref(), "what is there?");
    let asked = editor.decide("once");
    assert!(
        asked
            .tool_call
            .fields
            .title
            .unwrap()
            .contains("mcp__larder__echo")
    );
    let _ended: PromptResponse = editor.answer(request);
    assert_eq!(editor.words(), "Cheese.");
    let updates = format!("{:?}", editor.updates);
    assert!(
        updates.contains("echo cheese of ") && updates.contains("key of-the-editor"),
        "{updates}"
    );
    editor.close();
}

#[test]
fn a_session_that_opens_slowly_keeps_nothing_waiting() {
    let hook = "[[hooks.SessionStart]]\nhooks = [{ type = \"command\", command = \"until [ -e go ]; do sleep 0.02; done\" }]\n";
    let scene = Scene::new(&[], &[(".dormouse/settings.toml", hook)]);
    let mut editor = Editor::new(&scene);
    let project = scene.machine.home().join("project");
    let server = json!({ "name": "larder", "command": "larder", "args": [], "env": [] });
    let params = json!({ "cwd": project, "mcpServers": [server] });
    let slow = editor.send("session/new", &params);
    editor.send("session/dance", &json!({}));
    assert_eq!(editor.next()["error"]["code"], -32_601);
    scene.machine.write("project/go", "");
    let _opened: NewSessionResponse = editor.answer(slow);
    editor.close();
}

#[test]
fn mistakes_get_errors_with_their_reason() {
    let scene = Scene::new(&[], &[]);
    let mut editor = Editor::new(&scene);
    let cases = [
        (
            "session/new",
            json!({ "cwd": "relative", "mcpServers": [] }),
            -32_602,
        ),
        ("session/new", json!({}), -32_602),
        (
            "session/prompt",
            json!({ "sessionId": "none", "prompt": [] }),
            -32_602,
        ),
        (
            "session/set_mode",
            json!({ "sessionId": "none", "modeId": "wild" }),
            -32_602,
        ),
        ("session/dance", json!({}), -32_601),
    ];
    for (method, params, code) in cases {
        editor.send(method, &params);
        let message = editor.next();
        assert_eq!(message["error"]["code"], code, "{method}: {message}");
    }
    editor.agent.send("no message");
    assert_eq!(editor.next()["error"]["code"], -32_700);
    editor.close();
}

#[test]
fn commands_are_told_and_a_plan_is_approved() {
    let plan = json!({ "plan": "Move the heron." });
    let script = [
        calls("ExitPlanMode", &plan),
        calls("ExitPlanMode", &plan),
        calls("Write", &json!({ "file_path": "made.txt", "content": "x" })),
        says("Moved."),
    ];
    let review = "---\ndescription: Reviews\nargument-hint: number\n---\nReview $1.\n";
    let scene = Scene::new(&script, &[(".dormouse/commands/review.md", review)]);
    let mut editor = Editor::new(&scene);
    let session = editor.session(&scene);
    let set = json!({ "sessionId": session, "modeId": "plan" });
    let _set: Value = editor.call("session/set_mode", &set);
    let request = editor.prompt(&session, "/review 12");
    let asked = editor.decide("no");
    let shown = serde_json::to_value(&asked.tool_call.fields).unwrap();
    assert_eq!(shown["kind"], "switch_mode", "{shown}");
    assert_eq!(shown["content"][0]["content"]["text"], "Move the heron.");
    let options: Vec<&str> = asked.options.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        options,
        [
            "Approve the plan",
            "Approve the plan and accept edits",
            "Keep planning"
        ]
    );
    editor.decide("edits");
    let ended: PromptResponse = editor.answer(request);
    assert_eq!(ended.stop_reason, StopReason::EndTurn);
    assert!(scene.machine.home().join("project/made.txt").exists());
    let told = editor.updates.iter().find_map(|update| match update {
        SessionUpdate::AvailableCommandsUpdate(update) => Some(update.clone()),
        _ => None,
    });
    let told = told.unwrap().available_commands;
    let names: Vec<&str> = told.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["clear", "compact", "review"]);
    let modes = editor.updates.iter().filter_map(|update| match update {
        SessionUpdate::CurrentModeUpdate(update) => Some(update.current_mode_id.0.to_string()),
        _ => None,
    });
    assert_eq!(modes.collect::<Vec<_>>(), ["plan", "accept-edits"]);
    editor.close();
}
