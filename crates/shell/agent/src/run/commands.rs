//! Commands of clients, carried out.

use super::{Loop, Quit, Sort};
use crate::agent::Agent;
use crate::checkpoints::{blobs, restore_files};
use crate::crew::Crew;
use crate::learning::Learning;
use crate::protocol::{
    Answers, Ask, Attachment, Command, CompactPart, Event, Lifetime, RewindWhat, TaskFacts,
    TaskState, TurnEnd, When,
};
use crate::slash::{self, Typed};
use dormouse_context::compaction::CompactionOutcome;
use dormouse_core::block::Block;
use dormouse_core::fragment::{REMINDER, render};
use dormouse_core::id::{CallId, RecordId};
use dormouse_core::settings::keys;
use dormouse_drive::{
    Command as Given, CompactWish, EffectId, Reply, ToolCall, ToolHost as _, When as GivenWhen,
};
use dormouse_engine::{EngineError, PersonAnswer};
use dormouse_model::Params;
use dormouse_permit::{Behaviour, Mode, Origin, Rule};
use serde_json::{Value, json};

/// A command that cannot be carried out, in words.
type Refusal = String;

impl Agent {
    pub(super) async fn command(&mut self, state: &mut Loop, ask: Ask) {
        let Ask { id, command } = ask;
        // Questions of sub-agents are answered by the same person.
        if let Some(agent) =
            crate::crew::answers(&command).and_then(|call| self.crew.as_ref()?.asking(call))
        {
            let sent = agent.send(command).await;
            let gone = (!sent).then(|| "the agent that asked has ended".to_owned());
            return self.done(id, gone);
        }
        if let Err(why) = self.carry_out(state, id, command).await {
            self.done(id, Some(why));
        }
    }

    fn done(&self, ask: u64, failed: Option<String>) {
        self.events.tell(Event::Done { ask, failed });
    }

    fn begin(&mut self, state: &mut Loop, ask: u64, sort: Sort, command: Given) {
        let id = self.session.begin(command);
        state.under_way.insert(id, (ask, sort));
    }

    async fn carry_out(
        &mut self,
        state: &mut Loop,
        ask: u64,
        command: Command,
    ) -> Result<(), Refusal> {
        match command {
            Command::Prompt {
                content,
                attachments,
                when,
            } => {
                self.said(state, ask, content, (attachments, when)).await?;
            }
            Command::GoOn => self.begin(state, ask, Sort::Turn, Given::GoOn),
            Command::Interrupt => {
                self.session.cancel();
                self.done(ask, None);
            }
            Command::Permit {
                call,
                allow,
                words,
                input,
                remember,
            } => {
                let lifetime = remember.filter(|_| allow);
                let answer = PersonAnswer {
                    allowed: allow,
                    words,
                    input,
                };
                self.permit(&call, answer, lifetime)?;
                self.done(ask, None);
            }
            Command::Answer { call, answers } => {
                self.answer(call, answers)?;
                self.done(ask, None);
            }
            Command::Compact { instructions, part } => {
                let wish = compact_wish(instructions, part);
                self.begin(state, ask, Sort::Other, Given::Compact(wish));
            }
            Command::Undo { rewrite } => {
                self.begin(state, ask, Sort::Other, Given::Undo(rewrite));
            }
            Command::Rewind { to, what } => {
                if what != RewindWhat::Conversation {
                    self.rewind_files(state, &to).await?;
                }
                match what {
                    RewindWhat::Files => self.done(ask, None),
                    RewindWhat::Conversation | RewindWhat::Both => {
                        self.begin(state, ask, Sort::Other, Given::Rewind(to));
                    }
                }
            }
            Command::Fork => {
                let session = self.host.fork_session(&self.id);
                let session = session.map_err(|error| dormouse_core::show::chain(&error))?;
                self.events.tell(Event::Forked { session });
                self.done(ask, None);
            }
            Command::SetModel { model } => {
                let switch = self.switch(&model)?;
                self.wishes.from_settings = None;
                self.begin(state, ask, Sort::Model, switch);
            }
            Command::SetMode { mode } => {
                self.set_mode(state, mode);
                self.done(ask, None);
            }
            Command::SetEffort { effort } => {
                self.wishes.effort = effort;
                let model = self.session.model().to_owned();
                let switch = self.switch(&model)?;
                self.begin(state, ask, Sort::Model, switch);
            }
            Command::Tasks => {
                let tasks = self.tasks_at_work();
                self.events.tell(Event::Tasks { tasks });
                self.done(ask, None);
            }
            Command::KillTask { task } => {
                self.kill(state, &task).await?;
                self.done(ask, None);
            }
            Command::Clear => {
                self.session.cancel();
                // Done when the new session is open.
                state.clear = Some(ask);
            }
            Command::Quit { now } => {
                self.quit(state, now);
                self.done(ask, None);
            }
            Command::Unknown => return Err("this agent does not know the command".to_owned()),
        }
        Ok(())
    }

