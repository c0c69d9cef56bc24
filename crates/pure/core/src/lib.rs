#![doc = include_str!("../README.md")]

pub mod block;
pub mod fragment;
pub mod hash;
pub mod id;
pub mod instructions;
pub mod json;
pub mod meter;
pub mod models;
mod place;
pub mod record;
pub mod settings;
pub mod show;
pub mod units;
pub mod usage;
pub mod usage_book;
pub mod weight;
