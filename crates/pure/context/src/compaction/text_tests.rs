//! Texts written for a compaction: frames, restored files, transcripts, extracts.

use super::offline::condensed;
use super::restore::blocks;
use super::test_kit::{Talk, measure};
use super::*;
use crate::tokens;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_testkit::blocks::block;
use dormouse_testkit::conversation::prose;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

fn bytes() -> BytesPerToken {
    BytesPerToken::default()
}

fn part(kind: RestoredKind, name: &str, text: String) -> RestoredPart {
    RestoredPart {
        kind,
        name: name.to_owned(),
        text,
    }
}

fn limits() -> RestoreLimits {
    CompactSettings::new(&Settings::default()).restore
}

fn texts(blocks: &[Block]) -> Vec<String> {
    blocks.iter().filter_map(Block::readable_text).collect()
}

#[test]
fn at_most_five_files_are_shown_again() {
    let files: Vec<RestoredPart> = (0..8)
        .map(|n| part(RestoredKind::File, &format!("/f{n}"), "x".to_owned()))
        .collect();
    let shown = texts(&blocks(&files, &limits(), bytes()));
    assert_eq!(shown.len(), 5);
    assert_eq!(
        shown[0],
        "<restored-file name=\"/f0\">\nx\n</restored-file>"
    );
    assert!(shown[4].contains("/f4"));
}

#[test]
fn no_part_is_longer_than_its_limit_whatever_it_is_written_in() {
    let long = [
        "line of text\n".repeat(20_000),
        "x".repeat(200_000),
        "漢字かな交じり文".repeat(9_000),
        "\"quoted\\path\"\t".repeat(9_000),
    ];
    for text in long {
        for kind in [RestoredKind::File, RestoredKind::Skill, RestoredKind::Plan] {
            let shown = blocks(&[part(kind, "name", text.clone())], &limits(), bytes());
            let size = tokens::estimate(shown[0].weight(), bytes());
            assert!(size <= Tokens(5_000), "{kind:?}: {size}");
            assert!(size >= Tokens(4_000), "{kind:?}: {size}");
            assert!(texts(&shown)[0].contains("[… the rest is not shown]"));
        }
    }
}

#[test]
fn all_skills_share_their_room() {
    let skills: Vec<RestoredPart> = (0..9)
        .map(|n| part(RestoredKind::Skill, &format!("s{n}"), prose(n, 40_000)))
        .collect();
    let shown = blocks(&skills, &limits(), bytes());
    let sum: Tokens = shown
        .iter()
        .map(|block| tokens::estimate(block.weight(), bytes()))
        .sum();
    assert!(sum <= Tokens(25_000) && shown.len() >= 5, "{sum}");
}

#[test]
fn every_kind_has_a_room_of_its_own_which_shrinks_with_the_window() {
    let whole = limits();
    let small = CompactSettings::new(&Settings::default()).within(Tokens(20_000));
    for (kind, each, all) in [
        (RestoredKind::File, 5_000, 50_000),
        (RestoredKind::Skill, 5_000, 25_000),
        (RestoredKind::Plan, 5_000, 5_000),
        (RestoredKind::Todos, 2_000, 2_000),
        (RestoredKind::Agents, 2_000, 2_000),
        (RestoredKind::Listing, 5_000, 10_000),
        (RestoredKind::Hook, 5_000, 10_000),
    ] {
        let room = whole.room(kind);
        assert_eq!(
            (room.each, room.all),
            (Tokens(each), Tokens(all)),
            "{kind:?}"
        );
        let many: Vec<RestoredPart> = (0..12)
            .map(|n| part(kind, &format!("n{n}"), prose(n, 40_000)))
            .collect();
        for limits in [whole, small.restore] {
            let room = limits.room(kind);
            let shown = blocks(&many, &limits, bytes());
            let sizes = shown
                .iter()
                .map(|block| tokens::estimate(block.weight(), bytes()));
            let sizes: Vec<Tokens> = sizes.collect();
            assert!(!sizes.is_empty(), "{kind:?}");
            assert!(
                sizes.iter().all(|size| *size <= room.each),
                "{kind:?}: {sizes:?}"
            );
            assert!(sizes.into_iter().sum::<Tokens>() <= room.all, "{kind:?}");
        }
        let less = small.restore.room(kind);
        assert!(less.each < room.each && less.all < room.all, "{kind:?}");
        // Other kinds leave it its room.
        let mut all = many.clone();
        all.insert(0, part(RestoredKind::Skill, "other", prose(1, 400_000)));
        let last = texts(&blocks(&all, &whole, bytes()));
        assert!(last.len() > 1, "{kind:?}");
    }
}

#[test]
fn what_is_shown_again_cannot_end_its_own_frame() {
    let text = "a</restored-file>b".to_owned();
    let shown = texts(&blocks(
        &[part(RestoredKind::File, "/a\"\nb", text)],
        &limits(),
        bytes(),
    ));
    assert_eq!(shown[0].matches("</restored-file>").count(), 1);
    assert!(shown[0].starts_with("<restored-file name=\"/a'b\">"));
}

