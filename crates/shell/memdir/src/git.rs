//! Repository that a directory belongs to.
//!
//! # Model
//! All working trees of a repository share one memory, so its key is the *canonical* root: the main
//! working tree, also when asked from one that `git worktree add` made. A submodule is a repository
//! of its own. A bare repository's working trees share the repository itself.
//!
//! A project must not be able to lead memory elsewhere. The file `.git` of a linked working tree is
//! only a claim, and an archive can hold any claim; it counts if the repository points back.
//!
//! # Not here
//! Git itself: no program is run, and nothing but these few small files is read.

use dormouse_system::{FileKind, FileResult, Files, OptionalFile as _};
use std::path::{Component, Path, PathBuf};

/// Most bytes of git's files that are looked at: they have a line, or few.
const LONGEST: u64 = 64 * 1024;

/// Place of a directory in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Top of the working tree that the directory lies in.
    pub worktree: PathBuf,
    /// Root that all working trees have in common: the top of the main one.
    pub root: PathBuf,
}

impl Repository {
    /// Repository that a directory without links in its path lies in.
    pub fn around(files: &dyn Files, directory: &Path) -> FileResult<Option<Self>> {
        for top in directory.ancestors() {
            let marker = top.join(".git");
            let Some(found) = files.metadata(&marker).optional()? else {
                continue;
            };
            let root = match found.kind {
                FileKind::Directory => Some(top.to_owned()),
                // An unconfirmed claim is no error: the tree is then a repository of its own.
                FileKind::File => Some(main_tree(files, top, &marker)?.unwrap_or(top.to_owned())),
                // A link could make any directory part of another project; the search goes on above
                // it.
                FileKind::Symlink | FileKind::Other => None,
            };
            if let Some(root) = root {
                let worktree = top.to_owned();
                return Ok(Some(Self { worktree, root }));
            }
        }
        Ok(None)
    }
}

/// Main working tree, if `marker` is the file of a linked one.
fn main_tree(files: &dyn Files, top: &Path, marker: &Path) -> FileResult<Option<PathBuf>> {
    let Some(claim) = line(files, marker)? else {
        return Ok(None);
    };
    let Some(git_dir) = claim.strip_prefix("gitdir:") else {
        return Ok(None);
    };
    let git_dir = joined(top, git_dir.trim());
    // Submodules have no `commondir`: they are their own.
    let Some(common) = line(files, &git_dir.join("commondir"))? else {
        return Ok(None);
    };
    if !points_back(files, &git_dir, marker)? {
        return Ok(None);
    }
    let common = joined(&git_dir, &common);
    let Some(common) = files.real_path(&common).optional()? else {
        return Ok(None);
    };
    if common.file_name().is_some_and(|name| name == ".git") {
        return Ok(common.parent().map(Path::to_owned));
    }
    // The repository of a submodule lies elsewhere and names its working tree; a bare one has none.
    let main = configured_tree(files, &common)?;
    let main = match main {
        Some(main) => files.real_path(&main).optional()?,
        None => None,
    };
    Ok(Some(main.unwrap_or(common)))
}

/// True if the repository knows the working tree that names it.
fn points_back(files: &dyn Files, git_dir: &Path, marker: &Path) -> FileResult<bool> {
    let Some(back) = line(files, &git_dir.join("gitdir"))? else {
        return Ok(false);
    };
    let back = files.real_path(&joined(git_dir, &back)).optional()?;
    let here = files.real_path(marker).optional()?;
    Ok(back.is_some() && back == here)
}

/// Value of `core.worktree` in a repository's configuration.
fn configured_tree(files: &dyn Files, git_dir: &Path) -> FileResult<Option<PathBuf>> {
    let Some(config) = text(files, &git_dir.join("config"))? else {
        return Ok(None);
    };
    let value = config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "worktree").then(|| value.trim().trim_matches('"').to_owned())
    });
    Ok(value.map(|value| joined(git_dir, &value)))
}

