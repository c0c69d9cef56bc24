//! Changing the list of trusted folders.

use dormouse_config::{Loader, TrustError, set_trust};
use dormouse_core::settings::Trust;
use dormouse_system::{Access, Fault, Files as _, MemorySystem};
use pretty_assertions::assert_eq;
use std::path::Path;

const LIST: &str = "/home/dormouse/.dormouse/trust.toml";

fn machine() -> MemorySystem {
    let machine = MemorySystem::new();
    machine.files.put("/project/.git/HEAD", "");
    machine.files.put("/project/sub/file", "");
    machine
}

fn change(
    machine: &MemorySystem,
    folder: &str,
    trust: Trust,
) -> Result<(String, bool), TrustError> {
    let loader = Loader::new(&machine.system(), "/etc/none", Vec::new()).unwrap();
    let done = set_trust(&machine.files, loader.places(), Path::new(folder), trust)?;
    Ok((done.folder.to_string_lossy().into_owned(), done.changed))
}

#[test]
fn a_project_is_trusted_as_a_whole_and_once() {
    let machine = machine();
    let root = || "/project".to_owned();
    assert_eq!(
        change(&machine, "sub", Trust::Trusted).unwrap(),
        (root(), true)
    );
    assert_eq!(
        change(&machine, ".", Trust::Trusted).unwrap(),
        (root(), false)
    );
    assert_eq!(
        machine.files.content(LIST).unwrap(),
        "# Folders whose project settings count fully. Changed by `dormouse config trust`.\n\
         version = 1\ntrusted = [\n    \"/project\",\n]\n"
    );
    assert_eq!(
        change(&machine, "/project", Trust::Untrusted).unwrap(),
        (root(), true)
    );
    assert_eq!(
        change(&machine, "/project", Trust::Untrusted).unwrap(),
        (root(), false)
    );
}

#[test]
fn a_folder_that_is_gone_can_be_untrusted_but_not_trusted() {
    let machine = machine();
    machine.files.put(LIST, "trusted = [\"/gone\"]");
    let error = change(&machine, "/gone", Trust::Trusted).unwrap_err();
    assert_eq!(error.to_string(), "there is no folder `/gone`");
    let done = change(&machine, "/gone", Trust::Untrusted).unwrap();
    assert_eq!(done, ("/gone".to_owned(), true));
}

#[test]
fn what_is_no_folder_is_refused() {
    let error = change(&machine(), "sub/file", Trust::Trusted).unwrap_err();
    assert_eq!(error.to_string(), "`sub/file` is not a folder");
}

#[test]
fn a_list_that_is_newer_broken_or_locked_is_not_touched() {
    let machine = machine();
    for (text, message) in [
        (
            "version = 2\ntrusted = []",
            "version 2 of `/home/dormouse/.dormouse/trust.toml` is newer than 1, the newest this program writes",
        ),
        (
            "trusted = [1]",
            "the list of trusted folders cannot be read and was not changed",
        ),
    ] {
        machine.files.put(LIST, text);
        let error = change(&machine, ".", Trust::Trusted).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(machine.files.content(LIST).unwrap(), text);
    }
    let held = machine.files.lock_exclusive(LIST.as_ref()).unwrap();
    assert!(held.is_some());
    let error = change(&machine, ".", Trust::Trusted).unwrap_err();
    assert!(matches!(error, TrustError::Locked { .. }), "{error}");
}

#[test]
fn a_crash_at_any_step_leaves_the_old_list_or_the_new() {
    for nth in 1.. {
        let machine = machine();
        change(&machine, ".", Trust::Trusted).unwrap();
        let old = machine.files.content(LIST).unwrap();
        machine
            .files
            .create_dir_all("/other".as_ref(), Access::Shared)
            .unwrap();
        machine.files.inject(Fault::go_down().nth(nth));
        let done = change(&machine, "/other", Trust::Trusted);
        if !machine.files.is_down() {
            assert!(done.unwrap().1);
            assert!(nth > 5, "a change takes several steps");
            return;
        }
        machine.files.crash();
        let now = machine.files.content(LIST).unwrap();
        assert!(
            now == old || now.len() == old.len() + "    \"/other\",\n".len(),
            "{nth}"
        );
    }
}
