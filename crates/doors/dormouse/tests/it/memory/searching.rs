//! `dormouse recall` and `dormouse search` over memories.

use super::{files, machine, memory};
use crate::program::{Machine, Run};
use dormouse_system::{Access, Files as _, RealFiles};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn filled() -> Machine {
    let machine = machine(&[]);
    for text in [
        "The staging server of the shop listens on port 8080",
        "Never mock the database in integration tests, please",
        "The release freeze of the spring begins in the second week of March",
        "Dashboards for on-call are at https://grafana.example.org/d/shop",
    ] {
        memory(&machine, &["add", text]);
    }
    machine
}

fn lines(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_question_brings_in_what_answers_it() {
    let machine = filled();
    let text = machine.stdout("recall which port does the staging server use");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "project_staging_server_shop_listens_port_8080.md",
            "  The staging server of the shop listens on port 8080"
        ]
    );
    let (sure, rest) = lines[2].split_once(" % sure").unwrap();
    assert!(sure.trim().parse::<u8>().unwrap() > 50);
    assert_eq!(rest, " · changed just now · has port, staging, server");
    let json = machine.json("recall staging server port --json");
    assert_eq!(json["abstained"], false);
    let best = &json["memories"][0];
    assert_eq!(
        best["path"],
        "project_staging_server_shop_listens_port_8080.md"
    );
    assert!(best["confidence"].as_f64().unwrap() >= 0.5);
    assert_eq!(best["words"], json!(["staging", "server", "port"]));
}

#[test]
fn nothing_is_said_where_nothing_is_certain() {
    let machine = filled();
    assert_eq!(
        machine.stdout("recall how do I bake sourdough bread"),
        "No memory certainly answers this.\nNone comes near it either.\n"
    );
    // A person sees the nearest apart from answers; a program sees them if it asks for them.
    let screen = machine.stdout("recall bread of the spring in the oven tonight");
    let (answer, nearest) = screen.split_once("\nNot certain:\n").unwrap();
    assert_eq!(answer, "No memory certainly answers this.\n");
    assert!(nearest.contains(".md\n"), "{nearest}");
    let json = machine.json("recall --json bread of the spring in the oven tonight");
    assert_eq!(
        (&json["abstained"], &json["uncertain"]),
        (&true.into(), &json!([]))
    );
    let json = machine.json("recall --all --json bread of the spring in the oven tonight");
    assert!(!json["uncertain"].as_array().unwrap().is_empty(), "{json}");
    assert_eq!(json["memories"], json!([]));
}

