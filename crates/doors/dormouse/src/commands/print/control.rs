//! Requests between the agent and the program that drives it, as the official agent SDKs make them.
//!
//! # Model
//! The program begins with `initialize`: the hooks it answers, the servers of tools that live in it,
//! words for the system prompt. Tools are asked for before the session is opened, because they are
//! part of its prompt. Later it may stop a turn, change model and mode, end a task; every request
//! gets an answer, unknown ones an error. The other way round it is asked for permission, for the
//! answers of its hooks and for the results of its tools.
//!
//! # Not here
//! Frames of a conversation: `stream`; the pipes: `program`; tools of the program: `servers`.

use super::input::Incoming;
use super::program::{Answer, Heard, Program, Wire};
use super::servers::Servers;
use crate::app::App;
use crate::error::Failure;
use dormouse_agent::protocol::{Answers, Lifetime, PermissionRequest, QuestionRequest};
use dormouse_agent::{
    ASK_USER, Client, ClientTool, Command, Commands, HookFuture, Mode, OutsideTools,
};
use dormouse_drive::{ToolCall, ToolFuture};
use dormouse_host::{HookEvent, HookTable, Host};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The program as a part of the session.
#[derive(Debug)]
pub(super) struct Driving {
    program: Program,
    hooks: HookTable,
    servers: Servers,
    /// Words for the system prompt, in place of the agent's and behind them.
    pub(super) system: Option<String>,
    pub(super) append: Option<String>,
}

/// Waits for the first line. If it is `initialize`, the program takes part in the session; any other
/// line is kept.
pub(super) async fn begin(
    wire: &mut Wire,
    configured: &[String],
    host: &Host,
    app: &mut App,
) -> Result<Option<Arc<Driving>>, Failure> {
    let (id, request) = loop {
        match wire.hear().await {
            Heard::Frame(frame) => app.out.json_line(&frame)?,
            Heard::Line(Some(Ok(Incoming::Request { id, request })))
                if request["subtype"] == "initialize" =>
            {
                break (id, request);
            }
            Heard::Line(Some(Ok(Incoming::Nothing))) => {}
            Heard::Line(line) => {
                wire.keep(line.unwrap_or(Ok(Incoming::End)));
                return Ok(None);
            }
        }
    };
    let program = wire.program.clone();
    program.answer(&id, Ok(welcome(host, app)));
    let mut hooks = HookTable::default();
    for why in read_hooks(&request["hooks"], &mut hooks) {
        app.note(&why);
    }
    let mut names: Vec<String> = configured.to_vec();
    let listed = request["sdkMcpServers"].as_array().into_iter().flatten();
    names.extend(listed.filter_map(|name| name.as_str().map(str::to_owned)));
    names.sort();
    names.dedup();
    let servers = wire.during(app, Servers::connect(&program, &names)).await?;
    for why in servers.faults() {
        app.note(&why);
    }
    Ok(Some(Arc::new(Driving {
        program,
        hooks,
        servers,
        system: words(&request["systemPrompt"]),
        append: words(&request["appendSystemPrompt"]),
    })))
}

/// Answer to `initialize`, with the members that helpers of the SDKs read.
fn welcome(host: &Host, app: &App) -> Value {
    let commands: Vec<Value> = dormouse_agent::commands(host)
        .into_iter()
        .map(|one| {
            let hint = one.hint.unwrap_or_default();
            json!({ "name": one.name, "description": one.description, "argumentHint": hint })
        })
        .collect();
    let models = app.models();
    let models: Vec<Value> = models
        .iter()
        .flat_map(|table| table.iter())
        .map(|model| json!({ "value": model.id, "displayName": model.id, "description": "" }))
        .collect();
    json!({
        "commands": commands, "agents": [], "models": models, "output_style": "default",
        "available_output_styles": ["default"], "account": {},
        "hook_on_failure_supported": true, "pid": std::process::id(),
    })
}

/// Text of a prompt that may come as one text or as several.
fn words(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            parts.join("\n\n")
        }
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Reads the program's hooks; returns what cannot be used.
fn read_hooks(written: &Value, table: &mut HookTable) -> Vec<String> {
    let mut faults = Vec::new();
    let events = written.as_object().into_iter().flatten();
    for (name, groups) in events {
        // Events of later versions are no mistake.
        let Some(event) = HookEvent::named(name) else {
            continue;
        };
        for group in groups.as_array().into_iter().flatten() {
            let seconds = group["timeout"].as_f64().filter(|seconds| *seconds > 0.0);
            let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let ids = group["hookCallbackIds"].as_array().into_iter().flatten();
            for id in ids.filter_map(Value::as_str) {
                if let Err(error) = table.add_client(event, group["matcher"].as_str(), id, timeout)
                {
                    faults.push(format!("a {name} hook of the program is left out: {error}"));
                }
            }
        }
    }
    faults
}

