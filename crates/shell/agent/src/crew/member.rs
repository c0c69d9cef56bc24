//! One sub-agent at work: its task, its questions, its end.

use super::fork::{ForkBase, Gate};
use super::worktree::Worktree;
use super::{Inner, activity};
use crate::handle::AgentHandle;
use crate::post::Seat;
use crate::protocol::{Command, Event, TaskState, TurnEnd, When};
use dormouse_core::block::Block;
use dormouse_core::id::SessionId;
use dormouse_core::record::Purpose;
use dormouse_core::settings::keys;
use dormouse_mail::AgentName;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// Way to stop an agent. Clones stop the same one.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopper(Arc<Notify>);

impl Stopper {
    pub(super) fn stop(&self) {
        self.0.notify_one();
    }

    /// Stops the agent when the guard is dropped; one that has ended does not mind.
    pub(super) fn on_drop(self) -> StopOnDrop {
        StopOnDrop(self)
    }
}

#[derive(Debug)]
pub(super) struct StopOnDrop(Stopper);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// End of a sub-agent's task.
#[derive(Debug)]
pub(super) struct End {
    how: How,
    /// Worktree with changes, whatever ended the task.
    kept: Option<PathBuf>,
}

#[derive(Debug)]
enum How {
    /// It has answered, or met a limit.
    Turn(Box<TurnEnd>),
    /// The conversation above it, or the user, stopped it.
    Stopped,
    /// Its conversation broke down.
    Failed(String),
}

impl End {
    /// Words for the conversation that gave the task.
    ///
    /// # Errors
    /// Words as well, if the task was not done.
    pub(super) fn words(&self, id: &SessionId) -> Result<String, String> {
        let ending = format!("\n\n[{id}]{}", place(self.kept.as_deref()));
        match &self.how {
            How::Turn(end) if end.is_answered() => {
                let text = end.text.trim();
                let text = if text.is_empty() {
                    "(It said nothing.)"
                } else {
                    text
                };
                Ok(format!("{text}{ending}"))
            }
            How::Turn(end) => {
                let why = end.why.as_deref().unwrap_or(end.end.as_str());
                let text = end.text.trim();
                let said = if text.is_empty() {
                    String::new()
                } else {
                    format!(" Its last words: {text}")
                };
                Err(format!(
                    "The agent stopped before it was done: {why}.{said}{ending}"
                ))
            }
            How::Stopped => Err(format!("The agent was stopped.{ending}")),
            How::Failed(why) => Err(format!("The agent failed: {why}.{ending}")),
        }
    }
}

/// Words about a worktree that was kept.
fn place(kept: Option<&Path>) -> String {
    let kept = kept.map(|path| format!("\n[its changes are in the worktree {}]", path.display()));
    kept.unwrap_or_default()
}

/// Everything that a sub-agent works with.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) agent: AgentHandle,
    pub(super) prompt: String,
    /// Conversation that it is a fork of.
    pub(super) fork: Option<Arc<ForkBase>>,
    /// Its seat in the team; `None` where there are no letters.
    pub(super) seat: Option<Seat>,
    pub(super) worktree: Option<Worktree>,
    /// Its place among those that work at once.
    pub(super) _room: OwnedSemaphorePermit,
}

impl Work {
    /// Does the task, closes the agent, and clears its worktree away.
    pub(super) async fn done(self, inner: &Arc<Inner>, stop: &Stopper) -> End {
        let gate = self.fork.as_deref().map(ForkBase::gate);
        let seat = self.seat.as_ref();
        let how = attend(inner, self.agent, &self.prompt, (stop, gate, seat)).await;
        // A first fork that failed must not hold its siblings up.
        if let Some(gate) = gate {
            gate.open();
        }
        let kept = match self.worktree {
            Some(worktree) => worktree.cleared().await,
            None => None,
        };
        End { how, kept }
    }
}

