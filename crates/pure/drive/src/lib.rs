//! One conversation as a state machine without IO.
//!
//! # Model
//! A [`Driver`] makes all decisions of a conversation. A host reports events ([`Driver::handle`])
//! and executes the requested effects ([`Driver::poll`]), in any order and at any speed:
//!
//! ```text
//!            Input                         Effect
//!   user ───────────┐                ┌──────────────► store   append, save, read
//!   model ──────────┼──►  Driver ────┼──────────────► model   ask
//!   tools, store ───┘   fold, plan   ├──────────────► tools   run
//!   clock ─────────────► wake_at     └──────────────► people  reply, tell
//! ```
//!
//! - An effect that `poll` returned may start at once beside all others; the driver withholds what
//!   has to wait. Each effect with an id ends with exactly one outcome, also after a cancel.
//! - Records are folded when they are emitted and written in batches, one batch at a time. A
//!   request, a tool and a boundary wait until the records they rely on are stored.
//! - There is no clock and no randomness: `now` is an argument, ids and jitter are derived from the
//!   session, the sequence and a seed. The same inputs give the same effects, byte for byte.
//! - Deltas of a response bypass the driver. It receives the start of a response, each complete
//!   block, and the end.
//!
//! # Responsibilities
//! The loop of requests and tools; retries, fallback and continuation; the order in which records
//! and files are stored; execution of layers 1 to 4; forks; undo, rewind and change of model.
//!
//! # Not here
//! The planners (`dormouse-context`), wire formats, files, processes, screens. Recall and
//! extraction are effects and children of a conversation, decided elsewhere.

mod asks;
mod calls;
mod clearing;
mod command;
mod compaction;
mod config;
mod dispatch;
mod driver;
mod effect;
mod error;
mod fork;
mod ingest;
mod input;
mod journal;
mod keep_alive;
mod layers;
mod notes;
mod notice;
mod offload;
mod open;
mod outbox;
mod refold;
mod request;
mod response;
mod server_edits;
mod snapshot;
mod turn;

pub use calls::{
    Judge, Judgement, NoTraits, RunsAll, ToolCall, ToolCatalog, ToolFuture, ToolHost, ToolTraits,
};
pub use command::{Command, CommandId, CompactWish, Reply, SwitchModel, When};
pub use config::{CONTINUATIONS, Config, Current, PolicyChoice, Role, SessionFiles};
pub use driver::Driver;
pub use effect::{
    Ask, Effect, EffectId, HookPoint, NotesFiles, RecallMoment, SaveFile, SavePlace, Seen, Work,
};
pub use error::{DriveError, StoreFailure};
pub use fork::{ForkLimits, ForkReport};
pub use ingest::{Ingested, history_chain, ingest};
pub use input::{EffectOutcome, HookAnswer, Injection, Input, StreamEvent};
pub use notice::Notice;
pub use open::{LogStart, Opened, Recorded};
pub use snapshot::{Activity, Snapshot};

/// Name of the fact that lists prompts waiting for the current turn to end. Hosts read it to show
/// the queue.
pub const QUEUE_FACT: &str = "queue";
