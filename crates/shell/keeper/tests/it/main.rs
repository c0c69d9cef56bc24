//! Tests of the keeper: real directories, scripted models.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking, as the tests themselves do"
)]

mod accounts;
mod around;
mod dream;
mod dream_faults;
mod dream_sources;
mod extraction;
mod extraction_faults;
mod faults;
mod forgery;
mod kit;
mod one_table;
mod pages;
mod reading;
mod recall;
mod recall_limits;
mod selector;
mod tending;
mod truth;
mod weeks;
