//! Rewrites that the provider carries out, where it is better placed to.

use crate::clearing::thinking_kit;
use crate::kit::{BOUND, Kit, boundaries, check, prose, turn};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, ClearingPlace};
use dormouse_core::units::Tokens;
use dormouse_engine::{Notice, Purpose};
use dormouse_model::Feature;

/// One turn that is longer than the window: its thinking is bound, so nothing can be rewritten
/// here until it ends. The provider's own summary makes room, and the turn goes on.
#[tokio::test]
async fn a_turn_longer_than_the_window_is_compacted_by_the_provider() {
    let mut kit = thinking_kit(BOUND);
    kit.provider.can(&[Feature::ServerCompaction]);
    kit.config.window = Some(Tokens(30_000));
    let mut session = kit.open().await;
    for round in 0..3 {
        let work = format!("Work on part {round}. The port is 80{round}1.");
        session.turn(vec![Block::text(&work)]).await.unwrap();
        check(&session);
    }
    let made = boundaries(&session).await;
    let by_provider = made.iter().find_map(|record| match &record.body {
        Body::Boundary(boundary) => {
            let first = boundary.summary.first()?;
            (first.kind() == BlockKind::Compaction).then_some(boundary)
        }
        _ => None,
    });
    let boundary = by_provider.unwrap_or_else(|| panic!("{:?}", kit.notices()));
    assert!(boundary.post_tokens < boundary.pre_tokens);
    // The user's words follow the provider's block, word for word.
    let beside = boundary.text.join("\n");
    assert!(beside.contains("The port is 8001."), "{beside}");
    // The session is the same when it is opened again.
    let before: Vec<_> = segments(&session);
    drop(session);
    assert_eq!(segments(&kit.open().await), before);
}

/// Without that feature the turn goes on until the provider refuses; nothing is rewritten.
#[tokio::test]
async fn without_the_feature_bound_thinking_waits() {
    let mut kit = thinking_kit(BOUND);
    kit.config.window = Some(Tokens(30_000));
    let mut session = kit.open().await;
    session.turn(vec![Block::text("Work.")]).await.unwrap();
    let requests = kit.provider.sent_for(Purpose::Compaction);
    assert!(requests.iter().all(|sent| !sent.contains("\"summarize\"")));
}

fn segments(session: &dormouse_engine::Session) -> Vec<Block> {
    let segments = session.conversation().view().segments();
    segments
        .iter()
        .map(|segment| segment.block.clone())
        .collect()
}

/// The provider clears old results itself: the parameters are sent with every request, the
/// conversation's own bytes stay, and what was cleared is written down.
#[tokio::test]
async fn the_provider_clears_old_results_where_it_is_asked_to() {
    let mut kit = Kit::new();
    kit.provider.can(&[Feature::ContextEditing]);
    kit.config.window = Some(Tokens(400_000));
    kit.set(&[
        "notes=off",
        "microcompact.api=on",
        "microcompact.api.trigger=3000",
        "microcompact.api.clear_at_least=1000",
    ]);
    kit.tools.returns("Bash", prose(1, 6_000));
    let mut session = kit.open().await;
    for round in 0..6 {
        kit.work(&mut session, &["Bash"]).await;
        turn(&mut session, &format!("Round {round}.")).await;
    }
    let last = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    assert_eq!(
        last.json()["context_management"]["edits"][1]["type"],
        "clear_tool_uses_20250919"
    );
    let records = session.records().await.unwrap();
    let observed: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::Cleared(clearing) if clearing.place == ClearingPlace::Server => Some(clearing),
            _ => None,
        })
        .collect();
    assert!(!observed.is_empty());
    assert!(observed[0].freed > Tokens::ZERO);
    let text = crate::kit::prompt_text(&session);
    assert!(!text.contains("content cleared"), "local bytes stay");
    check(&session);
}

/// With cache editing, old results are deleted from the cache by a block that stays in the
/// conversation; results carry the reference from the start.
#[tokio::test]
async fn old_results_are_deleted_from_the_providers_cache() {
    let kit = Kit::new();
    kit.provider.can(&[Feature::CacheEdits]);
    kit.provider.lenient();
    kit.set(&[
        "notes=off",
        "microcompact.cache_edits=on",
        "microcompact.cache_edits.trigger=3",
        "microcompact.cache_edits.keep=2",
    ]);
    kit.tools.returns("Bash", "some output");
    let mut session = kit.open().await;
    for _ in 0..6 {
        kit.work(&mut session, &["Bash"]).await;
    }
    let last = kit.provider.sent_for(Purpose::Turn).pop().unwrap();
    let blocks = last.blocks();
    let results: Vec<_> = blocks
        .iter()
        .filter(|b| b["type"] == "tool_result")
        .collect();
    assert!(
        results
            .iter()
            .all(|b| b["cache_reference"] == b["tool_use_id"])
    );
    let edits: Vec<_> = blocks
        .iter()
        .filter(|b| b["type"] == "cache_edits")
        .collect();
    assert_eq!(edits.len(), 1, "in a batch, not one by one: {edits:?}");
    assert_eq!(edits[0]["edits"].as_array().unwrap().len(), 2);
    assert_eq!(
        kit.told(|notice| matches!(notice, Notice::Cleared { .. })),
        1
    );
}
