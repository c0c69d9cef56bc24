//! Vocabulary of Dormouse: ids, units, blocks with their bytes, records, the settings table and the
//! model table.
//!
//! Pure data and functions on it. No IO, no clock, no environment: files are read by `store` and
//! `config`, and the time is passed in by the caller.

pub mod block;
pub mod hash;
pub mod id;
pub mod json;
pub mod models;
mod place;
pub mod record;
pub mod settings;
pub mod show;
pub mod units;
pub mod usage;
pub mod usage_book;
pub mod weight;
