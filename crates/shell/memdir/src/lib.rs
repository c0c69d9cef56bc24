//! The memory directory on disk.
//!
//! # Model
//! A [`Place`] says where it lies; a [`MemoryDir`] is the directory, through a handle that nothing
//! leads out of. Readers get it as a value (a snapshot) and never wait; writers hand in a
//! transaction and take turns. A change of many files happens as one, behind a write-ahead journal
//! that also is the directory's history.
//!
//! - [`MemoryDir::snapshot`], [`MemoryDir::read`], [`MemoryDir::update`], [`MemoryDir::apply`]:
//!   reading the directory and changing it.
//! - [`MemoryDir::history`], [`MemoryDir::undo`], [`MemoryDir::purge`]: its past, taking changes
//!   back, removing old contents.
//! - [`MemoryDir::inbox`], [`MemoryDir::propose`], [`MemoryDir::approve`]: writes that wait.
//! - [`MemoryDir::scan`]: all memories ready to be searched, without reading those unchanged.
//! - [`ConsolidationLock`]: the process that dreams, and the time of the last dream.
//!
//! `docs/memory-store.md` describes the files and the state that a crash leaves.
//!
//! # Not here
//! The meaning of the files (`dormouse-memory`); ranking them (`dormouse-recall`).

mod consolidate;
mod dir;
mod disk;
mod error;
mod git;
mod inbox;
#[cfg(test)]
mod kit;
mod log;
mod past;
mod payload;
mod pending;
mod place;
mod scan;

pub use consolidate::{
    ConsolidationLock, Holder, LockStatus, ReleaseError, Remark, TakeError, Taken,
};
pub use dir::{Look, MemoryDir, Skipped};
pub use error::MemdirError;
pub use git::Repository;
pub use inbox::{Inbox, Item, Proposal};
pub use log::History;
pub use place::{NoPlace, Place, Surroundings, Why};
pub use scan::Scan;
