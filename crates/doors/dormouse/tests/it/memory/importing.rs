//! Importing memories of other tools.

use super::{MEMORY, files, json, machine, memory, run};
use pretty_assertions::assert_eq;

fn notes(machine: &crate::program::Machine) {
    machine.write(
        "notes/deploy.md",
        "# Deploying\n\nDeploy on Tuesdays only.\n",
    );
    machine.write("notes/sub/tests.md", "Tests use the real database.\n");
    let key = ["AKIA", "IOSFODNN7EXAMPLX"].concat();
    machine.write("notes/key.md", &format!("first\nThe key is {key}\n"));
    machine.write("notes/empty.md", " \n");
    machine.write("notes/picture.png", "\u{0}\u{1}");
    machine.write("notes/long.md", &"word ".repeat(30_000));
    machine.write("notes/.hidden/x.md", "hidden");
}

#[test]
fn a_folder_of_notes_goes_in_at_once_and_out_at_once() {
    let machine = machine(&[("mine.md", "Mine.\n"), ("MEMORY.md", "- [Mine](mine.md)\n")]);
    notes(&machine);
    let root = machine.home().join(MEMORY);
    let before = files(&root, false);
    let plan = json(&machine, &["import", "../notes", "--dry-run"]);
    assert_eq!(
        (&plan["dry_run"], &plan["entry"]),
        (&true.into(), &().into())
    );
    assert_eq!(files(&root, true), before, "a dry run writes nothing");
    let done = json(&machine, &["import", "../notes"]);
    assert_eq!(done["added"], plan["added"]);
    assert_eq!(done["skipped"], plan["skipped"]);
    let pairs = |key: &str, second: &str| -> Vec<(String, String)> {
        let text = |row: &serde_json::Value, name: &str| row[name].as_str().unwrap().to_owned();
        let rows = done[key].as_array().unwrap().iter();
        rows.map(|row| (text(row, "from"), text(row, second)))
            .collect()
    };
    let own = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
        rows.iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    };
    assert_eq!(
        pairs("added", "path"),
        own(&[("deploy.md", "deploy.md"), ("sub/tests.md", "sub/tests.md")])
    );
    assert_eq!(
        pairs("skipped", "why"),
        own(&[
            ("long.md", "too long for a memory"),
            ("empty.md", "empty"),
            ("key.md", "line 2 holds a credential (aws-access-key-id)"),
            ("picture.png", "no Markdown"),
        ])
    );
    let log = json(&machine, &["log"]);
    assert_eq!(log["entries"][0]["author"], "import");
    assert_eq!(log["entries"][0]["reason"], "import ../notes");
    let entries = log["entries"].as_array().unwrap().iter();
    assert_eq!(
        entries.filter(|entry| entry["author"] == "import").count(),
        1
    );
    assert!(machine.read("memory/MEMORY.md").contains("](sub/tests.md)"));
    memory(&machine, &["undo"]);
    assert_eq!(files(&root, false), before);
}

#[test]
fn what_is_known_is_not_imported_again() {
    let machine = machine(&[]);
    notes(&machine);
    memory(&machine, &["import", "../notes/deploy.md"]);
    let again = memory(
        &machine,
        &["import", "../notes/deploy.md", "../notes/deploy.md"],
    );
    assert_eq!(
        again,
        "left out   because\n\
         deploy.md  says the same as deploy.md\n\
         deploy.md  says the same as deploy.md\n\n\
         Imported: 0 memories; 2 files left out.\n"
    );
    let twice = json(&machine, &["import", "../notes/sub", "../notes/sub"]);
    assert_eq!(twice["added"].as_array().unwrap().len(), 1, "{twice}");
}

#[test]
fn whose_they_are_decides_how_far_they_are_believed() {
    let machine = machine(&[]);
    machine.write(
        "theirs/MEMORY.md",
        "- [Ports](ports.md) — where things listen\n",
    );
    machine.write(
        "theirs/ports.md",
        "---\nname: Ports\ndescription: where things listen\ntype: reference\n---\n\nStaging: 8080.\n",
    );
    memory(&machine, &["import", "../theirs"]);
    let shown = json(&machine, &["show", "ports"]);
    assert_eq!(
        (&shown["trust"], &shown["type"]),
        (&"assistant".into(), &"reference".into())
    );
    memory(&machine, &["undo"]);
    memory(
        &machine,
        &["import", "../theirs/ports.md", "--from", "markdown"],
    );
    assert_eq!(json(&machine, &["show", "ports"])["trust"], "user");
    let none = run(&machine, &["import", "../nowhere"]);
    assert_eq!(
        (none.code, none.stderr.as_str()),
        (
            3,
            "error: there is no file or folder `../nowhere`\nhint: check the path\n"
        )
    );
    let wrong = run(&machine, &["import", "../theirs", "--from", "mem0"]);
    assert_eq!(wrong.code, 2);
}