#[test]
fn policies_narrow_what_is_shown_and_never_widen_it() {
    let limits = CompactSettings::new(&Settings::default()).restore;
    let found = limits.narrowed(99, Tokens(1_000), Tokens(999_999));
    assert_eq!(
        (found.files, found.file, found.all_files),
        (5, Tokens(1_000), Tokens(50_000))
    );
    assert_eq!(limits.without_files().files, 0);
}

fn parts(summary: &str) -> Parts {
    Parts {
        summary: summary.to_owned(),
        user_messages: Some("what the user said".to_owned()),
        evidence: Some("what was found".to_owned()),
        history: History::Log("/s/log.jsonl".to_owned()),
    }
}

#[test]
fn a_summary_cannot_leave_its_frame_and_is_not_a_template() {
    let blocks = parts("a</conversation-summary>b {{history}} {{summary}}").blocks();
    let shown = texts(&blocks);
    assert_eq!(shown.len(), 3);
    assert_eq!(shown[0].matches("</conversation-summary>").count(), 1);
    assert!(shown[0].contains("b {{history}} {{summary}}"));
    assert!(shown[0].contains("`/s/log.jsonl`"));
    assert!(shown[0].contains("not a request"));
    assert_eq!(
        shown[1],
        "<user-messages>\nwhat the user said\n</user-messages>"
    );
    assert_eq!(shown[2], "<evidence>\nwhat was found\n</evidence>");
}

#[test]
fn a_transcript_names_media_and_leaves_out_thinking() {
    let mut talk = Talk::default();
    talk.question(1, 500);
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } });
    talk.log
        .user_blocks(vec![block(&image), Block::text("see </conversation> here")]);
    let segments = talk.segments();
    let text = transcript(segments.iter(), None);
    assert!(text.starts_with(
        "<conversation>\n[user]\nquestion 1\n\n[tool call]\nBash {\"command\":\"ls\"}"
    ));
    assert!(text.contains("[user]\n[image]") && !text.contains("hm"));
    assert_eq!(text.matches("</conversation>").count(), 1);
    let clamped = transcript(segments.iter(), Some(10));
    assert!(clamped.len() + 1_900 < text.len());
}

#[test]
fn media_in_a_result_is_named() {
    let mut talk = Talk::default();
    talk.log.user("look");
    talk.log.assistant(
        "a",
        vec![dormouse_testkit::blocks::call("c", "Read", &json!({}))],
    );
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA==" } });
    talk.log.user_blocks(vec![block(&json!({
        "type": "tool_result", "tool_use_id": "c",
        "content": [{ "type": "text", "text": "a picture" }, image],
    }))]);
    let text = transcript(talk.segments().iter(), None);
    assert!(text.contains("[tool result]\na picture\n[image]"), "{text}");
}

#[test]
fn an_extract_always_says_something_and_keeps_the_earlier_summary() {
    let talk = Talk::long();
    let segments = talk.segments();
    let none = extract(segments.iter(), None, Tokens(200), bytes());
    assert!(!none.trim().is_empty());
    let earlier = "The port is 8080 and must not change.";
    let with = extract(segments.iter(), Some(earlier), Tokens(200), bytes());
    assert!(with.starts_with(earlier), "{with}");
    let long = format!("{} The port is 8080.", prose(3, 8_000));
    let condensed = condensed(&long, Tokens(100), bytes());
    assert!(bytes().text.tokens_of(condensed.len() as u64) <= Tokens(110));
    assert!(!condensed.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_framed_summary_is_read_back_as_it_was(summary in "[ -~\n]{1,400}") {
        let summary = summary.trim();
        prop_assume!(!summary.is_empty() && !summary.contains("\n\nThe full history is in"));
        prop_assert_eq!(unframed_of(summary), summary);
    }

    #[test]
    fn an_extract_keeps_its_budget(seed in 0_usize..50, budget in 50_u64..2_000, earlier in any::<bool>()) {
        let mut talk = Talk::default();
        for n in 0..6 {
            talk.question(seed + n, 400);
        }
        let earlier = earlier.then(|| prose(seed, 6_000));
        let text = extract(talk.segments().iter(), earlier.as_deref(), Tokens(budget), bytes());
        let size = measure().tokens(Block::text(&text).weight());
        // The words between the two parts come on top of the budget.
        prop_assert!(size <= Tokens(budget + 20), "{} of {}", size, budget);
    }
}

/// Frames a summary, puts it into a conversation and reads it back.
fn unframed_of(summary: &str) -> String {
    let blocks = parts(summary).blocks();
    let mut talk = Talk::default();
    talk.log.user("x");
    let segments = talk.segments();
    let framed = segments.get(0).map(|segment| crate::segment::Segment {
        block: blocks[0].clone(),
        category: crate::category::Category::Summary,
        ..segment.clone()
    });
    summaries_in(framed.iter()).concat()
}
