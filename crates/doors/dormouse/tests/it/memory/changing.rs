//! Adding, editing, forgetting, pinning and mending memories.

use super::{MEMORY, files, json, machine, memory, occurs, run};
use crate::program::Machine;
use dormouse_system::{Access, Files as _, RealFiles};
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt as _;

/// A memory with a figure in it, which a second one can contradict.
const STAGING: &str = "The staging server of the shop listens on port 8080";

#[test]
fn what_is_added_gets_a_short_name_and_a_line_in_the_index() {
    let machine = machine(&[]);
    assert_eq!(
        memory(&machine, &["add", STAGING]),
        "Remembered: project_staging_server_shop_listens_port_8080.md\n\
         `dormouse memory undo` takes it back.\n"
    );
    let text = machine.read("memory/project_staging_server_shop_listens_port_8080.md");
    let begin = "---\nname: Staging server shop listens port 8080\n\
         description: The staging server of the shop listens on port 8080\n\
         type: project\norigin: {speaker: user, time: ";
    assert!(text.starts_with(begin), "{text}");
    assert!(
        text.ends_with("trust: user\n---\n\nThe staging server of the shop listens on port 8080\n")
    );
    assert_eq!(
        memory(&machine, &["add", "Use tabs.", "--until", "2099-01-31"]),
        "Remembered: feedback_use_tabs.md\n`dormouse memory undo` takes it back.\n"
    );
    assert_eq!(
        machine.read("memory/MEMORY.md"),
        "- [Staging server shop listens port 8080](project_staging_server_shop_listens_port_8080.md) \
         — The staging server of the shop listens on port 8080\n\
         - [Use tabs](feedback_use_tabs.md)\n"
    );
}

#[test]
fn names_stay_short_whatever_the_text() {
    let texts = [
        "x".repeat(5_000),
        "word ".repeat(900),
        "睡鼠".repeat(300),
        "a b c d e f g h i j k l m n o p q r s t u v w x y z".to_owned(),
        "The the the the the the the the the the the the the".to_owned(),
        "- **Bold** [link](https://example.org/a/very/long/path/that/goes/on) and more".to_owned(),
    ];
    for text in texts {
        let machine = machine(&[]);
        let added = memory(&machine, &["add", "--json", "--", &text]);
        let added: serde_json::Value = serde_json::from_str(&added).unwrap();
        let path = added["path"].as_str().unwrap();
        assert!(path.len() <= 60, "{path}");
        let shown = json(&machine, &["show", path]);
        let name = shown["name"].as_str().unwrap();
        assert!((1..=40).contains(&name.chars().count()), "{name}");
        let index = machine.read("memory/MEMORY.md");
        assert!(
            index.lines().all(|line| line.chars().count() <= 150),
            "{index}"
        );
    }
}

#[test]
fn what_is_there_is_not_added_again_and_the_contrary_overtakes() {
    let machine = machine(&[]);
    let first = json(&machine, &["add", STAGING]);
    assert_eq!(first["placement"], "created");
    machine.run("config trust");
    let team = memory(&machine, &["--team", "add", STAGING]);
    assert!(
        team.ends_with("`dormouse memory --team undo` takes it back.\n"),
        "{team}"
    );
    let again = json(&machine, &["add", STAGING]);
    assert_eq!(
        (&again["placement"], &again["entry"]),
        (&"known".into(), &().into())
    );
    assert_eq!(
        memory(&machine, &["add", STAGING]),
        "Known already: project_staging_server_shop_listens_port_8080.md\n"
    );
    let other = json(&machine, &["add", &STAGING.replace("8080", "9090")]);
    assert_eq!(other["placement"], "overtook");
    assert_eq!(other["other"], first["path"]);
    let all = json(&machine, &["list", "--all"]);
    assert_eq!(all["memories"].as_array().unwrap().len(), 2);
    let current = json(&machine, &["list"]);
    assert_eq!(current["memories"].as_array().unwrap().len(), 1);
    assert_eq!(current["memories"][0]["path"], other["path"]);
}

