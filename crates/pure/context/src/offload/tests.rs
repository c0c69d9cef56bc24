use super::*;
use crate::clear::Measure;
use crate::economy::{Prices, Rates};
use dormouse_core::models::ModelTable;
use dormouse_core::record::Calibration;
use dormouse_core::settings::CacheTtl;
use dormouse_core::units::Tokens;
use proptest::prelude::*;

fn output(text: &str) -> ToolOutput {
    ToolOutput::text(CallId::new("call_0"), text)
}

fn limits(round: u64) -> RoundLimits {
    RoundLimits {
        round,
        preview: 100,
    }
}

fn candidates(outputs: &[ToolOutput], limit: u64) -> Vec<Candidate<'_>> {
    outputs
        .iter()
        .map(|output| Candidate {
            output,
            limit,
            exempt: false,
            asked_part: false,
        })
        .collect()
}

#[test]
fn a_result_over_its_own_limit_goes_and_others_stay() {
    let outputs = [
        output(&"x".repeat(501)),
        output(&"y".repeat(500)),
        output(""),
    ];
    let fates = plan(&candidates(&outputs, 500), 0, limits(10_000));
    assert_eq!(fates[0].reason, Reason::OwnLimit { limit: 500 });
    assert!(fates[0].offload);
    assert_eq!(fates[1].reason, Reason::Fits);
    assert_eq!(fates[2].reason, Reason::Empty);
    assert_eq!(
        outputs[2].whole().readable_text().as_deref(),
        Some(EMPTY_RESULT)
    );
}

#[test]
fn a_limit_counts_characters_not_bytes() {
    let outputs = [output(&"é".repeat(500))];
    assert!(!plan(&candidates(&outputs, 500), 0, limits(10_000))[0].offload);
}

#[test]
fn a_round_that_is_too_long_gives_up_its_largest_first() {
    let outputs = [
        output(&"a".repeat(400)),
        output(&"b".repeat(900)),
        output(&"c".repeat(500)),
    ];
    let fates = plan(&candidates(&outputs, 1_000), 0, limits(1_000));
    let gone: Vec<bool> = fates.iter().map(|fate| fate.offload).collect();
    assert_eq!(gone, [false, true, false]);
    // Results that already wait for the same request count too.
    let fates = plan(&candidates(&outputs, 1_000), 300, limits(1_000));
    let gone: Vec<bool> = fates.iter().map(|fate| fate.offload).collect();
    assert_eq!(gone, [false, true, true]);
}

#[test]
fn a_tool_that_reads_files_is_exempt() {
    let outputs = [output(&"x".repeat(5_000))];
    let mut candidates = candidates(&outputs, 500);
    candidates[0].exempt = true;
    let fates = plan(&candidates, 0, limits(1_000));
    assert!(!fates[0].offload);
    assert_eq!(fates[0].reason, Reason::Exempt);
}

#[test]
fn a_preview_ends_at_a_line_and_names_size_and_place() {
    let text = format!(
        "{}\n{}\n{}",
        "a".repeat(50),
        "b".repeat(40),
        "c".repeat(500)
    );
    let preview = preview(&text, "/s/tool-results/x.txt", 100);
    assert_eq!(
        preview,
        format!(
            "<persisted-output>\nThe output is 592 characters (3 lines) long. All of it is in the \
             file\n/s/tool-results/x.txt\nwhich can be read or searched. It begins:\n\n{}\n{}\n[… \
             501 more bytes in the file]\n</persisted-output>",
            "a".repeat(50),
            "b".repeat(40)
        )
    );
}

#[test]
fn names_come_from_hashes_and_tell_json_apart() {
    let evil = CallId::new("../../etc/passwd");
    let name = file_name(&evil, "text", dormouse_core::hash::Hash::of(b"text"));
    let (stem, ending) = name.split_once('.').unwrap();
    assert!(stem.chars().all(|c| c.is_ascii_hexdigit() || c == '-'));
    assert_eq!(ending, "txt");
    let other = file_name(&evil, "[1, 2]", dormouse_core::hash::Hash::of(b"[1, 2]"));
    assert_eq!(other.split_once('.').unwrap().1, "json");
    assert_ne!(name.split('.').next(), other.split('.').next());
    let broken = file_name(&evil, "[1, 2", dormouse_core::hash::Hash::of(b"[1, 2"));
    assert_eq!(broken.split_once('.').unwrap().1, "txt");
}

#[test]
fn media_stays_beside_the_text() {
    let image = Block::from_value(&serde_json::json!({
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }))
    .unwrap();
    let block = result_block(
        &CallId::new("c"),
        "text",
        std::slice::from_ref(&image),
        true,
    );
    let value: serde_json::Value = serde_json::from_slice(block.bytes()).unwrap();
    assert_eq!(value["content"][0]["text"], "text");
    assert_eq!(value["content"][1]["type"], "image");
    assert!(block.is_error());
}

