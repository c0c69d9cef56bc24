//! Memory by hand: each command as its users meet it.

mod changing;
mod dreaming;
mod errors;
mod history;
mod importing;
mod index;
mod judging;
mod material;
mod old_folder;
mod reading;
mod searching;
mod status;
mod tool;

use crate::program::{Machine, Run};
use dormouse_system::{Files as _, RealFiles};
use std::path::{Path, PathBuf};

/// Directory of memory on the machines of these tests, below their homes.
const MEMORY: &str = "memory";

/// A machine with memories, given by file.
fn machine(memories: &[(&str, &str)]) -> Machine {
    let machine = Machine::new(&[]);
    for (name, text) in memories {
        machine.write(&format!("{MEMORY}/{name}"), text);
    }
    let directory = machine.home().join(MEMORY);
    machine.with_variable("DORMOUSE_MEMORY_DIR", directory.display().to_string())
}

/// Runs `dormouse memory …`, which must succeed and have nothing else to say.
fn memory(machine: &Machine, arguments: &[&str]) -> String {
    let run = run(machine, arguments);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (0, ""),
        "{arguments:?}: {}",
        run.stdout
    );
    run.stdout
}

fn run(machine: &Machine, arguments: &[&str]) -> Run {
    let mut all = vec!["memory"];
    all.extend(arguments);
    machine.run_of(&all)
}

fn json(machine: &Machine, arguments: &[&str]) -> serde_json::Value {
    let mut all = arguments.to_vec();
    all.push("--json");
    serde_json::from_str(&memory(machine, &all)).unwrap()
}

/// The files of a folder with their bytes, hidden ones left out unless asked for.
fn files(folder: &Path, hidden: bool) -> Vec<(PathBuf, Vec<u8>)> {
    let skip = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !hidden && name.starts_with('.')
    };
    let mut walked = RealFiles.walk(folder, &skip).unwrap();
    walked.sort_by(|a, b| a.path.cmp(&b.path));
    let read = |path: &Path| {
        RealFiles
            .read(&folder.join(path), u64::MAX)
            .unwrap()
            .to_vec()
    };
    walked
        .into_iter()
        .map(|walked| (walked.path.clone(), read(&walked.path)))
        .collect()
}

/// The same with the time of the last change.
fn dated(folder: &Path) -> Vec<(PathBuf, Vec<u8>, i64)> {
    let time = |path: &Path| RealFiles.metadata(&folder.join(path)).unwrap().modified.0;
    files(folder, false)
        .into_iter()
        .map(|(path, bytes)| {
            let at = time(&path);
            (path, bytes, at)
        })
        .collect()
}

/// True if some file of a folder, hidden or not, has these bytes in it.
fn occurs(folder: &Path, needle: &str) -> bool {
    let has = |bytes: &[u8]| {
        bytes
            .windows(needle.len())
            .any(|window| window == needle.as_bytes())
    };
    files(folder, true).iter().any(|(_, bytes)| has(bytes))
}
