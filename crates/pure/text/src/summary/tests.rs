use super::{Budget, Feature, Passage, Voice, summarise};
use pretty_assertions::assert_eq;

fn passage(voice: Voice, text: &str) -> Passage<'_> {
    Passage { text, voice }
}

#[test]
fn requests_decisions_and_errors_win_over_chatter() {
    let passages = [
        passage(
            Voice::User,
            "Hi there. Please never edit the files in vendor/. Nice weather.",
        ),
        passage(
            Voice::Assistant,
            "Sure, let me have a look. The build failed with E0597 in src/merge.rs. Hm.",
        ),
        passage(Voice::Tool, "Compiling a\nCompiling b\nCompiling c\n"),
        passage(
            Voice::Assistant,
            "I decided to keep zstd instead of gzip. That is all.",
        ),
    ];
    let summary = summarise(&passages, Budget::Chars(125));
    assert_eq!(
        summary.text(&passages),
        "Please never edit the files in vendor/.\nThe build failed with E0597 in src/merge.rs.\nI decided to keep zstd instead of gzip."
    );
    let reasons: Vec<_> = summary.picks[0]
        .reasons
        .iter()
        .map(|reason| reason.feature)
        .collect();
    assert!(
        reasons.contains(&Feature::Request) && reasons.contains(&Feature::Decision),
        "{reasons:?}"
    );
    for pick in &summary.picks {
        let sum: f32 = pick.reasons.iter().map(|reason| reason.weight).sum();
        assert!((sum - pick.score).abs() < 1e-4, "the reasons add up");
    }
}

#[test]
fn what_was_said_is_not_said_twice() {
    let text = "The cache must be cleared before the deploy. The cache must be cleared before each deploy. \
                The cache must be cleared before the deploy. Logs rotate at midnight.";
    let passages = [passage(Voice::Document, text)];
    let summary = summarise(&passages, Budget::Chars(80));
    assert_eq!(summary.repeated, 1);
    let kept = summary.text(&passages);
    assert_eq!(kept.matches("cache").count(), 1, "{kept}");
    assert!(kept.contains("Logs rotate"), "{kept}");
}

#[test]
fn nothing_fits_into_nothing() {
    let passages = [passage(Voice::User, "Some words here.")];
    assert_eq!(summarise(&passages, Budget::Chars(0)).picks, []);
    assert_eq!(summarise(&[], Budget::Chars(100)).picks, []);
    assert_eq!(
        summarise(&[passage(Voice::User, "")], Budget::Chars(100)).picks,
        []
    );
}

#[test]
fn more_than_the_graph_holds_still_fills_the_budget() {
    let sentence = |n: usize| format!("Sentence number {n} speaks of topic{}. ", n % 97);
    let text = (0..4_000).map(sentence).collect::<Vec<_>>().concat();
    let passages = [passage(Voice::Document, &text)];
    let summary = summarise(&passages, Budget::Chars(text.len() * 9 / 10));
    assert_eq!(summary.compared, super::GRAPH_LIMIT);
    assert!(
        summary.cost > text.len() * 8 / 10,
        "{} of {}",
        summary.cost,
        text.len()
    );
}
