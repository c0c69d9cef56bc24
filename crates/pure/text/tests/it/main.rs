//! Integration tests of the text methods.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod date_cases;
mod duplicates_of_notes;
mod material;
mod properties;
mod ranking;
mod stemming;
mod summary_of_sessions;
