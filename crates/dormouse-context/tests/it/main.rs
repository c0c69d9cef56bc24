//! Integration tests of the context engine.

mod random_log;
mod view_cases;
mod view_properties;
