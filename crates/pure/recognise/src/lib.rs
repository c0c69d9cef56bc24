#![doc = include_str!("../README.md")]

mod canonical;
mod digest;
mod divided;
mod recogniser;
mod seen;

pub use canonical::PartKind;
pub use divided::{Divided, DividedPart, DividedTurn};
pub use recogniser::{Caller, Chain, Footprint, Recognised, Recogniser, Relation};
pub use seen::{NotUnderstood, Role, Seen, Session, handle_of};
