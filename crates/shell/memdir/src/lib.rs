#![doc = include_str!("../README.md")]

mod commit;
mod consolidate;
mod dir;
mod disk;
mod error;
mod git;
mod inbox;
#[cfg(test)]
mod kit;
mod leftovers;
mod log;
mod past;
mod payload;
mod pending;
mod place;
mod scan;

pub use consolidate::{
    ConsolidationLock, Holder, LOCK_AGE, LockStatus, ReleaseError, Remark, TakeError, Taken,
};
pub use dir::{Foreseen, Look, MemoryDir, Skipped};
pub use error::MemdirError;
pub use git::Repository;
pub use inbox::{Inbox, Item, Proposal};
pub use leftovers::Leftover;
pub use log::History;
pub use place::{MemoryLocation, NoPlace, Surroundings, Why};
pub use scan::{Glance, Scan};
