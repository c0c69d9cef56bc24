//! The program as its users meet it, and the laws of the workspace.

#[cfg(test)]
mod agent;
#[cfg(test)]
mod agent_files;
#[cfg(test)]
mod agent_fragments;
mod agent_killed;
#[cfg(test)]
mod agent_sandbox;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod config;
#[cfg(test)]
mod control;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod editor;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod eval;
#[cfg(test)]
mod extracting;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod gateway;
#[cfg(test)]
mod gateway_memory;
#[cfg(test)]
mod gc;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod headless;
mod help;
#[cfg(test)]
mod hidden_characters;
#[cfg(test)]
mod hooks;
#[cfg(test)]
mod install;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod material;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_asking;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod pollution;
#[cfg(test)]
mod program;
#[cfg(test)]
mod questions;
mod readme;
mod screens;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod session;
#[cfg(test)]
mod simulator;
#[cfg(test)]
mod slash;
#[cfg(test)]
mod stats;
#[cfg(test)]
mod top;
#[cfg(test)]
mod trace;
