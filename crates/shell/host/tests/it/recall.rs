//! Recall by a question and recall by a session give the same picks, and a question writes nothing.

use crate::kit::{Chance, Kit};
use dormouse_core::block::Block;
use dormouse_engine::{Companion as _, Seen, ToolCall};
use dormouse_host::{Host, HostError, Near, RecallQuestion, Which, Work};
use dormouse_keeper::recaller::Recaller;
use dormouse_memdir::{MemoryDir, Proposal};
use dormouse_memory::transaction::{Author, Expected};
use dormouse_memory::trust::Trust;
use dormouse_recall::usage::{Event, encode_event};
use dormouse_system::{Access, Clock as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// Questions of a run: enough that a difference between both ways would show, few enough for a
/// test.
const QUESTIONS: usize = 200;
/// Memories of a run: more than recall brings in at once.
const MEMORIES: usize = 80;

/// Words that memories and questions are made of, so that they meet by chance.
const WORDS: [&str; 40] = [
    "billing",
    "deploy",
    "staging",
    "ledger",
    "invoice",
    "importer",
    "parser",
    "cache",
    "session",
    "retry",
    "upload",
    "queue",
    "worker",
    "migration",
    "schema",
    "database",
    "index",
    "search",
    "release",
    "freeze",
    "review",
    "dashboard",
    "alert",
    "latency",
    "timeout",
    "gateway",
    "token",
    "login",
    "password",
    "export",
    "report",
    "calendar",
    "holiday",
    "rota",
    "printer",
    "kernel",
    "driver",
    "compiler",
    "linter",
    "fixture",
];
/// Files that the work of a session names, some of them in memories.
const FILES: [&str; 4] = ["src/lib.rs", "src/main.py", "web/app.ts", "db/schema.sql"];
/// Commands that the work of a session names.
const COMMANDS: [&str; 4] = [
    "cargo test",
    "git push",
    "npm run build",
    "docker compose up",
];

fn sentence(chance: &mut Chance, words: usize) -> String {
    let words: Vec<&str> = (0..words).map(|_| *chance.one_of(&WORDS)).collect();
    words.join(" ")
}

/// A memory of some kind, with everything that decides about recall.
fn memory(number: usize, chance: &mut Chance) -> (String, String) {
    let folder = if number % 9 == 4 { "pinned/" } else { "" };
    let mut text = format!(
        "---\nname: {}\ndescription: {}\n",
        sentence(chance, 3),
        sentence(chance, 6)
    );
    let kind = chance.one_of(&["user", "feedback", "project", "reference"]);
    writeln!(text, "type: {kind}").unwrap();
    match number % 8 {
        1 => {
            let file = chance.one_of(&FILES).rsplit('.').next().unwrap().to_owned();
            writeln!(text, "triggers:\n  paths: [\"**/*.{file}\"]").unwrap();
        }
        2 => {
            let command = chance.one_of(&COMMANDS);
            writeln!(text, "triggers:\n  commands: [\"{command}\"]").unwrap();
        }
        3 => writeln!(text, "trust: tool-output").unwrap(),
        5 => writeln!(text, "superseded_by: m00.md").unwrap(),
        6 => writeln!(text, "valid_until: 2020-01-01").unwrap(),
        _ => {}
    }
    let claim = match number % 5 {
        0 => "It is written in `src/gone_for_good.rs`.",
        1 => "It is written in `src/lib.rs`.",
        2 => "It is written in `src/lib.rs` and `src/gone_for_good.rs`.",
        _ => "",
    };
    let body = sentence(chance, 12);
    write!(text, "---\n\nThe {body}. {claim}\n").unwrap();
    (format!("{folder}m{number:02}.md"), text)
}

fn kit(chance: &mut Chance) -> Kit {
    let kit = Kit::new();
    for file in FILES {
        kit.put(&format!("project/{file}"), "", 3);
    }
    let mut usage = String::new();
    for number in 0..MEMORIES {
        let (name, text) = memory(number, chance);
        kit.put(&format!("memory/{name}"), &text, number as u64 * 3);
        let path = dormouse_guard::paths::SafePath::parse(&name).unwrap();
        for _ in 0..chance.below(6) {
            let event = *chance.one_of(&[Event::Surfaced, Event::Used, Event::Cited]);
            usage += &encode_event(&path, Event::Surfaced, kit.clock.now());
            usage += &encode_event(&path, event, kit.clock.now());
        }
    }
    kit.put("memory/.cache/usage.jsonl", &usage, 1);
    propose(&kit, chance);
    kit
}

/// Memories that wait for approval.
fn propose(kit: &Kit, chance: &mut Chance) {
    let root = kit.path("memory");
    let dir = MemoryDir::open(&kit.system(), &root, Access::Private).unwrap();
    for number in 0..5 {
        let (_, content) = memory(number * 8 + 3, chance);
        let path = dormouse_guard::paths::SafePath::parse(&format!("waiting{number}.md")).unwrap();
        let proposal = Proposal {
            path,
            content,
            expected: Expected::Absent,
            author: Author::Extractor,
            reason: "from a page".to_owned(),
            origin: None,
            trust: Trust::ToolOutput,
            waits_because: "nobody vouches for it".to_owned(),
        };
        dir.propose(proposal).unwrap();
    }
}

/// A question: the prompt, and the calls that the session made before.
fn questions(chance: &mut Chance) -> Vec<(String, Vec<Value>)> {
    let question = |number: usize| {
        let length = 1 + chance.below(7);
        let words = sentence(chance, length);
        let prompt = match number % 10 {
            0 => words,
            1 => format!("ignore memory and tell me about {words}"),
            2 => format!("always remember how we {words}"),
            _ => format!("what do we know about {words}?"),
        };
        let calls = (0..chance.below(3)).map(|_| {
            if chance.below(2) == 0 {
                json!({"file_path": chance.one_of(&FILES)})
            } else {
                json!({"command": chance.one_of(&COMMANDS)})
            }
        });
        let calls = calls.collect();
        (prompt, calls)
    };
    (0..QUESTIONS).map(question).collect()
}

/// The answer to a question, as a door gets it.
fn answer(host: &Host, (prompt, calls): &(String, Vec<Value>)) -> Value {
    let mut work = Work::new();
    for input in calls {
        work.add_call("Tool", input);
    }
    let answer = host.recall(&RecallQuestion {
        prompt: prompt.clone(),
        which: Which::Private,
        work,
        most: None,
        near: Near::Hide,
        explain: false,
    });
    serde_json::to_value(answer.unwrap()).unwrap()
}

/// The paths of an answer's picks.
fn picks(answer: &Value) -> Vec<String> {
    let memories = answer["memories"].as_array().unwrap().iter();
    memories
        .map(|memory| memory["path"].as_str().unwrap().to_owned())
        .collect()
}

/// The picks of a session that made the same calls before.
async fn in_session(kit: &Kit, host: &Host, question: &(String, Vec<Value>)) -> Vec<String> {
    let keeper = host.keeper(&Which::Private).unwrap().keeper;
    let recaller = Recaller::new(Arc::clone(&keeper));
    let block = |(number, input): (usize, &Value)| {
        let id = format!("call{number}");
        let block = json!({"type": "tool_use", "id": id, "name": "Tool", "input": input});
        ToolCall::of(&Block::parse(&block.to_string().into()).unwrap()).unwrap()
    };
    let calls: Vec<ToolCall> = question.1.iter().enumerate().map(block).collect();
    // Rules that the work calls for are shown at once; a new conversation has none of them yet.
    drop(recaller.on_results(&calls, Seen::default()).await);
    let injections = recaller.on_prompt(&question.0, Seen::default()).await;
    let root = format!("{}/", kit.path("memory").display());
    let names = injections.iter().flat_map(|injection| &injection.memories);
    names
        .map(|(name, _)| name.strip_prefix(&root).unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_question_gets_what_a_session_gets_and_touches_no_file() {
    let mut chance = Chance(7);
    let kit = kit(&mut chance);
    let questions = questions(&mut chance);
    let before = kit.listing();
    let host = kit.host();
    let answers: Vec<Value> = questions.iter().map(|one| answer(&host, one)).collect();
    assert_eq!(kit.listing(), before, "asking wrote something");
    let uncached: Vec<_> = answers.iter().map(picks).collect();
    let picked: usize = uncached.iter().map(Vec::len).sum();
    let rules = |answer: &&Value| answer.to_string().contains("applies to");
    let rules = answers.iter().filter(rules).count();
    assert!(
        rules > 20,
        "{rules} answers have a rule that the work calls for"
    );
    let silent = uncached.iter().filter(|picks| picks.is_empty()).count();
    assert!(
        picked > QUESTIONS && silent > 5,
        "{picked} picks, {silent} times none"
    );

    let mut sessions = Vec::new();
    for question in &questions {
        sessions.push(in_session(&kit, &host, question).await);
    }
    assert_eq!(uncached, sessions);

    // The sessions have written an index; now it is there, and some of it is out of date.
    assert!(kit.path("memory/.cache/recall.index").exists());
    kit.remove("memory/m07.md");
    for number in [8, MEMORIES, MEMORIES + 1] {
        let (_, text) = memory(number, &mut chance);
        kit.put(&format!("memory/m{number:02}.md"), &text, 2);
    }
    let before = kit.listing();
    let host = kit.host();
    let ask = |one| picks(&answer(&host, one));
    let cached: Vec<_> = questions.iter().map(ask).collect();
    assert_eq!(kit.listing(), before, "asking wrote something");
    kit.remove("memory/.cache/recall.index");
    // Every fourth: reading all memories anew for each question takes its time.
    for (question, cached) in questions.iter().zip(&cached).step_by(4) {
        assert_eq!(ask(question), *cached, "{question:?}");
    }
}

#[test]
fn asking_makes_no_directory_wherever_it_points() {
    let kit = Kit::new();
    let before = kit.listing();
    let host = kit.host();
    let elsewhere = Which::Directory(kit.path("nowhere/at/all"));
    for which in [Which::Private, Which::Team, elsewhere] {
        let answer = host.recall(&RecallQuestion {
            prompt: "which port does staging use".to_owned(),
            which,
            work: Work::new(),
            most: Some(3),
            near: Near::Show,
            explain: false,
        });
        match answer {
            // A folder that is not trusted has no team memory to ask.
            Err(HostError::TeamUntrusted) => {}
            answer => assert!(answer.unwrap().abstained),
        }
    }
    assert_eq!(host.search_memories("staging port", 5).unwrap(), []);
    assert_eq!(kit.listing(), before);
}
