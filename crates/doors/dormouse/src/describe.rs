//! Records and blocks in a line of text each, for `log` and `view`.
//!
//! # Not here
//! Full texts: `view --full` prints them. JSON: records serialise themselves.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, ClearingPlace, Record, ReplacementDecision, StateChange, Trigger,
};
use dormouse_core::show;

/// Characters of a text that are shown: more than any terminal is wide, and little enough that a
/// log of thousands of records stays small as JSON. The table cuts further where the screen is
/// narrower.
const SHOWN: usize = 160;

/// A record in one line; empty where its kind says all.
pub fn record(record: &Record) -> String {
    match &record.body {
        Body::Session(start) => match &start.lineage {
            Some(lineage) => format!("a fork of {} at record {}", lineage.session, lineage.seq),
            None => format!("format {}, {}", start.format, start.project),
        },
        Body::Message(message) => message
            .content
            .iter()
            .map(block)
            .collect::<Vec<_>>()
            .join(" · "),
        Body::Prefix(prefix) => format!(
            "{} tools, {} system blocks, {} fragments",
            prefix.tools.len(),
            prefix.system.len(),
            prefix.fragments.len()
        ),
        Body::Request(request) => {
            let decisions = request.decisions.join("; ");
            format!(
                "{} segments to {}: {decisions}",
                request.segments, request.model
            )
        }
        Body::Usage(usage) => {
            let broken = usage
                .cache
                .as_ref()
                .and_then(|cache| cache.broken.as_deref());
            let broken = broken
                .map(|why| format!("; cache lost: {why}"))
                .unwrap_or_default();
            let read = usage.usage.cache_read;
            format!(
                "{} prompt tokens, {read} from the cache{broken}",
                usage.usage.prompt()
            )
        }
        Body::Fragment(fragment) => block(&fragment.block),
        // Lines of other tools have no words of their own, except a title.
        Body::Foreign(foreign) => foreign.title.as_deref().unwrap_or_default().to_owned(),
        Body::State(change) => state(change),
        Body::Agent(event) if event.ended => format!("{} ended", event.agent),
        Body::Agent(event) => event.agent.to_string(),
        Body::Mail(mail) => format!("from {} to {}", mail.from, mail.to),
        Body::Checkpoint(checkpoint) => {
            format!("{} ranges are live", checkpoint.manifest.ranges.len())
        }
        Body::Chronicle(page) => crate::output::figures::count(
            page.len(),
            "entry of the chronicle",
            "entries of the chronicle",
        ),
        Body::Notes(notes) => format!(
            "{} tokens, up to record {}",
            notes.tokens, notes.last_summarised
        ),
        // Every record left is a rewrite; kinds added later show their kind and no text.
        _ => rewrite(record).unwrap_or_default(),
    }
}

fn state(change: &StateChange) -> String {
    match change {
        StateChange::Surfaced { memories } => {
            crate::output::figures::count(memories.len(), "memory shown", "memories shown")
        }
        StateChange::ReadState { path, .. } => path.clone(),
        StateChange::MemorySaved { detail } | StateChange::Dream { detail } => detail.to_string(),
        StateChange::Attempt(attempt) => {
            let next = attempt.again_after.map_or_else(
                || "given up".to_owned(),
                |millis| format!("again after {millis} ms"),
            );
            format!("attempt {}: {}; {next}", attempt.number, attempt.why)
        }
        StateChange::Cursor { name, at } => format!("{name} has got to record {at}"),
        StateChange::Fact { name, value } => format!("{name} = {value}"),
    }
}

