//! The cache against a naive reference: a list of every prefix ever written.
//!
//! The reference knows nothing of digests, chains or levels. It compares JSON values, block by
//! block, and walks its whole list for every question.

use crate::support::{World, body, config};
use dormouse_sim::SimConfig;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde_json::{Value, json};

/// Milliseconds to the first byte: long enough that two requests of a story overlap.
const LATENCY: i64 = 700;
/// Least cacheable tokens: small, so that short random prompts lie on both sides of it.
const MINIMUM: usize = 150;

/// One step: some time passes, then a request is sent.
#[derive(Clone, Debug)]
struct Step {
    pause: i64,
    key: u8,
    effort: bool,
    /// Each block of the conversation: its variant, and a marker.
    blocks: Vec<(u8, Option<bool>)>,
}

fn step() -> impl Strategy<Value = Step> {
    let pause = prop_oneof![
        8 => 0..1_500_i64,
        4 => 1_500..60_000_i64,
        1 => 290_000..310_000_i64,
        1 => 310_000..4_000_000_i64,
    ];
    // Mostly the same growing conversation, sometimes with one block changed.
    let changed = prop::option::weighted(0.2, any::<prop::sample::Index>());
    let back =
        prop_oneof![2 => Just(0_usize), 2 => 0..6_usize, 1 => 15..24_usize, 1 => 0..48_usize];
    let markers = prop::collection::vec((back, any::<bool>()), 0..5);
    let key = prop::bool::weighted(0.1).prop_map(u8::from);
    (
        pause,
        key,
        prop::bool::weighted(0.1),
        8..48_usize,
        changed,
        markers,
    )
        .prop_map(|(pause, key, effort, count, changed, markers)| {
            let mut blocks = vec![(0_u8, None); count];
            if let Some(at) = changed {
                blocks[at.index(count)].0 = 1;
            }
            let mut places: Vec<usize> = markers
                .iter()
                .map(|(back, _)| (count - 1).saturating_sub(*back))
                .collect();
            places.sort_unstable();
            places.dedup();
            // Longer lifetimes come first, as the provider demands.
            let hours = markers.iter().filter(|(_, hour)| *hour).count();
            for (nth, at) in places.into_iter().enumerate() {
                blocks[at].1 = Some(nth < hours);
            }
            Step {
                pause,
                key,
                effort,
                blocks,
            }
        })
}

fn content(step: &Step) -> Vec<Value> {
    let blocks = step.blocks.iter().enumerate();
    blocks
        .map(|(at, (variant, _))| {
            let text = format!("{variant}-{at:02}-{}", "x".repeat(at % 7));
            json!({"type": "text", "text": text})
        })
        .collect()
}

fn request(step: &Step) -> Value {
    let mut content = content(step);
    for (block, (_, marker)) in content.iter_mut().zip(&step.blocks) {
        if let Some(hour) = marker {
            let ttl = if *hour { "1h" } else { "5m" };
            block["cache_control"] = json!({"type": "ephemeral", "ttl": ttl});
        }
    }
    let mut request = body(json!([{"role": "user", "content": content}]));
    request["max_tokens"] = json!(0);
    if step.effort {
        request["output_config"] = json!({"effort": "low"});
    }
    request
}

/// A prefix that was written.
struct Written {
    key: u8,
    effort: bool,
    prefix: Vec<Value>,
    hour: bool,
    readable_from: i64,
    expires: i64,
}

fn lifetime(hour: bool) -> i64 {
    if hour { 3_600_000 } else { 300_000 }
}

#[derive(Default)]
struct Reference {
    written: Vec<Written>,
}

impl Reference {
    fn is(entry: &Written, step: &Step, prefix: &[Value]) -> bool {
        entry.key == step.key && entry.effort == step.effort && entry.prefix == prefix
    }

    fn readable(&self, step: &Step, prefix: &[Value], now: i64) -> bool {
        self.written.iter().any(|entry| {
            Self::is(entry, step, prefix) && entry.readable_from <= now && now < entry.expires
        })
    }

