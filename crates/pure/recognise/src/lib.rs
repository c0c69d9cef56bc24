#![doc = include_str!("../README.md")]

mod canonical;
mod recogniser;
mod seen;

pub use recogniser::{Caller, Chain, Footprint, Recognised, Recogniser, Relation};
pub use seen::{NotUnderstood, Seen, Session};
