//! Cuts, and the part that stays behind them.

use super::cut::*;
use super::test_kit::{Talk, measure};
use super::{Kept, Scope};
use crate::clear::Measure;
use crate::policy::{Keep, NewestRounds, Stays, Unsent};
use crate::segment::SegmentList;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::SeqRange;
use dormouse_core::units::Tokens;
use dormouse_testkit::blocks::call;
use pretty_assertions::assert_eq;
use serde_json::json;

/// Defaults of the settings.
const RULE: NotesTail = NotesTail {
    tokens: Tokens(10_000),
    messages: 5,
    limit: Tokens(40_000),
};

/// Questions whose results have these sizes in tokens.
fn talk(sizes: &[usize]) -> Talk {
    let mut talk = Talk::default();
    for (n, tokens) in sizes.iter().enumerate() {
        talk.question(n, *tokens);
    }
    talk
}

#[test]
fn cuts_stand_before_words_and_before_the_assistant() {
    // Question, call (thinking and call), result, answer.
    let segments = talk(&[10, 10]).segments();
    assert_eq!(segments.len(), 10);
    assert_eq!(cuts(&segments), [0, 1, 4, 5, 6, 9]);
    assert_eq!(cut_at_or_before(&cuts(&segments), 3), Some(1));
    assert_eq!(cut_at_or_after(&cuts(&segments), 2), Some(4));
    assert_eq!(cut_at_or_after(&cuts(&segments), 10), None);
}

#[test]
fn a_tail_is_the_longest_that_fits() {
    let segments = talk(&[1_000, 1_000, 1_000]).segments();
    let tokens = |cut| tokens_from(&segments, cut, measure());
    for most in [0, 1, 500, 1_100, 2_500, 10_000] {
        let cut = tail_of(&segments, Tokens(most), measure());
        assert!(tokens(cut) <= Tokens(most));
        let earlier = cuts(&segments).into_iter().rfind(|other| *other < cut);
        assert!(earlier.is_none_or(|earlier| tokens(earlier) > Tokens(most)));
    }
    assert_eq!(tail_of(&segments, Tokens(0), measure()), segments.len());
}

#[test]
fn ranges_name_the_records_that_stay_and_no_other() {
    let segments = talk(&[10, 10, 10]).segments();
    let seq = |at: usize| segments.get(at).unwrap().origin.record;
    let found = ranges(&segments, |at| !(4..10).contains(&at));
    let whole = |first, last| SeqRange { first, last };
    assert_eq!(found, [whole(seq(0), seq(3)), whole(seq(10), seq(14))]);
    assert_eq!(ranges(&segments, |_| false), []);
}

#[test]
fn beside_notes_stay_ten_thousand_tokens_and_five_messages_with_text() {
    // Everything is covered: the tail extends back until both minimums are met.
    let by_tokens = talk(&[4_000; 6]);
    let segments = by_tokens.segments();
    let last = *by_tokens.messages().last().unwrap();
    let cut = notes_tail(&segments, last, RULE, measure()).unwrap();
    let kept = tokens_from(&segments, cut, measure());
    assert!(kept >= RULE.tokens && kept < Tokens(13_000), "{kept}");

    let by_messages = talk(&[4_500; 9]);
    let few = NotesTail {
        tokens: Tokens(1),
        ..RULE
    };
    let segments = by_messages.segments();
    let last = *by_messages.messages().last().unwrap();
    let cut = notes_tail(&segments, last, few, measure()).unwrap();
    let texts = segments
        .iter()
        .skip(cut)
        .filter(|segment| segment.block.kind() == BlockKind::Text);
    assert_eq!(texts.count(), 5);
}

#[test]
fn the_tail_beside_notes_never_exceeds_its_limit() {
    // Two messages with text are there; the next would exceed the limit.
    let talk = talk(&[500, 39_500, 600]);
    let segments = talk.segments();
    let last = *talk.messages().last().unwrap();
    let cut = notes_tail(&segments, last, RULE, measure()).unwrap();
    assert!(tokens_from(&segments, cut, measure()) <= RULE.limit);
    // An uncovered part above the limit rules the notes out.
    let first = talk.messages()[0];
    let error = notes_tail(&segments, first, RULE, measure()).unwrap_err();
    assert!(matches!(error, NotesTailError::TooMuch { tokens, .. } if tokens > Tokens(40_000)));
    let gone = dormouse_core::id::Seq::new(9_999);
    let error = notes_tail(&segments, gone, RULE, measure()).unwrap_err();
    assert_eq!(error, NotesTailError::NotInView);
}

