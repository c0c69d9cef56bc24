//! Recall: the few memories among many that help with a prompt or with the work at hand.
//!
//! # Model
//! A memory takes five forms on its way into a conversation. Its
//! [`Card`](dormouse_memory::card::Card) is known without opening the file; a [`Hit`] is a card's
//! path with the ranker's verdict; a [`Pick`] is the decision to show it, with the reason; a
//! [`render::Fragment`] is the text that goes into the prompt; the engine writes that down as a
//! record.
//!
//! ```text
//! prompt ─ ranker ──┐                       ┌─ now ──────── verify ─ render ─ with the prompt
//! work ─ triggers ──┼─ plan ── Surfacing ───┼─ candidates ─ selector ─ plan_selected ─ with tools
//! seen, budgets ────┘                       └─ left out, each with its reason
//! ```
//!
//! Finding:
//! - [`Document`]s are built into a [`Segment`]: an index that is bytes, read where it lies. A
//!   [`Searcher`] is a segment together with later additions and removals.
//! - [`Searcher::search`] ranks (by [`Weights`]): BM25 over fields, inflected forms, proximity, the
//!   best passage of a long document, neighbours and the whole of a piece. Each [`Ranked`] document
//!   has a score, which orders one search, and a confidence, which can be compared between
//!   searches: [`confident`] keeps those above the bar.
//! - [`evaluation`] measures this on sets of documents and questions.
//!
//! Showing:
//! - [`plan()`] decides from hits, triggers, earlier showings and budgets, and gives a reason for
//!   each memory that is left out. [`triggers`] are rules that apply to the work, whatever the
//!   prompt says.
//! - [`selector`]: the question to a small model about candidates below the bar, and its answer.
//! - [`verify`] checks claims against the working tree, [`render`] shows a memory as data,
//!   [`neutral`] takes apart text that could be taken for a boundary of the prompt.
//! - [`usage`] notes if a memory that was shown was of use; [`report`] sums up the loaded texts.
//! Everything is a pure function of its arguments: the same memories and prompt give the same
//! picks, in whatever order the files came.
//!
//! # Not here
//! Files: an index is bytes in and bytes out. The meaning of a memory file (`dormouse-memory`);
//! calling a model, looking at the working tree and recording what was sent (`dormouse-keeper`).
//! Methods, figures and misses are in `docs/recall.md`.

mod analyse;
mod bytes;
mod cues;
mod document;
pub mod evaluation;
mod files;
pub mod neutral;
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
pub use document::Document;
pub use plan::{
    Budgets, Hit, LeftOut, Pick, Reason, Request, Seen, Skip, Surfacing, Why, plan, plan_selected,
    plan_work,
};
pub use rank::{CONFIDENT, Mixed, Query, Ranked, Scratch, Weights, confident};
pub use searcher::Searcher;
pub use segment::{OpenError, Segment, TooLarge};
pub use work::Work;
