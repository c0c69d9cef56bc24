#![doc = include_str!("../README.md")]

pub mod addresses;
pub mod paths;
pub mod secrets;
pub mod shell;
