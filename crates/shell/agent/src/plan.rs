//! Plan mode: reading only, a plan in a file, and a person who approves it or sends it back.
//!
//! # Model
//! The mode itself is one of the permissions'. [`ENTER_PLAN`] switches to it, [`EXIT_PLAN`] hands the plan
//! in: the call waits for a person like one that needs permission, with the plan in its input. Allowed,
//! it brings the mode back that was there before, unless the client has set another; refused, the
//! person's words go to the model and plan mode stays. The plan is kept in a file of the session either
//! way, and whether plan mode is on is a fact of the log: both survive a compaction and a restart.
//! Where nobody answers, the tools say so, and the plan is the answer.
//!
//! # Not here
//! Calls that the mode refuses: `dormouse-permit`.

use crate::agent::AgentAsk;
use crate::client::{ClientTool, OutsideTools};
use crate::judge::{Judging, call_text};
use dormouse_context::compaction::{RestoredKind, RestoredPart};
use dormouse_context::offload::ToolOutput;
use dormouse_core::id::CallId;
use dormouse_core::record::{FoldedState, StateChange};
use dormouse_drive::{Judgement, PersonQuestion, ToolCall, ToolFuture};
use dormouse_engine::Recorder;
use dormouse_host::Host;
use dormouse_permit::Mode;
use dormouse_system::{Access, Files};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Name of the tool that switches plan mode on.
pub const ENTER_PLAN: &str = "EnterPlanMode";
/// Name of the tool that hands a plan in.
pub const EXIT_PLAN: &str = "ExitPlanMode";
/// Name of the fact under which the log keeps the state.
const FACT: &str = "plan";
/// File of the plan in the session's folder; collected as garbage with the log.
const FILE: &str = "session-memory/plan.md";
/// Bytes of the file that are read; a compaction shows far fewer.
const LARGEST: u64 = 256 * 1024;

/// Words to the model about the mode, where a person approves plans.
const ON: &str = "Plan mode is on: only reading is allowed. Look at what matters, ask what is unclear, then call ExitPlanMode with the whole plan. Change nothing before the user has approved it.";
/// Words about its end, where no tool tells it.
const OFF: &str = "Plan mode is off.";
/// Words about the mode where nobody approves plans.
const ON_ALONE: &str = "Plan mode is on: only reading is allowed, and nobody is here who could approve a plan. Look at what matters, and end with the plan as your answer.";

/// Plan mode of one session. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Plans(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: Arc<dyn Files>,
    file: PathBuf,
    judge: Arc<Judging>,
    attended: bool,
    recorder: OnceLock<Recorder>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: Kept,
    /// Call that ran last: its plan may be another than the model's, if a person changed it.
    ran: Option<CallId>,
    /// Call whose plan a person has changed.
    changed: Option<CallId>,
    /// Mode that a tool's result has told the model: true for plan mode.
    announced: Option<bool>,
}

/// The part that the log keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    /// True while plan mode is on.
    on: bool,
    /// Mode that an approval brings back.
    before: Option<Mode>,
    /// True if the plan in the file was approved.
    approved: bool,
}

impl Plans {
    /// Plan mode of a session with a folder of its own; `None` for a sub-agent, whose plans nobody sees.
    pub(crate) fn new(
        host: &Host,
        ask: &AgentAsk,
        folder: &Path,
        judge: &Arc<Judging>,
    ) -> Option<Self> {
        let wished = ask.tools.as_ref();
        let wished = wished.is_none_or(|tools| tools.iter().any(|tool| tool == EXIT_PLAN));
        if ask.lineage.is_sub_agent() || !wished {
            return None;
        }
        Some(Self(Arc::new(Inner {
            files: Arc::clone(&host.system().files),
            file: folder.join(FILE),
            judge: Arc::clone(judge),
            attended: ask.attended,
            recorder: OnceLock::new(),
            state: Mutex::default(),
        })))
    }

