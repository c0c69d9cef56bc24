//! Assertions that hold after any order of outcomes, any cancel and any kill.

use crate::script::Given;
use crate::world::World;
use dormouse_context::MISSING_RESULT;
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::validate::consistent;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::CallId;
use dormouse_core::record::{Body, FoldedState, MessageOrigin, Record, Role};
use dormouse_core::usage::TokenUsage;
use dormouse_drive::Driver;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Prompt = Vec<(Role, Vec<u8>)>;

/// Segments and state in a comparable form.
pub(crate) fn seen(conversation: &Conversation) -> (Prompt, FoldedState) {
    let segments = conversation.view().segments();
    let segments = segments.iter();
    let segments = segments.map(|segment| (segment.role, segment.block.bytes().to_vec()));
    (segments.collect(), conversation.state().clone())
}

/// The log is valid, and opening it gives the conversation that the driver has.
pub(crate) fn log_is_sound(world: &World) {
    let view = world.driver.conversation().view();
    consistent(view.segments().iter()).unwrap();
    assert_eq!(view.issues(), [], "the view follows the log to the letter");
    let records = world.store.records();
    let target = view.target().clone();
    let folded = seen(&Conversation::fold(&path(&records, Leaf::Newest), target));
    let live = seen(world.driver.conversation());
    assert_eq!(live.0, folded.0, "live and folded prompts");
    assert_eq!(live.1, folded.1, "live and folded state");
    let config = world.driver.config().clone();
    let settings = Arc::clone(&world.settings);
    let resumed = Driver::open(config, settings, world.store.start(), world.now);
    let (driver, _) = resumed.unwrap();
    let resumed = seen(driver.conversation());
    assert_eq!(resumed.0, folded.0, "resumed and folded prompts");
    assert_eq!(resumed.1, folded.1, "resumed and folded state");
    assert_eq!(
        world.driver.strays(),
        0,
        "outcomes that belong to no effect"
    );
}

/// Blocks of one side's messages, with their records.
fn blocks(records: &[Record], side: Role) -> impl Iterator<Item = (&Record, &Block)> {
    records.iter().flat_map(move |record| match &record.body {
        Body::Message(message) if message.role == side => {
            let blocks = message.content.iter();
            blocks.map(|block| (record, block)).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    })
}

/// Every call has exactly one result, and no tool was run twice.
pub(crate) fn calls_are_answered(world: &World) {
    let records = world.store.records();
    let mut results: BTreeMap<&CallId, Vec<&Block>> = BTreeMap::new();
    for (_, block) in blocks(&records, Role::User) {
        if let (BlockKind::ToolResult, Some(call)) = (block.kind(), block.call()) {
            results.entry(call).or_default().push(block);
        }
    }
    for (call, runs) in &world.runs {
        assert_eq!(*runs, 1, "{call} was run again");
    }
    for (_, block) in blocks(&records, Role::Assistant) {
        let Some(call) = block.call().filter(|_| block.kind() == BlockKind::ToolUse) else {
            continue;
        };
        let found = results.get(call).map_or(0, Vec::len);
        assert_eq!(found, 1, "results of {call}");
    }
    for call in &world.ended {
        let result = results.get(call).and_then(|found| found.first());
        let text = result.and_then(|block| block.readable_text());
        let text = text.unwrap_or_default();
        assert_ne!(text, MISSING_RESULT, "the result of {call} is lost");
        assert!(
            text.contains("Output of") || text.contains("cleared"),
            "{call}: {text}"
        );
    }
}

/// Every prompt is in the log exactly once, if its command was answered or the log had it queued.
pub(crate) fn prompts_are_kept(world: &World, given: &Given) {
    let records = world.store.records();
    for (id, prompt, kills) in &given.0 {
        let replies = world.replies.get(id).map_or(0, Vec::len);
        assert!(replies <= 1, "{prompt}: {replies} replies");
        let said = blocks(&records, Role::User)
            .filter(|(_, block)| block.readable_text().as_ref() == Some(prompt))
            .filter(|(record, _)| is_conversation(record))
            .count();
        assert!(said <= 1, "{prompt}: said {said} times");
        if *kills == world.kills {
            assert_eq!((replies, said), (1, 1), "{prompt}");
        } else if replies == 1 {
            assert_eq!(said, 1, "{prompt}: answered, and not in the log");
        } else {
            let queued = records.iter().any(|record| is_queued(record, prompt));
            assert!(said == 1 || !queued, "{prompt}: queued, and never said");
        }
    }
}

fn is_conversation(record: &Record) -> bool {
    matches!(&record.body, Body::Message(message) if message.origin == MessageOrigin::Conversation)
}

fn is_queued(record: &Record, prompt: &str) -> bool {
    match &record.body {
        Body::State(change) => format!("{change:?}").contains(prompt),
        _ => false,
    }
}

/// Usage of every answer is in the log exactly once. A kill may lose the newest reports.
pub(crate) fn usage_is_recorded(world: &World) {
    let records = world.store.records();
    let mut known = BTreeSet::new();
    let mut sum = TokenUsage::default();
    for record in &records {
        if let Body::Usage(report) = &record.body {
            let message = report.message.clone();
            assert!(
                known.insert(message.clone()),
                "{message:?} is recorded twice"
            );
            sum += report.usage;
        }
    }
    if world.kills == 0 {
        assert_eq!(sum, world.billed, "recorded and billed tokens");
    } else {
        assert!(
            sum.input <= world.billed.input,
            "more is recorded than billed"
        );
    }
}

pub(crate) fn everything(world: &World, given: &Given) {
    log_is_sound(world);
    calls_are_answered(world);
    prompts_are_kept(world, given);
    usage_is_recorded(world);
}