impl Client for Driving {
    fn hooks(&self) -> &HookTable {
        &self.hooks
    }

    fn hook(&self, name: &str, input: Value) -> HookFuture<Answer> {
        let program = self.program.clone();
        let request = json!({
            "subtype": "hook_callback", "callback_id": name,
            "tool_use_id": input["tool_use_id"], "input": input,
        });
        // The runner of hooks has the time.
        Box::pin(async move { program.ask(request, None).await })
    }
}

impl OutsideTools for Driving {
    fn offered(&self) -> Vec<ClientTool> {
        self.servers.tools().to_vec()
    }

    fn only_reads(&self, tool: &str) -> Option<bool> {
        let mut tools = self.servers.tools().iter();
        tools
            .find(|known| known.name == tool)
            .map(|known| known.only_reads)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        self.servers.run(call)
    }
}

impl Driving {
    /// Servers inside the program, with their states.
    pub(super) fn servers(&self) -> Vec<Value> {
        self.servers.states()
    }

    /// Answers a request of the program while the session is open.
    pub(super) async fn requested(
        program: &Program,
        (commands, servers): (&Commands, &[Value]),
        id: &str,
        request: &Value,
    ) {
        let text = |name: &str| request[name].as_str().map(str::to_owned);
        let answer = match request["subtype"].as_str().unwrap_or_default() {
            "interrupt" => {
                commands.send(Command::Interrupt).await;
                Ok(json!({}))
            }
            "set_permission_mode" => {
                let mode = text("mode").unwrap_or_default();
                match mode.parse::<Mode>() {
                    Ok(mode) => {
                        commands.send(Command::SetMode { mode }).await;
                        Ok(json!({ "mode": mode.foreign_name() }))
                    }
                    Err(error) => Err(error.to_string()),
                }
            }
            "set_model" => match text("model") {
                Some(model) => {
                    commands.send(Command::SetModel { model }).await;
                    Ok(json!({}))
                }
                None => Err("the request names no model".to_owned()),
            },
            "stop_task" => match text("task_id") {
                Some(task) => {
                    commands.send(Command::KillTask { task }).await;
                    Ok(json!({}))
                }
                None => Err("the request names no task".to_owned()),
            },
            "mcp_status" => Ok(json!({ "mcpServers": servers })),
            "initialize" => Err("the session is open already".to_owned()),
            other => Err(format!("requests of the kind `{other}` are not known here")),
        };
        program.answer(id, answer);
    }
}

/// Asks the program whether a call may run, and tells the agent.
pub(super) async fn permission(program: Program, commands: Commands, wanted: PermissionRequest) {
    let suggestions: Vec<Value> = wanted.lasting.iter().map(|rule| suggestion(rule)).collect();
    let request = json!({
        "subtype": "can_use_tool", "tool_name": wanted.tool, "input": wanted.input,
        "tool_use_id": wanted.call, "permission_suggestions": suggestions,
        "decision_reason": wanted.question,
    });
    let answer = program.ask(request, None).await;
    let refused = |words: String| Command::Permit {
        call: wanted.call.clone(),
        allow: false,
        words: Some(words),
        input: None,
        remember: None,
    };
    let (decision, stop, mode) = match answer {
        Ok(said) if said["behavior"] == "allow" => {
            let updates = said["updatedPermissions"].as_array();
            let updates = updates.map(Vec::as_slice).unwrap_or_default();
            let changed = &said["updatedInput"];
            let input = (changed.is_object() && *changed != wanted.input).then(|| changed.clone());
            let permit = Command::Permit {
                call: wanted.call.clone(),
                allow: true,
                words: None,
                input,
                remember: updates.iter().find_map(lifetime),
            };
            (permit, false, updates.iter().find_map(mode_of))
        }
        Ok(said) => {
            let words = said["message"].as_str().unwrap_or("The user declined.");
            (refused(words.to_owned()), said["interrupt"] == true, None)
        }
        Err(why) => (
            refused(format!(
                "The program that was asked gave no permission: {why}."
            )),
            false,
            None,
        ),
    };
    if let Some(mode) = mode {
        commands.send(Command::SetMode { mode }).await;
    }
    commands.send(decision).await;
    if stop {
        commands.send(Command::Interrupt).await;
    }
}

