//! The time before the other end is there: lines that are sent wait for it.

use crate::cell::Cell;
use crate::model::{Effect, Model};
use dormouse_agent::protocol::OpenedSession;

impl Model {
    /// The other end is on its way: lines that are sent wait for it.
    pub fn open_later(&mut self) {
        self.opening = true;
    }

    /// There is no agent; the screen stays.
    pub fn without_agent(&mut self, why: String) -> Vec<Effect> {
        self.start.without_agent = Some(why);
        let lines = self.without_lines();
        self.put(Cell::Banner(lines));
        self.release()
    }

    /// The other end is there, or missing: lines that were held are sent, in order.
    pub(crate) fn release(&mut self) -> Vec<Effect> {
        self.opening = false;
        let held = std::mem::take(&mut self.held);
        let sent = held.into_iter();
        sent.flat_map(|(text, when)| self.send(&text, when))
            .collect()
    }

    /// Puts a line that was not taken back into the composer, in front of the draft.
    pub(crate) fn give_back(&mut self, text: &str) {
        let draft = self.composer.whole();
        if draft.is_empty() {
            self.composer.set(text);
        } else {
            self.composer.set(&format!("{text}\n{draft}"));
        }
    }

    /// The session is one that another process writes.
    pub(crate) fn watch(&mut self, opened: OpenedSession) -> Vec<Effect> {
        self.watching = true;
        self.mode = opened.mode;
        self.talks_to.clone_from(&opened.model);
        self.session = Some(opened);
        self.warn(
            "another terminal writes this session: you watch it live and read-only; /fork goes on with a copy",
        );
        self.release()
    }
}
