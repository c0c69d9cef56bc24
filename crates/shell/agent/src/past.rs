//! The past of a session, from its log: the end first, then everything that is added.
//!
//! # Model
//! A [`Past`] remembers up to where it has read. One [`Teller`] makes the events, so that those of a
//! later part know the calls of an earlier one.

use crate::agent::AgentError;
use crate::figures::Figures;
use crate::protocol::{Event, Side, Teller, Told, rebuild};
use dormouse_core::record::{Body, MessageOrigin, Record};
use dormouse_host::Host;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Messages that are read at least, where there are as many: some screens of a conversation.
const MESSAGES: usize = 60;

/// Durable events of a log, read from its end on.
#[derive(Clone, Debug)]
pub struct Past {
    log: PathBuf,
    teller: Teller,
    /// Bytes of the log that have been read.
    read: Range<u64>,
    bytes_read: u64,
    /// Model of the newest answer that was read.
    model: Option<String>,
}

impl Past {
    /// The end of a log, with its events: from a prompt on, unless that lies too far back.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn end_of(host: &Host, log: &Path) -> Result<(Self, Vec<Told>), AgentError> {
        let tail = host.transcripts().tail(log, is_enough)?;
        let mut past = Self {
            log: log.to_owned(),
            teller: Teller::new(host.models()),
            read: tail.range.clone(),
            bytes_read: tail.bytes_read,
            model: None,
        };
        let mut events = past.tell(&tail.records);
        if !past.is_whole() {
            let prompt = events.iter().position(is_prompt);
            events.drain(..prompt.unwrap_or_default());
        }
        Ok((past, events))
    }

    /// True if nothing lies before the events that were read.
    pub const fn is_whole(&self) -> bool {
        self.read.start == 0
    }

    /// The log itself.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Offset in the log up to which its lines have been read.
    pub const fn read_to(&self) -> u64 {
        self.read.end
    }

    /// Model of the newest answer that was read.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Bytes that were read of the log, for all events so far.
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Events that were added to the log since it was read last.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn added(&mut self, host: &Host) -> Result<Vec<Told>, AgentError> {
        let part = host.transcripts().added(&self.log, self.read.end)?;
        self.read.end = part.range.end;
        self.bytes_read += part.bytes_read;
        Ok(self.tell(&part.records))
    }

    /// Usage before the events that were read.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn earlier(&self, host: &Host) -> Result<Figures, AgentError> {
        let mut figures = Figures::default();
        if !self.is_whole() {
            let part = host.transcripts().before(&self.log, self.read.start)?;
            for told in rebuild(&part.records, &host.models()) {
                figures.take(&told.event);
            }
        }
        Ok(figures)
    }

    fn tell(&mut self, records: &[Record]) -> Vec<Told> {
        let teller = &mut self.teller;
        let told = records.iter().flat_map(|record| teller.tell(record));
        let told: Vec<Told> = told.collect();
        let models = told.iter().rev().find_map(|told| match &told.event {
            Event::MessageDone { model, .. } => model.clone(),
            _ => None,
        });
        self.model = models.or_else(|| self.model.take());
        told
    }
}

fn is_enough(records: &[Record]) -> bool {
    let said = records.iter().filter(|record| match &record.body {
        Body::Message(message) => message.origin == MessageOrigin::Conversation,
        _ => false,
    });
    said.count() >= MESSAGES
}

const fn is_prompt(told: &Told) -> bool {
    matches!(told.event, Event::Said { by: Side::User, .. })
}