#[test]
fn text_comes_from_standard_input_too() {
    let machine = machine(&[]);
    machine.write(
        "note.txt",
        "# Releases are cut on Mondays. Nobody knows why.\nReally.\n",
    );
    #[expect(
        clippy::disallowed_methods,
        reason = "standard input is a file of the process"
    )]
    let note = std::fs::File::open(machine.home().join("note.txt")).unwrap();
    let run = machine.ran(machine.command("memory add -").stdin(note));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let shown = json(&machine, &["show", "releases"]);
    assert_eq!(shown["description"], "Releases are cut on Mondays");
    assert!(
        shown["text"]
            .as_str()
            .unwrap()
            .ends_with("Nobody knows why.\nReally.\n")
    );
}

const FOREIGN: &str = "---\r\nname: Odd\r\n# a comment\r\ndescription: old\r\nnode_type: memory\r\nmetadata:\r\n    x: [1,  2]\r\n---\r\n\r\nBody  \r\nwithout end";

#[test]
fn what_is_not_changed_stays_byte_for_byte() {
    let machine = machine(&[
        ("odd.md", FOREIGN),
        ("MEMORY.md", "# Mine\r\n\r\n- [Odd](odd.md) — old\r\nend"),
    ]);
    assert_eq!(
        memory(&machine, &["edit", "odd", "--description", "new"]),
        "Changed: odd.md\n`dormouse memory undo` takes it back.\n"
    );
    assert_eq!(
        machine.read("memory/odd.md"),
        FOREIGN.replace("description: old", "description: new")
    );
    assert_eq!(
        machine.read("memory/MEMORY.md"),
        "# Mine\r\n\r\n- [Odd](odd.md) — new\r\nend"
    );
    assert_eq!(
        memory(&machine, &["edit", "odd", "--description", "new"]),
        "odd.md stays as it was.\n"
    );
    memory(&machine, &["undo"]);
    assert_eq!(machine.read("memory/odd.md"), FOREIGN);
}

#[test]
fn a_description_that_was_made_of_the_text_follows_it() {
    let machine = machine(&[("own.md", "---\nname: Own\ndescription: mine\n---\n\nOld.\n")]);
    memory(&machine, &["add", "Use tabs"]);
    memory(
        &machine,
        &["edit", "tabs", "--text", "Use spaces. Two of them."],
    );
    let shown = json(&machine, &["show", "feedback_use_tabs"]);
    assert_eq!(
        (&shown["name"], &shown["description"]),
        (&"Use spaces".into(), &"Use spaces".into())
    );
    memory(&machine, &["edit", "own", "--text", "New."]);
    let shown = json(&machine, &["show", "own"]);
    assert_eq!(
        (&shown["name"], &shown["description"]),
        (&"Own".into(), &"mine".into())
    );
    assert_eq!(
        machine.read("memory/MEMORY.md"),
        "- [Use spaces](feedback_use_tabs.md)\n- [Own](own.md) — mine\n"
    );
}

#[test]
fn what_is_no_text_is_not_rewritten() {
    let machine = machine(&[("odd.md", "x")]);
    let path = machine.home().join("memory/odd.md");
    let bytes = b"---\nname: Odd\n---\n\xff\xfe\n";
    RealFiles.replace(&path, bytes, Access::Private).unwrap();
    let refused = run(&machine, &["edit", "odd", "--description", "new"]);
    assert_eq!(
        (refused.code, refused.stderr.lines().next()),
        (4, Some("error: `odd.md` is not UTF-8 text"))
    );
    assert_eq!(RealFiles.read(&path, 100).unwrap().as_ref(), bytes);
}

