//! Servers of tools, as processes and over HTTP, well and ill.

mod calculator;
mod http;
mod kit;
mod process;
