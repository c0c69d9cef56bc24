//! The ports as the operating system provides them.

#[cfg(unix)]
mod beneath;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod calls;
mod capture;
mod cell;
mod commands;
mod confine;
mod detach;
mod files;
#[cfg(target_os = "linux")]
mod hidden;
mod opened;
mod piped;
mod processes;
mod queue;
#[cfg(unix)]
mod resolve;
mod sandbox;
mod sweep;
#[cfg(unix)]
mod walk;
mod warden;
mod world;

pub use commands::RealCommands;
pub use files::RealFiles;
pub use processes::RealProcesses;
pub use sandbox::RealSandbox;
pub use world::{RealClock, RealEnvironment, RealIds};
