use super::*;
use crate::script::Step;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::record::Message;
use dormouse_core::units::{Millis, Tokens};
use dormouse_testkit::blocks::call;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

fn script(steps: Vec<Step>) -> Script {
    Script {
        steps,
        model: "claude-sonnet-4-6".into(),
        prefix: Arc::new(RenderedPrefix::new(Vec::new(), Vec::new(), Vec::new())),
        permille: 1_000,
        project: "/w/p".to_owned(),
    }
}

fn step(inputs: Vec<Input>, answer: Vec<Block>) -> Step {
    Step {
        at: Millis(0),
        inputs,
        answer,
        output: Tokens(1),
    }
}

fn says(text: &str) -> Input {
    Input::Message(Message::user(vec![Block::text(text)]))
}

fn failing(id: &str, text: &str) -> Input {
    let mut output = ToolOutput::text(CallId::new(id), text);
    output.is_error = true;
    Input::Results(vec![("Bash".to_owned(), output)])
}

fn values(facts: &Facts, kind: FactKind) -> Vec<&str> {
    let of_kind = facts.facts.iter().filter(|fact| fact.kind == kind);
    of_kind.map(|fact| fact.value.as_str()).collect()
}

#[test]
fn every_kind_is_mined() {
    let facts = mine(&script(vec![
        step(
            vec![says(
                "Look at src/lib.rs. Never touch the cache. Keep 250 entries, port 8080.",
            )],
            vec![
                Block::text("I looked. I decided to keep the map. Next the tests."),
                call("a", "Read", &json!({"file_path": "/w/p/src/map.rs"})),
                call(
                    "b",
                    "Bash",
                    &json!({"command": "cargo  test\nls", "description": "Run tests"}),
                ),
            ],
        ),
        step(
            vec![failing("b", "Exit code 101\nerror: two failed\nmore")],
            vec![call("c", "Bash", &json!({"command": "cargo test"}))],
        ),
        step(
            vec![Input::Results(vec![(
                "Bash".to_owned(),
                ToolOutput::text(CallId::new("c"), "ok"),
            )])],
            vec![Block::text("Done.")],
        ),
    ]));
    assert_eq!(
        values(&facts, FactKind::UserRule),
        ["Never touch the cache."]
    );
    assert_eq!(values(&facts, FactKind::UserNumber), ["250", "8080"]);
    assert_eq!(
        values(&facts, FactKind::FilePath),
        ["src/lib.rs", "src/map.rs"]
    );
    assert_eq!(values(&facts, FactKind::Command), ["cargo test"]);
    assert_eq!(values(&facts, FactKind::ErrorText), ["error: two failed"]);
    assert_eq!(
        values(&facts, FactKind::Decision),
        ["I decided to keep the map."]
    );
    let command = facts
        .facts
        .iter()
        .find(|fact| fact.kind == FactKind::Command);
    assert_eq!(
        command.unwrap().ending,
        Some(Ending::Ok),
        "the last run counts"
    );
}

#[test]
fn queries_do_not_have_the_value() {
    let facts = mine(&script(vec![step(
        vec![says("Please read the parser module and fix the bug")],
        vec![
            Block::text("The parser is in the map file, I think"),
            call("a", "Read", &json!({"file_path": "/w/p/src/parser.rs"})),
        ],
    )]));
    let path = &facts.facts[0];
    assert_eq!(path.value, "src/parser.rs");
    assert!(!path.context.contains(&"parser".to_owned()), "{path:?}");
    assert!(path.context.contains(&"map".to_owned()), "{path:?}");
}

#[test]
fn what_is_no_number_of_the_users() {
    let found: Vec<String> =
        numbers("1. first item\nsee v1.2.3 and x86, sha 3f9a\nmemory 3.5 GB or 90% load")
            .into_iter()
            .map(|(number, _)| number)
            .collect();
    assert_eq!(found, ["3.5", "90"]);
}

#[test]
fn the_folder_is_the_longest_common_one() {
    let read = |path: &str| call("a", "Read", &json!({ "file_path": path }));
    let mut script = script(vec![step(
        vec![],
        vec![read("/home/a/x/src/one.rs"), read("/home/a/x/two.rs")],
    )]);
    script.project.clear();
    let facts = mine(&script);
    assert_eq!(facts.root, "/home/a/x");
    assert_eq!(values(&facts, FactKind::FilePath), ["src/one.rs", "two.rs"]);
}

#[test]
fn messages_of_the_client_hold_no_facts() {
    let meta = Input::Message(Message {
        origin: MessageOrigin::Meta,
        ..Message::user(vec![Block::text("Never use 77 ducks in a/b.rs")])
    });
    let told = says("<system-reminder>Always keep 12 ducks</system-reminder>");
    let facts = mine(&script(vec![step(vec![meta, told], vec![])]));
    assert!(facts.facts.is_empty(), "{:?}", facts.facts);
}
