//! A session of 300 turns through the agent, in a git repository, against the simulator.
//!
//! # Model
//! The simulator answers by a script that waits for each turn's mark, so that calls of the layers
//! come in between as they like. Its clock and the agent's are one clock that the test moves:
//! a minute passes between turns, now and then ten minutes or three hours, and a night at each
//! restart. The tools are real, and so are the files, the commands and their exit codes.
//!
//! Long: `cargo test --release -p dormouse --test long -- --ignored --nocapture`.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, and the figures are the result"
)]

mod talk;

use dormouse_host::{DreamAnswer, DreamAsk, Host, StatsAsk, Which};
use dormouse_sim::{AnswerBlock, AnswerConfig, SimAnswer, SimConfig, serve};
use dormouse_system::{
    Access, Clock as _, Files as _, ManualClock, MapEnvironment, RealClock, RealFiles, System,
};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use talk::Talk;

/// Turns of the session.
const TURNS: usize = 300;
/// Turns before which the agent is closed and opened again, a night later.
const RESTARTS: [usize; 2] = [110, 215];
const MODEL: &str = "claude-sonnet-4-5";

fn mark(turn: usize) -> String {
    format!("[turn {turn}]")
}

fn tool(tool: &str, input: Value) -> AnswerBlock {
    AnswerBlock::tool(tool, input)
}

fn bash(command: impl Into<String>) -> AnswerBlock {
    let command: String = command.into();
    tool("Bash", json!({ "command": command }))
}

/// The user's words and the model's answers of a turn.
fn turn(number: usize) -> (String, Vec<Vec<AnswerBlock>>) {
    let file = format!("src/part{}.py", number % 7);
    let read = || tool("Read", json!({ "file_path": file }));
    let (words, calls) = match number % 10 {
        0 => (
            format!("Give {file} a limit of {}.", 1_000 + number),
            vec![
                vec![read()],
                vec![bash(format!(
                    "echo 'LIMIT_{number} = {}' >> {file}",
                    1_000 + number
                ))],
            ],
        ),
        1 => (
            "Run the tests.".to_owned(),
            // They fail, as they should.
            vec![vec![bash(format!("sh run_tests.sh {number}"))]],
        ),
        2 => (
            "Show the whole trace.".to_owned(),
            // About 200 KB.
            vec![vec![bash(format!("seq {number} 36000"))]],
        ),
        3 => (
            format!("Look at {file} and at the tests."),
            vec![vec![read(), tool("Grep", json!({ "pattern": "LIMIT_" }))]],
        ),
        4 => (
            format!("Rename the first line of {file}."),
            vec![
                vec![read()],
                vec![tool(
                    "Edit",
                    json!({ "file_path": file, "old_string": "VERSION", "new_string": "VERSION",
                        "replace_all": true }),
                )],
            ],
        ),
        5 => (
            "How long is the build log?".to_owned(),
            vec![vec![bash(format!("seq {number} 4000"))]],
        ),
        6 => (
            format!(
                "Remember: service {number} listens on port {}.",
                8_000 + number
            ),
            Vec::new(),
        ),
        7 => (
            "Which files changed?".to_owned(),
            vec![
                vec![bash("git status --short")],
                vec![bash("git log --oneline")],
            ],
        ),
        8 => (
            "Commit it.".to_owned(),
            vec![vec![bash(format!(
                "git add -A && git commit -q -m 'step {number}'"
            ))]],
        ),
        _ => (
            format!("What is left to do after step {number}?"),
            Vec::new(),
        ),
    };
    let mut answers = calls;
    answers.push(vec![AnswerBlock::text(&format!(
        "Step {number} is done: {file} holds, the relay keeps its limit of {}.",
        1_000 + number
    ))]);
    (format!("{} {words}", mark(number)), answers)
}

fn script() -> Vec<SimAnswer> {
    let answers = (1..=TURNS).flat_map(|number| {
        let (_, answers) = turn(number);
        answers.into_iter().map(move |content| SimAnswer {
            content,
            when: Some(mark(number)),
            ..SimAnswer::default()
        })
    });
    answers.collect()
}

/// A repository with a few files and tests that fail.
fn repository(project: &Path) {
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(project)
            .status();
        assert!(done.unwrap().success(), "{arguments:?}");
    };
    RealFiles
        .create_dir_all(&project.join("src"), Access::Private)
        .unwrap();
    let put = |name: &str, text: &str| {
        RealFiles
            .replace(&project.join(name), text.as_bytes(), Access::Private)
            .unwrap();
    };
    for part in 0..7 {
        let lines = (0..40).map(|n| format!("def f{part}_{n}(x): return x + {n}"));
        let body = lines.collect::<Vec<_>>().join("\n");
        put(
            &format!("src/part{part}.py"),
            &format!("VERSION = {part}\n{body}"),
        );
    }
    put(
        "run_tests.sh",
        "seq 1 200\necho \"FAILED test_limit[$1]: expected 300, got $1\" >&2\nexit 1\n",
    );
    put(
        "CLAUDE.md",
        "Never edit vendor/. Run run_tests.sh before a commit.\n",
    );
    git(&["init", "--quiet"]);
    git(&["config", "user.email", "ann@example.com"]);
    git(&["config", "user.name", "Ann"]);
    git(&["add", "-A"]);
    git(&["commit", "--quiet", "-m", "begin"]);
}

