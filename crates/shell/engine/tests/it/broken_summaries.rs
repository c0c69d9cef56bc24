//! Everything that can go wrong with the call for a summary. Each ends in a valid, smaller context
//! or in the old one, and nothing is lost.

use crate::kit::{Kit, all_questions_accounted_for, boundaries, check, prompt, prose, turn};
use crate::provider::Answer;
use dormouse_context::compaction::{CompactionOutcome, REQUIRED_SECTIONS};
use dormouse_core::block::Block;
use dormouse_core::record::{Body, BoundaryKind};
use dormouse_engine::{CompactWish, Purpose, Session};
use serde_json::json;

/// A summary with all its sections, each of so many characters.
pub(crate) fn summary(chars: usize) -> String {
    let sections = REQUIRED_SECTIONS.iter().enumerate();
    let sections =
        sections.map(|(at, title)| format!("{}. {title}: {}\n", at + 1, prose(at, chars)));
    format!(
        "<analysis>thinking</analysis>\n<summary>\n{}</summary>",
        sections.collect::<String>()
    )
}

struct Case {
    kit: Kit,
    session: Session,
    rounds: usize,
    records: usize,
    used: u64,
}

/// A conversation of about 14,000 tokens.
async fn case() -> Case {
    let kit = Kit::new();
    let mut session = kit.open().await;
    kit.talk_until(&mut session, 14_000).await;
    Case {
        rounds: kit.provider.count(Purpose::Turn),
        records: session.records().await.unwrap().len(),
        used: session.used().get(),
        kit,
        session,
    }
}

impl Case {
    async fn compact(&mut self) -> (BoundaryKind, Option<String>) {
        match self.session.compact(CompactWish::default()).await.unwrap() {
            CompactionOutcome::Compacted {
                kind, model_failed, ..
            } => (kind, model_failed),
            other => panic!("{other:?}"),
        }
    }

    /// The context is smaller and valid; every question is there; the log still has everything;
    /// the session goes on, also after a crash.
    async fn proves_sound(mut self) {
        check(&self.session);
        assert!(
            self.session.used().get() * 3 < self.used * 2,
            "{}",
            self.session.used()
        );
        assert_eq!(boundaries(&self.session).await.len(), 1);
        all_questions_accounted_for(&self.session, self.rounds);
        assert!(self.session.records().await.unwrap().len() > self.records);
        turn(&mut self.session, "Go on.").await;
        let now = prompt(&self.session);
        drop(self.session);
        let (session, resumed) = self.kit.killed().await;
        assert!(now == resumed, "another prompt after the crash");
        drop(session);
        let (session, _) = self.kit.power_cut().await;
        all_questions_accounted_for(&session, self.rounds);
    }
}

#[tokio::test]
async fn too_long_by_a_readable_gap_drops_the_rounds_that_cover_it() {
    let mut case = case().await;
    let before = case.kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    case.kit.provider.next(
        Purpose::Compaction,
        Answer::too_long(Some((44_000, 40_000))),
    );
    assert_eq!(case.compact().await, (BoundaryKind::Full, None));
    let asked = case.kit.provider.sent_for(Purpose::Compaction);
    assert_eq!(asked.len(), 2);
    assert!(asked[0].messages().len() >= before.messages().len());
    let (whole, shorter) = (asked[0].body.len(), asked[1].body.len());
    assert!(whole - shorter > 4_000 * 3, "{whole} {shorter}");
    assert!(
        shorter > whole / 3,
        "no more than needed is dropped: {whole} {shorter}"
    );
    case.proves_sound().await;
}

#[tokio::test]
async fn too_long_by_an_unknown_gap_is_shortened_three_times_and_then_done_without_a_model() {
    let mut case = case().await;
    case.kit
        .provider
        .always(Purpose::Compaction, Answer::too_long(None));
    let (kind, why) = case.compact().await;
    assert_eq!(kind, BoundaryKind::Offline);
    assert!(why.unwrap().contains("too long"));
    let asked = case.kit.provider.sent_for(Purpose::Compaction);
    let lengths: Vec<usize> = asked.iter().map(|sent| sent.messages().len()).collect();
    assert_eq!(lengths.len(), 1 + 3);
    assert!(lengths.is_sorted_by(|a, b| a > b), "{lengths:?}");
    case.proves_sound().await;
}

#[tokio::test]
async fn a_gap_that_nothing_can_cover_ends_without_a_model_at_once() {
    let mut case = case().await;
    case.kit.provider.always(
        Purpose::Compaction,
        Answer::too_long(Some((900_000, 40_000))),
    );
    assert_eq!(case.compact().await.0, BoundaryKind::Offline);
    assert_eq!(case.kit.provider.count(Purpose::Compaction), 1);
    case.proves_sound().await;
}

#[tokio::test]
async fn a_stream_cut_in_the_middle_is_asked_again_twice() {
    let mut case = case().await;
    for _ in 0..2 {
        case.kit
            .provider
            .next(Purpose::Compaction, Answer::cut_in_the_middle());
    }
    assert_eq!(case.compact().await, (BoundaryKind::Full, None));
    assert_eq!(case.kit.provider.count(Purpose::Compaction), 3);
    case.proves_sound().await;
}

#[tokio::test]
async fn a_stream_that_always_breaks_ends_without_a_model() {
    let mut case = case().await;
    case.kit
        .provider
        .always(Purpose::Compaction, Answer::cut_in_the_middle());
    assert_eq!(case.compact().await.0, BoundaryKind::Offline);
    assert_eq!(case.kit.provider.count(Purpose::Compaction), 3);
    case.proves_sound().await;
}

