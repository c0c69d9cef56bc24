#![doc = include_str!("../README.md")]

mod analyse;
mod asked;
mod bytes;
mod cues;
mod document;
pub mod evaluation;
mod fences;
mod files;
mod glossary;
mod plan;
mod rank;
pub mod render;
pub mod report;
mod searcher;
mod segment;
pub mod selector;
pub mod triggers;
pub mod usage;
pub mod verify;
mod work;

pub use analyse::language_of;
pub use asked::{ASKED, ASKED_FIT, Asked};
pub use document::Document;
pub use plan::{
    Budgets, CANDIDATES, Hit, LeftOut, Pick, Reason, Request, Seen, Skip, Surfacing, Why, history,
    plan, plan_selected, plan_work,
};
pub use rank::{
    CONFIDENT, FEATURES, Ground, Mixed, Query, RERANKED, Ranked, SMALL_FIT, Scratch, Weights,
    confident, shifted,
};
pub use searcher::Searcher;
pub use segment::{OpenError, Segment, Source, TooLarge};
pub use work::Work;
