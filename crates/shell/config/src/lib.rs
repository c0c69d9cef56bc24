#![doc = include_str!("../README.md")]

mod edit;
mod issue;
mod load;
mod places;
mod trust;
mod watch;

pub use edit::{EditError, SettingChange, set_setting};
pub use issue::ConfigIssue;
pub use load::{Loaded, Loader, LoaderError, Source, SourceState};
pub use places::{MANAGED_FILE, Places, Project};
pub use trust::{TrustChange, TrustError, TrustFileError, set_trust};
pub use watch::{SettingsWatcher, Update, WatchError};
