//! Helpers that the tests share.

use dormouse_guard::paths::SafePath;
use dormouse_memdir::{MemdirError, MemoryDir};
use dormouse_memory::journal::JournalEntry;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_system::{Access, System};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

pub(crate) fn open(system: &System, root: &Path) -> MemoryDir {
    MemoryDir::open(system, root, Access::Private).unwrap()
}

/// Files and what they hold, to compare.
pub(crate) fn shown(snapshot: &Snapshot) -> Files {
    snapshot
        .files()
        .map(|(path, file)| (path.to_string(), file.text().into_owned()))
        .collect()
}

/// Lets the user put files, or delete those without content.
pub(crate) fn put(
    dir: &MemoryDir,
    files: &[(&str, Option<&str>)],
) -> Result<Option<JournalEntry>, MemdirError> {
    dir.update(|snapshot| {
        let mut change = Transaction::by(Author::User, "test");
        for (name, content) in files {
            match content {
                Some(content) => change.put(snapshot, path(name), (*content).to_owned()),
                None => change.delete(snapshot, path(name)),
            }
        }
        Ok(change)
    })
}

/// Files by name, with their text.
pub(crate) type Files = Vec<(String, String)>;

/// This test binary once more, to run one test of it alone.
pub(crate) fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// Message of the parent process to a test that it started again.
pub(crate) fn told(what: &str) -> Option<String> {
    System::real().env.text(&format!("DORMOUSE_TEST_{what}"))
}

/// Lines that a child writes.
pub(crate) fn lines_of(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let out = child.stdout.take().unwrap();
    BufReader::new(out).lines().map(Result::unwrap)
}

/// Waits for children; all must end well.
pub(crate) fn all_end_well(children: Vec<Child>) {
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
    }
}
