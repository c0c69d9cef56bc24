//! One session of an editor: an agent, and the turn that the editor waits for.

use super::updates::{self, Teller};
use super::wire::{Editor, Problem};
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, PromptResponse, RequestPermissionRequest,
    SessionNotification, SessionUpdate, StopReason, ToolCallUpdate, ToolCallUpdateFields,
};
use dormouse_agent::protocol::{Lifetime, PermissionRequest, When};
use dormouse_agent::{AgentHandle, Command, Commands, EXIT_PLAN, Event, Mode, TurnEnd};
use dormouse_core::block::Block;
use dormouse_core::id::Seq;
use dormouse_core::units::Tokens;
use serde_json::Value;
use std::collections::VecDeque;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Something that the editor wants of a session.
#[derive(Debug)]
pub(super) enum Order {
    /// Words of the user; the request is answered when their turn is over.
    Prompt { request: Value, content: Vec<Block> },
    /// Stop of the running turn.
    Cancel,
    /// Another answer to calls that no rule decides.
    Mode(Mode),
    /// The commands that a person may type, once the editor knows the session.
    Commands,
    /// The conversation so far, told again; the request is answered behind it.
    Replay {
        request: Value,
        answer: Result<Value, Problem>,
    },
}

/// A session that is open.
#[derive(Debug)]
pub(super) struct Session {
    orders: mpsc::Sender<Order>,
    task: JoinHandle<()>,
}

impl Session {
    pub(super) fn start(agent: AgentHandle, editor: Editor, window: Tokens) -> Self {
        let (orders, receiver) = super::orders();
        let working = Working {
            id: agent.opened.session.as_str().to_owned(),
            teller: Teller::new(window),
            agent,
            editor,
            turns: VecDeque::new(),
            cancelled: false,
        };
        Self {
            orders,
            task: tokio::spawn(working.run(receiver)),
        }
    }

    pub(super) async fn order(&self, order: Order) {
        // A session that has ended answers its last prompt itself.
        let _sent = self.orders.send(order).await;
    }

    /// Ends the session and waits until its log is closed.
    pub(super) async fn close(self) {
        drop(self.orders);
        let _ended = self.task.await;
    }
}

/// A session at work.
struct Working {
    id: String,
    agent: AgentHandle,
    editor: Editor,
    teller: Teller,
    /// Requests whose turns have not ended, oldest first.
    turns: VecDeque<Value>,
    /// True if the editor has stopped the running turn.
    cancelled: bool,
}

impl Working {
    async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut open = true;
        loop {
            tokio::select! {
                told = self.agent.next() => match told {
                    Some(told) => self.told(told.event),
                    None => break,
                },
                order = orders.recv(), if open => {
                    if let Some(order) = order {
                        self.ordered(order).await;
                    } else {
                        open = false;
                        self.agent.send(Command::Quit { now: false }).await;
                    }
                }
            }
        }
        let failed = self.agent.ended().await.err();
        let why = failed.map_or_else(
            || "the session has ended".to_owned(),
            |error| error.to_string(),
        );
        for request in self.turns {
            self.editor
                .answer(&request, Err(Problem::failed(why.clone())));
        }
    }

    async fn ordered(&mut self, order: Order) {
        match order {
            Order::Prompt { request, content } => {
                self.turns.push_back(request);
                let prompt = Command::Prompt {
                    content,
                    attachments: Vec::new(),
                    when: When::Queue,
                };
                self.agent.send(prompt).await;
            }
            Order::Cancel => {
                self.cancelled = true;
                self.agent.send(Command::Interrupt).await;
            }
            Order::Mode(mode) => {
                self.agent.send(Command::SetMode { mode }).await;
            }
            Order::Commands => self.update(updates::commands(&self.agent.opened.commands)),
            Order::Replay { request, answer } => {
                for told in self.agent.missed(Seq::new(0)).unwrap_or_default() {
                    for update in self.teller.replayed(&told.event) {
                        self.update(update);
                    }
                }
                self.editor.answer(&request, answer);
            }
        }
    }

    fn update(&self, update: SessionUpdate) {
        let note = SessionNotification::new(self.id.clone(), update);
        if let Ok(params) = serde_json::to_value(&note) {
            self.editor.notify("session/update", &params);
        }
    }

    fn told(&mut self, event: Event) {
        for update in self.teller.told(&event) {
            self.update(update);
        }
        match event {
            Event::PermissionWanted(wanted) => {
                let (editor, commands) = (self.editor.clone(), self.agent.commands());
                let session = self.id.clone();
                tokio::spawn(permission(editor, commands, session, *wanted));
            }
            Event::QuestionWanted(wanted) if wanted.answers.is_none() => {
                let commands = self.agent.commands();
                let declined = Command::Permit {
                    call: wanted.call,
                    allow: false,
                    words: Some(
                        "This editor cannot show questions; ask in your answer.".to_owned(),
                    ),
                    input: None,
                    remember: None,
                };
                tokio::spawn(async move { commands.send(declined).await });
            }
            Event::TurnEnded(end) => {
                let cancelled = std::mem::take(&mut self.cancelled);
                let Some(request) = self.turns.pop_front() else {
                    return;
                };
                self.editor.answer(&request, ending(&end, cancelled));
            }
            _ => {}
        }
    }
}

