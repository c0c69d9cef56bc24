//! Meaning of a memory directory: its files, the changes it accepts, its history.
//!
//! # Model
//! A [`snapshot::Snapshot`] of the directory goes in, a [`transaction::Transaction`] comes out:
//! the same shape for a user's edit, an extraction, a dream and an undo. A store applies it.
//!
//! - [`topic`]: one memory, a file with front matter that is edited without touching the rest.
//! - [`index`]: `MEMORY.md`, loaded within limits, checked for drift, generated.
//! - [`trust`]: the speaker of a memory, and how far the memory is believed.
//! - [`snapshot`], [`transaction`], [`journal`]: the directory as a value, changes to it, and their
//!   history.
//! - [`write`](mod@write): wishes of people and programs, as transactions.
//! - [`manifest`]: the list of memories as a prompt shows it.
//! - [`card`]: a memory without its text, for lists, rankers and plans.
//! - [`extract`]: statements of a conversation that become memories, each with its source.
//! - [`dream`]: memories merged, corrected and pruned, and the check of such a change.
//! - [`prompt`]: the system prompt's section on memory; [`daily`]: logs instead of memories.
//! - [`team`]: shared memory; [`import`]: memories of other tools.
//! - [`instructions`]: `AGENTS.md`, `CLAUDE.md` and what they include.
//! - [`tool`]: the provider's memory tool.
//!
//! # Not here
//! No file, clock or environment is read; no model is called. `dormouse-memdir` keeps the directory
//! on disk, `dormouse-keeper` calls models.

pub mod card;
pub mod daily;
pub mod dream;
pub mod extract;
pub mod import;
pub mod index;
pub mod instructions;
pub mod journal;
pub mod manifest;
pub mod manual;
pub mod prompt;
pub mod snapshot;
pub mod team;
pub mod tool;
pub mod topic;
pub mod transaction;
pub mod trust;
pub mod write;
