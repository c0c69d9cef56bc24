//! Names that may be used below a directory, and directories that may hold anything at all.
//!
//! # Model
//! A path named by a model is data. [`SafePath::parse`] turns it into a name that means the same
//! thing on every file system and cannot lead out of the directory it is joined to, or says what is
//! wrong with it and what to write instead. [`check_directory`] judges the directory itself, which
//! comes from settings or the environment.
//!
//! # Not here
//! Everything that depends on the disk: links, mounts, hard links, devices. The handle in
//! `dormouse-system` looks at those at the time of use. Whether hidden names are welcome is for the
//! caller to say; [`SafePath::is_hidden`] tells.

mod directory;
mod refusal;
mod rules;

pub(crate) use rules::is_invisible;
mod safe_path;

pub use directory::{DirectoryRefusal, check_directory};
pub use refusal::PathRefusal;
pub use rules::{LONGEST_COMPONENT, LONGEST_PATH, MOST_COMPONENTS};
pub use safe_path::SafePath;