/// Puts questions of the model to the program, and gives the agent its answers.
pub(super) async fn question(program: Program, commands: Commands, wanted: QuestionRequest) {
    let request = json!({
        "subtype": "can_use_tool", "tool_name": ASK_USER, "tool_use_id": wanted.call,
        "input": { "questions": wanted.questions }, "permission_suggestions": [],
    });
    let call = wanted.call;
    let command = match program.ask(request, None).await {
        Ok(said) if said["behavior"] == "allow" => {
            let given = said["updatedInput"]["answers"].as_object();
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let answers: Answers = given
                .into_iter()
                .flatten()
                .map(|(question, answer)| (question.clone(), text(answer)))
                .collect();
            Command::Answer { call, answers }
        }
        other => {
            let words = match other {
                Ok(said) => said["message"]
                    .as_str()
                    .unwrap_or("The user declined.")
                    .to_owned(),
                Err(why) => format!("Nobody answered: {why}."),
            };
            Command::Permit {
                call,
                allow: false,
                words: Some(words),
                input: None,
                remember: None,
            }
        }
    };
    commands.send(command).await;
}

/// A rule as an update of permissions that the program may send back.
fn suggestion(rule: &str) -> Value {
    let (tool, content) = match rule.split_once('(') {
        Some((tool, rest)) => (tool, Some(rest.trim_end_matches(')'))),
        None => (rule, None),
    };
    json!({
        "type": "addRules", "rules": [{ "toolName": tool, "ruleContent": content }],
        "behavior": "allow", "destination": "localSettings",
    })
}

/// How long an update of permissions is to last, if it adds a rule that allows.
fn lifetime(update: &Value) -> Option<Lifetime> {
    if update["type"] != "addRules" || update["behavior"] != "allow" {
        return None;
    }
    Some(match update["destination"].as_str() {
        Some("userSettings") => Lifetime::User,
        Some("projectSettings" | "localSettings") => Lifetime::Project,
        _ => Lifetime::Session,
    })
}

/// Mode of an update that sets one.
fn mode_of(update: &Value) -> Option<Mode> {
    let mode = update["mode"]
        .as_str()
        .filter(|_| update["type"] == "setMode")?;
    mode.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn updates_of_permissions_are_read() {
        let rule = |destination: &str| json!({ "type": "addRules", "behavior": "allow", "destination": destination });
        let cases = [
            (rule("session"), Some(Lifetime::Session)),
            (rule("cliArg"), Some(Lifetime::Session)),
            (rule("localSettings"), Some(Lifetime::Project)),
            (rule("userSettings"), Some(Lifetime::User)),
            (json!({ "type": "removeRules", "behavior": "allow" }), None),
            (json!({ "type": "addRules", "behavior": "deny" }), None),
        ];
        for (update, expected) in cases {
            assert_eq!(lifetime(&update), expected, "{update}");
        }
        let mode = json!({ "type": "setMode", "mode": "acceptEdits" });
        assert_eq!(mode_of(&mode), Some(Mode::AcceptEdits));
    }

    #[test]
    fn a_rule_goes_out_as_the_update_that_would_add_it() {
        let update = suggestion("Bash(git log *)");
        assert_eq!(
            update["rules"],
            json!([{ "toolName": "Bash", "ruleContent": "git log *" }])
        );
        assert_eq!(lifetime(&update), Some(Lifetime::Project));
    }

    #[test]
    fn hooks_of_the_program_are_read_and_bad_ones_named() {
        let written = json!({
            "PreToolUse": [
                { "matcher": "Bash|Edit", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 5 },
                { "matcher": "(", "hookCallbackIds": ["hook_2"] },
            ],
            "SomethingNew": [{ "hookCallbackIds": ["hook_3"] }],
        });
        let mut table = HookTable::default();
        assert_eq!(read_hooks(&written, &mut table).len(), 1);
        let ids = |tool| {
            let found = table.matching(HookEvent::PreToolUse, Some(tool));
            found.into_iter().map(|hook| hook.line).collect::<Vec<_>>()
        };
        assert_eq!(ids("Bash"), ["hook_0", "hook_1"]);
        assert_eq!(ids("Read"), [""; 0]);
    }

    #[test]
    fn prompts_come_as_text_or_parts_and_empty_ones_are_none() {
        let cases = [
            (json!("be brief"), Some("be brief")),
            (json!(["be", "brief"]), Some("be\n\nbrief")),
            (json!([""]), None),
            (json!(""), None),
            (Value::Null, None),
        ];
        for (value, expected) in cases {
            assert_eq!(words(&value).as_deref(), expected, "{value}");
        }
    }
}
