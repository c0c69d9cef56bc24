//! Sub-agents in worktrees: removed if unchanged, kept and named if not.

use crate::crew::{kit, task};
use crate::kit::{Client, Kit, bash};
use dormouse_agent::{AgentAsk, Command, Mode};
use dormouse_system::{Files as _, RealFiles};
use dormouse_testkit_model::{Answer, Expect, Script};
use pretty_assertions::assert_eq;
use serde_json::json;

#[tokio::test]
async fn a_worktree_is_removed_if_unchanged_and_kept_and_named_if_not() {
    for (line, kept) in [
        ("cat notes.txt", false),
        ("echo more >> notes.txt", true),
        (
            "git -c user.name=a -c user.email=a@b commit --allow-empty -qm x",
            true,
        ),
    ] {
        let agents = Script::new()
            .then(bash("s1", line))
            .then(Answer::text("Done."));
        let session = Script::new()
            .then(task("c1", &json!({ "isolation": "worktree" })))
            .then(Answer::text("Good."));
        let (kit, ask, _) = kit(session, agents);
        repository(&kit);
        let mut client = kit
            .open(AgentAsk {
                mode: Mode::All,
                ..ask
            })
            .await;
        client.turn("go").await;
        let told = client.quit().await;
        let result = Client::result(&told, "c1");
        assert!(result.starts_with("Done."), "{result}");
        let folders = RealFiles
            .list(&kit.path("home/.dormouse/worktrees"))
            .unwrap();
        assert_eq!(
            (
                folders.len() == 1,
                result.contains("its changes are in the worktree")
            ),
            (kept, kept),
            "{line}: {result}"
        );
        // The project itself is as it was.
        assert_eq!(kit.text("project/notes.txt"), "one\n");
    }
}

#[tokio::test]
async fn the_worktree_of_an_agent_that_was_stopped_is_named_too() {
    let agents = Script::new().then(bash("s1", "echo more >> notes.txt; sleep 300"));
    let named = Expect::Contains("its changes are in the worktree".to_owned());
    let session = Script::new()
        .then(task(
            "c1",
            &json!({ "isolation": "worktree", "run_in_background": true }),
        ))
        .then(Answer::text("I wait."))
        .on(named, Answer::text("Well."));
    let (kit, ask, _) = kit(session, agents);
    repository(&kit);
    let mut client = kit
        .open(AgentAsk {
            mode: Mode::All,
            ..ask
        })
        .await;
    let mut end = client.turn("go").await;
    let folder = RealFiles
        .list(&kit.path("home/.dormouse/worktrees"))
        .unwrap()
        .remove(0)
        .name;
    let task = folder.to_str().unwrap().to_owned();
    let notes = format!("home/.dormouse/worktrees/{task}/notes.txt");
    while !kit.text(&notes).contains("more") {
        tokio::task::yield_now().await;
    }
    client.send(Command::KillTask { task }).await;
    while end.text != "Well." {
        end = client.turn_end().await;
    }
    client.quit().await;
    kit.model.finish();
}

/// Makes the project a repository with one commit.
fn repository(kit: &Kit) {
    let folder = kit.path("project");
    RealFiles.remove_file(&folder.join(".git/HEAD")).unwrap();
    kit.put("project/notes.txt", "one\n");
    let line =
        "git init -q && git add notes.txt && git -c user.name=a -c user.email=a@b commit -qm one";
    let done = std::process::Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .status();
    assert!(done.unwrap().success());
}

#[tokio::test]
async fn a_folder_without_a_repository_has_no_worktrees() {
    let session = Script::new()
        .then(task("c1", &json!({ "isolation": "worktree" })))
        .then(Answer::text("Then not."));
    let (kit, ask, _) = kit(session, Script::no_request());
    let mut client = kit.open(ask).await;
    client.turn("go").await;
    let told = client.quit().await;
    assert!(Client::result(&told, "c1").contains("There can be no worktree here"));
}
