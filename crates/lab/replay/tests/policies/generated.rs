//! Generated sessions of all shapes under every policy.
//!
//! `SESSIONS=3000..3420 HALF=unseen MODEL=… cargo test --release -p dormouse-replay --test policies --
//! --ignored --nocapture generated` plays others than the ones that are asserted.

use crate::models;
use dormouse_replay::corpus::{self, Half, Shape};
use dormouse_replay::study::{Row, Standing};
use dormouse_replay::{RunOptions, policies};
use dormouse_system::{Clock, RealClock};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Sessions that are asserted: twenty of each shape, half of them seen.
const ASSERTED: Range<u32> = 0..140;

/// Plays the sessions of a half on two threads; rows in order of their numbers.
fn play(numbers: Range<u32>, half: Half, model: &str) -> Vec<Row> {
    let models = models();
    let next = AtomicU32::new(numbers.start);
    let rows = Mutex::new(Vec::new());
    let work = || {
        let ticks: Arc<dyn Clock> = Arc::new(RealClock::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return;
            }
            let session = corpus::session(number, model);
            if session.half != half {
                continue;
            }
            let options = policies::NAMES.map(|name| RunOptions {
                window: Some(session.window),
                ..RunOptions::new(policies::named(name).unwrap())
            });
            let named = (format!("#{number}"), session.shape.name());
            let row = Row::play(named, &session.script, &options, &models, &ticks).unwrap();
            rows.lock().unwrap().push((number, row));
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(number, _)| *number);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn standing(rows: &[Row], shape: &str) -> Standing {
    let rows = rows.iter();
    let of_shape = rows.filter(|row| shape == "all" || row.group == shape);
    Standing::of("economic", &of_shape)
}

#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
fn print(half: Half, shape: &str, standing: &Standing) {
    let (next, of_next) = standing.hardest().unwrap_or(("none", 0.0));
    let (worst, ratio, against) = standing.worst.clone().unwrap_or_default();
    println!(
        "| {} | {shape} | {} | {:.3} | {of_next:.3} ({next}) | {:.3} | {:.3} | {ratio:.3} ({worst} against {against}) | {} |",
        half.name(),
        standing.sessions,
        standing.against("classic").unwrap_or_default(),
        standing.percentile(0.5).unwrap_or_default(),
        standing.percentile(0.95).unwrap_or_default(),
        standing.lost,
    );
}

#[test]
#[ignore = "heavy: run in release by .ci/run"]
#[expect(
    clippy::disallowed_methods,
    reason = "other sessions are asked for by hand"
)]
fn generated_sessions_cost_no_more_than_the_cheapest_other_policy() {
    let var = |name: &str| std::env::var(name).ok();
    let range = var("SESSIONS").map(|range| {
        let (from, to) = range.split_once("..").unwrap();
        from.parse().unwrap()..to.parse().unwrap()
    });
    let half = match var("HALF").as_deref() {
        Some("unseen") => Half::Unseen,
        _ => Half::Seen,
    };
    let model = var("MODEL").unwrap_or_else(|| corpus::MODEL.to_owned());
    let is_asserted = range.is_none() && half == Half::Seen && model == corpus::MODEL;
    let rows = play(range.unwrap_or(ASSERTED), half, &model);
    for shape in Shape::ALL.map(Shape::name) {
        print(half, shape, &standing(&rows, shape));
    }
    let all = standing(&rows, "all");
    print(half, "all", &all);
    if is_asserted {
        let worst = all.worst.as_ref().map_or(0.0, |worst| worst.1);
        assert_eq!(all.lost, 0);
        assert!(all.against("classic").unwrap() <= 0.70);
        assert!(all.hardest().unwrap().1 <= 0.85);
        assert!(all.percentile(0.5).unwrap() <= 1.0);
        assert!(all.percentile(0.95).unwrap() <= 1.05);
        assert!(worst <= 1.12, "{worst}");
    }
}