    /// Begins a turn with words of the user, or the command that they are.
    async fn said(
        &mut self,
        state: &mut Loop,
        ask: u64,
        content: Vec<Block>,
        (attachments, when): (Vec<Attachment>, When),
    ) -> Result<(), Refusal> {
        match self.typed(content) {
            Ok(Typed::Words(content)) => {
                let content = self.with_attachments(content, attachments).await;
                self.follow_settings(state)?;
                self.prompt(state, ask, content, when);
            }
            Ok(Typed::Compact(wish)) => {
                self.begin(state, ask, Sort::Typed, Given::Compact(wish));
            }
            Ok(Typed::Clear) => {
                let text = "A new session takes the place of this one.".to_owned();
                self.events.tell(turn_end("answered", text, None));
                self.session.cancel();
                state.clear = Some(ask);
            }
            Err(why) => {
                let end = turn_end("command", String::new(), Some(why.clone()));
                self.events.tell(end);
                return Err(why);
            }
        }
        Ok(())
    }

    /// Passes a person's decision about a call on.
    fn permit(
        &mut self,
        call: &CallId,
        answer: PersonAnswer,
        remember: Option<Lifetime>,
    ) -> Result<(), Refusal> {
        let effect = self.waiting(call)?;
        if let Some(lifetime) = remember {
            self.remember(call, lifetime)?;
        }
        if let Some(plans) = self.plans.as_ref().filter(|_| answer.input.is_some()) {
            plans.changed(call);
        }
        self.session.engine().answer(effect, answer);
        Ok(())
    }

    fn tasks_at_work(&self) -> Vec<TaskFacts> {
        let agents = self.crew.as_ref().map(Crew::working).unwrap_or_default();
        let dream = self.learning.as_ref().and_then(Learning::dreaming);
        let all = self.tools.running().into_iter().chain(agents).chain(dream);
        all.map(|(task, what)| TaskFacts { task, what }).collect()
    }

    fn set_mode(&self, state: &mut Loop, mode: Mode) {
        let before = self.judge.mode();
        self.judge.set_mode(mode);
        if let Some(plans) = &self.plans {
            plans.mode_set(before, mode);
        }
        state.mode = mode;
        self.tell_changed();
    }

    /// Reads a prompt that may be a command. The task of a sub-agent is words of a model and never one.
    fn typed(&self, content: Vec<Block>) -> Result<Typed, Refusal> {
        if self.ask.lineage.is_sub_agent() {
            return Ok(Typed::Words(content));
        }
        slash::read(&self.host, self.skills.as_ref(), content)
    }

    /// Gives files that tools changed behind a record the content they had there.
    async fn rewind_files(&mut self, state: &Loop, to: &RecordId) -> Result<(), Refusal> {
        if !state.under_way.is_empty() {
            return Err("files go back between turns only".to_owned());
        }
        let said = |error: &dyn std::error::Error| dormouse_core::show::chain(error);
        let records = self.session.records().await.map_err(|error| said(&error))?;
        let found = records.iter().find(|record| record.id == *to);
        let Some(after) = found.map(|record| record.seq) else {
            return Err(format!("there is no record {to}"));
        };
        let folder = self.host.session_folder(&self.id);
        let blobs = blobs(&self.host, &folder.map_err(|error| said(&error))?);
        let files = restore_files(&mut self.session, &self.host, &blobs, &records, after);
        for file in files.await.map_err(|error| said(&error))? {
            let text = match file.why {
                Some(why) => format!("{} stays as it is: {why}", file.path),
                None => format!("{}: {}", file.path, file.done),
            };
            self.events.tell(Event::Notice { text });
        }
        Ok(())
    }

