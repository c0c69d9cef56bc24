//! Checks of names below a directory, and of the directory itself.
//!
//! # Model
//! A path named by a model is data. [`SafePath::parse`] turns it into a name that means the same on
//! every file system and cannot leave the directory it is joined to, or returns the defect and the
//! remedy. [`check_directory`] judges the directory itself, which comes from settings or the
//! environment.
//!
//! # Not here
//! Everything that depends on the disk: symbolic links, mounts, hard links, devices. The handle in
//! `dormouse-system` checks those at the time of use. Whether hidden names are permitted is the
//! caller's decision; see [`SafePath::is_hidden`].

mod directory;
mod refusal;
mod rules;

pub(crate) use rules::is_invisible;
mod safe_path;

pub use directory::{DirectoryRefusal, check_directory};
pub use refusal::PathRefusal;
pub use rules::{LONGEST_COMPONENT, LONGEST_PATH, MOST_COMPONENTS};
pub use safe_path::SafePath;
