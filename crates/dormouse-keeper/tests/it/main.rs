//! Tests of the keeper: real directories, scripted models.

mod around;
mod dream;
mod dream_faults;
mod extraction;
mod extraction_faults;
mod kit;
mod recall;
mod recall_limits;
mod selector;
