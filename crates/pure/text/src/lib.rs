#![doc = include_str!("../README.md")]

pub mod atoms;
pub mod dates;
pub mod duplicates;
mod hash;
pub mod rank;
pub mod segment;
pub mod summary;
pub mod synonyms;
pub mod words;
