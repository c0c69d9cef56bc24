//! Location of memory, asked in repositories that git itself made.

use dormouse_core::settings::{Trust, resolve};
use dormouse_memdir::{MemoryLocation, Surroundings};
use dormouse_system::RealFiles;
use pretty_assertions::assert_eq;
use std::path::{Path, PathBuf};
use std::process::Command;

fn git(directory: &Path, arguments: &[&str]) -> bool {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    let file = [
        "-c",
        "protocol.file.allow=always",
        "-c",
        "init.defaultBranch=main",
    ];
    let output = Command::new("git")
        .current_dir(directory)
        .args(identity)
        .args(file)
        .args(arguments)
        .output();
    output.is_ok_and(|output| output.status.success())
}

fn place(home: &Path, current: &Path) -> MemoryLocation {
    let around = Surroundings {
        home,
        user_home: None,
        current,
    };
    MemoryLocation::find(&resolve(&[], Trust::Trusted), around, &RealFiles).unwrap()
}

#[test]
fn all_working_trees_share_one_memory_and_submodules_have_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    if !git(&folder, &["init", "-q", "main"]) {
        println!("skipped: there is no git here");
        return;
    }
    let home = folder.join("home");
    let main = folder.join("main");
    let commit = |at: &Path| git(at, &["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(commit(&main));
    assert!(git(&main, &["worktree", "add", "-q", "../tree"]));
    let root = |at: PathBuf| place(&home, &at).project_root;
    assert_eq!(root(main.clone()), main);
    assert_eq!(root(folder.join("tree")), main);
    let team = place(&home, &folder.join("tree")).team.unwrap();
    assert!(team.starts_with(folder.join("tree")));

    assert!(git(&folder, &["init", "-q", "library"]) && commit(&folder.join("library")));
    assert!(git(&main, &["submodule", "add", "-q", "../library", "sub"]));
    assert_eq!(root(main.join("sub")), main.join("sub"));
    assert!(git(
        &main.join("sub"),
        &["worktree", "add", "-q", "../../subtree"]
    ));
    assert_eq!(root(folder.join("subtree")), main.join("sub"));

    assert!(git(
        &folder,
        &["clone", "-q", "--bare", "library", "bare.git"]
    ));
    for tree in ["one", "two"] {
        let add = ["worktree", "add", "-q", "-b", tree, &format!("../{tree}")];
        assert!(git(&folder.join("bare.git"), &add));
        assert_eq!(root(folder.join(tree)), folder.join("bare.git"));
    }
    assert_eq!(root(folder.clone()), folder);
}
