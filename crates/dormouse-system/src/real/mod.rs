//! The ports as the operating system provides them.

mod files;
mod world;

pub use files::RealFiles;
pub use world::{RealClock, RealEnvironment, RealIds};
