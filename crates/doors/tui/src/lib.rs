#![doc = include_str!("../README.md")]

mod answer;
mod carry;
mod cell;
mod chip;
mod completion;
mod composer;
mod dialog;
mod events;
mod input;
mod keys;
mod layers;
mod line;
mod markdown;
mod mention;
mod model;
mod opening;
mod panel;
mod panel_view;
mod plain;
mod port;
mod record;
mod run;
mod screen;
mod slash;
mod status;
pub mod svg;
mod syntax;
mod terminal;
mod text;
mod tool;
mod tour;
mod view;

pub use cell::Cell;
pub use line::{Line, Role, Span, Theme};
pub use markdown::Block;
pub use model::{Effect, Gauge, Input, Model, Start};
pub use panel::{Act, Panel, PanelAction, PanelItem, PanelKind};
pub use port::{
    Keeps, Looks, Opened, Opening, Printed, Scene, ServiceFuture, Services, Talk, Watched, Wish,
};
pub use record::Shot;
pub use run::run;
pub use screen::Screen;
pub use tour::{Tour, TourAct, TourStep};
pub use view::Frame;
