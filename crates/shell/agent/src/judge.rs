//! Permission for the calls of a conversation.

use crate::plan::{EXIT_PLAN, Plans};
use crate::protocol::Event;
use crate::question::ASK_USER;
use crate::stream::EventSender;
use dormouse_drive::{Judge, Judgement, PersonQuestion, ToolCall};
use dormouse_host::{CallText, Permissions};
use dormouse_permit::{Behaviour, Mode, Rule, Rules, Ruling, Verdict};
use dormouse_system::Room;
use dormouse_tools::Confine;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rules in force whenever a call is judged; settings may change while a session runs.
pub(crate) type PermissionSource = Arc<dyn Fn() -> Permissions + Send + Sync>;

/// Judge of a session's calls.
pub(crate) struct Judging {
    permissions: PermissionSource,
    people: People,
    /// Files that a confined command may reach.
    room: Room,
    events: EventSender,
    state: Mutex<State>,
}

/// Person behind a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct People {
    /// True if a person answers questions; without one they are refusals.
    pub(crate) attended: bool,
    /// True for a sub-agent, whose plans nobody is shown.
    pub(crate) sub_agent: bool,
}

#[derive(Debug, Default)]
struct State {
    mode: Mode,
    /// Rules of this session: of the command line, and those a person gave for as long as it runs.
    rules: Vec<(Behaviour, Rule)>,
    /// Rules of skills that the running turn uses; they allow.
    turn_rules: Vec<Rule>,
}

impl fmt::Debug for Judging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judging")
            .field("people", &self.people)
            .finish_non_exhaustive()
    }
}

impl Judging {
    pub(crate) fn new(
        permissions: PermissionSource,
        mode: Mode,
        people: People,
        room: Room,
        events: EventSender,
    ) -> Self {
        Self {
            permissions,
            people,
            room,
            events,
            state: Mutex::new(State {
                mode,
                ..State::default()
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mode(&self) -> Mode {
        self.state().mode
    }

    pub(crate) fn set_mode(&self, mode: Mode) {
        self.state().mode = mode;
    }

    /// Adds a rule for as long as the session runs.
    pub(crate) fn add_rule(&self, behaviour: Behaviour, rule: Rule) {
        self.state().rules.push((behaviour, rule));
    }

    /// Allows calls until the turn ends.
    pub(crate) fn allow_for_turn(&self, rules: Vec<Rule>) {
        self.state().turn_rules.extend(rules);
    }

    /// Forgets the rules of a turn that has ended.
    pub(crate) fn end_turn(&self) {
        self.state().turn_rules.clear();
    }

    /// Every rule in force, those of this session included.
    pub(crate) fn rules(&self) -> Rules {
        self.permissions().rules
    }

    /// Rules of this session alone: of the command line, and those a person gave.
    pub(crate) fn session_rules(&self) -> Vec<(Behaviour, Rule)> {
        self.state().rules.clone()
    }

    fn permissions(&self) -> Permissions {
        let mut permissions = (self.permissions)();
        let state = self.state();
        for (behaviour, rule) in &state.rules {
            permissions.rules.add(*behaviour, rule.clone());
        }
        for rule in &state.turn_rules {
            permissions.rules.add(Behaviour::Allow, rule.clone());
        }
        drop(state);
        permissions
    }

    fn verdict(&self, call: &ToolCall) -> (CallText, Verdict) {
        let text = call_text(call);
        let mode = self.mode();
        let judged = self.permissions().judge(&text, mode);
        (text, judged.verdict)
    }

    fn deny(&self, call: &ToolCall, text: CallText) {
        self.events.tell(Event::Refused {
            call: call.id.clone(),
            tool: text.tool,
            input: text.input,
        });
    }
}

/// The call as rules read it.
pub(crate) fn call_text(call: &ToolCall) -> CallText {
    let block: serde_json::Value = serde_json::from_slice(call.block.bytes()).unwrap_or_default();
    CallText {
        tool: call.tool.clone(),
        input: block.get("input").cloned().unwrap_or_default(),
    }
}

impl Judge for Judging {
    fn judge(&self, call: &ToolCall) -> Judgement {
        let (text, verdict) = self.verdict(call);
        let because = &verdict.because;
        let why = match &verdict.ruling {
            // A question of the model always waits for its answer, whatever the mode.
            Ruling::Run | Ruling::RunConfined | Ruling::Ask { .. }
                if call.tool == ASK_USER && self.people.attended =>
            {
                return Judgement::Ask(PersonQuestion {
                    text: "The model asks you something.".to_owned(),
                    lasting: Vec::new(),
                });
            }
            // A plan waits for its approval, whatever else is allowed.
            Ruling::Run | Ruling::RunConfined | Ruling::Ask { .. }
                if call.tool == EXIT_PLAN && !self.people.sub_agent =>
            {
                return Plans::judgement(call, self.mode(), self.people.attended);
            }
            // The tool itself says that nobody is there.
            Ruling::Ask { .. } if call.tool == ASK_USER => return Judgement::Run,
            Ruling::Run | Ruling::RunConfined => return Judgement::Run,
            Ruling::Ask { lasting } if self.people.attended => {
                return Judgement::Ask(PersonQuestion {
                    text: because.to_string(),
                    lasting: lasting.iter().map(ToString::to_string).collect(),
                });
            }
            Ruling::Refuse => format!("Not allowed: {because}."),
            Ruling::Ask { lasting } if lasting.is_empty() => {
                format!("Not allowed: nobody can be asked here, and {because}.")
            }
            Ruling::Ask { lasting } => format!(
                "Not allowed: nobody can be asked here, and {because}. The user can allow it with \
                 the rule {} in permissions.allow.",
                lasting.join(", ")
            ),
        };
        self.deny(call, text);
        Judgement::Refuse(why)
    }
}

impl Confine for Judging {
    fn room(&self, call: &ToolCall) -> Option<Room> {
        let (_, verdict) = self.verdict(call);
        (verdict.ruling == Ruling::RunConfined).then(|| self.room.clone())
    }
}
