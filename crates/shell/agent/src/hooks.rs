//! Hooks of a session: commands of the settings, run at certain moments with JSON in and out.
//!
//! # Model
//! All hooks of a moment run side by side; their answers are merged into one. A hook that fails,
//! hangs or says nothing decides nothing. The JSON is that of Claude Code, so that its users' hooks
//! work as they are. Hooks are read from the settings whenever they may run: a change counts at once.
//! A client may bring hooks of its own, which it answers itself.
//!
//! # Not here
//! Which hooks there are (`dormouse-host`), and what becomes of an answer (`dormouse-drive`).

mod answer;
mod process;

use crate::agent::AgentAsk;
use crate::client::Client;
use crate::judge::{Judging, call_text};
use crate::protocol::Event;
use crate::stream::EventSender;
use answer::Merged;
use dormouse_context::compaction::{RestoredKind, RestoredPart};
use dormouse_core::fragment::{REMINDER, render};
use dormouse_core::id::SessionId;
use dormouse_core::record::{FragmentKind, Trigger};
use dormouse_drive::{HookAnswer, HookMoment, HookPoint, Injection};
use dormouse_engine::{HookFuture, Hooks};
use dormouse_host::{HookBy, HookCommand, HookEvent, HookTable, Host};
use process::{Outcome, Place, run_all};
use serde_json::{Map, Value, json};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Time of a hook unless its settings say otherwise, as in Claude Code.
const USUAL_TIME: Duration = Duration::from_mins(10);
/// Time of a hook that a prompt waits for.
const PROMPT_TIME: Duration = Duration::from_secs(30);
/// Time of hooks at the end of a session, which a person waits for.
const END_TIME: Duration = Duration::from_millis(1_500);
/// Longest time that a hook may ask for at the end of a session.
const LONGEST_END: Duration = Duration::from_mins(1);

/// Hooks of a session. Clones share everything.
#[derive(Clone)]
pub(crate) struct HookRunner {
    host: Arc<Host>,
    judge: Arc<Judging>,
    events: EventSender,
    place: Arc<Place>,
    transcript: PathBuf,
    session: SessionId,
    client: Option<Arc<dyn Client>>,
    /// True for a sub-agent, at whose beginning and end no hooks run.
    sub_agent: bool,
}

impl fmt::Debug for HookRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookRunner").finish_non_exhaustive()
    }
}

impl HookRunner {
    pub(crate) fn new(
        host: &Arc<Host>,
        session: &SessionId,
        folder: &Path,
        judge: Arc<Judging>,
        events: EventSender,
        ask: &AgentAsk,
    ) -> Self {
        Self {
            place: Arc::new(Place {
                system: host.system().clone(),
                folder: folder.join("hooks"),
                directory: host.places().current_dir.clone(),
                project: host.places().project.root.clone(),
                mark: session.as_str().to_owned(),
            }),
            transcript: folder.with_extension("jsonl"),
            host: Arc::clone(host),
            session: session.clone(),
            judge,
            events,
            client: ask.client.clone(),
            sub_agent: ask.lineage.is_sub_agent(),
        }
    }

    /// Hooks of the settings and of the client.
    fn table(&self) -> HookTable {
        let mut table = self.host.hooks();
        if let Some(client) = &self.client {
            table.extend(client.hooks());
        }
        table
    }

