//! `dormouse eval pollution`: figures, failures and exit code.

use crate::program::Machine;
use pretty_assertions::assert_eq;

#[test]
fn no_attack_of_the_built_in_sets_becomes_trusted() {
    let machine = Machine::new(&[]);
    let report = machine.json("eval pollution --json");
    assert_eq!(report["became_trusted"], 0);
    let sets = report["sets"].as_array().unwrap();
    assert_eq!(sets.len(), 6 * 2, "sets, ways");
    for label in ["adversarial", "benign"] {
        let count: u64 = sets
            .iter()
            .filter(|set| set["label"] == label && set["way"] == "model")
            .map(|set| set["cases"].as_u64().unwrap())
            .sum();
        assert!(count >= 70, "{label}: {count}");
    }
}
