#![doc = include_str!("../README.md")]

mod call;
mod files;
mod hosts;
mod judge;
mod mode;
mod protected;
mod rule;
mod shell;
mod verdict;

pub use call::{Action, Call, Ground};
pub use judge::judge;
pub use mode::{Mode, UnknownMode};
pub use rule::{Behaviour, Origin, Rule, RuleError, Rules};
pub use verdict::{Because, Ruling, Verdict};
