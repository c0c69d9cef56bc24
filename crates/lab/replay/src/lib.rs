//! Recorded sessions, fed to the provider simulator turn by turn.
//!
//! # Model
//! A [`Recording`] holds the requests of a transcript: the time of each, its model, its content as
//! far as that was written down, and the usage the provider reported. [`replay`] sends every prompt
//! to the simulator at its original time and compares the simulator's bill with the recording.
//!
//! A recording lends times, models, the tier of the cache markers, and *lengths*. Clients send more
//! than they log (system prompt, tools, reminders, restored files), so the part of a prompt's
//! recorded length that the logged messages cannot explain is sent as padding, in the place where
//! it appeared. A recording does not lend hits, misses and positions. Those are the simulator's.
//!
//! A [`Script`] is the same session without its policy; [`run_policy`] plays it through the real
//! engine under any policy: Dormouse's own, or one of the [`peers`].
//!
//! # Not here
//! Reading files and printing are the caller's; so is the clock that measures the engine.

mod asker;
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
mod verdict;

pub use asker::Bill;
pub use fit::Fit;
pub use policy_run::{PolicyRun, RunError, RunOptions, StepBill, kind_name, run_policy};
pub use recording::{Recording, RecordingError, Turn};
pub use run::{Clock, Replay, ReplayError, ReplayTurn, Sums, replay};
pub use scenario::Scenario;
pub use script::{Input, Script, Step};
pub use verdict::{Comparison, Difference, Outcome, Score};
