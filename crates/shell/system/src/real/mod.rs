//! The ports as the operating system provides them.

#[cfg(unix)]
mod beneath;
mod files;
mod opened;
mod processes;
#[cfg(unix)]
mod resolve;
mod sandbox;
#[cfg(unix)]
mod walk;
mod world;

pub use files::RealFiles;
pub use processes::RealProcesses;
pub use sandbox::RealSandbox;
pub use world::{RealClock, RealEnvironment, RealIds};
