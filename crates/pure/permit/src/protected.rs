//! Files that decide about what runs on the machine.
//!
//! Writing one of them is as good as running a command later, so a rule that allows edits does not
//! cover them.

use std::path::{Component, Path};

/// Folders whose files configure version control, editors, hooks, builds and agents.
const FOLDERS: [&str; 11] = [
    ".git",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".claude",
    ".dormouse",
    ".ssh",
    ".github",
    ".config",
];

/// Files that shells, package managers, version control and agents read when they start.
const FILES: [&str; 17] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".npmrc",
    ".yarnrc",
    ".mcp.json",
    ".gitconfig",
    ".gitmodules",
    ".envrc",
    ".pypirc",
    ".netrc",
];

/// True if a file decides about what runs. Names are compared without regard to case, since some
/// disks know none.
pub(crate) fn is_protected(path: &Path) -> bool {
    let mut names = path
        .components()
        .rev()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            _ => None,
        });
    let is_file = names
        .next()
        .is_some_and(|name| FILES.contains(&name.as_str()) || FOLDERS.contains(&name.as_str()));
    is_file || names.any(|name| FOLDERS.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_start_programs_are_protected() {
        for path in [
            "/p/.git/hooks/pre-commit",
            "/p/.GIT/config",
            "/home/a/.zshrc",
            "/p/.mcp.json",
        ] {
            assert!(is_protected(Path::new(path)), "{path}");
        }
        for path in ["/p/.gitignore", "/p/src/git.rs", "/p/.env", "/p/profile"] {
            assert!(!is_protected(Path::new(path)), "{path}");
        }
    }
}
