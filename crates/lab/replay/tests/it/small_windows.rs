//! Sessions in windows that are smaller than the defaults are made for, and with layers that other
//! settings switch on.

use dormouse_context::policy::{Classic, Economic, Policy};
use dormouse_core::models::ModelTable;
use dormouse_core::settings::{Settings, Trust, flags_layer, resolve};
use dormouse_core::units::Tokens;
use dormouse_replay::{PolicyRun, RunOptions, Scenario, run_policy};
use dormouse_system::{Clock, ManualClock};
use std::sync::Arc;

fn run(policy: Arc<dyn Policy>, window: u64, steps: usize, flags: &[&str]) -> PolicyRun {
    let scenario = Scenario {
        steps,
        tool_bytes: steps * 12_000,
        ..Scenario::default()
    };
    let (layer, issues) = flags_layer(flags.iter().copied());
    assert_eq!(issues, []);
    let settings: Settings = resolve(&[layer], Trust::Trusted);
    let options = RunOptions {
        window: Some(Tokens(window)),
        settings: Arc::new(settings),
        ..RunOptions::new(policy)
    };
    let models = Arc::new(ModelTable::builtin().clone());
    let ticks: Arc<dyn Clock> = Arc::new(ManualClock::default());
    run_policy(&scenario.script(), &options, &models, &ticks).unwrap()
}

fn compactions(run: &PolicyRun) -> usize {
    run.compactions().values().sum()
}

#[test]
fn restored_files_notes_and_tails_leave_room_in_a_small_window() {
    // Room behind the static prefix: 11k, 38k, 70k. In the smallest one every kept token counts
    // twice: a summary and one round fill it.
    for (window, most_times) in [(40_000, 2), (80_000, 1), (120_000, 1)] {
        // With restoration off, a compaction leaves only the summary and what accounts for the user.
        let bare = run(Arc::new(Classic), window, 80, &["compact.restore.files=0"]);
        let usual = run(Arc::new(Classic), window, 80, &[]);
        let economic = run(Arc::new(Economic), window, 80, &[]);
        for run in [&bare, &usual, &economic] {
            assert_eq!(run.lost, None, "{} at {window}", run.policy);
        }
        let (bare, usual) = (compactions(&bare), compactions(&usual));
        assert!(
            usual <= most_times * bare + bare / 2 + 1,
            "at {window}: {usual} compactions, {bare} without restored files"
        );
        // A policy that compacts every round has lost the use of the window.
        assert!(window < 80_000 || compactions(&economic) <= 40, "{window}");
    }
}

#[test]
fn the_provider_accepts_every_request_that_asks_it_to_clear() {
    let run = run(
        Arc::new(Classic),
        200_000,
        40,
        &["microcompact.api=true", "compact.auto=false"],
    );
    assert_eq!(run.lost, None);
    assert!(run.bills.iter().all(|bill| bill.rejected.is_none()));
}
