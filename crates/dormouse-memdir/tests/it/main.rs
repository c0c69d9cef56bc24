//! The memory directory under crashes, with many processes, and beside foreign hands.

mod contenders;
mod crash;
mod foreign;
mod halting;
mod killed;
mod kit;
mod many;
mod past;
mod worktrees;
