//! TBD

pub mod window;
