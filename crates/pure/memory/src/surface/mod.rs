//! What recall brings into a conversation.
//!
//! # Model
//! A ranker says which memories fit the words of a prompt, triggers say which fit the work at hand.
//! [`plan()`] decides from both, from what the conversation has seen already and from the budgets,
//! which memories go in now and which a small model may choose from, and says for every other one
//! why it was left out. What goes in is checked against the working tree ([`verify`]), shown as data
//! ([`render`]), and watched for use ([`usage`]).
//!
//! ```text
//! prompt ─ ranker ─┐                       ┌─ now ──────── verify ─ render ─ with the prompt
//! work ─ triggers ─┼─ plan ── Surfacing ───┼─ candidates ─ selector ─ plan_selected ─ at a tool boundary
//! seen, budgets ───┘                       └─ left out, each with its reason
//! ```
//!
//! - [`triggers`]: rules that apply to the work, whatever the words of the prompt.
//! - [`selector`]: what a small model is asked, and what its answer means.
//! - [`neutral`]: text that cannot be taken for anything but text.
//! - [`report`]: what was loaded into a session, what was cut, what it cost.
//!
//! # Not here
//! Ranking (`dormouse-recall`); calling a model, looking at the working tree and recording what was
//! sent (`dormouse-keeper`).

mod files;
pub mod neutral;
mod plan;
pub mod render;
pub mod report;
pub mod selector;
pub mod triggers;
pub mod usage;
pub mod verify;
mod work;

pub use plan::{
    Budgets, Entry, Hit, LeftOut, Pick, Reason, Request, Seen, Skip, Surfacing, Why, plan,
    plan_selected, plan_work,
};
pub use work::Work;
