//! Guards of what a model may do, as pure functions.
//!
//! # Model
//! Three judges, each from text to a verdict with its reason:
//! - [`paths`]: whether a name may be used below a directory;
//! - [`shell`]: whether a command line only reads;
//! - [`secrets`]: whether a text contains a credential.
//!
//! # Not here
//! Nothing is opened, run or written. The handle that makes a path check hold at the time of use is
//! in `dormouse-system`; executors of commands ask here first.

pub mod paths;
pub mod secrets;
pub mod shell;