fn editor(machine: Machine, script: &str) -> Machine {
    let path = machine.home().join("editor");
    machine.write("editor", &format!("#!/bin/sh\n{script}\n"));
    let mut rights = path.metadata().unwrap().permissions();
    rights.set_mode(0o755);
    std::fs::set_permissions(&path, rights).unwrap();
    let path = path.display().to_string();
    machine
        .with_variable("PATH", "/usr/bin:/bin")
        .with_variable("EDITOR", format!("{path} --wait"))
}

#[test]
fn an_editor_changes_the_text() {
    let note = (
        "note.md",
        "---\nname: Note\ntype: project\n---\n\nOld text.\n",
    );
    let machine = editor(
        machine(&[note]),
        "test \"$1\" = --wait && sed -i 's/Old/New/' \"$2\"",
    );
    let changed = json(&machine, &["edit", "note"]);
    assert_eq!(
        (&changed["path"], &changed["changed"]),
        (&"note.md".into(), &true.into())
    );
    assert_eq!(machine.read("memory/note.md"), note.1.replace("Old", "New"));
    assert_eq!(
        memory(&machine, &["edit", "note"]),
        "note.md stays as it was.\n"
    );
}

#[test]
fn an_editor_that_fails_or_races_changes_nothing() {
    let note = ("note.md", "Old text.\n");
    let failing = editor(machine(&[note]), "echo gone > \"$2\"; exit 3");
    let failed = run(&failing, &["edit", "note"]);
    assert_eq!(failed.code, 1);
    assert!(
        failed.stderr.contains("hint: the memory stays as it was"),
        "{}",
        failed.stderr
    );
    assert_eq!(failing.read("memory/note.md"), note.1);

    let racing = machine(&[note]);
    let file = racing.home().join(MEMORY).join("note.md");
    let script = format!("echo mine > \"$2\"; echo theirs > {}", file.display());
    let racing = editor(racing, &script);
    let refused = run(&racing, &["edit", "note"]);
    assert_eq!(refused.code, 5);
    assert_eq!(
        refused.stderr,
        "error: changed in the meantime: note.md\n\
         hint: nothing was changed; look at what is there now and try again\n"
    );
    assert_eq!(racing.read("memory/note.md"), "theirs\n");
}

#[test]
fn forgetting_keeps_the_journal_and_purging_does_not() {
    let machine = machine(&[]);
    let root = machine.home().join(MEMORY);
    memory(&machine, &["add", "The cipher phrase is correcthorse"]);
    memory(
        &machine,
        &["add", "Another thing to know about deployments"],
    );
    memory(
        &machine,
        &[
            "edit",
            "cipher",
            "--text",
            "The cipher phrase is batterystaple",
        ],
    );
    // A part of a name could be that of another memory tomorrow.
    let part = run(&machine, &["forget", "cipher"]);
    assert_eq!(part.code, 2, "{}", part.stderr);
    assert_eq!(
        part.stderr,
        "error: `cipher` is only a part of a name\n\
         hint: give the whole name: project_the_cipher_phrase_is_correcthorse.md\n"
    );
    let name = "project_the_cipher_phrase_is_correcthorse";
    assert_eq!(
        memory(&machine, &["forget", name]),
        "Forgotten: project_the_cipher_phrase_is_correcthorse.md\n\
         `dormouse memory undo` takes it back.\n"
    );
    assert!(occurs(&root, "correcthorse") && occurs(&root, "batterystaple"));
    memory(&machine, &["undo"]);
    // Recall keeps words of its own.
    assert!(
        machine
            .stdout("recall --all cipher phrase")
            .contains("batterystaple")
    );
    let purged = json(&machine, &["forget", name, "--purge"]);
    assert_eq!(purged["purged"], true);
    assert!(!occurs(&root, "phrase is correcthorse"));
    assert!(!occurs(&root, "batterystaple"));
    assert!(occurs(&root, "Another thing"));
    let left: Vec<_> = files(&root, false)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn pinning_moves_a_memory_and_its_line() {
    let machine = machine(&[]);
    memory(&machine, &["add", "Use tabs"]);
    assert_eq!(
        memory(&machine, &["pin", "tabs"]),
        "Pinned: pinned/feedback_use_tabs.md\n"
    );
    assert_eq!(
        machine.read("memory/MEMORY.md"),
        "- [Use tabs](pinned/feedback_use_tabs.md)\n"
    );
    let again = run(&machine, &["pin", "tabs"]);
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (
            5,
            "error: `pinned/feedback_use_tabs.md` is pinned already\n"
        )
    );
    assert_eq!(
        memory(&machine, &["unpin", "tabs"]),
        "Unpinned: feedback_use_tabs.md\n"
    );
    let json = json(&machine, &["show", "tabs"]);
    assert_eq!(json["pinned"], false);
}

