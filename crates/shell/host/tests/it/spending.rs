//! Tokens and dollars: groups add up, days are the machine's, and waste is priced.

use crate::kit::Kit;
use dormouse_core::usage::Usd;
use dormouse_host::{GroupFigures, Host, UsageAsk, UsageBy, UsageReport};
use dormouse_system::{Files as _, MapEnvironment, RealFiles, System};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ALL: [UsageBy; 6] = [
    UsageBy::Day,
    UsageBy::Week,
    UsageBy::Project,
    UsageBy::Session,
    UsageBy::Model,
    UsageBy::Tool,
];
/// Listed at $3 input, $15 output, $3.75 and $6 writes, $0.30 reads per million tokens.
const MODEL: &str = "claude-sonnet-4-5";

/// A transcript of Claude Code's, line by line.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
}

impl Log {
    fn add(&mut self, mut line: Value, at: &str) {
        line["uuid"] = json!(format!("u{}", self.lines.len()));
        line["sessionId"] = json!("s");
        line["cwd"] = json!("/home/me/app");
        line["timestamp"] = json!(at);
        self.lines.push(line.to_string());
    }

    /// A response with figures: read, written, sent in full.
    fn response(&mut self, id: &str, at: &str, figures: [u64; 3], content: &Value) {
        let [read, written, input] = figures;
        self.add(
            json!({"type": "assistant", "message": {
                "role": "assistant", "id": id, "model": MODEL, "content": content,
                "usage": {"input_tokens": input, "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": written, "output_tokens": 0},
            }}),
            at,
        );
    }

    fn result(&mut self, call: &str, at: &str, text: &str) {
        self.add(
            json!({"type": "user", "message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call, "content": text},
            ]}}),
            at,
        );
    }

    fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

fn read(id: &str, path: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}])
}

fn ask(host: &Host, path: &Path, by: Option<UsageBy>) -> UsageReport {
    let ask = UsageAsk {
        by,
        ..UsageAsk::of(path)
    };
    host.usage(&ask).unwrap()
}

fn names(report: &UsageReport) -> Vec<&str> {
    let groups = report.groups.iter().flatten();
    groups.map(|group| group.name.as_str()).collect()
}

fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

#[test]
fn groups_of_every_kind_add_up_to_the_total_over_all_material() {
    let kit = Kit::new();
    let host = kit.host();
    let mut checked = 0;
    let files = dormouse_testkit::material::transcripts();
    let folder = dormouse_testkit::material::sample("transcripts");
    for path in files.iter().chain([&folder]) {
        for by in ALL {
            // Some of the material is no transcript at all.
            let asked = UsageAsk {
                by: Some(by),
                ..UsageAsk::of(path)
            };
            let Ok(report) = host.usage(&asked) else {
                continue;
            };
            let groups = report.groups.as_ref().unwrap();
            let sum: Usd = groups.iter().map(|group| group.figures.cost()).sum();
            assert_eq!(sum, report.all.sum.cost, "{by:?} {}", path.display());
            let never_negative = groups.iter().all(|group| group.figures.cost() >= Usd::ZERO);
            assert!(never_negative, "{by:?} {}", path.display());
            checked += 1;
        }
    }
    assert!(checked > ALL.len(), "{checked}");
}

#[test]
fn days_and_weeks_are_those_of_the_machine_and_in_order() {
    let kit = Kit::new();
    let mut log = Log::default();
    // Dearer on the earlier day: the order is that of time all the same.
    log.response("a", "2026-01-04T22:30:00Z", [0, 0, 9_000], &json!([]));
    log.response("b", "2026-01-05T10:00:00Z", [0, 0, 1_000], &json!([]));
    kit.put("project/s.jsonl", &log.text(), 0);
    let file = kit.path("project/s.jsonl");
    let by_zone = |zone: &str| {
        let env = MapEnvironment::default();
        env.set_home(Some(kit.path("home")));
        env.set_current_dir(Some(kit.path("project")));
        env.set("TZ", zone);
        let system = System {
            env: Arc::new(env),
            ..kit.system()
        };
        Host::open(&system, Vec::new()).unwrap()
    };
    let utc = by_zone("UTC0");
    assert_eq!(
        names(&ask(&utc, &file, Some(UsageBy::Day))),
        ["2026-01-04", "2026-01-05"]
    );
    assert_eq!(
        names(&ask(&utc, &file, Some(UsageBy::Week))),
        ["2026-W01", "2026-W02"]
    );
    // Two hours east, the evening of the fourth is the fifth.
    let east = by_zone("EET-2");
    assert_eq!(
        names(&ask(&east, &file, Some(UsageBy::Day))),
        ["2026-01-05"]
    );
    let since = UsageAsk {
        since: Some(jiff::civil::date(2026, 1, 5)),
        ..UsageAsk::of(&file)
    };
    assert_eq!(utc.usage(&since).unwrap().all.requests, 1);
    assert_eq!(east.usage(&since).unwrap().all.requests, 2);
    let until = UsageAsk {
        until: Some(jiff::civil::date(2026, 1, 4)),
        ..UsageAsk::of(&file)
    };
    assert_eq!(utc.usage(&until).unwrap().all.requests, 1);
}

