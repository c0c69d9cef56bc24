//! The pure vocabulary of Dormouse: ids, units, blocks with their bytes, records, the settings
//! table and the model table.
//!
//! Nothing here does IO, reads a clock or looks at the environment.

pub mod models;
mod place;
pub mod settings;
pub mod units;
pub mod usage;
