//! A session of 300 turns through the agent, in a git repository, against the simulator.
//!
//! # Model
//! The simulator answers by a script (`script`) that waits for each turn's words, so that calls of the
//! layers come in between as they like. Its clock and the agent's are one clock that the test moves:
//! a minute passes between turns, now and then ten minutes or three hours, and a night at each
//! restart. The tools are real, and so are the files, the commands and their exit codes.
//!
//! Three quarters of a minute in a debug build; `-- --nocapture` shows the figures.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, and the figures are the result"
)]

mod extensions;
mod script;
mod talk;

use dormouse_agent::Resume;
use dormouse_core::id::SessionId;
use dormouse_core::settings::Trust;
use dormouse_core::units::Millis;
use dormouse_host::{Host, StatsAsk};
use dormouse_sim::{AnswerConfig, SimConfig, serve};
use dormouse_system::{
    Access, Clock, Files as _, ManualClock, MapEnvironment, RealClock, RealFiles, System, Ticks,
};
use script::{SHORT, TURNS};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use talk::Talk;

/// Turns before which the agent is closed and opened again, a night later.
const RESTARTS: [usize; 2] = [110, 215];
const MODEL: &str = "claude-sonnet-4-5";

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

/// Hooks of the user: each leaves its name in a file, and one refuses to push.
fn hooks(home: &Path) {
    let file = home.join("hooks.txt");
    let leave = |name: &str| format!("echo {name} >> '{}'", file.display());
    let hook = |command: String| json!([{ "hooks": [{ "type": "command", "command": command }] }]);
    let refuse = "grep -q 'git push' && { echo 'Pushing is for people.' >&2; exit 2; }; exit 0";
    let settings = json!({ "hooks": {
        "SessionStart": hook(leave("SessionStart")),
        "UserPromptSubmit": hook(leave("UserPromptSubmit")),
        "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": refuse }] }],
        "PostToolUse": [{ "matcher": "Edit",
            "hooks": [{ "type": "command", "command": leave("PostToolUse") }] }],
        "Stop": hook(leave("Stop")),
        "PreCompact": hook(leave("PreCompact")),
        "SessionEnd": hook(leave("SessionEnd")),
    } });
    let file = home.join(".claude/settings.json");
    RealFiles
        .create_dir_all(&home.join(".claude"), Access::Private)
        .unwrap();
    RealFiles
        .replace(&file, settings.to_string().as_bytes(), Access::Private)
        .unwrap();
}

/// Days that the test moves, and durations as they are.
#[derive(Debug)]
struct DayClock(ManualClock, RealClock);

impl Clock for DayClock {
    fn now(&self) -> Millis {
        self.0.now()
    }

    fn ticks(&self) -> Ticks {
        self.1.ticks()
    }
}