    /// Runs the hooks of an event and merges their answers.
    async fn run(&self, event: HookEvent, subject: Option<&str>, more: Value) -> Merged {
        // Its prompt is no word of the user, and its end no end of the session.
        let of_session = matches!(
            event,
            HookEvent::SessionStart
                | HookEvent::UserPromptSubmit
                | HookEvent::Stop
                | HookEvent::SessionEnd
        );
        if self.sub_agent && of_session {
            return Merged::default();
        }
        let commands = self.table().matching(event, subject);
        if commands.is_empty() {
            return Merged::default();
        }
        let mut input = json!({
            "session_id": self.session,
            "transcript_path": self.transcript,
            "cwd": self.place.directory,
            "permission_mode": self.judge.mode().foreign_name(),
            "hook_event_name": event.name(),
        });
        if let (Some(members), Value::Object(more)) = (input.as_object_mut(), more) {
            members.extend(more);
        }
        let usual = match event {
            HookEvent::UserPromptSubmit => PROMPT_TIME,
            HookEvent::SessionEnd => END_TIME,
            _ => USUAL_TIME,
        };
        let longest = match event {
            HookEvent::SessionEnd => LONGEST_END,
            _ => Duration::MAX,
        };
        let timed = commands.into_iter().map(|command| {
            let time = command.timeout.unwrap_or(usual).min(longest);
            (command, time)
        });
        let (lines, asked) = timed.partition(|(command, _)| command.by == HookBy::Shell);
        // Begun before the commands are waited for: all hooks of a moment run side by side.
        let asked = self.ask_client(asked, &input);
        let mut ran = run_all(&self.place, lines, &input.to_string()).await;
        for (command, answer) in asked {
            let failed = |_| Outcome::Failed("its task failed".to_owned());
            ran.push((command, answer.await.unwrap_or_else(failed)));
        }
        let mut merged = Merged::default();
        for (command, outcome) in ran {
            merged.take(event, &command, &outcome);
        }
        merged.shorten(|text| self.place.keep(text));
        for text in std::mem::take(&mut merged.notices) {
            self.events.tell(Event::Notice { text });
        }
        merged
    }

    /// Asks the client about its hooks, each within its time.
    fn ask_client(
        &self,
        hooks: Vec<(HookCommand, Duration)>,
        input: &Value,
    ) -> Vec<(HookCommand, JoinHandle<Outcome>)> {
        let Some(client) = &self.client else {
            return Vec::new();
        };
        let ask = |(hook, time): (HookCommand, Duration)| {
            let answer = client.hook(&hook.line, input.clone());
            let task = tokio::spawn(async move {
                match tokio::time::timeout(time, answer).await {
                    Ok(Ok(said)) => Outcome::Exit {
                        code: 0,
                        stdout: said.to_string(),
                        stderr: String::new(),
                    },
                    Ok(Err(why)) => Outcome::Failed(why),
                    Err(_) => Outcome::TimedOut,
                }
            });
            (hook, task)
        };
        hooks.into_iter().map(ask).collect()
    }

    /// Hooks of a session that begins or goes on: fragments for the model.
    pub(crate) async fn session_start(&self, source: &str, model: &str) -> Vec<Injection> {
        let more = json!({ "source": source, "model": model });
        let merged = self.run(HookEvent::SessionStart, Some(source), more).await;
        let fragment = |text: String| Injection {
            kind: FragmentKind::Hook,
            text: render(&REMINDER, &text),
            memories: Vec::new(),
        };
        merged.answer.context.into_iter().map(fragment).collect()
    }

    /// Hooks at the end of a session; their answers change nothing.
    pub(crate) async fn session_end(&self, reason: &str) {
        let more = json!({ "reason": reason });
        self.run(HookEvent::SessionEnd, Some(reason), more).await;
    }

    /// Hooks that tell a person who looks elsewhere; nothing waits for them.
    pub(crate) fn notify(&self, message: &str) {
        let (runner, message) = (self.clone(), message.to_owned());
        let kind = "permission_prompt";
        let more = json!({ "message": message, "notification_type": kind });
        tokio::spawn(async move {
            runner.run(HookEvent::Notification, Some(kind), more).await;
        });
    }

