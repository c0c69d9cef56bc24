//! The imperative shell around memory.
//!
//! # Model
//! A [`Keeper`] is the memory of a project with everything around it: directory, settings, budget,
//! perhaps a model. On it stand three jobs: memories are brought into a conversation
//! ([`recaller`]), drawn from it ([`extraction`]), and sorted while nobody looks ([`dreaming`]). Each
//! works without a model, and says so when it does.
//!
//! # Responsibilities
//! - Asking models within the day's budget ([`budget`], [`client`], [`side`]).
//! - Looking at the working tree and at instruction files ([`tree`], [`instructions`]).
//!
//! # Not here
//! Deciding: `dormouse-memory`'s. Files: `dormouse-memdir`'s. Printing: the binary's.

pub mod budget;
pub mod client;
pub mod dreaming;
pub mod extraction;
pub mod instructions;
mod keeper;
mod meter;
pub mod recaller;
pub mod side;
pub mod tree;
pub mod writes;

pub use keeper::{Keeper, KeeperPlaces, SettingsSource, TeamMemory};
