use super::*;
use crate::prefix::{Part, RenderedPrefix};
use crate::segment::SegmentList;
use crate::target::Target;
use crate::view::View;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Calibration, Gaps};
use dormouse_testkit::LogBuilder;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;
/// The settings' defaults: an hour on the prefix, five minutes on messages.
const TTLS: MarkerTtls = MarkerTtls {
    prefix: Ttl::OneHour,
    messages: Ttl::FiveMinutes,
};
/// Tokens of one segment below: 4,000 bytes at four bytes a token.
const EACH: u64 = 1_000;

fn segments(count: usize) -> SegmentList {
    let mut log = LogBuilder::new();
    for n in 0..count {
        log.user(&format!("{n:04}").repeat(1_000));
    }
    let target = Target::new(&Arc::new(ModelTable::builtin().clone()), "model");
    View::fold(log.records(), target).segments()
}

fn prefix(tool: &str, system: &str) -> Arc<RenderedPrefix> {
    let tool = Part::tool(&json!({ "name": "Bash", "description": tool })).expect("a tool");
    let system = Part::block("system", &Block::text(system));
    Arc::new(RenderedPrefix::new(vec![tool], vec![system], Vec::new()))
}

fn shape_with(params: &Value, prefix: &Arc<RenderedPrefix>, segments: SegmentList) -> Shape {
    let keys = CacheKeys::of(&RawJson::from_value(params).expect("JSON"));
    let bytes = ModelTable::builtin().lookup("model").info.bytes_per_token;
    Shape::new(
        keys,
        Arc::clone(prefix),
        segments,
        (bytes, Calibration::default(), Tokens(512)),
    )
}

fn shape(count: usize) -> Shape {
    shape_with(
        &json!({ "model": "m" }),
        &prefix("run", "be good"),
        segments(count),
    )
}

fn places(markers: &[Marker]) -> Vec<MarkerPlace> {
    markers.iter().map(|marker| marker.place).collect()
}

fn usage(read: u64, written: u64) -> TokenUsage {
    TokenUsage {
        cache_read: Tokens(read),
        cache_write_5m: Tokens(written),
        ..TokenUsage::default()
    }
}

/// Plans, sends, and answers as a provider without faults would.
fn turn(ledger: &mut Ledger, shape: &Shape, at: Millis) -> CacheReport {
    let markers = ledger.markers(shape, at, TTLS);
    let read = ledger.sent(shape.clone(), markers, at).tokens;
    let all = shape.tokens_upto(shape.len() - 1);
    ledger
        .responded(&usage(read.get(), (all - read).get()))
        .expect("a request was sent")
}

#[test]
fn markers_stand_on_the_prefix_the_previous_end_and_the_end() {
    let mut ledger = Ledger::default();
    let first = ledger.markers(&shape(3), Millis(0), TTLS);
    let [tool, system] = [MarkerPlace::Tool(0), MarkerPlace::System(0)];
    assert_eq!(places(&first), [tool, system, MarkerPlace::Segment(2)]);
    assert_eq!(
        first.iter().map(|m| m.ttl).collect::<Vec<_>>(),
        [Ttl::OneHour, Ttl::OneHour, Ttl::FiveMinutes]
    );
    ledger.sent(shape(3), first, Millis(0));
    let next = ledger.markers(&shape(60), Millis(MINUTE), TTLS);
    assert_eq!(
        places(&next),
        [
            tool,
            system,
            MarkerPlace::Segment(2),
            MarkerPlace::Segment(59)
        ]
    );
    // The old entry has expired: a marker there would be wasted.
    let late = ledger.markers(&shape(60), Millis(6 * MINUTE), TTLS);
    assert_eq!(places(&late), [tool, system, MarkerPlace::Segment(59)]);
}

#[test]
fn a_longer_life_never_follows_a_shorter_one() {
    let ttls = MarkerTtls {
        prefix: Ttl::FiveMinutes,
        messages: Ttl::OneHour,
    };
    let markers = Ledger::default().markers(&shape(3), Millis(0), ttls);
    assert!(
        markers.is_sorted_by_key(|marker| std::cmp::Reverse(marker.ttl)),
        "{markers:?}"
    );
}

#[test]
fn the_previous_marker_bridges_more_than_twenty_blocks() {
    let mut ledger = Ledger::default();
    turn(&mut ledger, &shape(10), Millis(0));
    let later = shape(45);
    let all = ledger.markers(&later, Millis(MINUTE), TTLS);
    let hit = ledger.predict(&later, &all, Millis(MINUTE));
    // Two prefix positions, then segments 0 to 9.
    assert_eq!(hit.hit, Some(11));
    let only_last = [*all.last().expect("a marker")];
    let miss = ledger.predict(&later, &only_last, Millis(MINUTE));
    assert_eq!(
        miss.hit, None,
        "35 positions are out of reach without the marker"
    );
    let near = shape(29);
    let near_last = [*ledger
        .markers(&near, Millis(MINUTE), TTLS)
        .last()
        .expect("a marker")];
    assert_eq!(
        ledger.predict(&near, &near_last, Millis(MINUTE)).hit,
        Some(11),
        "19 back is within reach"
    );
    let far = shape(30);
    let far_last = [*ledger
        .markers(&far, Millis(MINUTE), TTLS)
        .last()
        .expect("a marker")];
    assert_eq!(
        ledger.predict(&far, &far_last, Millis(MINUTE)).hit,
        None,
        "20 back is not"
    );
}

#[test]
fn an_append_only_conversation_never_breaks() {
    let mut ledger = Ledger::default();
    for n in 1..40_u32 {
        let at = Millis(i64::from(n) * MINUTE);
        let report = turn(&mut ledger, &shape(n as usize * 3), at);
        assert_eq!(report.cause, None, "turn {n}");
        if n > 1 {
            assert!(
                report.read >= Tokens(u64::from(n - 1) * 3 * EACH),
                "turn {n}: {report:?}"
            );
        }
    }
}