    fn prompt(&mut self, state: &mut Loop, ask: u64, content: Vec<Block>, when: When) {
        let busy = state
            .under_way
            .values()
            .any(|(_, sort)| *sort == Sort::Turn);
        if state.left_waiting && !busy {
            // The user says something instead of answering: the calls are not run.
            state.left_waiting = false;
            self.session.cancel();
        }
        let (sort, when) = match when {
            When::Steer if busy => (Sort::Other, GivenWhen::Steer),
            _ => (Sort::Turn, GivenWhen::Queue),
        };
        self.begin(state, ask, sort, Given::Prompt { content, when });
    }

    /// The prompt with its files in front: a file is no word of the user.
    async fn with_attachments(
        &self,
        content: Vec<Block>,
        attachments: Vec<Attachment>,
    ) -> Vec<Block> {
        let mut blocks = Vec::new();
        for (at, Attachment::File { path }) in attachments.into_iter().enumerate() {
            let path = path.display().to_string();
            let input = json!({ "file_path": path });
            let Some(call) = own_call(&format!("attachment-{at}"), "Read", &input) else {
                continue;
            };
            let output = self.tools.run(call).await;
            let text = format!("The user attached {path}:\n{}", output.text);
            blocks.push(Block::text(&render(&REMINDER, &text)));
            blocks.extend(output.media);
        }
        blocks.extend(content);
        blocks
    }

    /// The question that a call waits with.
    fn waiting(&mut self, call: &CallId) -> Result<EffectId, Refusal> {
        let mut questions = self.session.engine().questions();
        let found = questions.find(|(_, question)| question.call.id == *call);
        found
            .map(|(effect, _)| effect)
            .ok_or_else(|| format!("call {call} waits for nothing"))
    }

    fn answer(&mut self, call: CallId, answers: Answers) -> Result<(), Refusal> {
        let effect = self.waiting(&call)?;
        self.answers.give(call, answers);
        let allowed = PersonAnswer {
            allowed: true,
            ..PersonAnswer::default()
        };
        self.session.engine().answer(effect, allowed);
        Ok(())
    }

    /// Keeps the rules that allow such calls, as long as the person wishes.
    fn remember(&mut self, call: &CallId, lifetime: Lifetime) -> Result<(), Refusal> {
        let facts = &self.session.conversation().state().facts;
        let fact = facts.get(&format!("{}{call}", dormouse_drive::WAITING_FACT));
        let (_, rules) = fact.map_or_else(Default::default, dormouse_drive::read_question);
        let folder = self.host.places().current_dir.clone();
        let origin = Origin::new("your answer in this session", folder);
        for text in rules {
            let rule = Rule::parse(&text, &origin).map_err(|error| error.to_string())?;
            self.judge.add_rule(Behaviour::Allow, rule);
            if lifetime != Lifetime::Session {
                let written = self.host.allow_always(&text, lifetime == Lifetime::User);
                let written = written.map_err(|error| dormouse_core::show::chain(&error))?;
                let text = match written.ignored_because {
                    Some(why) => format!("{text} counts for this session only: {why}"),
                    None => format!("{text} is allowed from now on, by {}", written.file),
                };
                self.events.tell(Event::Notice { text });
            }
        }
        Ok(())
    }

    /// Switch to a model, with the parameters of the settings and the effort that was chosen.
    fn switch(&self, model: &str) -> Result<Given, Refusal> {
        Ok(self.session.switch(model, self.params(model)?))
    }

