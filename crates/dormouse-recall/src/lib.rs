//! Finding the few texts among many that help with a question, without a model.
//!
//! # Not here
//! Files: an index is bytes in and bytes out. What a memory is, who may see it and how it is shown
//! is `dormouse-memory`'s.
