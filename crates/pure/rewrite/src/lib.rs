#![doc = include_str!("../README.md")]

mod aside;
mod body;
mod clearing;
mod compaction;
mod compose;
mod line;
mod markers;
mod plan;
mod reply;
mod results;
mod rules;
mod transcript;

pub use aside::{Aside, FOLDER, Item, READ, Round, Rounds, Spot, is_read, offers, result};
pub use body::{Body, NotDivided};
pub use compaction::{Ask, Compaction, NoCompaction, ask, boundary, history_file, without_model};
pub use compose::{Act, Acts, Composed, compose, continued};
pub use line::{Answered, Boundary, Due, Form, Line, Record, Replaced};
pub use plan::{Compact, Plan, Save, Surroundings, plan};
pub use reply::{Event, Joined, joined};
pub use rules::Rules;
pub use transcript::{session, words};
