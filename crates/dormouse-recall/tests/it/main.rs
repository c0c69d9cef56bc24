//! The index and the ranker from outside.

mod changes;
mod damage;
mod figures;
mod material;
mod standing;
mod texts;
