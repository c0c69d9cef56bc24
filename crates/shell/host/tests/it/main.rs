//! The host as doors use it.

mod kit;
mod recall;