#[test]
fn the_index_is_mended_and_checked() {
    let machine = machine(&[
        ("MEMORY.md", "# Mine\n- [Gone](gone.md) — nowhere\n"),
        (
            "a.md",
            "---\nname: A\ndescription: about a\ntype: project\n---\n\ntext\n",
        ),
    ]);
    let check = run(&machine, &["check"]);
    assert_eq!(check.code, 4);
    assert_eq!(
        check.stdout,
        "a.md has no line in the index\n  dormouse memory index\n\
         MEMORY.md:2 points to gone.md, which is not here, though Dormouse did not remove it\n  \
         wait if the folder is still being synced; else bring the file back, or remove such lines: \
         `dormouse memory index --remove-missing`\n"
    );
    assert_eq!(
        memory(&machine, &["index", "--dry-run"]),
        "MEMORY.md  changed\n  # Mine\n  - [Gone](gone.md) — nowhere\n\
         + - [A](a.md) — about a\n\nNothing was changed; without --dry-run it is.\n"
    );
    memory(&machine, &["index"]);
    assert_eq!(
        machine.read("memory/MEMORY.md"),
        "# Mine\n- [Gone](gone.md) — nowhere\n- [A](a.md) — about a\n"
    );
    memory(&machine, &["index", "--remove-missing"]);
    assert_eq!(memory(&machine, &["check"]), "No problems in 1 memory.\n");
    assert_eq!(memory(&machine, &["index"]), "The index fits the files.\n");
    assert_eq!(
        json(&machine, &["check"])["problems"],
        serde_json::json!([])
    );
}

#[test]
fn a_text_may_begin_with_a_hyphen_and_a_misspelt_option_is_no_text() {
    let machine = Machine::new(&[]);
    let run = machine.run_of(&[
        "memory",
        "add",
        "- never push to main",
        "--type",
        "feedback",
    ]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    let shown = machine.json("memory list --json");
    assert_eq!(shown["memories"][0]["type"], "feedback");
    // A question may be a flag of another program, behind the mark that ends ours.
    assert_eq!(machine.run_of(&["recall", "--", "--no-verify"]).code, 0);
    assert_eq!(machine.run_of(&["search", "- never push"]).code, 0);
    for line in [
        "memory add --tpye feedback tabs",
        "recall --al",
        "search --sesions x",
    ] {
        let run = machine.run(line);
        assert_eq!(run.code, 2, "{line}: {run:?}");
        assert!(run.stderr.contains("there is no option `--"), "{run:?}");
    }
    assert_eq!(
        machine.json("memory list --json")["memories"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_last_day_is_given_as_people_say_it() {
    let machine = Machine::new(&[]);
    let until = |day: &str| {
        let run = machine.run_of(&["memory", "add", "no merges", "--name", day, "--until", day]);
        (run.code, run.stderr)
    };
    for day in ["tomorrow", "2027-03-15", "in two weeks"] {
        assert_eq!(until(day), (0, String::new()), "{day}");
    }
    let (code, error) = until("whenever");
    assert_eq!(code, 2);
    assert!(error.contains("`whenever` is no date"), "{error}");
}
