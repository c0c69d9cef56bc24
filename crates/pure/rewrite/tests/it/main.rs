//! Histories of clients under the layers.

mod boundaries;
mod kit;
mod results;
mod untouched;
