#![doc = include_str!("../README.md")]

mod asks;
mod call;
mod calls;
mod clearing;
mod command;
mod compaction;
mod config;
mod dispatch;
mod distil;
mod driver;
mod effect;
mod ending;
mod error;
mod fit;
mod fork;
mod hooks;
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
mod restoring;
mod server_edits;
mod snapshot;
mod turn;

pub use call::{CALL_TOOL, ToolCall};
pub use calls::{
    Judge, Judgement, NoTraits, PersonQuestion, RunsAll, ToolCatalog, ToolFuture, ToolHost,
    ToolTraits, read_question,
};
pub use command::{Command, CommandId, CompactWish, Reply, SwitchModel, When};
pub use config::{CONTINUATIONS, Config, Current, PolicyChoice, Role, SessionFiles};
pub use dormouse_context::economy::merge_lessons;
pub use driver::Driver;
pub use effect::{
    Ask, Effect, EffectId, HookPoint, NotesFiles, RecallMoment, SaveFile, SavePlace, Seen, Work,
};
pub use error::{DriveError, StoreFailure};
pub use fork::{ForkLimits, ForkReport};
pub use hooks::{HookCatalog, HookMoment, NoHookPoints};
pub use ingest::{Ingested, ingest};
pub use input::{EffectOutcome, HookAnswer, HookVerdict, Injection, Input, StreamEvent};
pub use layers::AIM_FACT;
pub use notice::Notice;
pub use open::{LogStart, Opened, Recorded};
pub use snapshot::{Activity, Snapshot};

/// Name of the fact that lists prompts waiting for the current turn to end. Hosts read it to show
/// the queue.
pub const QUEUE_FACT: &str = "queue";

/// Name of the fact that records the end of a turn: how it ended and after how many requests. Hosts
/// rebuild what they showed from it.
pub const TURN_FACT: &str = "turn";
/// Name of the fact that the fallback model has taken the conversation over.
pub const TAKEOVER_FACT: &str = "takeover";

/// Name prefix of facts about calls that wait for a person; null when the person has answered.
pub const WAITING_FACT: &str = "waiting/";
