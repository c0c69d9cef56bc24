#![doc = include_str!("../README.md")]

mod book;
mod counting;
mod entry;
mod expected;
mod figures;
mod layers;
mod lines;
mod memory;
mod reads;
mod relay;
mod report;
mod sweep;

pub use book::{BookError, folder};
pub use dormouse_model::StopReason;
pub use dormouse_model::anthropic::{Observed, Observer};
pub use dormouse_model::sse::SseDecoder;
pub use dormouse_recognise::{Caller, Chain, NotUnderstood, Recognised, Relation, Seen};
pub use dormouse_rewrite::{Acts, Body, Event, Joined, Round, Rounds, continued, joined};
pub use entry::{Ended, Entry};
pub use expected::Expected;
pub use figures::Figures;
pub use layers::{Facts, Layers, Prepared, Rewrites, Seat, Step, Task, Turn};
pub use memory::{ProjectMemory, Words};
pub use reads::MOST_READS;
pub use relay::{Exchange, Recognition, Relay};
pub use report::{BookReport, ConversationFigures, read_book};
pub use sweep::Swept;