    /// Read, written for an hour, written for five minutes, neither.
    fn send(&mut self, step: &Step, now: i64) -> [u64; 4] {
        let content = content(step);
        let size = |count: usize| -> usize {
            let blocks = content[..count].iter();
            blocks
                .map(|block| block["text"].as_str().unwrap().len())
                .sum()
        };
        // Lengths of the marked prefixes that are long enough.
        let marked: Vec<(usize, bool)> = (1..=content.len())
            .filter_map(|count| Some((count, step.blocks[count - 1].1?)))
            .filter(|(count, _)| size(*count) >= MINIMUM)
            .collect();
        let mut hit = 0;
        for (count, _) in marked.iter().rev() {
            let lowest = count.saturating_sub(19).max(1);
            let found = (lowest..=*count)
                .rev()
                .find(|count| self.readable(step, &content[..*count], now));
            if let Some(found) = found {
                hit = found;
                break;
            }
        }
        let hours = marked.iter().filter(|(_, hour)| *hour);
        let b = hours.map(|(count, _)| *count).max().unwrap_or(0).max(hit);
        let c = marked
            .iter()
            .map(|(count, _)| *count)
            .max()
            .unwrap_or(0)
            .max(b);

        for entry in &mut self.written {
            let on_the_way = entry.prefix.len() <= hit
                && Self::is(
                    entry,
                    step,
                    &content[..entry.prefix.len().min(content.len())],
                );
            if on_the_way && entry.readable_from <= now && now < entry.expires {
                entry.expires = entry.expires.max(now + lifetime(entry.hour));
            }
        }
        for (count, hour) in marked.into_iter().filter(|(count, _)| *count > hit) {
            self.write(step, &content[..count], hour, now);
        }
        [
            size(hit),
            size(b) - size(hit),
            size(c) - size(b),
            size(content.len()) - size(c),
        ]
        .map(|tokens| tokens as u64)
    }

    fn write(&mut self, step: &Step, prefix: &[Value], hour: bool, now: i64) {
        let live = |entry: &&mut Written| Self::is(entry, step, prefix) && now < entry.expires;
        if let Some(entry) = self.written.iter_mut().find(live) {
            entry.hour |= hour;
            entry.expires = entry.expires.max(now + lifetime(hour));
            return;
        }
        self.written.push(Written {
            key: step.key,
            effort: step.effort,
            prefix: prefix.to_vec(),
            hour,
            readable_from: now + LATENCY,
            expires: now + lifetime(hour),
        });
    }
}

fn simulator() -> World {
    World::with(SimConfig {
        first_byte_ms: u64::try_from(LATENCY).unwrap(),
        cache_minimum: Some(MINIMUM as u64),
        ..config()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_bill_is_that_of_the_reference(steps in prop::collection::vec(step(), 1..40)) {
        let mut world = simulator();
        let mut reference = Reference::default();
        for (at, step) in steps.iter().enumerate() {
            world.now += step.pause;
            world.header("x-api-key", &format!("key {}", step.key));
            let bill = world.bill(&request(step));
            prop_assert_eq!(bill, reference.send(step, world.now), "step {}", at);
        }
    }
}

#[test]
fn the_steps_reach_hits_misses_and_renewals() {
    // A property that only ever sees misses would prove nothing.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let steps = prop::collection::vec(step(), 200..201);
    let steps = steps.new_tree(&mut runner).unwrap().current();
    let mut world = simulator();
    let (mut partial, mut whole, mut none) = (0, 0, 0);
    for step in &steps {
        world.now += step.pause;
        world.header("x-api-key", &format!("key {}", step.key));
        match world.bill(&request(step)) {
            [0, ..] => none += 1,
            [_, 0, 0, _] => whole += 1,
            _ => partial += 1,
        }
    }
    assert!(
        partial > 30 && whole > 10 && none > 30,
        "{partial} partial hits, {whole} whole hits, {none} misses"
    );
}
