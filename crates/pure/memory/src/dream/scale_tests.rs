//! Cost of a dream in steps, not in time: what one memory costs must not grow with the directory.

use super::tally::{self, Step};
use super::testing::{facts, limits, put, source};
use super::{check, offline, rebase};
use crate::snapshot::Snapshot;
use pretty_assertions::assert_eq;
use std::collections::BTreeMap;

/// Directory with notes of many kinds: unrelated ones, a series after a template, copies, near
/// copies that link to each other, and a short index.
fn directory(memories: usize) -> Snapshot {
    let mut snapshot = Snapshot::new();
    let word = |number: usize| format!("w{}", number.wrapping_mul(2_654_435_761) % 9_973);
    let words = |seed: usize, count: usize| {
        let words: Vec<String> = (0..count).map(|at| word(seed * 31 + at)).collect();
        words.join(" ")
    };
    let mut index = String::new();
    for number in 0..memories {
        let body = match number % 10 {
            0..4 => format!("{}.\n\n{}.", words(number, 14), words(number + 7, 9)),
            4 | 5 => format!(
                "The server of unit {number} listens on port {} behind the proxy.",
                1_000 + number
            ),
            6 => format!(
                "Teams own their services and say so in the handbook, as {} does.",
                words(number, 11)
            ),
            7 => format!(
                "Rule {}: {} every time. See [[m{}]].",
                number / 20,
                words(number / 20, 12),
                number / 2
            ),
            8 => format!("{} is on call.", words(number / 40, 6)),
            _ => format!(
                "Ask {} about {}. See [[m{}]].",
                word(number),
                words(number, 8),
                number - 1
            ),
        };
        let name = format!("m{number}");
        put(
            &mut snapshot,
            &format!("{name}.md"),
            &format!(
                "---\nname: {name}\ndescription: {}\ntype: project\n---\n\n{body}\n",
                words(number, 5)
            ),
        );
        if number < 20 {
            let line = format!("- [{name}]({name}.md) — by hand\n");
            index.push_str(&line);
        }
    }
    put(&mut snapshot, "MEMORY.md", &index);
    snapshot
}

/// Steps of a whole dream, from the rules to the change that is applied, per memory.
fn steps(memories: usize) -> BTreeMap<Step, f64> {
    let before = directory(memories);
    let counts = tally::of(|| {
        let draft = offline(&before, &facts());
        assert!(draft.after.len() < before.len(), "copies are merged");
        let declared = draft.declared(source());
        let checked = check(&before, &draft.after, &declared, &limits());
        let transaction = checked.unwrap_or_else(|objections| panic!("{objections:?}"));
        let (rebased, dropped) =
            rebase(&transaction, &declared.merges, &before, &before, &limits());
        assert_eq!(dropped, []);
        assert!(!rebased.is_empty());
    });
    #[expect(clippy::cast_precision_loss, reason = "counts of memories")]
    let share = |count: usize| count as f64 / memories as f64;
    counts
        .into_iter()
        .map(|(step, count)| (step, share(count)))
        .collect()
}

#[test]
fn a_memory_costs_the_same_in_a_directory_four_times_as_large() {
    let (few, many) = (steps(500), steps(2_000));
    for step in [Step::Compared, Step::Linked, Step::Weighed] {
        let (few, many) = (few[&step], many[&step]);
        // Chance meetings grow a little until the bounds are reached; quadratic would be fourfold.
        assert!(
            many <= 2.0 * few.max(1.0),
            "{step:?}: {few:.1} a memory, then {many:.1}"
        );
    }
}

/// Files read for the sentences that support others, in a directory of so many memories of which
/// two are copies.
fn grounded(memories: usize) -> usize {
    let mut before = Snapshot::new();
    for number in 0..memories {
        let text =
            format!("The tool number {number} of unit u{number} is kept in room r{number}.\n");
        put(&mut before, &format!("m{number}.md"), &text);
    }
    let rule = "Integration tests use the real database, because a mock hid a broken migration.\n";
    put(&mut before, "one.md", rule);
    put(
        &mut before,
        "two.md",
        &format!("{rule}\nThe seed is loaded by the release script.\n"),
    );
    let counts = tally::of(|| {
        let draft = offline(&before, &facts());
        assert_eq!(
            draft.after.len(),
            memories + 2,
            "the two became one, and an index was made"
        );
        let declared = draft.declared(source());
        let checked = check(&before, &draft.after, &declared, &limits());
        checked.unwrap_or_else(|objections| panic!("{objections:?}"));
    });
    counts.get(&Step::Grounded).copied().unwrap_or_default()
}

#[test]
fn memories_that_no_merge_touches_are_not_read_for_sources() {
    // Above the 200 lines of an index: each new line is held against its own file.
    let (few, many) = (grounded(300), grounded(1_200));
    assert_eq!(few, many);
    assert!(many < 200 + 20, "{many} files for one merge");
}
