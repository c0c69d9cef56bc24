#![doc = include_str!("../README.md")]

mod answer;
mod cell;
mod composer;
mod dialog;
mod events;
mod input;
mod keys;
mod line;
mod markdown;
mod model;
mod run;
mod screen;
mod slash;
mod status;
mod terminal;
mod text;
mod tool;
mod view;

pub use cell::Cell;
pub use line::{Line, Role, Span, Theme};
pub use markdown::Block;
pub use model::{Effect, Gauge, Input, Model, Start};
pub use run::{Looks, Opened, Printed, ServiceFuture, Services, run};
pub use screen::Screen;
pub use view::Frame;