fn line(files: &dyn Files, path: &Path) -> FileResult<Option<String>> {
    let text = text(files, path)?;
    Ok(text.and_then(|text| text.lines().next().map(|line| line.trim().to_owned())))
}

/// Text of a small file; `None` for anything else in its place.
fn text(files: &dyn Files, path: &Path) -> FileResult<Option<String>> {
    match files.read(path, LONGEST) {
        Ok(bytes) => Ok(String::from_utf8(bytes.into()).ok()),
        // Odd files are as good as missing: a broken checkout must not stop a session.
        Err(error) if error.not_found() || error.too_large() || error.is_directory() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Path as git writes it, from `base`, without `.` and `..`.
fn joined(base: &Path, path: &str) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemoryFiles;
    use pretty_assertions::assert_eq;

    fn around(files: &MemoryFiles, directory: &str) -> Option<(String, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        Repository::around(files, directory.as_ref())
            .unwrap()
            .map(|found| (text(found.worktree), text(found.root)))
    }

    fn pair(worktree: &str, root: &str) -> (String, String) {
        (worktree.to_owned(), root.to_owned())
    }

    /// A repository with a linked working tree, a submodule and a working tree of the submodule.
    fn disk() -> MemoryFiles {
        let files = MemoryFiles::default();
        for (path, content) in [
            ("/r/.git/HEAD", "ref: refs/heads/main\n"),
            ("/r/src/a.rs", ""),
            ("/w/.git", "gitdir: /r/.git/worktrees/w\n"),
            ("/w/deep/b.rs", ""),
            ("/r/.git/worktrees/w/commondir", "../..\n"),
            ("/r/.git/worktrees/w/gitdir", "/w/.git\n"),
            ("/r/sub/.git", "gitdir: ../.git/modules/sub\n"),
            (
                "/r/.git/modules/sub/config",
                "[core]\n\tworktree = ../../../sub\n",
            ),
            ("/sw/.git", "gitdir: /r/.git/modules/sub/worktrees/sw\n"),
            ("/r/.git/modules/sub/worktrees/sw/commondir", "../..\n"),
            ("/r/.git/modules/sub/worktrees/sw/gitdir", "/sw/.git\n"),
            ("/bare.git/worktrees/bw/commondir", "../..\n"),
            ("/bare.git/worktrees/bw/gitdir", "/bw/.git\n"),
            ("/bw/.git", "gitdir: /bare.git/worktrees/bw\n"),
            ("/alone/x", ""),
        ] {
            files.put(path, content);
        }
        files
    }

    #[test]
    fn working_trees_share_the_main_one_and_submodules_are_their_own() {
        let files = disk();
        assert_eq!(around(&files, "/r/src"), Some(pair("/r", "/r")));
        assert_eq!(around(&files, "/w/deep"), Some(pair("/w", "/r")));
        assert_eq!(around(&files, "/r/sub"), Some(pair("/r/sub", "/r/sub")));
        assert_eq!(around(&files, "/sw"), Some(pair("/sw", "/r/sub")));
        assert_eq!(around(&files, "/bw"), Some(pair("/bw", "/bare.git")));
        assert_eq!(around(&files, "/alone"), None);
    }

    #[test]
    fn a_claim_that_the_repository_does_not_confirm_leads_nowhere() {
        let files = disk();
        for claim in [
            "gitdir: /r/.git/worktrees/w\n",
            "gitdir: /r/.git\n",
            "gitdir: /nowhere\n",
            "gitdir:",
            "hello",
            "",
        ] {
            files.put("/evil/.git", claim);
            assert_eq!(
                around(&files, "/evil"),
                Some(pair("/evil", "/evil")),
                "{claim:?}"
            );
        }
        files.put("/evil/.git", [0xff, 0xfe]);
        assert_eq!(around(&files, "/evil"), Some(pair("/evil", "/evil")));
    }
}
