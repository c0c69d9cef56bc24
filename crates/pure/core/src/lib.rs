//! The pure vocabulary of Dormouse: ids, units, blocks with their bytes, records, the settings
//! table and the model table.
//!
//! Nothing here does IO, reads a clock or looks at the environment.

pub mod block;
pub mod hash;
pub mod id;
pub mod json;
pub mod models;
mod place;
pub mod record;
pub mod settings;
pub mod units;
pub mod usage;
pub mod usage_book;
pub mod weight;
