#![doc = include_str!("../README.md")]

mod ablate;
mod asker;
pub mod corpus;
pub mod fidelity;
mod fit;
mod interpreter;
pub mod peers;
pub mod policies;
mod policy_run;
mod recorded_world;
mod recording;
mod run;
mod scenario;
mod script;
pub mod study;
mod texts;
mod verdict;

pub use ablate::{ABLATIONS, Ablation};
pub use asker::{Bill, Look};
pub use fit::Fit;
pub use policy_run::{PolicyRun, RunError, RunOptions, StepBill, kind_name, run_policy};
pub use recording::{Recording, RecordingError, Turn};
pub use run::{Clock, Replay, ReplayError, ReplayTurn, Sums, replay};
pub use scenario::Scenario;
pub use script::{Input, Script, Step};
pub use verdict::{Comparison, Difference, RunOutcome, Score};