/// A rewrite in one line: the deed, its size and its reason. None for records that rewrite nothing.
pub fn rewrite(record: &Record) -> Option<String> {
    Some(match &record.body {
        Body::Replacement(replacement) => match &replacement.decision {
            ReplacementDecision::Replaced { blob, .. } => {
                format!("offloaded: a preview stands for the result, the whole is blob {blob}")
            }
            ReplacementDecision::Left => "left as it is".to_owned(),
        },
        Body::Distilled(distilled) => format!(
            "distilled: {} results, {} tokens freed, {}",
            distilled.blocks.len(),
            distilled.freed,
            distilled.reason
        ),
        Body::Cleared(clearing) => {
            let by = match clearing.place {
                ClearingPlace::Local => "cleared",
                ClearingPlace::Server => "cleared by the provider",
            };
            format!(
                "{by}: {} results, {} tokens freed, {}",
                clearing.blocks.len(),
                clearing.freed,
                clearing.reason
            )
        }
        Body::Boundary(boundary) => self::boundary(boundary),
        Body::Snip(snip) => format!("snipped: {} ranges left the view", snip.ranges.len()),
        Body::Fold(folding) => format!("folded: {} spans became a line each", folding.spans.len()),
        Body::Undo(undo) => format!("undone: {} rewrites taken back", undo.targets.len()),
        _ => return None,
    })
}

fn boundary(boundary: &Boundary) -> String {
    let trigger = match boundary.trigger {
        Trigger::Auto => " automatically",
        Trigger::Manual => " by hand",
        Trigger::Reactive => " because the provider refused the prompt",
        Trigger::Economic => " at the cheapest moment",
        // Another client compacted, and its log does not say why.
        Trigger::Unknown => "",
    };
    let kind = match boundary.kind {
        BoundaryKind::Notes => " from the session notes",
        BoundaryKind::Full => " by a summary",
        BoundaryKind::Partial => " in part",
        BoundaryKind::Offline => " without a model",
        // Another client compacted, and its log does not say by what means.
        BoundaryKind::Foreign => "",
    };
    let figure = |tokens: Option<dormouse_core::units::Tokens>| {
        tokens.map(|tokens| crate::output::figures::thousands(tokens.get()))
    };
    let figures = match (figure(boundary.pre_tokens), figure(boundary.post_tokens)) {
        (Some(pre), Some(post)) => format!(", {pre} to {post} tokens"),
        // Some clients log only the size that triggered the compaction.
        (Some(pre), None) => format!(", at {pre} tokens"),
        _ => String::new(),
    };
    format!("compacted{trigger}{kind}{figures}")
}

/// A block in one line, with a mark for its kind.
pub fn block(block: &Block) -> String {
    let text = || {
        let line = one_line(&block.readable_text().unwrap_or_default());
        // An empty cell would look like a fault of the table.
        if line.is_empty() {
            "(blank)".to_owned()
        } else {
            line
        }
    };
    match block.kind() {
        BlockKind::Text => text(),
        BlockKind::Thinking => format!("(thinking) {}", text()),
        BlockKind::RedactedThinking => "(hidden thinking)".to_owned(),
        BlockKind::ToolUse => {
            // The field that says most about a call in the tools of the known agents, the most
            // particular first; whole inputs would drown it.
            let input = [
                "file_path",
                "path",
                "command",
                "pattern",
                "query",
                "url",
                "description",
            ]
            .into_iter()
            .find_map(|name| block.input_text(name));
            let input = input.map(|input| one_line(&input)).unwrap_or_default();
            format!("{}({input})", block.tool().unwrap_or("?"))
        }
        BlockKind::ToolResult if block.is_error() => format!("→ failed: {}", text()),
        BlockKind::ToolResult => format!("→ {}", text()),
        BlockKind::Image => "(image)".to_owned(),
        BlockKind::Document => "(document)".to_owned(),
        BlockKind::Compaction => "(the provider's summary)".to_owned(),
        // A block of a kind that is not known is still a part of the prompt: its JSON is shown.
        BlockKind::Other => one_line(&String::from_utf8_lossy(block.bytes())),
    }
}

fn one_line(text: &str) -> String {
    show::shortened(&show::flat(text), SHOWN).into_owned()
}
