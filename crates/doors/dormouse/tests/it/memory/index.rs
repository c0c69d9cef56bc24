//! The index as a person's file: what commands and dreams change in it, and what they say.

use super::{MEMORY, json, machine, memory, run};
use dormouse_system::{Access, Files as _, RealFiles};
use pretty_assertions::assert_eq;
use std::fmt::Write as _;

fn topic(name: &str, description: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description}\ntype: project\n---\n\nText of {name}.\n"
    )
}

/// 17 of 194 files have arrived; the lines are the person's own, some of them long.
#[test]
fn a_half_synced_folder_keeps_every_line() {
    let mut index = String::from("# Notes\n");
    for number in 0..194 {
        writeln!(
            index,
            "- [Note {number}](n{number}.md) — {}",
            "own words ".repeat(number % 12)
        )
        .unwrap();
    }
    let machine = machine(&[("MEMORY.md", &index)]);
    for number in 0..17 {
        let text = topic(&format!("N{number}"), &format!("thing number {number}"));
        machine.write(&format!("{MEMORY}/n{number}.md"), &text);
    }
    assert_eq!(memory(&machine, &["index"]), "The index fits the files.\n");
    machine.stdout("dream --now --offline");
    assert_eq!(machine.read("memory/MEMORY.md"), index);
    let check = run(&machine, &["check", "--json"]);
    assert_eq!(check.code, 4);
    let check: serde_json::Value = serde_json::from_str(&check.stdout).unwrap();
    assert_eq!(check["problems"].as_array().unwrap().len(), 177);
}

#[test]
fn above_two_hundred_memories_one_state_is_right_for_all() {
    let machine = machine(&[("MEMORY.md", "# Mine\n- [My first](m000.md): by hand\n")]);
    for number in 0..230 {
        let text = topic(
            &format!("M{number}"),
            &format!("distinct fact {}", number * 7919),
        );
        machine.write(&format!("{MEMORY}/m{number:03}.md"), &text);
    }
    let right = |after: &str| {
        let check = run(&machine, &["check"]);
        assert_eq!(check.code, 0, "{after}: {}", check.stdout);
        assert!(
            check.stdout.contains("is full: "),
            "{after}: {}",
            check.stdout
        );
        let index = machine.read("memory/MEMORY.md");
        assert_eq!(index.lines().count(), 200, "{after}");
        assert!(
            index.starts_with("# Mine\n- [My first](m000.md): by hand\n"),
            "{index}"
        );
        index
    };
    memory(&machine, &["index"]);
    let mended = right("index");
    machine.stdout("dream --now --offline");
    assert_eq!(right("dream"), mended);
    assert_eq!(memory(&machine, &["index"]), "The index fits the files.\n");
    // The newest of a type that matters more has a line.
    run(&machine, &["add", "Never push to main on a Friday"]);
    assert!(right("add").contains("never_push_to_main"));
    let gone = machine.read("memory/MEMORY.md");
    let gone = gone
        .lines()
        .rev()
        .nth(1)
        .and_then(|line| line.split(['(', ')']).nth(1));
    memory(&machine, &["forget", gone.unwrap()]);
    right("forget");
    memory(&machine, &["index", "--rebuild"]);
    assert_eq!(run(&machine, &["check"]).code, 0);
}

#[test]
fn a_topic_edited_by_hand_takes_dormouse_s_line_along() {
    let machine = machine(&[]);
    memory(
        &machine,
        &[
            "add",
            "--name",
            "Port",
            "--description",
            "port 8080",
            "The port is 8080",
        ],
    );
    let file = format!(
        "memory/{}",
        json(&machine, &["list"])["memories"][0]["path"]
            .as_str()
            .unwrap()
    );
    let index = machine.read("memory/MEMORY.md");
    machine.write(
        &file,
        &machine
            .read(&file)
            .replace("description: port 8080", "description: port 9090"),
    );
    let check = run(&machine, &["check"]);
    assert_eq!(check.code, 4);
    assert!(
        check.stdout.contains("MEMORY.md:1 says what"),
        "{}",
        check.stdout
    );
    memory(&machine, &["index"]);
    assert_eq!(
        machine.read("memory/MEMORY.md"),
        index.replace("8080", "9090")
    );
    assert_eq!(run(&machine, &["check"]).code, 0);
}

#[test]
fn forgetting_takes_the_line_and_tells_of_links_in_prose() {
    let machine = machine(&[
        (
            "MEMORY.md",
            "Read [A](a.md) first.\n* [Mine](a.md): own words\n- [B](b.md) — bee\n",
        ),
        ("a.md", &topic("A", "about a")),
        ("b.md", &topic("B", "bee")),
    ]);
    let told = memory(&machine, &["forget", "a.md"]);
    assert!(
        told.contains("MEMORY.md still links to it in text of yours, line 1.\n"),
        "{told}"
    );
    assert_eq!(
        machine.read("memory/MEMORY.md"),
        "Read [A](a.md) first.\n- [B](b.md) — bee\n"
    );
}

#[test]
fn without_a_readable_index_nothing_is_forgotten() {
    let machine = machine(&[("a.md", &topic("A", "about a"))]);
    let home = machine.home();
    machine.write("elsewhere.md", "- [A](a.md) — about a\n");
    std::os::unix::fs::symlink(home.join("elsewhere.md"), home.join("memory/MEMORY.md")).unwrap();
    for command in [
        vec!["forget", "a"],
        vec!["add", "Use tabs"],
        vec!["pin", "a"],
    ] {
        let refused = run(&machine, &command);
        assert_eq!(refused.code, 3, "{command:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("not changed without their index"),
            "{}",
            refused.stderr
        );
    }
    assert!(machine.read("memory/a.md").contains("Text of A."));
    assert_eq!(machine.read("elsewhere.md"), "- [A](a.md) — about a\n");
}

#[test]
fn an_index_that_is_no_text_is_not_rewritten() {
    let machine = machine(&[("a.md", &topic("A", "about a"))]);
    let path = machine.home().join("memory/MEMORY.md");
    let bytes = b"# M\xe9moire\n";
    RealFiles.replace(&path, bytes, Access::Private).unwrap();
    let refused = run(&machine, &["index"]);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert_eq!(RealFiles.read(&path, 100).unwrap(), &bytes[..]);
}

#[test]
fn an_interrupted_change_that_is_not_understood_stops_writers_only() {
    let machine = machine(&[("a.md", &topic("A", "about a"))]);
    memory(&machine, &["add", "Use tabs"]);
    machine.write("memory/.journal/pending.json", "{ torn");
    let list = run(&machine, &["list"]);
    assert_eq!(list.code, 0, "{}", list.stderr);
    assert!(list.stderr.contains("pending.json"), "{}", list.stderr);
    for command in [
        vec!["show", "a"],
        vec!["log"],
        vec!["status"],
        vec!["inbox"],
    ] {
        assert_eq!(run(&machine, &command).code, 0, "{command:?}");
    }
    assert_eq!(machine.run("recall tabs").code, 0);
    assert_ne!(
        run(&machine, &["add", "Use spaces instead of tabs here"]).code,
        0
    );
}
