//! What may be done and what may not, as pure functions.
//!
//! # Model
//! Three judges, each from text to a verdict with its reason:
//! - [`paths`]: whether a name may be used below a directory;
//! - [`shell`]: whether a command line only reads;
//! - [`secrets`]: whether a text holds a credential.
//!
//! # Not here
//! Nothing is opened, run or written. The handle that makes a path check hold at the time of use is
//! in `dormouse-system`; whoever runs a command asks here first.

pub mod paths;
pub mod secrets;
pub mod shell;
