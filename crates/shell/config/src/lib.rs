//! Settings and model table as they stand on this machine.
//!
//! # Model
//! [`Loader`] knows the [`Places`] (home, project, managed file) and the flags of the command, and
//! makes a [`Loaded`] of them: settings, model table, trust, sources and issues.
//! [`SettingsWatcher`] keeps one up to date while files change. [`set_trust`] changes the list of
//! folders whose settings count fully.
//!
//! # Responsibilities
//! - Decide which files count, read them, and hand their texts to `dormouse_core`.
//! - Go on with the rest when a file is missing, unreadable or wrong, and say so ([`ConfigIssue`]).
//!   Only a missing home or working directory, or a flag that cannot be used, is an error
//!   ([`LoaderError`]).
//! - While running, never let a broken edit undo values in force: a value that became unusable
//!   keeps its last good state.
//!
//! # Not here
//! - Meaning, scope and precedence of a setting: `dormouse_core::settings`.
//! - Writing settings files; they belong to the user.
//! - Text for users beyond the messages of the issues; hints are added where they are shown.

mod issue;
mod load;
mod places;
mod trust;
mod watch;

pub use issue::ConfigIssue;
pub use load::{Loaded, Loader, LoaderError, Source, SourceState};
pub use places::{MANAGED_FILE, Places, Project};
pub use trust::{TrustChange, TrustError, TrustFileError, set_trust};
pub use watch::{SettingsWatcher, Update, WatchError};
