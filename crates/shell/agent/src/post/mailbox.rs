//! The mailbox of one agent: letters on their way into its conversation.

use super::office::{Office, Seat};
use dormouse_context::conversation::Conversation;
use dormouse_core::record::{Body, FragmentKind, Record, StateChange};
use dormouse_engine::Recorder;
use dormouse_mail::{AgentName, Cursor, Inbox, MailError};
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::sync::Notify;

/// Name of the fact under which the log keeps the place in the mailbox.
const FACT: &str = "mail";
/// Letters that are shown at once; the rest follow with the next round. A flood must not fill the window
/// before the agent can do something about it.
const MOST_AT_ONCE: usize = 20;
/// Bytes of the letters that are shown at once, for the same reason; the first is shown in any case.
const MOST_BYTES: usize = 64 * 1024;

/// Place in a mailbox, as the log keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told {
    /// Owner of the mailbox: a fork has the facts of the agent above, and a mailbox of its own.
    owner: AgentName,
    cursor: Cursor,
}

/// Mailbox of an agent at work. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Mailbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    office: Office,
    seat: Seat,
    inbox: Inbox,
    recorder: OnceLock<Recorder>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Letters up to here are in the log.
    told: Cursor,
    /// Letters up to here were handed to the conversation.
    read: Cursor,
    /// Letters that were handed to the conversation and are not known to be in the log, as they are
    /// shown.
    on_their_way: VecDeque<(String, Cursor)>,
    /// Letters that a resumed conversation has although the place in the log is before them.
    known: HashSet<String>,
}

impl Mailbox {
    /// The mailbox of a seat.
    ///
    /// # Errors
    /// When the disk fails.
    pub(crate) fn open(office: &Office, seat: &Seat) -> Result<Self, MailError> {
        Ok(Self(Arc::new(Inner {
            office: office.clone(),
            seat: seat.clone(),
            inbox: office.inbox(&seat.name)?,
            recorder: OnceLock::new(),
            state: Mutex::default(),
        })))
    }

    /// Goes on where the conversation is. A new agent under a name that was used before does not get
    /// the letters of its predecessor.
    pub(crate) fn attach(&self, recorder: Recorder, conversation: &Conversation) {
        let _before = self.0.recorder.set(recorder);
        let fact = conversation.state().facts.get(FACT);
        let told: Option<Told> = fact.and_then(|fact| serde_json::from_value(fact.clone()).ok());
        let told = told.filter(|told| told.owner == self.0.seat.name);
        let mut state = self.state();
        if let Some(told) = told {
            let segments = conversation.view().segments();
            let texts = segments
                .iter()
                .filter_map(|segment| segment.block.readable_text());
            let shown: HashSet<String> = texts.collect();
            let behind = self.0.inbox.read(told.cursor).unwrap_or_default();
            let behind = behind.letters.iter().map(|(letter, _)| letter.shown());
            state.known = behind.filter(|letter| shown.contains(letter)).collect();
            (state.told, state.read) = (told.cursor, told.cursor);
        } else {
            let mut end = Cursor::default();
            while let Ok(batch) = self.0.inbox.read(end)
                && batch.next != end
            {
                end = batch.next;
            }
            (state.told, state.read) = (end, end);
            self.record(end);
        }
    }

    /// Opens the socket for other sessions.
    pub(crate) fn listen(&self) {
        self.0.office.listen(&self.0.inbox, self.wake());
    }

    /// Letters that the conversation has not been handed yet, as they are shown. Blocks for the disk.
    pub(crate) fn arrived(&self) -> Vec<String> {
        let mut state = self.state();
        // A mailbox that cannot be read now is looked at again with the next round.
        let Ok(batch) = self.0.inbox.read(state.read) else {
            return Vec::new();
        };
        let mut letters = Vec::new();
        let mut bytes = 0;
        for (letter, cursor) in batch.letters {
            let shown = letter.shown();
            bytes += shown.len();
            if letters.len() == MOST_AT_ONCE || (bytes > MOST_BYTES && !letters.is_empty()) {
                self.wake().notify_one();
                return letters;
            }
            state.read = cursor;
            if !state.known.remove(&shown) {
                state.on_their_way.push_back((shown.clone(), cursor));
                letters.push(shown);
            }
        }
        state.read = batch.next;
        letters
    }

    /// Takes note of a stored record: a letter in it has arrived for good.
    pub(crate) fn stored(&self, record: &Record) {
        let Body::Fragment(fragment) = &record.body else {
            return;
        };
        if fragment.kind != FragmentKind::Mail {
            return;
        }
        let mut state = self.state();
        let text = fragment.block.readable_text();
        let way = &state.on_their_way;
        let Some(at) = way
            .iter()
            .position(|(shown, _)| Some(shown) == text.as_ref())
        else {
            return;
        };
        if let Some((_, cursor)) = state.on_their_way.remove(at) {
            state.told = cursor;
            self.record(cursor);
        }
    }

    /// Letters that a turn was handed and did not take in, because it was stopped, count as unread. Only
    /// between turns, when all records of the last one were told.
    pub(crate) fn settle(&self) {
        let mut state = self.state();
        if !state.on_their_way.is_empty() {
            state.on_their_way.clear();
            state.read = state.told;
        }
    }

    /// Gives the seat back.
    pub(crate) fn close(&self) {
        let Inner { office, inbox, .. } = &*self.0;
        if self.is_lead() {
            office.close(inbox);
        } else {
            office.leave(inbox);
        }
    }

    pub(crate) fn office(&self) -> &Office {
        &self.0.office
    }

    /// Signal that wakes the agent when a letter has come.
    pub(crate) fn wake(&self) -> &Arc<Notify> {
        &self.0.seat.wake
    }

    pub(crate) fn seat(&self) -> &Seat {
        &self.0.seat
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.0.inbox
    }

    /// True for the session's own agent.
    pub(super) fn is_lead(&self) -> bool {
        self.0.seat.name.as_str() == super::LEAD
    }

    fn record(&self, cursor: Cursor) {
        let Some(recorder) = self.0.recorder.get() else {
            return;
        };
        let told = Told {
            owner: self.0.seat.name.clone(),
            cursor,
        };
        recorder.send(StateChange::Fact {
            name: FACT.to_owned(),
            value: serde_json::to_value(told).unwrap_or_default(),
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