    /// Goes on with the state of the log. Plan mode stays on unless the caller wishes for another mode
    /// than the usual one.
    pub(crate) fn attach(&self, recorder: Recorder, state: &FoldedState) {
        let inner = &self.0;
        let _before = inner.recorder.set(recorder);
        let recorded = state.facts.get(FACT).cloned();
        let recorded = recorded.and_then(|value| serde_json::from_value::<Kept>(value).ok());
        let recorded = recorded.unwrap_or_default();
        let mut kept = recorded.clone();
        match inner.judge.mode() {
            Mode::Plan => kept.on = true,
            Mode::Ask if kept.on => inner.judge.set_mode(Mode::Plan),
            _ => kept.on = false,
        }
        inner.state().kept = recorded;
        inner.change(|now| *now = kept);
    }

    /// Takes note of a mode that the client sets.
    pub(crate) fn mode_set(&self, before: Mode, now: Mode) {
        if (before == Mode::Plan) == (now == Mode::Plan) {
            return;
        }
        self.0.switched(now == Mode::Plan, before);
    }

    /// Takes note that a person has changed the plan of a call.
    pub(crate) fn changed(&self, call: &CallId) {
        self.0.state().changed = Some(call.clone());
    }

    /// Verdict on the call that hands a plan in.
    pub(crate) fn judgement(call: &ToolCall, mode: Mode, attended: bool) -> Judgement {
        match (mode, plan_of(call)) {
            (Mode::Plan, Err(why)) => Judgement::Refuse(why),
            (Mode::Plan, Ok(_)) if attended => Judgement::Ask(PersonQuestion {
                text: "The plan is ready. May the work begin?".to_owned(),
                lasting: Vec::new(),
            }),
            (Mode::Plan, Ok(_)) => Judgement::Run,
            _ => Judgement::Refuse(format!(
                "Plan mode is not on: go on with the work, or call {ENTER_PLAN} first."
            )),
        }
    }

    /// Keeps plans that were handed in and refused; the others were kept when they ran.
    pub(crate) fn keep(&self, calls: &[ToolCall]) {
        for call in calls.iter().filter(|call| call.tool == EXIT_PLAN) {
            let ran = self.0.state().ran.as_ref() == Some(&call.id);
            if let (false, Ok(plan)) = (ran, plan_of(call)) {
                self.0.write(&plan);
                self.0.change(|kept| kept.approved = false);
            }
        }
    }

    /// Words about the mode for a conversation that was told another state; `None` if it knows.
    pub(crate) fn news(&self, told: &mut bool) -> Option<String> {
        let on = self.0.judge.mode() == Mode::Plan;
        let announced = self.0.state().announced.take();
        if *told == on {
            return None;
        }
        *told = on;
        // The result of the tool has said it.
        let words = if on { self.0.words() } else { OFF };
        (announced != Some(on)).then(|| words.to_owned())
    }

    /// The plan, for a conversation that was compacted.
    pub(crate) fn restored(&self) -> Option<RestoredPart> {
        let plan = self.0.files.read(&self.0.file, LARGEST).ok();
        let plan = plan.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let on = self.0.judge.mode() == Mode::Plan;
        let approved = self.0.state().kept.approved;
        let text = match (plan, on) {
            (Some(plan), true) => format!("{}\nLast plan:\n\n{plan}", self.0.words()),
            (Some(plan), false) if approved => {
                format!("The user approved this plan:\n\n{plan}")
            }
            (Some(plan), false) => format!("This plan was not approved:\n\n{plan}"),
            (None, true) => self.0.words().to_owned(),
            (None, false) => return None,
        };
        Some(RestoredPart {
            kind: RestoredKind::Plan,
            name: self.0.file.display().to_string(),
            text,
        })
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    const fn words(&self) -> &'static str {
        if self.attended { ON } else { ON_ALONE }
    }

    /// Changes the state, in the log too.
    fn change(&self, change: impl FnOnce(&mut Kept)) {
        let mut state = self.state();
        let before = state.kept.clone();
        change(&mut state.kept);
        let kept = state.kept.clone();
        drop(state);
        if let Some(recorder) = self.recorder.get().filter(|_| kept != before) {
            recorder.send(StateChange::Fact {
                name: FACT.to_owned(),
                value: serde_json::to_value(&kept).unwrap_or_default(),
            });
        }
    }

