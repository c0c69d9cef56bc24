//! `dormouse eval …`.

use crate::program::Machine;
use pretty_assertions::assert_eq;
use serde_json::Value;

const KINDS: [&str; 6] = [
    "user_rule",
    "user_number",
    "file_path",
    "command",
    "error_text",
    "decision",
];

fn sum(places: &Value) -> u64 {
    ["in_prompt", "one_call_away", "lost"]
        .iter()
        .map(|place| places[place].as_u64().unwrap())
        .sum()
}

#[test]
fn fidelity_counts_every_fact_once() {
    let machine = Machine::new(&[]);
    let report = machine.json(
        "eval fidelity --generated --steps 40 --policy economic,gemini --compactions 1,2 --missing \
         --json",
    );
    let facts = &report["files"][0]["facts"];
    assert_eq!(report["files"][0]["file"], "generated");
    let rows = report["policies"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2, "policies, compactions, summarisers");
    let mut elsewhere = 0;
    for row in rows {
        let mut all = 0;
        for kind in KINDS {
            let places = &row["kinds"][kind];
            assert_eq!(
                sum(places),
                facts[kind].as_u64().unwrap(),
                "{kind} in {row}"
            );
            all += sum(places);
        }
        assert_eq!(sum(&row["total"]), all);
        elsewhere += all - row["total"]["in_prompt"].as_u64().unwrap();
        assert_eq!(row["compactions"], row["compactions_made"]);
        let users = &row["user_messages"];
        if row["name"] == "economic" {
            assert_eq!(users["lost"], 0);
            let hard: u64 = ["user_number", "file_path", "command"]
                .iter()
                .map(|kind| row["kinds"][kind]["lost"].as_u64().unwrap())
                .sum();
            assert_eq!(hard, 0, "{row}");
        } else {
            assert_eq!(row["total"]["one_call_away"], 0);
            assert!(row["total"]["lost"].as_u64().unwrap() > 0);
        }
    }
    assert_eq!(
        report["missing"].as_array().unwrap().len() as u64,
        elsewhere
    );
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("gemini") && !notes.contains("in economic"),
        "{notes}"
    );
}

#[test]
fn fidelity_shows_shares() {
    let machine = Machine::new(&[]);
    let text = machine.stdout(
        "eval fidelity --generated --steps 20 --policy classic --compactions 1 --summariser offline",
    );
    assert!(text.starts_with("generated: "), "{text}");
    assert!(
        text.contains("Summaries: offline") && !text.contains("persona\n"),
        "{text}"
    );
    let row = text
        .lines()
        .find(|line| line.starts_with("classic"))
        .unwrap();
    assert!(
        row.contains("100 / 100") && row.ends_with(", 0, 0"),
        "{row}"
    );
}

#[test]
fn wrong_arguments_are_told() {
    let machine = Machine::new(&[]);
    let run = machine.run("eval fidelity --generated --policy lazy");
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no policy `lazy`"), "{}", run.stderr);
    assert_eq!(machine.run("eval fidelity").code, 2);
    assert_eq!(machine.run("eval fidelity /missing.jsonl").code, 3);
}
