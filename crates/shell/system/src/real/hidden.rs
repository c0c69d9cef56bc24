//! Folders without the places in them that hold keys.
//!
//! Landlock only allows: a right given to a folder holds for everything below. A folder with a
//! hidden place in it is therefore given as the list of its entries, the ones on the way to the hidden
//! place again as lists. Links are left out: their target counts where it lies.
#![expect(
    clippy::disallowed_methods,
    reason = "the listing is of the machine that the rules are made for"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Hidden places of this machine.
pub(super) struct Split {
    hidden: Vec<PathBuf>,
}

impl Split {
    /// Places to hide; those that do not exist are left out.
    pub(super) fn new(hidden: &[PathBuf]) -> Self {
        let mut all = Vec::new();
        for place in hidden {
            if fs::symlink_metadata(place).is_ok() {
                all.push(place.clone());
                // A link is hidden together with what it leads to.
                all.extend(fs::canonicalize(place));
            }
        }
        Self { hidden: all }
    }

    /// Largest files and folders below one that together have everything but the hidden places.
    pub(super) fn visible(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        // Hidden places have their real names, so the folder must have its own.
        let mut waiting = vec![fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())];
        while let Some(path) = waiting.pop() {
            if !self.hidden.iter().any(|hidden| hidden.starts_with(&path)) {
                found.push(path);
            } else if !self.hidden.contains(&path) {
                // A folder that cannot be listed shows nothing.
                for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
                    if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                        waiting.push(entry.path());
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_is_all_its_entries_but_the_hidden_ones() {
        let place = tempfile::TempDir::new().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        for folder in [
            "home/.ssh",
            "home/work/a",
            "home/.config/gh",
            "home/.config/app",
            "real",
        ] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("real/key"), "").unwrap();
        symlink(root.join("real/key"), root.join("home/.netrc")).unwrap();
        // A second way to the keys.
        symlink(root.join("home/.ssh"), root.join("home/way")).unwrap();
        let hidden = ["home/.ssh", "home/.config/gh", "home/.netrc", "home/.aws"];
        let split = Split::new(&hidden.map(|name| root.join(name)));
        let mut seen = split.visible(&root);
        seen.sort();
        let expected = ["home/.config/app", "home/work"];
        assert_eq!(seen, expected.map(|name| root.join(name)));
        assert_eq!(
            split.visible(&root.join("home/work")),
            [root.join("home/work")]
        );
        assert_eq!(
            split.visible(&root.join("home/.ssh")),
            Vec::<PathBuf>::new()
        );
        // Nothing to hide: the folder as a whole.
        assert_eq!(Split::new(&[]).visible(&root), [root]);
    }
}