#[test]
fn what_was_overtaken_is_not_recalled_but_can_be_seen() {
    let machine = filled();
    memory(
        &machine,
        &["add", "The staging server of the shop listens on port 9090"],
    );
    let json = machine.json("recall staging server port --all --json");
    let paths = |key: &str| -> Vec<String> {
        let rows = json[key].as_array().unwrap().iter();
        rows.map(|row| row["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        paths("memories"),
        ["project_staging_server_shop_listens_port_9090.md"]
    );
    assert!(
        paths("uncertain").contains(&"project_staging_server_shop_listens_port_8080.md".to_owned())
    );
    let text = machine.stdout("recall staging server port --all");
    assert!(text.contains(" · overtaken\n"), "{text}");
}

#[test]
fn claims_are_checked_against_the_working_tree() {
    let machine = machine(&[(
        "config.md",
        "---\nname: Configuration of the importer\n---\n\nThe importer is configured in `src/importer.toml`.\n",
    )]);
    let gone = machine.stdout("recall where is the importer configured --all");
    assert!(
        gone.replace("\n ", "")
            .contains("stale: no src/importer.toml here"),
        "{gone}"
    );
    machine.write("project/src/importer.toml", "");
    let fresh = machine.json("recall where is the importer configured --all --json");
    let all = [&fresh["memories"], &fresh["uncertain"]];
    let row = all.iter().find_map(|rows| rows.get(0)).unwrap();
    assert_eq!(row["mark"], "fresh");
}

#[test]
fn rules_come_in_with_the_work_they_are_about() {
    let machine = filled();
    memory(
        &machine,
        &[
            "add",
            "Generated code is never edited",
            "--type",
            "feedback",
            "--when-path",
            "**/*.pb.go",
        ],
    );
    let asked = "recall --json please fix this crash";
    assert_eq!(machine.json(asked)["abstained"], true);
    let json = machine.json(&format!("{asked} --file api/user.pb.go"));
    let rule = &json["memories"][0];
    assert_eq!(rule["path"], "feedback_generated_code_is_never_edited.md");
    assert_eq!(rule["why"], "applies to files like `**/*.pb.go`");
}

#[test]
fn asking_writes_nothing_wherever_it_points() {
    let machine = machine(&[("tabs.md", "---\nname: Tabs\n---\n\nUse tabs in Go.\n")]);
    machine.write(
        "project/.dormouse/team-memory/rota.md",
        "The rota of on-call.\n",
    );
    machine.run("config trust");
    let before = files(&machine.home(), true);
    for asked in [
        "recall where do we use tabs",
        "recall --all --json rota of on-call",
        "recall --team rota of on-call",
        "recall --dir nowhere/at/all use tabs",
        "recall --dir ../memory use tabs",
        "search tabs",
        "memory status",
        "memory list",
        "memory check",
    ] {
        let run = machine.run(asked);
        assert!([0, 4].contains(&run.code), "{asked}: {}", run.stderr);
        assert_eq!(files(&machine.home(), true), before, "{asked}");
    }
}

#[test]
fn team_memory_counts_once_the_folder_is_trusted() {
    let machine = filled();
    machine.write(
        "project/.dormouse/team-memory/rota.md",
        "---\nname: Rota\ndescription: who is on call in which week\n---\n\nThe rota of on-call lies in the wiki.\n",
    );
    let run = machine.run("recall --json rota of the wiki");
    assert!(
        run.stderr.contains("team memory is left out until"),
        "{}",
        run.stderr
    );
    assert!(!run.stdout.contains("rota.md"));
    machine.run("config trust");
    let json = machine.json("recall --json rota of the wiki");
    assert_eq!(json["memories"][0]["path"], "rota.md", "{json}");
    assert_eq!(json["memories"][0]["team"], true);
    // Asking has left no index in the repository that the team shares.
    let asked = machine.home().join("project/.dormouse/team-memory");
    assert_eq!(files(&asked, true).len(), 1);
    // Files beside the memories are not for that repository either.
    memory(
        &machine,
        &["--team", "add", "Retrospectives are on Fridays"],
    );
    let name = "project/.dormouse/team-memory/.journal/.gitignore";
    assert_eq!(machine.read(name), "*\n");
}

#[test]
fn team_memory_of_an_untrusted_folder_is_neither_read_nor_written() {
    let machine = filled();
    let note = "project/.dormouse/team-memory/rota.md";
    machine.write(note, "The rota of on-call lies in the wiki.\n");
    let before = files(&machine.home(), true);
    for asked in [
        "memory --team list",
        "recall --team rota",
        "memory --team add Fridays",
    ] {
        let run = machine.run(asked);
        assert_eq!(run.code, 5, "{asked}: {run:?}");
        assert!(
            run.stderr.contains("dormouse config trust"),
            "{asked}: {run:?}"
        );
    }
    assert_eq!(files(&machine.home(), true), before);
}

/// A link in the repository leads to a folder of the user's that others must not have read or
/// written: by either name of the way.
#[cfg(unix)]
#[test]
fn a_link_in_place_of_team_memory_is_left_out_and_blocks_nothing() {
    for name in ["project/.dormouse", "project/.dormouse/team-memory"] {
        let machine = filled();
        machine.write("elsewhere/team-memory/rota.md", "The rota of on-call.\n");
        machine.run("config trust");
        let link = machine.home().join(name);
        let target = if link.ends_with(".dormouse") {
            machine.home().join("elsewhere")
        } else {
            machine.home().join("elsewhere/team-memory")
        };
        RealFiles
            .create_dir_all(link.parent().unwrap(), Access::Private)
            .unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        let run = machine.run("recall --json rota of on-call");
        assert_eq!(run.code, 0, "{name}: {run:?}");
        assert!(!run.stdout.contains("rota.md"), "{name}: {run:?}");
        assert!(
            run.stderr.contains("team-memory is left out"),
            "{name}: {run:?}"
        );
        assert_ne!(machine.run("memory --team add Fridays").code, 0, "{name}");
        assert_eq!(
            files(&machine.home().join("elsewhere"), true).len(),
            1,
            "{name}"
        );
        assert_eq!(
            machine.run("memory add Fridays are quiet").code,
            0,
            "{name}"
        );
    }
}

fn said(role: &str, time: &str, text: &str) -> String {
    json!({
        "type": role,
        "uuid": format!("u-{time}"),
        "sessionId": "s",
        "timestamp": time,
        "message": {"role": role, "content": text},
    })
    .to_string()
}

fn with_sessions() -> Machine {
    let machine = filled();
    let slug: String = machine
        .home()
        .join("project")
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let old = [
        said(
            "user",
            "2026-01-01T10:00:00Z",
            "why does the retry of the upload fail",
        ),
        said(
            "assistant",
            "2026-01-01T10:01:00Z",
            "The upload has no retry at all.",
        ),
        "{not json, but retry upload}".to_owned(),
    ];
    machine.write(
        &format!(".claude/projects/{slug}/old.jsonl"),
        &old.join("\n"),
    );
    let new = [said(
        "user",
        "2026-02-01T10:00:00Z",
        "the staging upload is slow",
    )];
    machine.write(
        &format!(".claude/projects/{slug}/new.jsonl"),
        &new.join("\n"),
    );
    machine.write(".claude/projects/-elsewhere/x.jsonl", &old.join("\n"));
    machine
}

#[test]
fn search_shows_memories_first_and_then_what_was_said() {
    let machine = with_sessions();
    let run = machine.run("search staging --json");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let rows = lines(&run);
    let kinds: Vec<&str> = rows
        .iter()
        .map(|row| row["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["memory", "session", "end"]);
    assert_eq!(rows[1]["session"], "new");
    assert_eq!(rows[1]["role"], "user");
    assert_eq!(rows[1]["time"], "2026-02-01T10:00:00.000Z");
    assert_eq!(rows[1]["snippet"], "the staging upload is slow");
    assert_eq!(
        (&rows[2]["matches"], &rows[2]["files"]),
        (&1.into(), &2.into())
    );
    let text = machine.stdout("search staging --sessions");
    assert!(text.starts_with("new  user · "), "{text}");
    assert!(
        text.ends_with("ago\n  the staging upload is slow\n"),
        "{text}"
    );
    let only = lines(&machine.run("search staging --memories --json"));
    assert_eq!(only.len(), 2);
}

#[test]
fn a_line_with_every_word_is_wanted_and_some_words_will_do() {
    let machine = with_sessions();
    let every = lines(&machine.run_of(&["search", "retry upload", "--sessions", "--json"]));
    assert_eq!(every.len(), 3, "{every:?}");
    assert!(
        every[..2]
            .iter()
            .all(|row| row["terms"] == 2 && row["session"] == "old")
    );
    let some = lines(&machine.run_of(&["search", "retry xylophone", "--sessions", "--json"]));
    assert!(some[..some.len() - 1].iter().all(|row| row["terms"] == 1));
    assert!(some.len() > 1);
    let text = machine
        .run_of(&["search", "retry xylophone", "--sessions"])
        .stdout;
    assert!(
        text.starts_with("No line has every word; these have some:\n"),
        "{text}"
    );
    let limited = lines(&machine.run("search upload --sessions --limit 1 --json"));
    assert_eq!(limited.len(), 2);
}

#[test]
fn search_takes_paths_and_says_what_is_wrong_with_them() {
    let machine = with_sessions();
    let run = machine.run("search retry ../.claude/projects/-elsewhere --json");
    assert_eq!(lines(&run).len(), 3, "{}", run.stdout);
    let file = machine.run("search retry ../.claude/projects/-elsewhere/x.jsonl --json");
    assert_eq!(lines(&file)[0]["session"], "x");
    let missing = machine.run("search staging server");
    assert_eq!(
        (missing.code, missing.stderr.as_str()),
        (
            3,
            "error: there is no file or folder `server`\n\
             hint: put the words of QUERY in quotes; what follows is a path\n"
        )
    );
    assert_eq!(machine.run("search ?!").code, 2);
    assert_eq!(
        machine.stdout("search zyzzyva --sessions"),
        "Nothing was found.\n"
    );
}
