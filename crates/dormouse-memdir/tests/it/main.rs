//! The memory directory under crashes, with many processes, and beside foreign hands.

mod crash;
mod kit;
