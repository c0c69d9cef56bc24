use super::*;
use crate::models::ModelTable;
use pretty_assertions::assert_eq;

fn ratio() -> Ratio {
    // Four bytes a token.
    ModelTable::builtin()
        .lookup("claude-sonnet-4-5")
        .info
        .bytes_per_token
        .text
}

fn usage(read: u64, written: u64, input: u64) -> TokenUsage {
    TokenUsage {
        input: Tokens(input),
        cache_read: Tokens(read),
        cache_write_5m: Tokens(written),
        output: Tokens(100),
        ..TokenUsage::default()
    }
}

fn bytes_of(tokens: u64) -> u64 {
    (1..10_000_000)
        .find(|bytes| ratio().tokens_of(*bytes).get() >= tokens)
        .unwrap()
}

#[test]
fn a_result_is_new_once_and_carried_until_a_compaction() {
    let mut meter = Meter::default();
    meter.response(&usage(0, 20_000, 0), ratio());
    meter.call("a", "Read", Some("{\"file_path\":\"x\"}"));
    meter.result("a", bytes_of(1_000));
    let first = meter.response(&usage(20_000, 1_500, 0), ratio());
    assert_eq!(first.tools[0].read, Tokens(0));
    assert_eq!(first.tools[0].rest, Tokens(1_000));
    assert_eq!(first.tools[0].fresh, Tokens(1_000));
    let second = meter.response(&usage(21_500, 200, 0), ratio());
    assert_eq!(second.tools[0].read, Tokens(1_000));
    assert_eq!(second.tools[0].rest, Tokens(0));
    assert_eq!(second.tools[0].fresh, Tokens(0));
    meter.compacted();
    let third = meter.response(&usage(0, 5_000, 0), ratio());
    assert_eq!(third, PromptParts::default());
}

#[test]
fn the_same_file_read_twice_is_a_repetition_and_another_part_of_it_is_not() {
    let mut meter = Meter::default();
    let inputs = [
        "{\"file_path\":\"x\"}",
        "{\"file_path\":\"x\",\"offset\":9}",
    ];
    for (id, input) in [("a", 0), ("b", 1), ("c", 0)] {
        meter.call(id, "Read", Some(inputs[input]));
        meter.result(id, bytes_of(1_000));
    }
    let parts = meter.response(&usage(0, 9_000, 0), ratio());
    assert_eq!(parts.tools[0].again_rest, Tokens(1_000));
    // Later they are carried, the repetition with the others.
    let parts = meter.response(&usage(9_000, 100, 0), ratio());
    // Estimated from all bytes together, so roundings of the parts may be missing.
    assert!((Tokens(2_997)..=Tokens(3_000)).contains(&parts.tools[0].read));
    assert!((Tokens(999)..=Tokens(1_000)).contains(&parts.tools[0].again_read));
}

#[test]
fn estimates_never_come_to_more_than_the_provider_counted() {
    let mut meter = Meter::default();
    for id in ["a", "b"] {
        meter.call(id, id, None);
        meter.result(id, bytes_of(50_000));
    }
    let parts = meter.response(&usage(0, 10_000, 0), ratio());
    let rest: u64 = parts.tools.iter().map(|part| part.rest.get()).sum();
    assert_eq!(rest, 10_000);
    let parts = meter.response(&usage(4_000, 2_000, 0), ratio());
    let sum = |of: fn(&ToolPart) -> Tokens| parts.tools.iter().map(|part| of(part).get()).sum();
    let (read, rest): (u64, u64) = (sum(|part| part.read), sum(|part| part.rest));
    assert_eq!((read, rest), (4_000, 2_000));
}

#[test]
fn a_break_is_what_the_cache_held_and_did_not_give() {
    // Figures of the response before, and of this one; expected tokens lost.
    let cases = [
        ((0, 50_000, 0), (50_000, 1_000, 0), 0),
        ((0, 50_000, 0), (20_000, 31_000, 0), 30_000),
        ((0, 50_000, 0), (0, 0, 51_000), 50_000),
        // A block of the cache less is no break.
        ((0, 50_000, 0), (49_500, 1_500, 0), 0),
        ((0, 0, 50_000), (0, 0, 51_000), 0),
    ];
    for (before, now, lost) in cases {
        let mut meter = Meter::default();
        let of = |(read, written, input)| usage(read, written, input);
        meter.response(&of(before), ratio());
        assert_eq!(meter.response(&of(now), ratio()).lost, Tokens(lost));
    }
}

#[test]
fn a_break_costs_the_difference_between_writing_and_reading() {
    let info = ModelTable::builtin().lookup("claude-sonnet-4-5").info;
    let prices = info.prices.as_ref().unwrap().for_prompt(Tokens(51_000));
    let now = usage(0, 51_000, 0);
    let lost = PartPrices::new(prices, &now).lost(Tokens(50_000));
    let tokens = Tokens(50_000);
    assert_eq!(lost, prices.write_5m.of(tokens) - prices.read.of(tokens));
}
