#![doc = include_str!("../README.md")]

mod clean;
mod config;
mod link;
mod result;
mod search;
mod server;
mod servers;
mod web;

pub use clean::{ServerTool, server_tools};
pub use config::{ConfigFault, ServerConfig, Way, read_servers};
pub use result::{tool_failure, tool_output};
pub use search::search;
pub use server::{ServerState, Status, Surroundings};
pub use servers::Servers;
