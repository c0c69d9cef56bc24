//! Standing instructions: a request that does not mention them finds them, and no other query
//! suffers.

use dormouse_recall::Weights;
use dormouse_recall::evaluation::{CorpusEntry, Group, Tally};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn tallies(weights: Weights) -> BTreeMap<String, Tally> {
    let entries: Vec<CorpusEntry> = lines(include_str!("../data/standing_docs.jsonl"))
        .iter()
        .map(|line| CorpusEntry {
            id: line["id"].as_str().unwrap().to_owned(),
            text: line["text"].as_str().unwrap().to_owned(),
            ..CorpusEntry::default()
        })
        .collect();
    let mut group = Group::weighing(&entries, weights).unwrap();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for query in lines(include_str!("../data/standing_queries.jsonl")) {
        let place = |id: &Value| {
            entries
                .iter()
                .position(|entry| Some(entry.id.as_str()) == id.as_str())
        };
        let relevant: Vec<usize> = query["relevant"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| place(id).unwrap())
            .collect();
        let answer = group.ask(query["query"].as_str().unwrap(), || Duration::ZERO);
        let category = query["category"].as_str().unwrap().to_owned();
        tallies
            .entry(category)
            .or_default()
            .add(&answer.ranked, &relevant);
    }
    tallies
}

#[test]
fn rules_are_found_by_requests_that_do_not_mention_them() {
    let with = tallies(Weights::default());
    let without = tallies(Weights {
        rules: false,
        ..Weights::default()
    });
    for (category, tally) in &with {
        println!(
            "{category}: R {:.2?}, without {:.2?}",
            tally.recall(),
            without[category].recall()
        );
    }
    for category in ["instruction", "preference"] {
        assert!(with[category].recall()[3] >= 0.9, "{category}");
        // Two of three: synonyms alone find some of them.
        assert!(without[category].recall()[3] <= 0.7, "{category}");
    }
    assert_eq!(with["fact"], without["fact"]);
    let about = "request about a fact";
    assert_eq!(with[about].recall()[..2], without[about].recall()[..2]);
    assert!(with[about].recall()[3] >= without[about].recall()[3]);
}
