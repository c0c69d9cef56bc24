//! Effects on their way out, and those that wait for records to be stored.

use crate::effect::{Effect, EffectId, Work};
use dormouse_core::id::{CallId, Seq};
use std::collections::{BTreeMap, VecDeque};

/// The use of an effect that is under way: where its outcome is taken in.
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
    Hooks,
    Restore,
    Recall,
    Child,
    /// Work that nothing waits for any more, and the use it had if it was a request: its usage is
    /// all that is taken in.
    GivenUp(Option<AskFor>),
}

/// The use of files that are being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaveFor {
    Results,
    Round,
    Clearing,
    Prefix,
    Notes,
    Lessons,
}

/// The reader of the session notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotesFor {
    /// An update that is about to ask.
    Asking,
    /// An update whose answer is in.
    Applying,
    /// A compaction.
    Compaction,
}

/// The use of a request. At most one of each is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AskFor {
    Turn,
    /// The summary of a compaction, written by a fork or by the provider.
    Compaction,
    Notes,
    KeepAlive,
}

/// The outbox of a driver.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    ready: VecDeque<Effect>,
    /// Effects that wait until the record with this number is stored, in order.
    withheld: Vec<(Seq, Effect)>,
    running: BTreeMap<EffectId, Running>,
    last: u64,
    /// Outcomes that belong to no effect: counted, so that a host's mistake shows.
    strays: u64,
}

impl Outbox {
    pub(crate) fn pop(&mut self) -> Option<Effect> {
        self.ready.pop_front()
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        self.ready.push_back(effect);
    }

    /// Starts work at once.
    pub(crate) fn start(&mut self, running: Running, work: Work) -> EffectId {
        let id = self.register(running);
        self.ready.push_back(Effect::Do(id, work));
        id
    }

    /// Starts work when the record with this number is stored.
    pub(crate) fn start_after(&mut self, seq: Seq, running: Running, work: Work) -> EffectId {
        let id = self.register(running);
        self.withheld.push((seq, Effect::Do(id, work)));
        id
    }

    /// Hands an effect out when the record with this number is stored.
    pub(crate) fn push_after(&mut self, seq: Seq, effect: Effect) {
        self.withheld.push((seq, effect));
    }

    fn register(&mut self, running: Running) -> EffectId {
        self.last += 1;
        let id = EffectId(self.last);
        self.running.insert(id, running);
        id
    }

    /// The newest record that an effect waits for.
    pub(crate) fn needed(&self) -> Option<Seq> {
        self.withheld.iter().map(|(seq, _)| *seq).max()
    }

    /// Releases what waited for records up to this one.
    pub(crate) fn release(&mut self, stored: Seq) {
        let withheld = std::mem::take(&mut self.withheld);
        let (released, rest): (Vec<_>, Vec<_>) =
            withheld.into_iter().partition(|(seq, _)| *seq <= stored);
        self.withheld = rest;
        self.ready
            .extend(released.into_iter().map(|(_, effect)| effect));
    }

    /// Takes back everything that waits for a record that will never be stored.
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

    /// Stops an effect. One that never left is simply forgotten, and `true` is returned: it will
    /// have no outcome.
    pub(crate) fn stop(&mut self, id: EffectId) -> bool {
        let is = |effect: &Effect| matches!(effect, Effect::Do(each, _) if *each == id);
        let before = self.withheld.len() + self.ready.len();
        self.withheld.retain(|(_, effect)| !is(effect));
        self.ready.retain(|effect| !is(effect));
        if self.withheld.len() + self.ready.len() < before {
            self.running.remove(&id);
            return true;
        }
        if self.running.contains_key(&id) {
            self.ready.push_back(Effect::Stop(id));
        }
        false
    }

    /// Stops an effect whose outcome nothing waits for any more. Whatever takes its place may begin
    /// at once: the late outcome is not mistaken for the new one's.
    pub(crate) fn give_up(&mut self, id: EffectId) {
        if self.stop(id) {
            return;
        }
        if let Some(running) = self.running.get_mut(&id) {
            let ask = match running {
                Running::Ask(use_for) => Some(*use_for),
                _ => None,
            };
            *running = Running::GivenUp(ask);
        }
    }

    /// The effect has ended: its use, or `None` for a stray.
    pub(crate) fn ended(&mut self, id: EffectId) -> Option<Running> {
        let running = self.running.remove(&id);
        self.strays += u64::from(running.is_none());
        running
    }

    /// The use of an effect that is under way.
    pub(crate) fn running(&self, id: EffectId) -> Option<&Running> {
        self.running.get(&id)
    }

    /// Effects under way whose use fits.
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
