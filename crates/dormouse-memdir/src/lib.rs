//! The memory directory on disk.
//!
//! # Not here
//! What the files mean is `dormouse-memory`'s.