    fn switched(&self, on: bool, before: Mode) {
        self.change(|kept| {
            kept.on = on;
            if on {
                kept.before = Some(before);
            }
        });
    }

    /// Writes the plan; false if that failed, which loses nothing but the file.
    fn write(&self, plan: &str) -> bool {
        let folder = self.file.parent().unwrap_or(&self.file);
        let made = self.files.create_dir_all(folder, Access::Private);
        let written = made.and_then(|()| {
            let files = &self.files;
            files.replace(&self.file, plan.as_bytes(), Access::Private)
        });
        written.is_ok()
    }

    fn enter(&self) -> Result<String, String> {
        if !self.attended {
            return Err("Nobody is here who could approve a plan. Do the work, or answer with a plan if that was asked for.".to_owned());
        }
        let before = self.judge.mode();
        if before != Mode::Plan {
            self.judge.set_mode(Mode::Plan);
            self.switched(true, before);
        }
        self.state().announced = Some(true);
        Ok(ON.to_owned())
    }

    fn exit(&self, call: &ToolCall) -> Result<String, String> {
        let plan = plan_of(call)?;
        let kept = self.write(&plan);
        self.state().ran = Some(call.id.clone());
        let place = if kept {
            format!(" It is kept in {}.", self.file.display())
        } else {
            String::new()
        };
        if !self.attended {
            self.change(|kept| kept.approved = false);
            return Ok(format!(
                "Nobody is here who could approve the plan, and plan mode stays on.{place} End now, with the plan as your answer."
            ));
        }
        // The client may have set another mode together with its approval.
        if self.judge.mode() == Mode::Plan {
            let before = self.state().kept.before;
            let before = before.filter(|mode| *mode != Mode::Plan);
            self.judge.set_mode(before.unwrap_or_default());
        }
        self.change(|kept| {
            kept.on = false;
            kept.approved = true;
        });
        let mut state = self.state();
        state.announced = Some(false);
        let changed = state.changed.take().as_ref() == Some(&call.id);
        drop(state);
        let words =
            format!("The user approved the plan, and plan mode is off.{place} Begin the work.");
        Ok(if changed {
            format!("{words} The user changed it; it reads now:\n\n{plan}")
        } else {
            words
        })
    }
}

impl OutsideTools for Plans {
    fn offered(&self) -> Vec<ClientTool> {
        tools()
    }

    fn only_reads(&self, tool: &str) -> Option<bool> {
        // Alone and in order: the calls behind them are judged in another mode.
        matches!(tool, ENTER_PLAN | EXIT_PLAN).then_some(false)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let id = call.id.clone();
            let done = tokio::task::spawn_blocking(move || match call.tool.as_str() {
                ENTER_PLAN => inner.enter(),
                _ => inner.exit(&call),
            });
            let failed = |_| Err("The plan cannot be handed in.".to_owned());
            let answer = done.await.unwrap_or_else(failed);
            let is_error = answer.is_err();
            ToolOutput {
                is_error,
                ..ToolOutput::text(id, answer.unwrap_or_else(|why| why))
            }
        })
    }
}

/// Definitions of the tools.
pub(crate) fn tools() -> Vec<ClientTool> {
    let tool = |name: &str, description: &str, input: Value| ClientTool {
        name: name.to_owned(),
        definition: json!({ "name": name, "description": description, "input_schema": input }),
        only_reads: false,
    };
    vec![
        tool(
            ENTER_PLAN,
            "Plan mode, for work that needs a plan first: only reading, until the user approves it.",
            json!({ "type": "object" }),
        ),
        tool(
            EXIT_PLAN,
            "Shows the user the whole plan in Markdown, for approval.",
            json!({
                "type": "object", "properties": { "plan": { "type": "string" } },
                "required": ["plan"],
            }),
        ),
    ]
}

fn plan_of(call: &ToolCall) -> Result<String, String> {
    let input = call_text(call).input;
    let plan = input["plan"].as_str().map(str::trim);
    let plan = plan.filter(|plan| !plan.is_empty());
    plan.map(str::to_owned)
        .ok_or_else(|| "`plan` has to be the whole plan, in Markdown.".to_owned())
}
