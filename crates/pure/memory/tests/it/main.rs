//! Tests on real files and real material.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod disk;
mod dreams_of_real_folders;
mod extraction;
mod imports_of_real_folders;
mod instructions;
mod learning;
mod material;
mod memory_tool;
