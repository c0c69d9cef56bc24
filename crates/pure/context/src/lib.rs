//! The pure context engine: log → path → view → token count → plan → bytes of a request.
//!
//! All functions are pure: records, settings and the time come in as values, plans and bytes go
//! out. Reading and writing logs, sending requests and running tools belong to the callers.

pub mod assemble;
pub mod bound;
pub mod boundary;
pub mod breakdown;
pub mod breaker;
pub mod category;
pub mod clear;
pub mod clearable;
pub mod compaction;
pub mod conversation;
mod derive;
pub mod economy;
pub mod evidence;
mod figures;
pub mod files_read;
pub mod fork;
pub mod layers;
mod layout;
pub mod ledger;
mod lookup;
mod normalise;
pub mod notes;
pub mod offload;
pub mod path;
pub mod plan;
pub mod policy;
pub mod prefix;
pub mod question;
mod rewrite;
pub mod segment;
pub mod tail;
pub mod target;
pub mod tokens;
pub mod undo;
pub mod validate;
pub mod view;
pub mod window;

pub use derive::MISSING_RESULT;
