//! Values that sessions used later, and the policies that had kept them.

use dormouse_context::policy::{Classic, Economic, Policy};
use dormouse_core::block::Block;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Tokens;
use dormouse_replay::fidelity::Tally;
use dormouse_replay::fidelity::used::{Use, Used, measure_used, uses};
use dormouse_replay::policies::Never;
use dormouse_replay::{Input, RunOptions, Scenario, Script};
use dormouse_system::{Clock, ManualClock};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A window that the session fills several times.
const NARROW: Tokens = Tokens(40_000);

/// A generated session in which every result has a value of its own, which the model writes again
/// four and twenty requests later.
fn session() -> (Script, Vec<Use>) {
    let scenario = Scenario {
        steps: 60,
        tool_bytes: 400_000,
        ..Scenario::default()
    };
    let mut script = scenario.script();
    for at in 0..script.steps.len() {
        for input in &mut script.steps[at].inputs {
            let Input::Results(results) = input else {
                continue;
            };
            let (_, output) = &mut results[0];
            // In the middle, where neither head nor tail of a text is.
            let middle = output.text.len() / 2;
            let line = format!("\nfn needed_value_{at}() {{ in file src/needed/file_{at}.rs\n");
            output.text.insert_str(middle, &line);
        }
        for back in [4, 20] {
            let Some(from) = at.checked_sub(back) else {
                continue;
            };
            let words = format!("Now I change needed_value_{from} in its file.");
            script.steps[at].answer.insert(0, Block::text(&words));
        }
    }
    let uses = uses(&script);
    (script, uses)
}

fn under(policy: Arc<dyn Policy>, window: Option<Tokens>) -> (Used, usize) {
    let (script, uses) = session();
    let options = RunOptions {
        window,
        ..RunOptions::new(policy)
    };
    let models = Arc::new(ModelTable::builtin().clone());
    let ticks: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let used = measure_used(&script, &uses, &options, &models, &ticks).unwrap();
    (used, uses.len())
}

#[test]
fn a_session_uses_values_that_it_saw_long_before() {
    let (_, uses) = session();
    assert!(uses.len() >= 20, "{}", uses.len());
    assert!(
        uses.iter()
            .all(|used| used.age >= 3 && used.line.contains(&used.value))
    );
    assert!(uses.is_sorted_by_key(|used| used.step));
    let tools: Vec<_> = uses.iter().map(|used| used.tool.as_deref()).collect();
    assert!(tools.contains(&Some("Read")) && tools.contains(&Some("Bash")));
    // The second use comes sixteen requests after the first, which was an appearance too.
    let ages: BTreeSet<usize> = uses.iter().map(|used| used.age).collect();
    assert_eq!(ages, BTreeSet::from([4, 16]));
}

/// The measure of the measure: a prompt that forgets nothing has everything.
#[test]
fn without_forgetting_every_value_is_in_the_prompt() {
    let (used, all) = under(Arc::new(Never), Some(Tokens(2_000_000)));
    assert_eq!(used.ended_early, None);
    assert_eq!(used.total.in_prompt, all, "{:?}", used.elsewhere);
}

#[test]
fn a_policy_that_forgets_is_seen_to_forget() {
    for policy in [Arc::new(Classic) as Arc<dyn Policy>, Arc::new(Economic)] {
        let name = policy.name();
        let (used, all) = under(policy, Some(NARROW));
        assert_eq!(used.total.all(), all, "{name}");
        assert!(used.total.in_prompt < all, "{name}: {:?}", used.total);
        assert!(used.total.one_call_away > 0, "{name}: {:?}", used.total);
        let by_age: usize = used.ages.values().map(Tally::all).sum();
        assert_eq!(by_age, all, "{name}");
    }
}
