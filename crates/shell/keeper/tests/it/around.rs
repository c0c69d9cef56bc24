//! Surroundings of memory: the budget, side tasks, the working tree, instruction files.

use crate::faults::{faults, then_all};
use crate::kit::{Kit, MODEL, calls, settings, used};
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Trust;
use dormouse_engine::{AskModel, NoTools};
use dormouse_keeper::budget::{Budget, Exhausted};
use dormouse_keeper::instructions::{Around, DiskSource, limits, places};
use dormouse_keeper::side::{SideFault, SideTask};
use dormouse_keeper::tree::TreeFacts;
use dormouse_memory::instructions::{Source as _, SourceResult};
use dormouse_model::ModelError;
use dormouse_recall::verify::{Claim, Mark, claims, mark};
use dormouse_system::{Files, RealFiles};
use dormouse_testkit_model::{Answer, Script};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

#[test]
fn many_that_count_at_once_forget_nothing() {
    let kit = Kit::new();
    let home = kit.path("home");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let budget = Budget::new(&kit.system, &home);
            scope.spawn(move || {
                for _ in 0..10 {
                    budget
                        .charge(ModelTable::builtin(), MODEL, &used(5))
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(kit.keeper.budget.today().tokens, 200);
}

#[test]
fn tokens_have_a_budget_of_their_own() {
    let kit = Kit::new();
    let budget = &kit.keeper.budget;
    budget
        .charge(ModelTable::builtin(), "a model without a price", &used(500))
        .unwrap();
    let with = |pair: &str| budget.allows(&settings(&[pair]));
    assert_eq!(with("budget.background_day_tokens=501"), Ok(()));
    let spent = with("budget.background_day_tokens=500").unwrap_err();
    assert!(matches!(spent, Exhausted::Tokens { used: 500, .. }));
    assert!(spent.to_string().contains("500 of 500 tokens"), "{spent}");
}

fn side<'a>(
    kit: &'a Kit,
    settings: &'a Arc<dormouse_core::settings::Settings>,
    requests: usize,
) -> SideTask<'a> {
    SideTask {
        asker: Arc::new(AskModel(Arc::new(kit.side.clone()))),
        model: MODEL,
        models: &kit.keeper.models,
        settings,
        system_prompt: "You do a task.",
        definitions: dormouse_tools::definitions(),
        tools: Arc::new(NoTools),
        requests,
    }
}

#[tokio::test]
async fn a_side_task_says_what_it_used_however_it_ends() {
    let kit = Kit::new();
    let settings = kit.keeper.settings();
    let look = || calls(&[("Glob", json!({"pattern": "*"}))]).using(used(10));
    kit.side.plays(
        Script::new()
            .then(look())
            .then(Answer::text("Done.").using(used(1))),
    );
    let answer = side(&kit, &settings, 5)
        .run(&kit.system, "Do it.", |_| {})
        .await
        .unwrap();
    assert_eq!(
        (answer.text.as_str(), answer.usage, answer.requests),
        ("Done.", used(11), 2)
    );
    kit.side.plays(Script::new().then(look()).then(look()));
    let failure = side(&kit, &settings, 2)
        .run(&kit.system, "Do it.", |_| {})
        .await
        .unwrap_err();
    assert_eq!((failure.usage, failure.requests), (used(20), 2));
    for (name, answers) in faults() {
        kit.side
            .plays(then_all(Script::new().then(look()), answers));
        let failed = side(&kit, &settings, 5)
            .run(&kit.system, "Do it.", |_| {})
            .await;
        match failed {
            // After work was done, an answer without words is the usual end.
            Ok(answer) => assert_eq!((name, answer.requests), ("empty answer", 2)),
            Err(failure) => {
                kit.side.finish();
                assert!(failure.usage.input >= used(10).input, "{name}");
                let refused = matches!(failure.source, SideFault::Answer(_));
                assert_eq!(refused, ["refusal", "cut off"].contains(&name), "{name}");
            }
        }
    }
    // Nothing of it is on the disk.
    assert!(
        kit.system
            .files
            .list(&kit.path("home/projects/p"))
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_side_task_asks_again_after_a_failure_that_may_pass() {
    let kit = Kit::new();
    let settings = kit.keeper.settings();
    let busy = || Answer::fault(|| ModelError::Overloaded(Box::default()));
    let script = Script::new().then(busy()).then(busy());
    kit.side
        .plays(script.then(Answer::text("Done.").using(used(1))));
    let began = tokio::time::Instant::now();
    let answer = side(&kit, &settings, 1)
        .run(&kit.system, "Do it.", |_| {})
        .await
        .unwrap();
    kit.side.finish();
    assert_eq!((answer.usage, answer.requests), (used(1), 1));
    assert!(!began.elapsed().is_zero(), "there are pauses between");
}

fn look(kit: &Kit, text: &str) -> Mark {
    let files: Arc<dyn Files> = Arc::new(RealFiles);
    let claims: Vec<Claim> = claims(text);
    assert!(!claims.is_empty(), "{text}");
    let facts = TreeFacts::look(&files, &kit.path("project"), &claims);
    mark(&claims, &facts)
}

#[test]
fn in_a_tree_with_too_many_files_nothing_is_said_to_be_gone() {
    let kit = Kit::new();
    kit.put("project/src/main.rs", "fn enter_here() {}\n");
    let text = "The entry is `leave_there()` in `config.toml`.";
    assert!(matches!(look(&kit, text), Mark::Stale { held: 0, .. }));
    for at in 0..5_001 {
        let path = kit.path("project").join(format!("file{at}"));
        std::os::unix::fs::symlink("/nowhere", path).unwrap();
    }
    assert_eq!(look(&kit, text), Mark::Unverifiable);
    // A path that is named exactly is asked for by itself.
    let exact = look(&kit, "See `src/main.rs` and `src/other.rs`.");
    assert!(matches!(exact, Mark::Stale { held: 1, .. }), "{exact:?}");
}

#[test]
fn a_file_that_is_too_long_to_search_may_hold_what_is_looked_for() {
    let kit = Kit::new();
    let text = "The entry is `leave_there()`.";
    kit.put("project/data.txt", &"x".repeat(600 * 1024));
    assert_eq!(look(&kit, text), Mark::Unverifiable);
}

#[test]
fn a_folder_that_cannot_be_read_may_hold_it_too() {
    use std::os::unix::fs::PermissionsExt as _;
    let kit = Kit::new();
    kit.put("project/locked/main.rs", "fn leave_there() {}\n");
    let locked = kit.path("project/locked");
    let set = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&locked, permissions).unwrap();
    };
    set(0o000);
    // The superuser can read it all the same; then it is found.
    let found = look(&kit, "The entry is `leave_there()`.");
    set(0o700);
    assert!(
        matches!(found, Mark::Unverifiable | Mark::Fresh),
        "{found:?}"
    );
}

fn git(root: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn commits_are_looked_up_in_the_repository() {
    let kit = Kit::new();
    let text = |hash: &str| format!("The parser was rewritten in commit {hash}.");
    let made_up = "0123456789abcdef0123456789abcdef01234567";
    assert_eq!(
        look(&kit, &text(made_up)),
        Mark::Unverifiable,
        "no repository"
    );
    let root = kit.path("project");
    git(&root, &["init", "-q"]);
    git(&root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let hash = git(&root, &["rev-parse", "HEAD"]);
    assert_eq!(look(&kit, &text(&hash)), Mark::Fresh);
    // Short, and with a letter: ten digits alone are a number.
    let letter = hash.find(|digit: char| digit.is_ascii_alphabetic());
    let short = &hash[..=letter.unwrap_or_default().max(9)];
    assert_eq!(look(&kit, &text(short)), Mark::Fresh);
    let gone = look(&kit, &text(made_up));
    assert!(matches!(gone, Mark::Stale { .. }), "{gone:?}");
    // A tree is no commit.
    let tree = git(&root, &["rev-parse", "HEAD^{tree}"]);
    assert!(matches!(look(&kit, &text(&tree)), Mark::Stale { .. }));
    // Of many commits some are not asked for; they are not said to be gone.
    let many: Vec<String> = (0..30)
        .map(|at| format!("Commit {:040x} is it.\n", 0xabcd_ef12_3456_u64 + at))
        .collect();
    let Mark::Stale { gone, .. } = look(&kit, &many.join("")) else {
        panic!("some are gone");
    };
    assert_eq!(gone.len(), 16);
}

#[test]
fn instruction_files_are_read_from_the_disk() {
    let kit = Kit::new();
    kit.put("project/AGENTS.md", "Use tabs.\n");
    kit.put("project/rules/a.md", "A rule.\n");
    let link = kit.path("project/CLAUDE.md");
    std::os::unix::fs::symlink("AGENTS.md", &link).unwrap();
    let source = DiskSource(Arc::new(RealFiles));
    let file = kit.path("project/AGENTS.md");
    let real = RealFiles.real_path(&file).unwrap();
    for path in [&file, &link] {
        assert_eq!(
            source.read(path, 100),
            SourceResult::Content {
                real: real.clone(),
                bytes: "Use tabs.\n".into(),
            }
        );
    }
    let long = SourceResult::TooLarge { bytes: 10 };
    assert_eq!(source.read(&file, 3), long);
    for missing in ["project/none.md", "project/rules"] {
        assert_eq!(source.read(&kit.path(missing), 9), SourceResult::Missing);
    }
    let mut listed: Vec<(String, bool)> = source
        .list(&kit.path("project"))
        .into_iter()
        .map(|listed| (listed.name, listed.is_directory))
        .collect();
    listed.sort();
    let expected = [("AGENTS.md", false), ("CLAUDE.md", false), ("rules", true)];
    let expected = expected.map(|(name, is)| (name.to_owned(), is));
    assert_eq!(listed, expected);
    assert!(source.list(&kit.path("nowhere")).is_empty());
}

#[test]
fn instruction_files_are_looked_for_where_the_settings_say() {
    let (home, user) = (Path::new("/d"), Path::new("/home/ann"));
    let around = Around {
        home,
        user_home: Some(user),
        project_root: None,
        working_dir: Path::new("/w"),
        trust: Trust::Trusted,
    };
    let claude = |pairs: &[&str], around: Around<'_>| {
        let places = places(&settings(pairs), around, None);
        places.claude_home.map(|path| path.display().to_string())
    };
    assert_eq!(claude(&[], around).as_deref(), Some("/home/ann/.claude"));
    let elsewhere = claude(&["memory.claude_home=~/c"], around);
    assert_eq!(elsewhere.as_deref(), Some("/home/ann/c"));
    let absolute = claude(&["memory.claude_home=/c"], around);
    assert_eq!(absolute.as_deref(), Some("/c"));
    let nobody = Around {
        user_home: None,
        ..around
    };
    assert_eq!(claude(&[], nobody), None);
    let limits = limits(&settings(&["instructions.include_depth=2"]));
    assert_eq!((limits.include_depth, limits.file_chars), (2, 40_000));
}