/// Gives an agent its task, passes its questions on, and closes it when the task has ended.
async fn attend(
    inner: &Arc<Inner>,
    mut agent: AgentHandle,
    prompt: &str,
    (stop, gate, seat): (&Stopper, Option<&Gate>, Option<&Seat>),
) -> How {
    let task = Command::Prompt {
        content: vec![Block::text(prompt)],
        attachments: Vec::new(),
        when: When::Queue,
    };
    let (mut end, mut stopped, mut leaves) = (None, false, false);
    if let Some(gate) = gate {
        tokio::select! {
            () = gate.pass() => {}
            () = stop.0.notified() => stopped = true,
        }
    }
    let first = if stopped {
        Command::Quit { now: true }
    } else {
        task
    };
    agent.send(first).await;
    loop {
        tokio::select! {
            told = agent.next() => match told {
                Some(told) => {
                    if let (Some(gate), Event::MessageStarted { .. }) = (gate, &told.event) {
                        gate.open();
                    }
                    if let Event::TurnEnded(turn) = told.event {
                        // A turn that a late letter began, and that leaving stops, is not the end.
                        if leaves {
                            continue;
                        }
                        if let Some(seat) = seat.filter(|seat| !stopped && !seat.is_leaving()) {
                            inner.is_idle(&seat.name, &turn);
                        } else {
                            leaves = true;
                            agent.send(Command::Quit { now: stopped }).await;
                        }
                        end = Some(turn);
                    } else {
                        inner.works(&agent.opened.session, &told.event);
                        pass_on(inner, &agent, told.event);
                    }
                }
                None => break,
            },
            () = stop.0.notified(), if !stopped => {
                stopped = true;
                agent.send(Command::Quit { now: true }).await;
            }
        }
    }
    match (agent.ended().await, end) {
        (_, Some(end)) if end.is_answered() => How::Turn(end),
        _ if stopped => How::Stopped,
        (_, Some(end)) => How::Turn(end),
        (Err(error), None) => How::Failed(dormouse_core::show::chain(&error)),
        (Ok(()), None) => How::Failed("its session was closed".to_owned()),
    }
}

impl Inner {
    /// Tells the client in a few words what an agent is doing, if that has changed.
    fn works(&self, id: &SessionId, event: &Event) {
        let Event::ToolAsked { tool, input, .. } = event else {
            return;
        };
        if !self.host.settings().switch(keys::AGENTS_SUMMARY).is_on() {
            return;
        }
        let Some(words) = activity::words(tool, input) else {
            return;
        };
        let what = match self.members().get_mut(id) {
            Some(member) if member.doing.as_ref() != Some(&words) => {
                member.doing = Some(words.clone());
                format!("{}: {words}", member.what)
            }
            _ => return,
        };
        self.tell(id, &what, TaskState::Running);
    }

    /// Takes note of a teammate that has nothing to do, for the conversation.
    fn is_idle(&self, name: &AgentName, turn: &TurnEnd) {
        let text = turn.text.trim();
        let why = turn.why.as_deref().filter(|_| !turn.is_answered());
        let why = why.map(|why| format!(" Its turn failed: {why}."));
        let news = format!(
            "Teammate {name} waits for letters.{} Its last words:\n{text}",
            why.unwrap_or_default()
        );
        self.idle().push(super::shortened(news));
        self.news.notify_one();
    }
}

/// Tells the client of the session what concerns it: questions to the person, and money.
fn pass_on(inner: &Arc<Inner>, agent: &AgentHandle, event: Event) {
    match &event {
        Event::PermissionWanted(wanted) => {
            inner.asking().insert(wanted.call.clone(), agent.commands());
        }
        Event::QuestionWanted(wanted) => {
            inner.asking().insert(wanted.call.clone(), agent.commands());
        }
        Event::Settled { call } => {
            inner.asking().remove(call);
        }
        Event::Refused { .. } | Event::Notice { .. } => {}
        Event::Usage { .. } => {
            let event = match event {
                // Its prompts say nothing about the session's own window.
                Event::Usage {
                    message,
                    model,
                    usage,
                    cost,
                    ..
                } => Event::Usage {
                    message,
                    model,
                    purpose: Purpose::Fork,
                    usage,
                    cost,
                },
                other => other,
            };
            return inner.events.tell(event);
        }
        _ => return,
    }
    inner.events.tell(event);
}
