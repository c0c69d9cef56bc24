//! Imperative shell around memory.
//!
//! # Model
//! A [`Keeper`] is the memory of a project with everything around it: directory, settings, budget,
//! perhaps a model. On it stand three jobs: memories are brought into a conversation
//! ([`recaller`]), drawn from it ([`extraction`]), and consolidated in the background
//! ([`dreaming`]). Each works without a model, and says so when it does.
//!
//! # Responsibilities
//! - Asking models within the day's budget ([`budget`], [`client`], [`side`]); single questions are
//!   retried here, everything else by the driver of a session or fork.
//! - Looking at the working tree and at instruction files ([`tree`], [`instructions`]).
//!
//! # Not here
//! Decisions on memory (`dormouse-memory`, `dormouse-recall`); files (`dormouse-memdir`); printing
//! (the binary).

pub mod budget;
pub mod client;
pub mod dreaming;
pub mod extraction;
pub mod instructions;
mod keeper;
mod meter;
mod once;
pub mod recaller;
pub mod side;
pub mod tree;
pub mod writes;

pub use keeper::{Keeper, KeeperPlaces, SettingsSource, TeamMemory};
