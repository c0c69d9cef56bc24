//! Bash, in the real sandbox.

use crate::kit::Kit;
use dormouse_system::{Confinement, End, Finished, ScriptedSandbox, System};
use dormouse_tools::limits::COMMAND_OUTPUT;
use serde_json::json;
use std::sync::Arc;

#[test]
fn a_line_runs_in_the_working_directory() {
    let kit = Kit::new();
    kit.put("project/src/a.rs", "one\ntwo\n");
    let run = |command: &str| kit.says("Bash", &json!({ "command": command }));
    assert_eq!(run("ls"), "src");
    assert_eq!(run("cat src/a.rs | wc -l && ls src"), "2\na.rs");
    kit.put("memory/m.md", "remember");
    assert_eq!(run(&format!("cat {}", kit.text("memory/m.md"))), "remember");
}

#[test]
fn a_failure_says_how() {
    let kit = Kit::new();
    let text = kit.fails("Bash", &json!({ "command": "ls missing" }));
    assert!(
        text.contains("missing") && text.ends_with("[exit code 2]"),
        "{text}"
    );
}

#[test]
fn what_may_do_more_than_read_is_denied_and_does_nothing() {
    let kit = Kit::new();
    kit.put("project/a", "x");
    let before = kit.disk();
    let outside = kit.text("outside/secret");
    for command in [
        "rm a",
        "echo x > b",
        "cat a >> c",
        "touch d",
        "cp a e",
        "sed -i s/x/y/ a",
        "find . -delete",
        "find . -exec rm {} +",
        "git -c core.pager=touch log",
        "echo $(touch f)",
        "ls; rm a",
        "ls && sh -c 'rm a'",
        "curl http://127.0.0.1/",
        "cat /etc/passwd",
        "cat ../outside/secret",
        "awk 'BEGIN{system(\"rm a\")}'",
        "awk '{print > \"b\"}' a",
        "ls | xargs rm",
        "sed -n '/x/{w b}' a",
        "git log --format=%G?",
        "xargs rm",
        "python3 -c 'print(1)'",
        "",
        &format!("cat {outside}"),
    ] {
        let text = kit.denies("Bash", &json!({ "command": command }));
        assert!(text.starts_with("Not allowed: "), "{text}");
    }
    assert_eq!(kit.disk(), before);
}

#[test]
fn much_output_is_cut() {
    let kit = Kit::new();
    kit.put("project/large", "0123456789\n".repeat(10_000));
    let text = kit.says("Bash", &json!({ "command": "cat large" }));
    assert!(text.len() < COMMAND_OUTPUT + 200);
    assert!(
        text.ends_with("[80000 bytes were left out; 30000 are kept]"),
        "{text}"
    );
}

#[test]
fn a_line_that_does_not_end_is_stopped() {
    let kit = Kit::new();
    kit.put("project/a", "x");
    let input = json!({ "command": "tail -f a", "timeout": 50 });
    let output = kit.call("Bash", &input);
    assert!(output.is_error);
    // The verdict on it is the guard's business; that it ends is ours.
    if kit.tools.denial_count() == 0 {
        assert!(
            output.text.contains("stopped after 50 milliseconds"),
            "{}",
            output.text
        );
    }
}

#[test]
fn without_a_sandbox_there_is_no_shell() {
    let sandbox = ScriptedSandbox::default();
    let finished = |end: End, confinement: Confinement| Finished {
        end,
        stdout: "out\n".into(),
        stderr: "err\n".into(),
        dropped: 0,
        confinement,
    };
    let system = System {
        sandbox: Arc::new(sandbox.clone()),
        ..System::real()
    };
    let kit = Kit::on(&system);
    sandbox.answer(
        "ls",
        finished(End::Exit(0), Confinement::None("old kernel".into())),
    );
    let text = kit.denies("Bash", &json!({ "command": "ls" }));
    assert_eq!(
        text,
        "Not allowed: there is no shell without a sandbox (old kernel); use Read, Grep and Glob."
    );
    sandbox.answer(
        "ls",
        finished(End::Signal(9), Confinement::Partial("half".into())),
    );
    let text = kit.fails("Bash", &json!({ "command": "ls" }));
    assert_eq!(
        text,
        "out\nerr\n[ended by signal 9]\n[the sandbox was incomplete: half]"
    );
    let text = kit.fails("Bash", &json!({ "command": "pwd" }));
    assert!(text.starts_with("failed to start `pwd`"), "{text}");
}

#[test]
fn the_time_limit_is_bounded() {
    let sandbox = ScriptedSandbox::default();
    sandbox.print("ls", "");
    let system = System {
        sandbox: Arc::new(sandbox.clone()),
        ..System::real()
    };
    let kit = Kit::on(&system);
    for timeout in [json!(null), json!(7), json!(u64::MAX)] {
        kit.says("Bash", &json!({ "command": "ls", "timeout": timeout }));
    }
    let limits: Vec<_> = sandbox
        .ran()
        .iter()
        .map(|task| task.time_limit.as_millis())
        .collect();
    assert_eq!(limits, [30_000, 7, 120_000]);
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_a_line_outside() {
    let kit = Kit::new();
    std::os::unix::fs::symlink("../outside/secret", kit.path("project/link")).unwrap();
    std::os::unix::fs::symlink("../outside", kit.path("project/links")).unwrap();
    for command in [
        "cat link",
        "cat links/secret",
        "grep -r precious .",
        "ls links/",
    ] {
        let output = kit.call("Bash", &json!({ "command": command }));
        if !output.text.contains("sandbox") {
            assert!(
                !output.text.contains("precious"),
                "{command}: {}",
                output.text
            );
            assert!(
                !output.text.contains("secret\n"),
                "{command}: {}",
                output.text
            );
        }
    }
}

#[test]
fn git_tells_about_the_repository_around_and_about_second_trees() {
    let kit = Kit::new();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e", "-C"])
            .arg(kit.path("project"))
            .args(arguments)
            .output();
        done.is_ok_and(|output| output.status.success())
    };
    kit.put("project/src/a.rs", "one\n");
    let prepared = git(&["init", "-q"])
        && git(&["add", "."])
        && git(&["commit", "-q", "-m", "first"])
        && git(&["worktree", "add", "-q", "../second"]);
    if !prepared {
        eprintln!("skipped: there is no git to prepare a repository");
        return;
    }
    let run = |kit: &Kit, command: &str| kit.says("Bash", &json!({ "command": command }));
    assert!(run(&kit, "git log --oneline").ends_with("first"));
    for working in ["project/src", "second"] {
        let inner = kit.working_in(working);
        assert!(
            run(&inner, "git log --oneline").ends_with("first"),
            "{working}"
        );
    }
}

#[test]
fn a_file_that_pretends_to_name_a_repository_opens_nothing() {
    let sandbox = ScriptedSandbox::default();
    sandbox.print("ls", "");
    let system = System {
        sandbox: Arc::new(sandbox.clone()),
        ..System::real()
    };
    let kit = Kit::on(&system);
    kit.put("outside/.git/HEAD", "ref: refs/heads/main\n");
    for place in ["outside", "outside/.git", "missing"] {
        kit.put("project/.git", format!("gitdir: {}\n", kit.text(place)));
        kit.says("Bash", &json!({ "command": "ls" }));
    }
    assert_eq!(sandbox.readable().len(), 3);
    for readable in sandbox.readable() {
        let outside = kit.path("outside");
        assert!(
            !readable.iter().any(|path| path.starts_with(&outside)),
            "{readable:?}"
        );
    }
}