proptest! {
    #[test]
    fn a_preview_is_a_prefix_whatever_the_text(text in "\\PC{0,400}", bytes in 0_u64..300) {
        let shown = preview(&text, "/f", bytes);
        let begins = shown.split_once("It begins:\n\n").unwrap().1;
        let end = begins.rfind("\n[… ").or_else(|| begins.rfind("\n</")).unwrap();
        prop_assert!(text.starts_with(&begins[..end]));
        prop_assert!(end as u64 <= bytes.max(text.len() as u64));
    }

    #[test]
    fn a_round_ends_within_its_limit_or_has_nothing_left_to_give(
        sizes in prop::collection::vec(0_usize..2_000, 0..12),
        round in 100_u64..5_000,
    ) {
        let outputs: Vec<ToolOutput> = sizes.iter().map(|size| output(&"x".repeat(*size))).collect();
        let fates = plan(&candidates(&outputs, 1_500), 0, limits(round));
        let left: u64 = fates.iter().map(|fate| if fate.offload { 100 } else { fate.chars }).sum();
        let movable = fates.iter().any(|fate| !fate.offload && fate.chars > 200);
        prop_assert!(left <= round || !movable);
    }
}

#[test]
fn lines_are_counted_as_people_count_them() {
    for text in ["", "a", "a\n", "a\nb", "a\n\nb\n", "\n"] {
        let shown = preview(text, "/f", 100);
        assert!(
            shown.contains(&format!("({} lines)", text.lines().count())),
            "{text:?}"
        );
    }
}

#[test]
fn a_round_without_limits_stays_whole() {
    let outputs = [output(&"x".repeat(501)), output("")];
    let candidates = candidates(&outputs, 500);
    let mut round = Round {
        results: &candidates,
        already: 0,
        limits: Some(limits(10_000)),
        showing: None,
    };
    let plan = round.by_settings();
    assert_eq!((plan.fates[0].offload, plan.fates[0].shown), (true, 100));
    round.limits = None;
    assert_eq!(round.by_settings(), round.whole());
    let reasons = round.whole().fates.into_iter().map(|fate| fate.reason);
    assert_eq!(reasons.collect::<Vec<_>>(), [Reason::Fits, Reason::Empty]);
}

fn showing(rates: &Rates, ahead: f64, prompt: u64) -> Showing<'_> {
    Showing {
        rates,
        ahead,
        prompt: Tokens(prompt),
        measure: Measure {
            bytes: ModelTable::builtin()
                .lookup("claude-opus-4-6")
                .info
                .bytes_per_token,
            calibration: Calibration::default(),
        },
    }
}

#[test]
fn below_its_limit_a_result_is_cut_where_its_rest_costs_more_than_fetching_it() {
    let rates = Prices::USUAL.rates(CacheTtl::FiveMinutes, CacheTtl::FiveMinutes);
    let plan = |chars: usize, ahead, prompt, asked_part| {
        let outputs = [output(&"x".repeat(chars))];
        let candidates: Vec<Candidate<'_>> = candidates(&outputs, 400_000)
            .into_iter()
            .map(|one| Candidate {
                exempt: true,
                asked_part,
                ..one
            })
            .collect();
        let round = Round {
            results: &candidates,
            already: 0,
            limits: Some(limits(u64::MAX)),
            showing: Some(showing(&rates, ahead, prompt)),
        };
        let fate = round.by_price().fates.remove(0);
        (fate.offload, fate.shown)
    };
    assert_eq!(plan(100_000, 10.0, 60_000, false), (true, 30_000));
    assert!(!plan(100_000, 10.0, 60_000, true).0, "it was asked for");
    assert!(!plan(30_000, 10.0, 60_000, false).0, "nothing would be cut");
    // 5,000 bytes more cost less than reading a prompt of 60,000 tokens again in one case of four,
    // unless they are carried for long.
    assert!(!plan(35_000, 0.0, 60_000, false).0);
    assert!(plan(35_000, 60.0, 60_000, false).0);
}

#[test]
fn limits_stay_upper_bounds_of_the_price() {
    let rates = Prices::USUAL.rates(CacheTtl::FiveMinutes, CacheTtl::FiveMinutes);
    let outputs = [output(&"x".repeat(60_000))];
    let candidates = candidates(&outputs, 500);
    let round = Round {
        results: &candidates,
        already: 0,
        limits: Some(limits(u64::MAX)),
        showing: Some(showing(&rates, 0.0, 900_000)),
    };
    let fate = round.by_price().fates.remove(0);
    assert_eq!(fate.reason, Reason::OwnLimit { limit: 500 });
    assert_eq!((fate.offload, fate.shown), (true, 100));
    // Switched off, nothing is cut.
    let off = Round {
        limits: None,
        ..round
    };
    assert!(!off.by_price().fates[0].offload);
}
