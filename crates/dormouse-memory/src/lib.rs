//! What a memory directory means.
//!
//! # Model
//! A [`snapshot::Snapshot`] of the directory goes in, a [`transaction::Transaction`] comes out:
//! the same shape for a user's edit, an extraction, a dream and an undo. A store applies it.
//!
//! # Not here
//! No file, clock or environment is read; no model is called. `dormouse-memdir` keeps the directory
//! on disk, `dormouse-keeper` calls models.

pub mod tool;
