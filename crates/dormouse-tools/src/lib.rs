//! The tools that side tasks use, behind the engine's `ToolHost`.
//!
//! # Not here
//! Deciding what is allowed: that is `dormouse-guard`'s.
