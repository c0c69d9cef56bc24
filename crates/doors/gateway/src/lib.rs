#![doc = include_str!("../README.md")]

mod answer;
mod clients;
mod headers;
mod layered;
mod limits;
mod reading;
mod refusal;
mod server;
mod tap;
mod turns;
mod upload;
mod upstream;

pub use clients::{ClientKeys, KeysError};
pub use limits::Limits;
pub use server::{Gateway, Reads, Server, serve};
pub use upstream::{Upstream, UpstreamError};
