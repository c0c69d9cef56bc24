#![doc = include_str!("../README.md")]

mod beside;
pub mod budget;
pub mod client;
pub mod dreaming;
pub mod extraction;
pub mod figures;
pub mod instructions;
mod keeper;
mod key_helper;
mod meter;
mod once;
pub mod providers;
pub mod reading;
pub mod recaller;
pub mod side;
pub mod tree;
pub mod writes;

pub use keeper::{Keeper, KeeperPlaces, SettingsSource, TeamMemory};
