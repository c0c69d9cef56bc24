//! Integration tests of the guard, against real material and against itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod against_bash;
mod naughty;
mod random;
mod secret_cases;
mod secret_formats;
mod shell_cases;
mod shell_corpus;
mod shell_lines;
mod shell_properties;
mod slots;
