//! Tests of the agent through its protocol: a scripted model, real files and commands.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agent_memory;
mod coordinating;
mod crew;
mod daily;
mod disturbed;
mod dreams;
mod endings;
mod forks;
mod hooked;
mod hostile;
mod kit;
mod learning;
mod limits;
mod metered;
mod past;
mod people;
mod plans;
mod post;
mod recall;
mod restored;
mod servers;
mod skills;
mod slash;
mod switches;
mod takeover;
mod tools;
mod turns;
mod worktrees;
