#![doc = include_str!("../README.md")]

mod book;
mod counting;
mod entry;
mod figures;
mod layers;
mod lines;
mod relay;
mod report;
mod sweep;

pub use book::{BookError, folder};
pub use dormouse_model::anthropic::{Observed, Observer};
pub use dormouse_recognise::{Caller, Chain, NotUnderstood, Recognised, Relation, Seen};
pub use dormouse_rewrite::{Acts, Body};
pub use entry::{Ended, Entry};
pub use figures::Figures;
pub use layers::{Expected, Facts, Layers, Prepared, Rewrites, Seat, Step, Task, Turn};
pub use relay::{Exchange, Recognition, Relay};
pub use report::{BookReport, ConversationFigures, read_book};
pub use sweep::Swept;
