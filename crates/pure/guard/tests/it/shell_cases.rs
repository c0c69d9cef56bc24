//! Labelled command lines of our own: `tests/data/shell_cases.jsonl`, each with its class of trick.

use dormouse_guard::shell::{Verdict, classify};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    class: String,
    expect: String,
    line: String,
}

#[test]
fn every_line_is_judged_as_labelled() {
    let text = include_str!("../data/shell_cases.jsonl");
    let mut wrong = Vec::new();
    let (mut allowed, mut refused) = (0, 0);
    for line in text.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let verdict = classify(&case.line);
        match (case.expect.as_str(), &verdict) {
            ("allow", Verdict::Allow) => allowed += 1,
            ("refuse", Verdict::Refuse(_)) => refused += 1,
            _ => wrong.push(format!("{}: {:?}: {verdict:?}", case.class, case.line)),
        }
    }
    println!("{allowed} allowed and {refused} refused as labelled");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
