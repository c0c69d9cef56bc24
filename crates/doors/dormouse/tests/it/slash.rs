//! Commands and skills as users of `-p` and programs meet them.

use crate::agent::{Scene, calls, says};
use crate::headless::{Piped, STREAMS, user};
use pretty_assertions::assert_eq;
use serde_json::json;

const REVIEW: (&str, &str) = (
    "project/.claude/commands/review.md",
    "---\ndescription: Reviews a change\nallowed-tools: Bash(touch *)\n---\nReview $1.\n",
);
const SKILL: (&str, &str) = (
    ".dormouse/skills/tides/SKILL.md",
    "---\ndescription: Reads tides.\n---\nLook at the table.\n",
);

#[test]
fn a_command_of_a_trusted_project_runs_and_one_of_a_stranger_does_not() {
    let touch = || calls("Bash", &json!({ "command": "touch made" }));
    let scene = Scene::new(&[touch(), says("Reviewed.")], &[REVIEW]);
    let run = scene.run(&["-p", "/review 12"]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.stderr.contains("there is no command `/review`"),
        "{run:?}"
    );
    // Said once, with the command that trusts.
    let said = "skills and commands in `~/project/.claude/commands` are not known";
    assert_eq!(run.stderr.matches(said).count(), 1, "{run:?}");
    assert!(run.stderr.contains("dormouse config trust"), "{run:?}");
    scene.run(&["config", "trust"]);
    let run = scene.run(&["-p", "/review 12"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "Reviewed.\n"),
        "{run:?}"
    );
    assert!(scene.machine.home().join("project/made").exists());
}

#[test]
fn programs_are_told_the_commands_and_use_them() {
    let scene = Scene::new(&[says("Tides.")], &[SKILL]);
    let mut agent = Piped::new(&scene, &[&STREAMS[..], &["--bare"]].concat());
    agent.send(&user("/tydes"));
    let first = agent.until("system");
    assert_eq!(
        first["slash_commands"],
        json!(["clear", "compact", "tides"])
    );
    assert_eq!(first["skills"], json!(["tides"]));
    let result = agent.until("result");
    assert_eq!(result["is_error"], true, "{result}");
    assert!(
        result["errors"][0].as_str().unwrap().contains("`/tydes`"),
        "{result}"
    );
    agent.send(&user("/tides Brest"));
    assert_eq!(agent.until("result")["result"], "Tides.");
    drop(agent.child.stdin.take());
    while agent.next().is_some() {}
    agent.child.wait().unwrap();
}

#[test]
fn a_session_is_compacted_from_the_command_line() {
    let long = "The reeds are high and the water is low. ".repeat(600);
    let scene = Scene::new(&[says(&long), says(&long), says(&long)], &[]);
    let bare = ["--set", "simple=true"];
    scene.run(&[&["-p", "one"][..], &bare].concat());
    for words in ["two", "three"] {
        scene.run(&[&["--continue", "-p", words][..], &bare].concat());
    }
    let run = scene.run(
        &[
            &["--continue", "-p", "/compact up-to 3 keep the water"][..],
            &bare,
        ]
        .concat(),
    );
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.starts_with("Compacted: "), "{run:?}");
    let run = scene.run(&[&["--continue", "-p", "/compact from 99"][..], &bare].concat());
    assert!(run.code != 0 && run.stderr.contains("99"), "{run:?}");
}
