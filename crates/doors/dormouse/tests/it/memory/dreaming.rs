//! `dormouse dream` over a directory that is named: hints lead back to it, and none is founded.

use super::{files, machine};
use crate::program::Machine;
use pretty_assertions::assert_eq;

const RULE: &str =
    "Integration tests use the real database, because a mock hid a broken migration.\n";

#[test]
fn a_folder_that_does_not_exist_is_refused_and_not_founded() {
    let machine = Machine::new(&[]);
    let before = files(&machine.home(), true);
    for line in [
        "dream --dir nowhere",
        "dream --dir nowhere --now",
        "dream --now --offline --dir ./nowhere",
        "dream --dry-run --dir ../no/where",
    ] {
        let run = machine.run(line);
        let named = line.split_whitespace().find(|word| word.ends_with("where"));
        let expected = format!(
            "error: there is no memory directory `{}`\n\
             hint: check the path; `dormouse memory --dir DIR add 'TEXT'` begins a memory in a \
             new folder\n",
            named.unwrap_or_default()
        );
        assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{line}");
        assert_eq!(run.stderr, expected, "{line}");
    }
    // Folders count too: an empty one would be found by the next command.
    assert!(!machine.home().join("project/nowhere").exists());
    assert!(!machine.home().join("no").exists());
    assert_eq!(files(&machine.home(), true), before);
}

#[test]
fn a_file_in_place_of_the_folder_is_refused_and_kept() {
    let machine = Machine::new(&[("project/notes.md", "Mine.\n")]);
    let run = machine.run("dream --now --dir notes.md");
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert!(run.stderr.contains("notes.md"), "{}", run.stderr);
    assert_eq!(machine.read("project/notes.md"), "Mine.\n");
}

#[test]
fn the_remedy_of_the_refusal_works() {
    let machine = Machine::new(&[]);
    assert_eq!(machine.run("dream --now --dir nowhere").code, 3);
    let added = machine.run_of(&[
        "memory",
        "--dir",
        "nowhere",
        "add",
        "Tests run on every push.",
    ]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    assert_eq!(machine.run("dream --now --offline --dir nowhere").code, 0);
}

#[test]
fn hints_name_the_folder_that_was_asked_about() {
    let machine = Machine::new(&[
        ("project/my notes/a.md", RULE),
        ("project/my notes/b.md", RULE),
    ]);
    let early = machine.run_of(&["dream", "--dir", "my notes"]);
    assert!(
        early
            .stdout
            .contains("dormouse dream --now --dir 'my notes' dreams anyway."),
        "{}",
        early.stdout
    );
    let dreamt = machine.run_of(&["dream", "--now", "--offline", "--dir", "my notes"]);
    assert!(
        dreamt
            .stdout
            .contains("dormouse dream undo --dir 'my notes' takes it back."),
        "{}",
        dreamt.stdout
    );
    // The hint is the command that works; without the folder there is no dream to take back.
    assert_ne!(machine.run("dream undo").code, 0);
    let undone = machine.run_of(&["dream", "undo", "--dir", "my notes"]);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert_eq!(machine.read("project/my notes/b.md"), RULE);
}

#[test]
fn hints_about_the_projects_own_memory_name_no_folder() {
    let machine = machine(&[("a.md", RULE), ("b.md", RULE)]);
    let early = machine.run("dream");
    assert!(
        early.stdout.contains("dormouse dream --now dreams anyway."),
        "{}",
        early.stdout
    );
    let dreamt = machine.run("dream --now --offline");
    assert!(
        dreamt.stdout.contains("dormouse dream undo takes it back."),
        "{}",
        dreamt.stdout
    );
}

#[test]
fn a_schedule_takes_no_folder_rather_than_forget_it() {
    let run = Machine::new(&[]).run("dream --schedule --dir notes");
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
}
