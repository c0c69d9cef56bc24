//! The one protocol of the agent: commands in, events out.
//!
//! # Model
//! A client sends [`Ask`]s and reads [`Told`]s. Both are values that serialise to one JSON object
//! each. An ask may carry a number; the event that ends it repeats the number. Commands may be sent
//! at any time, also while a turn runs.
//!
//! Events are of two sorts. *Durable* ones follow from a record of the log, carry its number and are
//! made by one function ([`Teller`]) from the records, live as well as after a crash: [`rebuild`]
//! gives the same events again. *Passing* ones (pieces of an answer, a tool that was started, a
//! notice) are shown while they happen; everything they announce is in a durable event later.
//!
//! # Version
//! [`PROTOCOL`] is told by the first event. Members and kinds may be added without a new version:
//! readers skip members they do not know, and an unknown kind reads as `Unknown`. A change of
//! meaning raises it.

mod blocks;
mod command;
mod event;
mod teller;

pub use command::{
    Answers, Ask, Attachment, Command, CompactPart, EffortLevel, Lifetime, RewindWhat, When,
};
pub use event::{
    CommandFacts, DeltaKind, Event, LayerName, OpenedSession, PermissionRequest, QuestionRequest,
    ServerFacts, Side, TaskFacts, TaskState, Told, TurnEnd,
};
pub use teller::{Teller, rebuild};

/// Version of commands and events.
pub const PROTOCOL: u32 = 1;