/// Two requests, the second changed; report for a response that read nothing.
fn break_of(second: Shape, after: i64, announce: Option<&str>) -> CacheReport {
    let mut ledger = Ledger::default();
    turn(&mut ledger, &shape(10), Millis(0));
    if let Some(why) = announce {
        ledger.announce(why);
    }
    let markers = ledger.markers(&second, Millis(after), TTLS);
    ledger.sent(second, markers, Millis(after));
    ledger.responded(&usage(0, 12_000)).expect("a report")
}

#[test]
fn a_break_names_the_first_difference() {
    let model = json!({ "model": "m" });
    let same = prefix("run", "be good");
    let cause = |shape: Shape, after: i64| {
        let report = break_of(shape, after, None);
        assert!(
            report.is_unexpected() && report.lost > Tokens(9_000),
            "{report:?}"
        );
        report.cause.expect("a cause").to_string()
    };
    let system = shape_with(&model, &prefix("run", "be bad"), segments(11));
    assert_eq!(cause(system, MINUTE), "system block 1 changed at byte 26");
    let tool = shape_with(&model, &prefix("walk", "be good"), segments(11));
    assert_eq!(cause(tool, MINUTE), "tool `Bash` changed at byte 30");
    let other = shape_with(&json!({ "model": "n" }), &same, segments(11));
    assert_eq!(cause(other, MINUTE), "model changed from m to n");
    let thinking = shape_with(
        &json!({ "model": "m", "thinking": { "type": "adaptive" } }),
        &same,
        segments(11),
    );
    assert_eq!(
        cause(thinking, MINUTE),
        "thinking, effort or tool choice changed"
    );
    assert_eq!(cause(shape(11), 71 * MINUTE), "cache expired: 71 min idle");
    assert_eq!(cause(shape(11), MINUTE), "the provider dropped the entry");
    let mut cut = segments(11);
    cut.truncate(4);
    assert_eq!(
        cause(shape_with(&model, &same, cut), MINUTE),
        "the conversation was cut to 4 segments"
    );
    let changed: Vec<_> = segments(12).iter().skip(1).cloned().collect();
    let mut list = segments(12);
    list.become_like(changed);
    assert_eq!(
        cause(shape_with(&model, &same, list), MINUTE),
        "message segment 0 changed"
    );
    let more = Arc::new(RenderedPrefix::new(
        vec![
            same.tools()[0].clone(),
            Part::tool(&json!({ "name": "Read" })).expect("a tool"),
        ],
        same.system().to_vec(),
        Vec::new(),
    ));
    assert_eq!(
        cause(shape_with(&model, &more, segments(11)), MINUTE),
        "tool `Read` was added"
    );
}

#[test]
fn an_announced_break_is_expected() {
    let report = break_of(shape(11), MINUTE, Some("compaction"));
    assert!(!report.is_unexpected());
    assert_eq!(report.announced.as_deref(), Some("compaction"));
}

#[test]
fn idle_is_the_longest_message_life_since_the_last_request() {
    let mut ledger = Ledger::default();
    assert!(ledger.is_idle(Millis(0)));
    turn(&mut ledger, &shape(3), Millis(0));
    assert!(!ledger.is_idle(Millis(5 * MINUTE)));
    assert!(ledger.is_idle(Millis(5 * MINUTE + 1)));
}

#[test]
fn a_resumed_ledger_knows_what_is_still_cached() {
    let mut ledger = Ledger::default();
    let sent = shape(10);
    let markers = ledger.markers(&sent, Millis(0), TTLS);
    let last = LastRequest {
        id: "r".into(),
        at: Some(Millis(0)),
        segments: 10,
        chain: sent.segments.chain(10),
        markers: markers.clone(),
        distil: Vec::new(),
        marked: None,
        answered: false,
    };
    let figures = usage(0, 10_020);
    ledger.sent(sent, markers, Millis(0));
    ledger.responded(&figures);
    let now = shape(12);
    let resumed = Ledger::resumed(&now, &last, Some(&figures));
    let at = Millis(MINUTE);
    assert_eq!(
        resumed.markers(&now, at, TTLS),
        ledger.markers(&now, at, TTLS)
    );
    let markers = resumed.markers(&now, at, TTLS);
    assert_eq!(
        resumed.predict(&now, &markers, at),
        Prediction {
            hit: Some(11),
            tokens: Tokens(10_020)
        }
    );
    // A view that was rewritten since does not continue that request.
    let rewritten = Ledger::resumed(
        &now,
        &LastRequest {
            chain: Hash::of(b"other"),
            ..last
        },
        Some(&figures),
    );
    assert_eq!(rewritten.predict(&now, &markers, at).hit, None);
}

#[test]
fn an_hour_is_bought_where_pauses_pay_for_it() {
    let table = ModelTable::builtin();
    let prices = table
        .lookup("claude-opus-4-6")
        .info
        .prices
        .as_ref()
        .expect("prices")
        .standard;
    let ttl = |middle| {
        let gaps = Gaps {
            short: 100 - middle,
            middle,
            long: 0,
        };
        message_ttl(&gaps, Tokens(100_000), Tokens(3_000), &prices)
    };
    // 3,000 × (2 − 1.25) a request against 100,000 × (1.25 − 0.1) a pause: from two in a hundred.
    assert_eq!(ttl(1), Ttl::FiveMinutes);
    assert_eq!(ttl(2), Ttl::OneHour);
    assert_eq!(
        message_ttl(&Gaps::default(), Tokens(1), Tokens(1), &prices),
        Ttl::FiveMinutes
    );
}