#[test]
fn a_break_of_the_cache_costs_writing_less_reading() {
    let kit = Kit::new();
    let mut log = Log::default();
    log.response("a", "2026-01-05T10:00:00Z", [0, 100_000, 0], &json!([]));
    log.response("b", "2026-01-05T10:01:00Z", [100_000, 1_000, 0], &json!([]));
    log.response("c", "2026-01-05T12:00:00Z", [0, 102_000, 0], &json!([]));
    // Several lines tell of the same response; it broke once.
    log.response("c", "2026-01-05T12:00:00Z", [0, 102_000, 0], &json!([]));
    kit.put("project/s.jsonl", &log.text(), 0);
    let report = ask(&kit.host(), &kit.path("project/s.jsonl"), None);
    let waste = report.all.waste;
    assert_eq!((waste.cache_breaks, waste.cache_break_tokens), (1, 101_000));
    // 101,000 tokens at 3.75 less 0.30 dollars a million.
    assert_eq!(waste.cache_break_cost_usd, usd("0.34845"));
    assert_eq!(report.all.requests, 3);
}

#[test]
fn a_compaction_is_no_break() {
    let kit = Kit::new();
    let mut log = Log::default();
    log.response("a", "2026-01-05T10:00:00Z", [0, 100_000, 0], &json!([]));
    log.add(
        json!({"type": "system", "subtype": "compact_boundary",
            "compactMetadata": {"trigger": "auto", "preTokens": 100_000}}),
        "2026-01-05T10:00:30Z",
    );
    log.response("b", "2026-01-05T10:01:00Z", [0, 20_000, 0], &json!([]));
    kit.put("project/s.jsonl", &log.text(), 0);
    let report = ask(&kit.host(), &kit.path("project/s.jsonl"), None);
    assert_eq!(report.all.waste.cache_breaks, 0);
}

#[test]
fn a_file_read_twice_is_priced_with_its_carrying() {
    let kit = Kit::new();
    let host = kit.host();
    let text = "x".repeat(40_000);
    // Reads the second file last, or the first one again.
    let cost = |second: &str| {
        let mut log = Log::default();
        log.response(
            "a",
            "2026-01-05T10:00:00Z",
            [0, 20_000, 0],
            &read("1", "/x"),
        );
        log.result("1", "2026-01-05T10:00:10Z", &text);
        let next = read("2", second);
        log.response("b", "2026-01-05T10:01:00Z", [20_000, 11_000, 0], &next);
        log.result("2", "2026-01-05T10:01:10Z", &text);
        log.response("c", "2026-01-05T10:02:00Z", [31_000, 11_000, 0], &json!([]));
        log.response("d", "2026-01-05T10:03:00Z", [42_000, 0, 10], &json!([]));
        kit.put("project/s.jsonl", &log.text(), 0);
        ask(&host, &kit.path("project/s.jsonl"), Some(UsageBy::Tool))
    };
    let once = cost("/y").all.waste;
    assert_eq!(once.repeated_read_cost_usd, Usd::ZERO);
    let twice = cost("/x");
    let tokens = twice.all.waste.repeated_read_tokens;
    assert!((9_000..=11_000).contains(&tokens), "{tokens}");
    // Written once and read once: about 10,000 tokens at 3.75 and at 0.30 dollars a million.
    let dollars = twice.all.waste.repeated_read_cost_usd.as_f64();
    assert!((0.036..0.045).contains(&dollars), "{dollars}");
    // The tool paid for both files: written twice, read three times.
    let tool = &twice.groups.as_ref().unwrap()[1];
    assert_eq!(tool.name, "Read");
    let GroupFigures::Parts {
        results, cost_usd, ..
    } = tool.figures
    else {
        panic!("a tool has parts of responses");
    };
    assert_eq!(results, 2);
    assert!((0.075..0.10).contains(&cost_usd), "{cost_usd}");
}