    fn params(&self, model: &str) -> Result<Params, Refusal> {
        let params = self.host.params(model).map_err(|error| error.to_string())?;
        match self.wishes.effort {
            Some(level) => params
                .set("output_config", &json!({ "effort": level }))
                .map_err(|error| error.to_string()),
            None => Ok(params),
        }
    }

    /// Takes over model and parameters that were changed in the settings while the session runs. A
    /// model of another provider needs a new session: its address and key were read at the start.
    fn follow_settings(&mut self, state: &mut Loop) -> Result<(), Refusal> {
        if !state.under_way.is_empty() {
            return Ok(());
        }
        let mut model = self.session.model().to_owned();
        let named = self.host.settings().get(keys::MODEL);
        if let (Some(before), Some(named)) = (&self.wishes.from_settings, named)
            && *before != named
        {
            self.wishes.from_settings = Some(named.clone());
            model = named;
        }
        let params = self.params(&model)?;
        let written = |params: &Params| params.to_json().map(|json| json.bytes().to_vec()).ok();
        if written(&params) != written(self.session.params()) {
            let switch = self.session.switch(&model, params);
            self.begin(state, 0, Sort::Model, switch);
        }
        Ok(())
    }

    async fn kill(&mut self, state: &mut Loop, task: &str) -> Result<(), Refusal> {
        let learning = self.learning.as_mut();
        // Told when it has ended.
        if learning.is_some_and(|learning| learning.kill(task)) {
            return Ok(());
        }
        // Told when it has ended, too.
        if self.crew.as_ref().is_some_and(|crew| crew.stop(task)) {
            return Ok(());
        }
        let Some(what) = state.tasks.remove(task) else {
            return Err(format!("no task {task} runs"));
        };
        let input = json!({ "shell_id": task });
        let Some(call) = own_call("kill", "KillShell", &input) else {
            return Ok(());
        };
        let output = self.tools.run(call).await;
        if output.is_error {
            return Err(output.text);
        }
        self.events.tell(Event::TaskChanged {
            task: task.to_owned(),
            what,
            state: TaskState::Killed,
        });
        Ok(())
    }

    pub(super) fn quit(&mut self, state: &mut Loop, now: bool) {
        let before = state.quit.is_some_and(|quit| quit.now);
        state.quit = Some(Quit { now: now || before });
        self.session.cancel();
    }
}

fn compact_wish(instructions: Option<String>, part: Option<CompactPart>) -> CompactWish {
    let (from, up_to) = match part {
        Some(CompactPart::From(message)) => (Some(message), None),
        Some(CompactPart::UpTo(message)) => (None, Some(message)),
        None => (None, None),
    };
    CompactWish {
        instructions,
        from,
        up_to,
    }
}

/// End of a command that was typed as a prompt.
pub(super) fn typed_end(reply: &Result<Reply, EngineError>) -> Event {
    let why = match reply {
        Ok(Reply::Compacted(CompactionOutcome::Compacted { before, after, .. })) => {
            let text = format!("Compacted: {before} tokens before, {after} now.");
            return turn_end("answered", text, None);
        }
        Ok(Reply::Compacted(
            CompactionOutcome::Blocked(why)
            | CompactionOutcome::Nothing(why)
            | CompactionOutcome::NoProgress { why, .. }
            | CompactionOutcome::NotWritten(why),
        )) => format!("not compacted: {why}"),
        Ok(_) => return turn_end("answered", "Done.".to_owned(), None),
        Err(EngineError::Cancelled) => return turn_end("interrupted", String::new(), None),
        Err(error) => dormouse_core::show::chain(error),
    };
    turn_end("failed", String::new(), Some(why))
}

/// End of a turn in which the model was not asked.
fn turn_end(end: &str, text: String, why: Option<String>) -> Event {
    Event::TurnEnded(Box::new(TurnEnd {
        end: end.to_owned(),
        requests: 0,
        stop_reason: None,
        why,
        text,
    }))
}

/// A call that no model made, for the tools' own work.
fn own_call(id: &str, tool: &str, input: &Value) -> Option<ToolCall> {
    let block = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
    ToolCall::of(&Block::from_value(&block).ok()?)
}