#[test]
fn a_large_turn_that_is_covered_need_not_stay() {
    // The last turn alone exceeds the limit, but the notes cover it.
    let talk = talk(&[500, 45_000]);
    let segments = talk.segments();
    let last = *talk.messages().last().unwrap();
    let cut = notes_tail(&segments, last, RULE, measure()).unwrap();
    assert!(tokens_from(&segments, cut, measure()) <= RULE.limit);
}

#[test]
fn notes_never_part_a_call_from_its_result() {
    let talk = talk(&[3_000; 5]);
    let segments = talk.segments();
    for last in talk.messages() {
        if let Ok(cut) = notes_tail(&segments, last, RULE, measure()) {
            let at_result = segments
                .get(cut)
                .is_some_and(|segment| segment.block.kind() == BlockKind::ToolResult);
            assert!(!at_result, "behind {last}");
        }
    }
}

fn kept(talk: &Talk, scope: Scope, keep: &dyn Keep) -> Result<Kept, String> {
    Kept::new(talk.conversation().view(), scope, keep, measure()).map_err(|error| error.to_string())
}

/// Keeps both ends, as a policy of another crate may.
#[derive(Debug)]
struct BothEnds;

impl Keep for BothEnds {
    fn stays(&self, segments: &SegmentList, _: Measure) -> Stays {
        Stays {
            front: 1,
            tail: segments.len() - 5,
        }
    }
}

#[test]
fn each_rule_keeps_its_part() {
    let talk = talk(&[100; 10]);
    let staying = |keep: &dyn Keep| kept(&talk, Scope::All, keep).unwrap().staying().count();
    assert_eq!(staying(&Unsent), 0);
    let all = talk.segments().len();
    assert_eq!(all, 50);
    // A turn has about 110 tokens.
    assert!((5..12).contains(&staying(&NewestRounds(Tokens(230)))));
    assert_eq!(staying(&BothEnds), 6);
    assert_eq!(
        kept(&talk, Scope::All, &NewestRounds(Tokens(100_000))).unwrap_err(),
        "there is nothing to compact"
    );
}

#[test]
fn what_was_not_sent_always_stays_with_its_calls() {
    let mut talk = talk(&[100; 3]);
    talk.log
        .assistant("open", vec![call("c", "Bash", &json!({}))]);
    talk.log.user("more words");
    let kept = kept(&talk, Scope::All, &Unsent).unwrap();
    // The call, the stand-in for its result, and the words.
    assert_eq!(kept.staying().count(), 3);
    let going: Tokens = kept
        .going()
        .map(|segment| measure().tokens(segment.block.weight()))
        .sum();
    assert!(kept.replaced <= going);
}

#[test]
fn a_chosen_message_divides_what_stays_from_what_goes() {
    let talk = talk(&[100; 4]);
    let messages = talk.messages();
    let third = messages[8];
    let from = kept(&talk, Scope::From(third), &Unsent).unwrap();
    assert!(from.records().contains(&third) && from.records().contains(&messages[0]));
    assert!(!from.records().contains(messages.last().unwrap()));
    let up_to = kept(&talk, Scope::UpTo(third), &Unsent).unwrap();
    assert!(up_to.records().contains(&third) && !up_to.records().contains(&messages[0]));
    // A cut behind a call moves behind its result.
    let call = messages[9];
    let from = kept(&talk, Scope::From(call), &Unsent).unwrap();
    assert!(from.records().contains(&messages[10]));
    for (scope, why) in [
        (Scope::UpTo(messages[0]), "nothing comes before"),
        (Scope::From(*messages.last().unwrap()), "nothing follows"),
        (Scope::From(dormouse_core::id::Seq::new(999)), "not in view"),
    ] {
        let error = kept(&talk, scope, &Unsent).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn words_that_wait_are_not_history() {
    let mut talk = talk(&[100]);
    talk.log.user_blocks(vec![Block::text("wait")]);
    let kept = kept(&talk, Scope::All, &Unsent).unwrap();
    let staying: Vec<_> = kept
        .staying()
        .filter_map(|s| s.block.readable_text())
        .collect();
    assert_eq!(staying, ["wait"]);
}
