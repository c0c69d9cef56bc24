//! Effects ready for the host, effects withheld until records are stored, and effects under way.

use crate::effect::{Effect, EffectId, Work};
use dormouse_core::id::{CallId, Seq};
use std::collections::{BTreeMap, VecDeque};

/// Purpose of an effect under way; decides which module handles its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Running {
    Append,
    /// Files of a job, the results of a round, or the lessons of a session.
    Save(SaveFor),
    ReadNotes(NotesFor),
    ReadLog,
    Ask(AskFor),
    Tool(CallId),
    Person(CallId),
    /// Hooks around a compaction.
    Hooks,
    /// Hooks of a turn.
    Hook(HookedAt),
    Restore,
    Recall,
    Child,
    /// Effect whose outcome is no longer awaited, with its former purpose if it was a request. Only
    /// its usage is recorded, because it was billed.
    GivenUp(Option<AskFor>),
}

/// Place in a turn at which hooks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookedAt {
    Prompt,
    Call(CallId),
    Result(CallId),
    Stop,
}

/// Purpose of files being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaveFor {
    Results,
    Round,
    Fit,
    Distil,
    Clearing,
    Prefix,
    Notes,
    /// Lessons while the session goes on; nothing waits for them.
    Lessons,
    /// Lessons at the end of the session; the command waits for them.
    LastLessons,
}

/// Reader of the session notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotesFor {
    /// Update that is about to be requested.
    Asking,
    /// Update whose answer has arrived.
    Applying,
    /// Compaction that uses the notes.
    Compaction,
}

/// Purpose of a request. At most one of each is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AskFor {
    Turn,
    /// Summary for a compaction, by a fork or by the provider.
    Compaction,
    Notes,
    KeepAlive,
}

/// Outbox of a driver.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ready: VecDeque<Effect>,
    /// Effects that wait until the record with this number is stored, in order of emission.
    withheld: Vec<(Seq, Effect)>,
    running: BTreeMap<EffectId, Running>,
    last: u64,
    /// Number of outcomes that matched no effect; counted so that a host's bug becomes visible.
    strays: u64,
}

impl Outbox {
    pub(crate) fn pop(&mut self) -> Option<Effect> {
        self.ready.pop_front()
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        self.ready.push_back(effect);
    }

    /// Starts work that waits for no record.
    pub(crate) fn start(&mut self, running: Running, work: Work) -> EffectId {
        let id = self.register(running);
        self.ready.push_back(Effect::Do(id, work));
        id
    }

    /// Starts work once the record with this number is stored.
    pub(crate) fn start_after(&mut self, seq: Seq, running: Running, work: Work) -> EffectId {
        let id = self.register(running);
        self.withheld.push((seq, Effect::Do(id, work)));
        id
    }

    /// Releases an effect once the record with this number is stored.
    pub(crate) fn push_after(&mut self, seq: Seq, effect: Effect) {
        self.withheld.push((seq, effect));
    }

    fn register(&mut self, running: Running) -> EffectId {
        self.last += 1;
        let id = EffectId(self.last);
        self.running.insert(id, running);
        id
    }

    /// Newest record that an effect waits for.
    pub(crate) fn needed(&self) -> Option<Seq> {
        self.withheld.iter().map(|(seq, _)| *seq).max()
    }

    /// Releases effects that waited for records up to this one.
    pub(crate) fn release(&mut self, stored: Seq) {
        let withheld = std::mem::take(&mut self.withheld);
        // `partition` keeps the order of emission, which hosts rely on for replies.
        let (released, rest): (Vec<_>, Vec<_>) =
            withheld.into_iter().partition(|(seq, _)| *seq <= stored);
        self.withheld = rest;
        self.ready
            .extend(released.into_iter().map(|(_, effect)| effect));
    }

    /// Removes everything that waits for a record which will never be stored.
    pub(crate) fn drop_withheld(&mut self) -> Vec<Effect> {
        let withheld = std::mem::take(&mut self.withheld);
        let effects: Vec<Effect> = withheld.into_iter().map(|(_, effect)| effect).collect();
        for effect in &effects {
            if let Effect::Do(id, _) = effect {
                self.running.remove(id);
            }
        }
        effects
    }

    /// Stops an effect. Returns `true` for one that the host never received: it is dropped and has
    /// no outcome.
    pub(crate) fn stop(&mut self, id: EffectId) -> bool {
        let is = |effect: &Effect| matches!(effect, Effect::Do(each, _) if *each == id);
        let before = self.withheld.len() + self.ready.len();
        self.withheld.retain(|(_, effect)| !is(effect));
        self.ready.retain(|effect| !is(effect));
        // It was still here, so the host has never seen it and reports no outcome.
        if self.withheld.len() + self.ready.len() < before {
            self.running.remove(&id);
            return true;
        }
        if self.running.contains_key(&id) {
            self.ready.push_back(Effect::Stop(id));
        }
        false
    }

    /// Stops an effect whose outcome is no longer awaited. A successor may start at once: the late
    /// outcome is not mistaken for the new one's.
    pub(crate) fn give_up(&mut self, id: EffectId) {
        if self.stop(id) {
            return;
        }
        if let Some(running) = self.running.get_mut(&id) {
            let ask = match running {
                Running::Ask(use_for) => Some(*use_for),
                _ => None,
            };
            // Kept under its id: the outcome is still due, and the usage in it was billed.
            *running = Running::GivenUp(ask);
        }
    }

    /// Ends an effect and returns its purpose, or `None` for a stray.
    pub(crate) fn ended(&mut self, id: EffectId) -> Option<Running> {
        let running = self.running.remove(&id);
        self.strays += u64::from(running.is_none());
        running
    }

    /// Purpose of an effect under way.
    pub(crate) fn running(&self, id: EffectId) -> Option<&Running> {
        self.running.get(&id)
    }

    /// Ids of the effects under way whose purpose matches.
    pub(crate) fn all(&self, is: impl Fn(&Running) -> bool) -> Vec<EffectId> {
        let fitting = self.running.iter().filter(|(_, running)| is(running));
        fitting.map(|(id, _)| *id).collect()
    }

    pub(crate) fn any(&self, is: impl Fn(&Running) -> bool) -> bool {
        self.running.values().any(is)
    }

    pub(crate) fn strays(&self) -> u64 {
        self.strays
    }
}
