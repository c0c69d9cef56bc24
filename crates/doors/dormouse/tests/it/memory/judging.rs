//! `recall --why`, `memory useful` and `memory wrong`.

use super::{machine, memory};
use crate::program::Machine;
use pretty_assertions::assert_eq;
use serde_json::json;

fn filled() -> Machine {
    let machine = machine(&[]);
    for text in [
        "Billing is deployed on Tuesdays before noon",
        "Priya owns the search service",
        "The staging database listens on port 5433",
    ] {
        memory(&machine, &["add", text]);
    }
    machine
}

const OWNER: &str = "project_priya_owns_the_search_service.md";

#[test]
fn the_latest_word_is_recalled_in_a_small_store_although_history_has_the_same_words() {
    let machine = filled();
    memory(
        &machine,
        &["add", "Billing is deployed on Thursdays before noon"],
    );
    let text = machine.stdout("recall when can we ship billing");
    assert!(text.contains("Thursdays"), "{text}");
    assert!(!text.contains("Tuesdays"), "{text}");
    let all = machine.stdout("recall --all when can we ship billing");
    assert!(
        all.contains("Tuesdays") && all.contains("overtaken"),
        "{all}"
    );
}

#[test]
fn recall_tells_its_grounds() {
    let machine = filled();
    let text = machine.stdout("recall --why who owns the search service");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "words: ",
        "search",
        "asked for a person: it tells one",
        "use: shown 0, of use 0; called useful 0, wrong 0",
        "said 0 days ago; checked never; trust: user",
        "confidence: ",
        "50 % needed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = machine.json("recall --why --json who owns the search service");
    let grounds = &json["memories"][0]["grounds"];
    assert_eq!(
        grounds["asked"],
        json!([{"what": "a person", "told": true}])
    );
    let words = grounds["words"].as_array().unwrap();
    let search = words.iter().find(|word| word["word"] == "search").unwrap();
    assert!(search["weight"].as_f64().unwrap() > 0.0);
    assert_eq!(search["cover"], 1.0);
    let json = machine.json("recall --json who owns the search service");
    assert_eq!(json["memories"][0].get("grounds"), None);
}

#[test]
fn a_memory_called_wrong_is_history_until_it_is_called_useful_or_that_is_undone() {
    let machine = filled();
    let question = "recall --json who owns the search service";
    let first = |machine: &Machine| machine.json(question)["memories"][0]["path"].clone();
    assert_eq!(first(&machine), OWNER);
    let judged = machine.json(&format!("memory wrong {OWNER} --json"));
    assert_eq!(
        (&judged["wrong"], &judged["recalled"]),
        (&json!(1), &json!(false))
    );
    assert_eq!(first(&machine), json!(null));
    let index = machine.read("memory/MEMORY.md");
    assert!(!index.contains(OWNER), "{index}");
    machine.stdout("memory undo");
    assert_eq!(first(&machine), OWNER);
    machine.stdout(&format!("memory wrong {OWNER}"));
    let judged = machine.json(&format!("memory useful {OWNER} --json"));
    assert_eq!(
        (&judged["useful"], &judged["recalled"]),
        (&json!(1), &json!(true))
    );
    assert_eq!(first(&machine), OWNER);
    let why = machine.json("recall --why --json who owns the search service");
    assert_eq!(why["memories"][0]["grounds"]["usage"]["useful"], 1);
}

#[test]
fn a_statement_that_was_called_wrong_may_be_said_again() {
    let machine = filled();
    machine.stdout(&format!("memory wrong {OWNER}"));
    memory(&machine, &["add", "Priya owns the search service"]);
    let json = machine.json("recall --json who owns the search service");
    assert_eq!(json["memories"].as_array().unwrap().len(), 1, "{json}");
}