#[test]
fn sub_agents_belong_to_their_session_and_a_repeated_response_to_the_first() {
    let kit = Kit::new();
    let mut log = Log::default();
    log.response("a", "2026-01-05T10:00:00Z", [0, 0, 1_000], &json!([]));
    kit.put("t/one.jsonl", &log.text(), 0);
    // A fork repeats the beginning.
    log.response("b", "2026-01-05T11:00:00Z", [0, 0, 9_000], &json!([]));
    kit.put("t/two.jsonl", &log.text(), 0);
    let mut agent = Log::default();
    agent.response("c", "2026-01-05T11:30:00Z", [0, 0, 5_000], &json!([]));
    kit.put("t/one/subagents/agent-x.jsonl", &agent.text(), 0);
    let report = ask(&kit.host(), &kit.path("t"), Some(UsageBy::Session));
    let groups = report.groups.unwrap();
    let found: Vec<(&str, Usd)> = groups
        .iter()
        .map(|group| (group.name.as_str(), group.figures.cost()))
        .collect();
    // Dearest first.
    assert_eq!(found, [("two", usd("0.027")), ("one", usd("0.018"))]);
}

/// A machine with sessions of several agents in their usual folders.
fn agents(variables: &[(&str, &str)]) -> (Kit, Host) {
    let kit = Kit::new();
    let env = MapEnvironment::default();
    env.set_home(Some(kit.path("home")));
    env.set_current_dir(Some(kit.path("project")));
    for (name, folder) in variables {
        env.set(*name, kit.path(folder));
    }
    let system = System {
        env: Arc::new(env),
        files: Arc::new(RealFiles),
        ..kit.system()
    };
    let host = Host::open(&system, Vec::new()).unwrap();
    (kit, host)
}

fn one(id: &str) -> String {
    let mut log = Log::default();
    log.response(id, "2026-01-05T10:00:00Z", [0, 0, 1_000], &json!([]));
    log.text()
}

/// The folder of the project as Claude Code names it.
fn slug(kit: &Kit) -> String {
    let path = RealFiles.real_path(&kit.path("project")).unwrap();
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    path.to_string_lossy().chars().map(plain).collect()
}

#[test]
fn without_a_path_all_agents_count_and_their_variables_move_them() {
    let (kit, host) = agents(&[]);
    assert!(host.usage(&UsageAsk::default()).is_err());
    kit.put("home/.claude/projects/p/a.jsonl", &one("a"), 0);
    kit.put("home/.dormouse/projects/p/b.jsonl", &one("b"), 0);
    kit.put("elsewhere/projects/p/c.jsonl", &one("c"), 0);
    let all = host.usage(&UsageAsk::default()).unwrap();
    assert_eq!((all.all.requests, all.files), (2, 2));
    let (kit, host) = agents(&[("CLAUDE_CONFIG_DIR", "elsewhere")]);
    kit.put("home/.claude/projects/p/a.jsonl", &one("a"), 0);
    kit.put("elsewhere/projects/p/c.jsonl", &one("c"), 0);
    kit.put("elsewhere/projects/p/d.jsonl", &one("d"), 0);
    assert_eq!(host.usage(&UsageAsk::default()).unwrap().all.requests, 2);
}