    async fn at_point(self, point: HookPoint) -> HookAnswer {
        let merged = match point {
            HookPoint::Prompt { words } => {
                let more = json!({ "prompt": words });
                self.run(HookEvent::UserPromptSubmit, None, more).await
            }
            HookPoint::Call { call } => {
                let more = tool_members(&call);
                let event = HookEvent::PreToolUse;
                self.run(event, Some(&call.tool), Value::Object(more)).await
            }
            HookPoint::Result {
                call,
                text,
                is_error,
            } => {
                let mut more = tool_members(&call);
                let response = response(&call.tool, &more["tool_input"], &text, is_error);
                more.insert("tool_response".to_owned(), response);
                let event = HookEvent::PostToolUse;
                self.run(event, Some(&call.tool), Value::Object(more)).await
            }
            HookPoint::Stop { again, last } => {
                let more = json!({
                    "stop_hook_active": again, "last_assistant_message": last,
                    "background_tasks": [],
                });
                self.run(HookEvent::Stop, None, more).await
            }
            HookPoint::BeforeCompaction { .. } | HookPoint::AfterCompaction { .. } => {
                Merged::default()
            }
        };
        merged.answer
    }
}

impl Hooks for HookRunner {
    fn before(&self, trigger: Trigger, instructions: &[String]) -> HookFuture<HookAnswer> {
        let runner = self.clone();
        let wishes = instructions.join("\n");
        Box::pin(async move {
            let trigger = trigger_name(trigger);
            let more = json!({ "trigger": trigger, "custom_instructions": wishes });
            let run = runner.run(HookEvent::PreCompact, Some(trigger), more);
            run.await.answer
        })
    }

    fn after(&self, trigger: Trigger, summary: &str) -> HookFuture<Vec<RestoredPart>> {
        let runner = self.clone();
        let summary = summary.to_owned();
        Box::pin(async move {
            // In the order of Claude Code: the summary is told last.
            let more = json!({ "source": "compact" });
            let event = HookEvent::SessionStart;
            let merged = runner.run(event, Some("compact"), more).await;
            let name = trigger_name(trigger);
            let more = json!({ "trigger": name, "compact_summary": summary });
            runner.run(HookEvent::PostCompact, Some(name), more).await;
            let part = |text: String| RestoredPart {
                kind: RestoredKind::Hook,
                name: "SessionStart hook".to_owned(),
                text,
            };
            merged.answer.context.into_iter().map(part).collect()
        })
    }

    fn at(&self, point: HookPoint) -> HookFuture<HookAnswer> {
        Box::pin(self.clone().at_point(point))
    }

    fn wants(&self, moment: HookMoment, tool: Option<&str>) -> bool {
        let table = self.table();
        let has = |event| table.has(event, tool);
        match moment {
            HookMoment::Compaction => {
                has(HookEvent::PreCompact)
                    || has(HookEvent::PostCompact)
                    || table.has(HookEvent::SessionStart, Some("compact"))
            }
            HookMoment::Prompt => has(HookEvent::UserPromptSubmit),
            HookMoment::Call => has(HookEvent::PreToolUse),
            HookMoment::Result => has(HookEvent::PostToolUse),
            HookMoment::Stop => has(HookEvent::Stop),
        }
    }
}

const fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Manual => "manual",
        Trigger::Auto | Trigger::Reactive | Trigger::Economic | Trigger::Unknown => "auto",
    }
}

fn tool_members(call: &dormouse_drive::ToolCall) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("tool_name".to_owned(), json!(call.tool));
    members.insert("tool_input".to_owned(), call_text(call).input);
    members.insert("tool_use_id".to_owned(), json!(call.id));
    members
}

/// The result with the members that hooks of Claude Code's users look for.
fn response(tool: &str, input: &Value, text: &str, is_error: bool) -> Value {
    match tool {
        "Bash" => json!({
            "stdout": text, "stderr": "", "interrupted": false, "is_error": is_error,
        }),
        "Write" | "Edit" => json!({
            "filePath": input["file_path"], "success": !is_error, "text": text,
        }),
        _ => json!({ "text": text, "is_error": is_error }),
    }
}
