#![doc = include_str!("../README.md")]

mod body;
mod compaction;
mod compose;
mod line;
mod markers;
mod plan;
mod results;
mod rules;
mod transcript;

pub use body::{Body, NotDivided};
pub use compaction::{Ask, Compaction, NoCompaction, ask, boundary, history_file, without_model};
pub use compose::{Act, Acts, Composed, compose};
pub use line::{Answered, Boundary, Due, Form, Line, Record, Replaced};
pub use plan::{Compact, Plan, Save, Surroundings, plan};
pub use rules::Rules;