fn read(path: &Path) -> String {
    let bytes = RealFiles.read(path, 1 << 30).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one story from the first turn to the last figure"
)]
fn three_hundred_turns_end_with_the_layers_at_work() {
    let root = tempfile::tempdir().unwrap();
    let (home, project) = (root.path().join("home"), root.path().join("project"));
    RealFiles.create_dir_all(&home, Access::Private).unwrap();
    RealFiles.create_dir_all(&project, Access::Private).unwrap();
    repository(&project);
    hooks(&home);
    extensions::set_up(&home);
    let clock = ManualClock::new(RealClock::new().now());
    let environment = MapEnvironment::default();
    environment.set_home(Some(home.clone()));
    environment.set_current_dir(Some(project.clone()));
    environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
    environment.set("ANTHROPIC_API_KEY", "any");
    environment.set("ANTHROPIC_MODEL", MODEL);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let address = listener.local_addr().unwrap();
    environment.set("ANTHROPIC_BASE_URL", format!("http://{address}"));
    let system = System {
        clock: Arc::new(DayClock(clock.clone(), RealClock::new())),
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
    host.set_trust(None, Trust::Trusted).unwrap();
    // Memories lie beside the sessions of their project.
    let session = SessionId::new("long-session");
    let folder = host.session_folder(&session).unwrap();
    let memory = folder.parent().unwrap().join("memory");
    // The log of the first day, which the model goes on with: it is no good at dates.
    let today = host.today();
    let (year, month) = (&today[..4], &today[5..7]);
    let log = format!("logs/{year}/{month}/{today}.md");
    let answers = AnswerConfig {
        script: script::script(&memory.join(&log), RESTARTS[0]),
        side: script::side(&log),
        tool_rounds: Some(0),
        ..AnswerConfig::default()
    };
    let config = SimConfig {
        answers,
        ..SimConfig::default()
    };
    let _server = runtime.block_on(async { serve(config, listener, Arc::new(clock.clone())) });

    let mut talk = runtime.block_on(Talk::open(&host, Resume::New, Some(session.clone())));
    for number in 1..=TURNS {
        if RESTARTS.contains(&number) {
            runtime.block_on(talk.close());
            if number == RESTARTS[0] {
                runtime.block_on(short_sessions(&host));
            }
            clock.advance(Duration::from_hours(25));
            let again = Resume::Named(session.as_str().to_owned());
            talk = runtime.block_on(Talk::open(&host, again, None));
        }
        let (words, _) = script::turn(number, &memory.join(&log));
        runtime.block_on(talk.turn(&words, &format!("Step {number} is done")));
        clock.advance(Duration::from_secs(match number {
            n if n % 90 == 0 => 3 * 3_600,
            n if n % 40 == 0 => 10 * 60,
            _ => 20,
        }));
    }
    runtime.block_on(talk.close());

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
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    println!("{text}");
    assert!(text.contains("prompt tokens read"), "{text}");
    let all = &stats.all;
    // Reports of agents begin turns of their own, and agents have turns.
    assert!(all.turns > (TURNS + SHORT) as u64, "{stats:?}");
    // 1: files and distillates, 2: clearing, 3: notes, 4: compaction.
    let acted = &all.acted;
    assert!(acted.offloads > 0 && acted.distillations > 0, "{stats:?}");
    assert!(acted.clearings > 0, "{stats:?}");
    assert!(acted.notes_updates > 0, "{stats:?}");
    assert!(acted.compactions() > 0, "{stats:?}");
    // 5: every fact that the user stated, drawn from the conversation.
    assert!(stats.memory.written_by_extraction >= 15, "{stats:?}");
    // With a daily log they are entries of the day's log, which dreams distil.
    let folder_of_logs = memory.join("logs");
    let logs = RealFiles.walk(&folder_of_logs, &|_| false).unwrap();
    let logs: String = logs
        .iter()
        .map(|file| read(&folder_of_logs.join(&file.path)))
        .collect();
    for number in (6..=TURNS).step_by(20) {
        let fact = format!("service {number} listens on port {} ", 8_000 + number);
        assert!(logs.contains(&fact), "{fact}: {logs}");
    }
    // 6: a dream that came by itself, made of the log of the day.
    assert!(acted.dreams > 0, "{stats:?}");
    assert!(stats.memory.written_by_dreams > 0, "{stats:?}");
    assert!(read(&memory.join("reviews.md")).contains("step 9"));
    assert!(all.cache_hit_rate.unwrap() >= 0.9, "{stats:?}");
    assert_eq!(refused(&home), 0, "requests were refused");
    // Files are as the calls left them.
    let changed = read(&project.join("src/part6.py"));
    assert!(changed.contains("LIMIT_20 = 1020"), "{changed}");
    assert!(changed.contains("return x + 3 + 34"), "{changed}");
    // Hooks ran at their moments, each time.
    let hooks = read(&home.join("hooks.txt"));
    let ran = |name: &str| hooks.lines().filter(|line| *line == name).count();
    let sessions = 1 + RESTARTS.len() + SHORT;
    // A session starts anew behind a compaction, as in Claude Code.
    let compactions = usize::try_from(acted.compactions()).unwrap();
    assert_eq!(ran("SessionStart"), sessions + compactions);
    assert_eq!(ran("PreCompact"), compactions);
    assert_eq!(ran("SessionEnd"), sessions);
    assert_eq!(ran("UserPromptSubmit"), TURNS + SHORT);
    assert!(ran("Stop") >= TURNS + SHORT, "{}", ran("Stop"));
    assert_eq!(ran("PostToolUse"), TURNS / 10);
    let records = read(&folder.with_extension("jsonl"));
    assert!(records.matches("Pushing is for people.").count() >= TURNS / 10);
    extensions::check(&records, &home, &project);
    // So are the entries that the model wrote itself, every tenth turn.
    for number in (9..=TURNS).step_by(10) {
        assert!(
            logs.contains(&format!("step {number} is on Friday")),
            "{number}"
        );
    }
}

/// Sessions of one question each, on another evening.
async fn short_sessions(host: &Arc<Host>) {
    for number in 1..=SHORT {
        let mut talk = Talk::open(host, Resume::New, None).await;
        talk.turn(&script::short(number), "notes of the project")
            .await;
        talk.close().await;
    }
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