#[test]
fn a_session_is_found_by_folder_by_id_and_by_age() {
    let (kit, host) = agents(&[]);
    assert!(host.choose(None).is_err());
    let here = slug(&kit);
    let folder = format!("home/.claude/projects/{here}");
    kit.put(&format!("{folder}/abc-1.jsonl"), &one("a"), 3);
    kit.put(&format!("{folder}/abc-2.jsonl"), &one("b"), 2);
    kit.put(
        &format!("{folder}/abc-2/subagents/agent-q.jsonl"),
        &one("c"),
        0,
    );
    kit.put("home/.claude/projects/other/abd.jsonl", &one("d"), 1);
    let found = |name: Option<&str>| -> Result<PathBuf, String> {
        let chosen = host.choose(name.map(Path::new));
        chosen.map(|it| it.file).map_err(|error| error.to_string())
    };
    let ours = |name: &str| Ok(kit.path(&format!("{folder}/{name}.jsonl")));
    // The newest of this folder, no sub-agent, and not the newest of all.
    assert_eq!(found(None), ours("abc-2"));
    let other = kit.path("home/.claude/projects/other/abd.jsonl");
    assert_eq!(found(Some("latest")), Ok(other.clone()));
    assert_eq!(found(Some("abd")), Ok(other));
    assert_eq!(found(Some("abc-1")), ours("abc-1"));
    let ambiguous = host.choose(Some(Path::new("abc"))).unwrap_err();
    assert_eq!(
        ambiguous.to_string(),
        "2 sessions have ids that begin with `abc`"
    );
    assert!(format!("{ambiguous:?}").contains("abc-1"));
    assert!(found(Some("zzz")).is_err());
    // A path stays a path, also where nothing is.
    assert_eq!(found(Some("./zzz")), Ok(PathBuf::from("./zzz")));
}

#[test]
fn a_rollout_of_codex_is_of_the_folder_that_it_names() {
    let (kit, host) = agents(&[]);
    let rollout = |cwd: &Path| {
        let at = "2026-01-01T10:00:00Z";
        let payload = json!({"id": "c", "cwd": cwd, "timestamp": at});
        json!({"timestamp": at, "type": "session_meta", "payload": payload}).to_string() + "\n"
    };
    let days = "home/.codex/sessions/2026/01";
    let here = RealFiles.real_path(&kit.path("project")).unwrap();
    kit.put(&format!("{days}/01/rollout-1.jsonl"), &rollout(&here), 3);
    let elsewhere = rollout(Path::new("/elsewhere"));
    kit.put(&format!("{days}/02/rollout-2.jsonl"), &elsewhere, 1);
    let chosen = host.choose(None).unwrap();
    assert_eq!(chosen.file, kit.path(&format!("{days}/01/rollout-1.jsonl")));
}

#[test]
fn a_rollout_of_codex_counts_on_its_days_and_in_its_folder() {
    let kit = Kit::new();
    let event = |day: &str, total: u64, last: u64| {
        let figures = |tokens: u64| json!({"input_tokens": tokens, "output_tokens": 10});
        let info = json!({"total_token_usage": figures(total), "last_token_usage": figures(last)});
        let payload = json!({"type": "token_count", "info": info});
        json!({"timestamp": format!("{day}T10:00:00Z"), "type": "event_msg", "payload": payload})
    };
    let words = json!([{"type": "output_text", "text": "Done."}]);
    let lines = [
        json!({"timestamp": "2026-01-01T10:00:00Z", "type": "session_meta",
            "payload": {"id": "c", "cwd": "/home/me/lib"}}),
        json!({"timestamp": "2026-01-01T10:00:00Z", "type": "turn_context",
            "payload": {"model": "gpt-5", "cwd": "/home/me/lib"}}),
        json!({"timestamp": "2026-01-01T10:00:00Z", "type": "response_item",
            "payload": {"type": "message", "role": "assistant", "content": words}}),
        event("2026-01-01", 1_000, 1_000),
        event("2026-01-02", 3_000, 2_000),
    ];
    let text = lines.map(|line| format!("{line}\n")).concat();
    kit.put("logs/rollout-c.jsonl", &text, 0);
    kit.put("logs/s.jsonl", &one("a"), 0);
    let host = kit.host();
    let by = |by| ask(&host, &kit.path("logs"), Some(by));
    let days = by(UsageBy::Day);
    assert_eq!(names(&days), ["2026-01-01", "2026-01-02", "2026-01-05"]);
    assert_eq!((days.all.requests, days.all.input_tokens), (3, 4_000));
    let mut projects = by(UsageBy::Project);
    let groups = projects.groups.take().unwrap();
    let codex = groups.iter().find(|group| group.name == "/home/me/lib");
    let GroupFigures::Responses { figures, .. } = &codex.unwrap().figures else {
        panic!("a project is a group of responses");
    };
    assert_eq!((figures.requests, figures.input_tokens), (2, 3_000));
}
