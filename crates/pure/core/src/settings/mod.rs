//! Settings: one table of everything that can be set, and how a value comes about.
//!
//! Model: a **setting** is a row of the table: key, kind, default, unit, documentation, who may set
//! it, environment variables. A **layer** is what one place says about settings: a file, the
//! environment, the flags of a command. **Resolving** puts layers on top of one another and keeps,
//! for each value, who set it, what that overrode, and what was ignored and why.
//!
//! Layers, later wins: built-in → managed file → user file → project file → project local file →
//! environment → flags. A managed file may lock keys; a lock beats everything behind it.
//!
//! - [`keys`]: the table, as one typed constant per setting; its documentation is the setting's.
//! - [`parse_layer`], [`env_layer`], [`flags_layer`]: make layers; what cannot be used becomes a
//!   [`SettingsIssue`] and the rest still counts.
//! - [`resolve`]: makes [`Settings`].
//! - [`reference_markdown`]: the table as documentation.
//!
//! A switch that is also the name of a group (`compact` and `compact.auto`) is written in a file
//! either as `compact = false` or, inside the group, as `enabled = false`.
//!
//! # Not here
//! Finding and reading files, looking at the environment, deciding whether a folder is trusted,
//! watching for changes. All of it comes in as values.

mod choice;
mod issue;
mod kind;
mod layers;
mod origin;
mod reference;
mod resolve;
mod setting;
mod table;
mod value;
mod views;

#[cfg(test)]
mod layers_tests;
#[cfg(test)]
mod resolve_tests;
#[cfg(test)]
mod table_tests;

pub use choice::{CacheTtl, Consent, MemoryLayout, MessageTtl, Policy, Provider, Review};
pub use issue::{NoEffect, SettingsIssue};
pub use kind::Kind;
pub use layers::{FileLayer, Layer, Lock, env_layer, flags_layer, parse_layer};
pub use origin::{Given, LayerKind, Origin};
pub use reference::reference_markdown;
pub use resolve::{IgnoreReason, Ignored, ResolvedSetting, Settings, Trust, changed, resolve};
pub use setting::{EnvName, Key, Merge, Need, Scope, Setting, SettingType, Unit};
pub use table::{all_settings, find_setting, keys, nearest_key};
pub use value::{Percent, Secret, Value, parse_count};
pub use views::{Switch, WindowSettings};
