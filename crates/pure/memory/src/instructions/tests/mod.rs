//! Cases on a disk in memory.

mod disk;
mod find;
mod properties;
mod tell;

use super::{Approvals, Limits, Loaded, MANAGED, Places, load};
use disk::Disk;
use std::path::PathBuf;

const LIMITS: Limits = Limits {
    include_depth: 5,
    file_chars: 200,
};

fn places() -> Places {
    Places {
        managed: MANAGED.map(PathBuf::from).to_vec(),
        home: "/home/u/.dormouse".into(),
        user_home: Some("/home/u".into()),
        claude_home: Some("/home/u/.claude".into()),
        project_root: Some("/p".into()),
        working_dir: "/p/sub".into(),
        untrusted: false,
        memory_index: None,
    }
}

fn loaded(disk: &Disk) -> Loaded {
    load(&places(), &LIMITS, &Approvals::default(), disk)
}

fn paths(loaded: &Loaded) -> Vec<&str> {
    let files = loaded.always.iter();
    files.map(|file| file.path.to_str().unwrap()).collect()
}

fn report(loaded: &Loaded) -> Vec<String> {
    loaded
        .report
        .iter()
        .map(|line| format!("{}: {}", line.path.display(), line.outcome))
        .collect()
}