#[test]
#[ignore = "some twenty seconds in release, minutes in debug"]
fn three_hundred_turns_end_with_the_layers_at_work() {
    let root = tempfile::tempdir().unwrap();
    let (home, project) = (root.path().join("home"), root.path().join("project"));
    RealFiles.create_dir_all(&home, Access::Private).unwrap();
    RealFiles.create_dir_all(&project, Access::Private).unwrap();
    repository(&project);
    let clock = ManualClock::new(RealClock::new().now());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let (address, _server) = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = SimConfig {
            answers: AnswerConfig {
                script: script(),
                tool_rounds: Some(0),
                ..AnswerConfig::default()
            },
            ..SimConfig::default()
        };
        let server = serve(config, listener, Arc::new(clock.clone())).unwrap();
        (server.address(), server)
    });
    let environment = MapEnvironment::default();
    environment.set_home(Some(home.clone()));
    environment.set_current_dir(Some(project.clone()));
    environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    environment.set("ANTHROPIC_BASE_URL", format!("http://{address}"));
    environment.set("ANTHROPIC_API_KEY", "any");
    environment.set("ANTHROPIC_MODEL", MODEL);
    let system = System {
        clock: Arc::new(clock.clone()),
        env: Arc::new(environment),
        ..System::real()
    };
    let settings = [
        // Half of the model's window, so that compaction has something to do in 300 turns.
        "context.window=100000",
        "daily_log=true",
        "budget.background_day=50",
    ];
    let flags: Vec<String> = settings.map(str::to_owned).to_vec();
    let host = Arc::new(Host::open_with(&system, &home.join("managed.toml"), flags).unwrap());
    let mut talk = runtime.block_on(Talk::open(&host, false));
    for number in 1..=TURNS {
        if RESTARTS.contains(&number) {
            runtime.block_on(talk.close());
            clock.advance(Duration::from_hours(25));
            talk = runtime.block_on(Talk::open(&host, true));
        }
        let (words, _) = turn(number);
        let answer = runtime.block_on(talk.turn(&words));
        assert!(
            answer.contains(&format!("Step {number} is done")),
            "{number}: {answer}"
        );
        clock.advance(Duration::from_secs(match number {
            n if n % 90 == 0 => 3 * 3_600,
            n if n % 40 == 0 => 10 * 60,
            _ => 20,
        }));
    }
    runtime.block_on(talk.close());
    clock.advance(Duration::from_hours(25));
    let ask = DreamAsk {
        now: true,
        ..DreamAsk::default()
    };
    let dreamt = host.dream(&Which::Private, ask, std::future::pending, |_| {});
    assert!(matches!(dreamt.unwrap(), DreamAnswer::Dreamt(_)));

    let stats = host
        .stats(&StatsAsk {
            here: true,
            ..StatsAsk::default()
        })
        .unwrap();
    let text = Command::new(env!("CARGO_BIN_EXE_dormouse"))
        .args(["stats", "--here", "--color", "never"])
        .env_clear()
        .env("HOME", &home)
        .current_dir(&project)
        .output()
        .unwrap();
    println!("{}", String::from_utf8_lossy(&text.stdout));
    let all = &stats.all;
    assert_eq!(all.turns, TURNS as u64);
    // 1: files and distillates, 2: clearing, 3: notes, 4: compaction; 6 was asked for above. With a
    // daily log layer 5 leaves writing to the agent, whose answers here are scripted.
    let acted = &all.acted;
    assert!(acted.offloads > 0 && acted.distillations > 0, "{stats:?}");
    assert!(acted.clearings > 0, "{stats:?}");
    assert!(acted.notes_updates > 0, "{stats:?}");
    assert!(acted.compactions() > 0, "{stats:?}");
    assert!(all.cache_hit_rate.unwrap() >= 0.9, "{stats:?}");
    assert_eq!(refused(&home), 0, "requests were refused");
    // Files are as the calls left them.
    let changed = RealFiles
        .read(&project.join("src/part6.py"), 1 << 20)
        .unwrap();
    let changed = String::from_utf8(changed.to_vec()).unwrap();
    assert!(changed.contains("LIMIT_20 = 1020"), "{changed}");
}

/// Failed attempts at requests in the logs.
fn refused(home: &Path) -> usize {
    let folder = home.join(".dormouse/projects");
    let mut count = 0;
    for project in RealFiles.list(&folder).unwrap() {
        let folder = folder.join(&project.name);
        for entry in RealFiles.list(&folder).unwrap_or_default() {
            if entry.name.to_string_lossy().ends_with(".jsonl") {
                let log = RealFiles.read(&folder.join(&entry.name), 1 << 30).unwrap();
                let log = String::from_utf8_lossy(&log).into_owned();
                count += log.matches("\"subtype\":\"attempt\"").count();
            }
        }
    }
    count
}
