//! Check of directories that come from settings or the environment.

use serde::Serialize;
use std::path::{Component, Path};

/// Reason to refuse a directory. Each message names the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DirectoryRefusal {
    /// Relative path: its meaning would depend on the working directory.
    #[error("the directory is not absolute; write its whole path")]
    Relative,
    /// Root directory, or one directly in it.
    #[error("the directory is the root or lies directly in it; choose one further down")]
    TooHigh,
    /// Root of a drive, or a directory directly in it.
    #[error("the directory is a drive or lies directly in it; choose one further down")]
    DriveRoot,
    /// Network share, where locks and atomic renames are unreliable.
    #[error("the directory is on a network share; choose one on this machine")]
    Unc,
    /// Path with a NUL, which ends the path for the system but not in Rust.
    #[error("the directory has a NUL character in its path; leave it out")]
    Nul,
    /// Path with `..`, whose meaning depends on symbolic links.
    #[error("the directory has `..` in its path; write where it is")]
    Parent,
}

/// Least number of names below the root: `/etc` or `/home` itself is never meant, and a mistake
/// there would affect everything below.
const LEAST_DEPTH: usize = 2;

/// Checks that Dormouse may store files in a directory.
pub fn check_directory(path: &Path) -> Result<(), DirectoryRefusal> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if bytes.contains(&0) {
        return Err(DirectoryRefusal::Nul);
    }
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    if let [first, second, ..] = bytes
        && is_separator(first)
        && is_separator(second)
    {
        return Err(DirectoryRefusal::Unc);
    }
    if let [letter, b':', rest @ ..] = bytes
        && letter.is_ascii_alphabetic()
    {
        return check_drive(path, rest);
    }
    if bytes.first() != Some(&b'/') {
        return Err(DirectoryRefusal::Relative);
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(DirectoryRefusal::Parent);
    }
    let names = path.components();
    let depth = names.filter(|part| matches!(part, Component::Normal(_)));
    if depth.count() < LEAST_DEPTH {
        return Err(DirectoryRefusal::TooHigh);
    }
    Ok(())
}

/// Checks a path with a drive letter. Drives exist only on Windows; elsewhere `C:` is a relative
/// name.
fn check_drive(path: &Path, rest: &[u8]) -> Result<(), DirectoryRefusal> {
    let names = rest.split(|byte| matches!(byte, b'/' | b'\\'));
    let names: Vec<&[u8]> = names
        .filter(|name| !name.is_empty() && *name != b".")
        .collect();
    if names.contains(&b"..".as_slice()) {
        return Err(DirectoryRefusal::Parent);
    }
    if names.len() < LEAST_DEPTH {
        return Err(DirectoryRefusal::DriveRoot);
    }
    if path.is_absolute() {
        Ok(())
    } else {
        Err(DirectoryRefusal::Relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str) -> Option<DirectoryRefusal> {
        check_directory(Path::new(path)).err()
    }

    #[test]
    fn directories_far_enough_down_are_taken() {
        for path in ["/home/me", "/home/me/.dormouse/", "/srv/agents/memory"] {
            assert_eq!(refused(path), None, "{path}");
        }
    }

    #[test]
    fn others_are_refused() {
        use DirectoryRefusal::{DriveRoot, Nul, Parent, Relative, TooHigh, Unc};
        let cases = [
            ("", Relative),
            ("memory", Relative),
            ("./memory/x", Relative),
            ("~/memory", Relative),
            ("/", TooHigh),
            ("/home", TooHigh),
            ("/home/", TooHigh),
            ("/./home/.", TooHigh),
            ("//server/share/x", Unc),
            ("\\\\server\\share", Unc),
            ("/\\server/share", Unc),
            ("C:", DriveRoot),
            ("c:\\", DriveRoot),
            ("C:/memory", DriveRoot),
            ("C:/a/../b/c", Parent),
            ("/home/me/..", Parent),
            ("/home/me\0/x", Nul),
        ];
        for (path, reason) in cases {
            assert_eq!(refused(path), Some(reason), "{path:?}");
        }
    }
}
