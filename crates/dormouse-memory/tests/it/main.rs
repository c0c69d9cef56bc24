//! Tests on real files and real material.

mod disk;
mod instructions;
mod material;
mod memory_tool;