/// Answer to the request of a turn.
fn ending(end: &TurnEnd, cancelled: bool) -> Result<Value, Problem> {
    let reason = match end.end.as_str() {
        // A turn that was stopped is no failure, whatever it was doing.
        _ if cancelled => StopReason::Cancelled,
        "interrupted" => StopReason::Cancelled,
        "requests" | "budget" => StopReason::MaxTurnRequests,
        "answered" => match end.stop_reason.as_deref() {
            Some("refusal") => StopReason::Refusal,
            Some("max_tokens") => StopReason::MaxTokens,
            _ => StopReason::EndTurn,
        },
        "hook" => StopReason::Refusal,
        _ => return Err(Problem::failed(end.why.clone().unwrap_or_default())),
    };
    super::written(&PromptResponse::new(reason))
}

/// Answers that the editor may give.
fn options(wanted: &PermissionRequest) -> Vec<PermissionOption> {
    let option = |id: &'static str, name: &str, kind| PermissionOption::new(id, name, kind);
    let (once, always) = (
        PermissionOptionKind::AllowOnce,
        PermissionOptionKind::AllowAlways,
    );
    let no = PermissionOptionKind::RejectOnce;
    if wanted.tool == EXIT_PLAN {
        return vec![
            option("once", "Approve the plan", once),
            option("edits", "Approve the plan and accept edits", always),
            option("no", "Keep planning", no),
        ];
    }
    let mut options = vec![option("once", "Allow", once)];
    if !wanted.lasting.is_empty() {
        let rules = wanted.lasting.join(", ");
        let session = format!("Allow {rules} in this session");
        let project = format!("Allow {rules} in this project");
        options.push(option("session", &session, always));
        options.push(option("project", &project, always));
    }
    options.push(option("no", "Refuse", no));
    options
}

/// Asks the editor whether a call may run, and tells the agent.
async fn permission(
    editor: Editor,
    commands: Commands,
    session: String,
    wanted: PermissionRequest,
) {
    let options = options(&wanted);
    let fields = ToolCallUpdateFields::new()
        .title(updates::title(&wanted.tool, &wanted.input))
        .kind(updates::kind(&wanted.tool))
        .content(updates::changes(&wanted.tool, &wanted.input))
        .raw_input(wanted.input.clone());
    let call = ToolCallUpdate::new(wanted.call.as_str().to_owned(), fields);
    let request = RequestPermissionRequest::new(session, call, options);
    let answer = match serde_json::to_value(&request) {
        Ok(params) => editor.ask("session/request_permission", params).await,
        Err(error) => Err(error.to_string()),
    };
    let chosen = answer.as_ref().ok().map(|said| &said["outcome"]);
    let chosen = chosen.and_then(|outcome| outcome["optionId"].as_str());
    let (allow, remember) = match chosen {
        Some("once") => (true, None),
        Some("edits") => {
            let mode = Mode::AcceptEdits;
            commands.send(Command::SetMode { mode }).await;
            (true, None)
        }
        Some("session") => (true, Some(Lifetime::Session)),
        Some("project") => (true, Some(Lifetime::Project)),
        _ => (false, None),
    };
    let words = match answer {
        Ok(_) => "The user declined.".to_owned(),
        Err(why) => format!("The editor gave no permission: {why}."),
    };
    let permit = Command::Permit {
        call: wanted.call,
        allow,
        words: (!allow).then_some(words),
        input: None,
        remember,
    };
    commands.send(permit).await;
}
