//! The work of a replay follows what is new in a request, not the length of the conversation.

use dormouse_core::models::ModelTable;
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_replay::{Bill, RunOptions, Scenario, policies, run_policy};
use dormouse_system::{Clock, ManualClock};
use std::sync::Arc;

/// Mean bytes that the simulator read for a request, and mean tokens of its prompt.
fn means(bills: &[&Bill]) -> (usize, u64) {
    let count = bills.len();
    let read: usize = bills.iter().map(|bill| bill.read_bytes).sum();
    let prompt: u64 = bills.iter().map(|bill| bill.usage.prompt().get()).sum();
    (read / count, prompt / count as u64)
}

#[test]
fn a_request_costs_the_same_however_long_the_session_is() {
    let script = Scenario {
        steps: 320,
        tool_bytes: 320 * 4_000,
        prefix_bytes: 8_000,
        ..Scenario::default()
    }
    .script();
    let options = RunOptions {
        window: Some(Tokens(100_000_000)),
        ..RunOptions::new(policies::named("none").unwrap())
    };
    let models = Arc::new(ModelTable::builtin().clone());
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let run = run_policy(&script, &options, &models, &clock).unwrap();
    let turns: Vec<&Bill> = run
        .bills
        .iter()
        .filter(|bill| bill.purpose == Purpose::Turn)
        .collect();
    assert_eq!(turns.len(), 320);
    let (early, short) = means(&turns[16..48]);
    let (late, long) = means(&turns[272..304]);
    assert!(long > short * 6, "{short} tokens, later {long}");
    assert!(
        late * 10 <= early * 11,
        "{early} bytes read for a request, later {late}"
    );
}
