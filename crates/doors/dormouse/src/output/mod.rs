//! Everything that is printed.
//!
//! # Model
//! A command makes values ([`Line`], [`Table`], [`Bar`], or anything serialisable) and hands them
//! to [`Out`], which knows the terminal: colour, width, JSON or text. A whole result is a
//! [`Report`], which [`Out::tell`] prints as the reader needs it. Figures are turned into text by
//! [`figures`], the same everywhere.
//!
//! # Responsibilities
//! - The only place that writes to stdout and stderr.
//! - Text that came from files or variables cannot steer the terminal or hide in it: control
//!   characters, those that reorder a line and those without width are shown, not sent; in JSON
//!   they are escaped, so that it parses to the same text. Data for programs (`export`,
//!   `view --raw`, `memory tool`) is exact in a pipe or a file and shown like the rest on a screen.
//! - Nothing is said by colour alone.
//!
//! # Not here
//! The meaning of an error for the user: `crate::error`.

mod bar;
pub mod figures;
mod line;
mod out;
mod report;
mod table;
mod text;

pub use bar::Bar;
pub use line::{Line, Role};
pub use out::{ColorChoice, Format, Out, OutError, OutResult, Terminal};
pub use report::Report;
pub use table::{Cell, Column, Table};
pub use text::{clipped, printable, printable_lines, width, wrapped};