#[tokio::test]
async fn answers_that_are_no_summary_are_refused() {
    let half = REQUIRED_SECTIONS
        .map(|title| format!("{title}: x\n"))
        .concat();
    let answers = [
        ("empty", Answer::Blocks(Vec::new())),
        ("empty", Answer::text("<analysis>much thought</analysis>")),
        ("empty", Answer::text("<summary>\n</summary>")),
        (
            "lacks",
            Answer::text("<summary>We talked about items.</summary>"),
        ),
        ("cut off", Answer::text(&format!("<summary>{half}"))),
        ("cut off", Answer::CutOff(vec![Block::text(&summary(100))])),
        ("tool", Answer::call("call_1", "Bash", &json!({"x": "ls"}))),
        ("not smaller", Answer::text(&summary(12_000))),
    ];
    for (word, answer) in answers {
        let mut case = case().await;
        case.kit.provider.next(Purpose::Compaction, answer);
        let (kind, why) = case.compact().await;
        let why = why.unwrap();
        assert!(why.contains(word), "{word}: {why}");
        assert_eq!(kind, BoundaryKind::Offline, "{word}");
        assert_eq!(case.kit.provider.count(Purpose::Compaction), 1, "{word}");
        case.proves_sound().await;
    }
}

#[tokio::test]
async fn a_provider_that_rejects_the_riding_form_gets_a_cold_call() {
    let mut case = case().await;
    case.kit
        .provider
        .next(Purpose::Compaction, Answer::rejected());
    assert_eq!(case.compact().await, (BoundaryKind::Full, None));
    let asked = case.kit.provider.sent_for(Purpose::Compaction);
    assert_eq!(asked.len(), 2);
    let (riding, cold) = (asked[0].json(), asked[1].json());
    assert!(riding["tools"].is_array() && cold.get("tools").is_none());
    assert_eq!(riding["system"][0]["text"], cold["system"][0]["text"]);
    assert_eq!(cold["messages"].as_array().unwrap().len(), 1);
    assert!(asked[1].contains("QX-1?"));
    case.proves_sound().await;
}

#[tokio::test]
async fn a_provider_that_rejects_both_forms_is_left_alone() {
    let mut case = case().await;
    case.kit
        .provider
        .always(Purpose::Compaction, Answer::rejected());
    let (kind, why) = case.compact().await;
    assert_eq!(
        (kind, case.kit.provider.count(Purpose::Compaction)),
        (BoundaryKind::Offline, 2)
    );
    assert!(why.is_some());
    case.proves_sound().await;
}

/// The riding call differs from the conversation's own request in nothing but its directive.
#[tokio::test]
async fn the_call_rides_the_cache() {
    let mut case = case().await;
    case.compact().await;
    let turn = case.kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    let asked = case
        .kit
        .provider
        .sent_for(Purpose::Compaction)
        .pop()
        .unwrap();
    for member in [
        "model",
        "system",
        "tools",
        "max_tokens",
        "tool_choice",
        "thinking",
    ] {
        assert_eq!(
            turn.json().get(member),
            asked.json().get(member),
            "{member}"
        );
    }
    let (before, after) = (turn.messages(), asked.messages());
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(
        after.len(),
        before.len() + 2,
        "the last answer and the directive"
    );
    case.proves_sound().await;
}

/// The same for the call that does not ride the cache.
#[tokio::test]
async fn an_earlier_summary_is_part_of_a_cold_call() {
    let mut case = case().await;
    let first = summary(100).replace(
        "1. Primary request and intent:",
        "1. Primary request and intent: KEEP-ME",
    );
    case.kit
        .provider
        .next(Purpose::Compaction, Answer::text(&first));
    case.compact().await;
    case.kit.talk_until(&mut case.session, 12_000).await;
    for answer in [Answer::rejected(), Answer::text(&summary(100))] {
        case.kit.provider.next(Purpose::Compaction, answer);
    }
    assert_eq!(case.compact().await.0, BoundaryKind::Full);
    let asked = case.kit.provider.sent_for(Purpose::Compaction);
    assert_eq!(asked.len(), 3, "the second one is asked cold, too");
    assert!(asked[2].contains("<conversation>") && asked[2].contains("KEEP-ME"));
}

/// A second summary is made from the first: what it is asked about begins with it.
#[tokio::test]
async fn an_earlier_summary_is_part_of_what_is_summarised() {
    let mut case = case().await;
    let first = summary(100).replace(
        "1. Primary request and intent:",
        "1. Primary request and intent: KEEP-ME",
    );
    case.kit
        .provider
        .next(Purpose::Compaction, Answer::text(&first));
    case.compact().await;
    case.kit.talk_until(&mut case.session, 12_000).await;
    for answer in [
        Answer::too_long(Some((43_000, 40_000))),
        Answer::overloaded(),
    ] {
        case.kit.provider.next(Purpose::Compaction, answer);
    }
    assert_eq!(case.compact().await.0, BoundaryKind::Offline);
    let asked = case.kit.provider.sent_for(Purpose::Compaction);
    assert!(asked[1].contains("KEEP-ME") && asked[2].contains("KEEP-ME"));
    let kept = boundaries(&case.session).await.pop().unwrap();
    let Body::Boundary(boundary) = kept.body else {
        unreachable!()
    };
    // In its own lines, or in those of the first boundary that it refers to.
    let summary = case.session.conversation().view().segments();
    let text = summary.get(0).unwrap().block.readable_text().unwrap();
    assert!(
        text.contains("KEEP-ME"),
        "the extract takes it along too: {text}"
    );
    assert!(boundary.previous.is_some());
}
