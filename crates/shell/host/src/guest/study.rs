//! Work on a guest's session in a process that nothing waits for.
//!
//! # Model
//! Memories are drawn from the records behind the last point that was studied, by the same gates as in
//! a session of Dormouse's own; then a dream follows if it is time. The cost of injected text follows
//! from the transcript: it was written once, and read again by each later request of the turn.
//!
//! # Not here
//! The order of tasks (`spool`); drawing and dreaming themselves (`dream`).

use super::given::Given;
use super::spool::{SpoolTask, Spooled};
use super::start::fitting;
use super::{LONGEST_ANSWER, count};
use crate::dream::DreamAsk;
use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use crate::transcripts::Transcripts;
use dormouse_context::evidence;
use dormouse_core::fragment::neutralise;
use dormouse_core::id::{MessageId, Seq};
use dormouse_core::record::{Body, Record, Role};
use dormouse_core::settings::{Consent, keys};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_keeper::figures::{self, Figure};
use dormouse_memory::extract::spans;
use std::collections::BTreeMap;
use std::path::Path;

/// Pause between two studies of a session that goes on. Each reads the transcript; what comes in
/// between is studied with the next, at the latest when the session ends.
const PAUSE: i64 = 60_000;
/// Tokens of the evidence and of the user's messages beside it: both fit one answer.
const EVIDENCE: Tokens = Tokens(900);
const MESSAGES: Tokens = Tokens(600);

/// Prices are kept in millionths of a millionth of a dollar, figures in millionths.
const PICO_PER_MICRO: i128 = 1_000_000;

/// Words above the evidence.
const HEAD: &str = "Kept by Dormouse from this session as it was before the compaction:";

impl Host {
    /// Works a task off. The host has to be that of the task's folder.
    ///
    /// # Errors
    /// When the memory or the transcript cannot be read or written.
    pub fn work_off(&self, task: &Spooled) -> Result<(), HostError> {
        match &task.task {
            SpoolTask::Refresh => self.renew_indexes(),
            SpoolTask::Evidence { transcript } => self.keep_evidence(&task.session, transcript),
            SpoolTask::Learn { transcript, over } => {
                self.learn(&task.session, transcript, *over)?;
                self.renew_indexes()
            }
        }
    }

    fn renew_indexes(&self) -> Result<(), HostError> {
        let Some(shelves) = self.shelves()? else {
            return Ok(());
        };
        let found = self.find(&Which::Private)?;
        let team = self.trusted_team(&found);
        for dir in [shelves.own].iter().chain(&team) {
            dir.renew()?;
        }
        Ok(())
    }

    fn keep_evidence(&self, session: &str, transcript: &Path) -> Result<(), HostError> {
        let Some(shelves) = self.shelves()? else {
            return Ok(());
        };
        let read = self.transcripts().live(transcript)?;
        let chronicle = &read.conversation.state().chronicle;
        let bytes = self.models().lookup(read.model()).info.bytes_per_token;
        let facts = evidence::render(chronicle, EVIDENCE, bytes);
        let said = evidence::user_messages(chronicle, MESSAGES, bytes, |_| false);
        let parts = [facts.trim(), said.text.trim()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() {
            return Ok(());
        }
        let text = neutralise(&parts.join("\n\n"));
        let text = fitting(format!("{HEAD}\n\n{text}"), LONGEST_ANSWER * 2 / 3);
        Given::of_session(&shelves.own, session).keep_evidence(&text)?;
        Ok(())
    }

    fn learn(&self, session: &str, transcript: &Path, over: bool) -> Result<(), HostError> {
        // Memory is founded here: the first rule of a project is drawn from its first session.
        let own = self.find(&Which::Private)?.open()?;
        let given = Given::of_session(&own, session);
        let state = given.read();
        let now = self.now();
        let soon = |studied: i64| !over && (0..PAUSE).contains(&(now.0 - studied));
        if state.ignored || state.studied.is_some_and(|at| soon(at.0)) {
            return Ok(());
        }
        let transcripts = Transcripts::new(self.system(), self.models());
        let read = transcripts.read(transcript)?;
        let main = |record: &Record| !record.side_chain && record.agent.is_none();
        let records: Vec<Record> = read.records.into_iter().filter(main).collect();
        let Some(last) = records.last().map(|record| record.seq) else {
            return Ok(());
        };
        if state.until.is_none_or(|until| until < last) {
            self.note_cost(&own, &records, &state);
            let said = spans(&records, state.until);
            let settings = self.settings();
            let wanted = settings.switch(keys::EXTRACT).is_on()
                && settings.get(keys::MEMORY_CONSENT) != Consent::Off;
            if wanted && !said.is_empty() {
                self.draw(&Which::Private, said, false, &mut |_| {})?;
            }
            // Behind the drawing: one that failed is made up for by the next.
            given.studied(last, now);
        }
        Given::clear(&own, now);
        // Its own gates decide whether it is time.
        self.dream(
            &Which::Private,
            DreamAsk::default(),
            std::future::pending,
            |_| {},
        )?;
        Ok(())
    }

    /// Counts what injected text has cost since the session was last studied.
    fn note_cost(
        &self,
        own: &dormouse_memdir::MemoryDir,
        records: &[Record],
        state: &super::given::GivenState,
    ) {
        if state.tokens == 0 {
            return;
        }
        let requests = requests(records, state.until);
        let (number, model) = (count(requests.len()), requests.values().next_back());
        let carried = state.tokens.saturating_mul(number);
        let usage = TokenUsage {
            cache_write_5m: Tokens(state.new_tokens),
            cache_read: Tokens(carried),
            ..TokenUsage::default()
        };
        let prices = model.and_then(|model| self.models().lookup(model).info.prices);
        let cost = prices.map(|prices| prices.cost(&usage).pico());
        let figure = Figure {
            at: self.now(),
            carried_tokens: carried,
            carried_micros: cost
                .map_or(0, |pico| u64::try_from(pico / PICO_PER_MICRO).unwrap_or(0)),
            ..Figure::default()
        };
        figures::note(own, &figure);
    }
}

/// Responses behind a record, in order, each with its model.
fn requests(records: &[Record], after: Option<Seq>) -> BTreeMap<(Seq, MessageId), String> {
    let mut requests: BTreeMap<(Seq, MessageId), String> = BTreeMap::new();
    for record in records {
        let Body::Message(message) = &record.body else {
            continue;
        };
        let is_new = after.is_none_or(|after| record.seq > after);
        if let (Role::Assistant, true, Some(id), Some(model)) =
            (message.role, is_new, &message.id, &message.model)
        {
            // Lines with one id are one response.
            if !requests.keys().any(|(_, known)| known == id) {
                requests.insert((record.seq, id.clone()), model.to_string());
            }
        }
    }
    requests
}
