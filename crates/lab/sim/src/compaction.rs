//! Server-side compaction: the block that stands for a conversation.
//!
//! On demand, a request asks for a summary and gets one signed block back; the client puts it in
//! place of the summarised messages, unchanged. In the older form, a request names a threshold; a
//! prompt that is longer is summed up on the way, the answer starts with the summary, and messages
//! before the last summary of a history are not read.
//!
//! # Not here
//! Summaries that a user orders in words: [`crate::scribe`].

use crate::binding::Bond;
use crate::blocks::{Kind, Names, Place};
use crate::digest::Digest;
use crate::error::ApiError;
use crate::keys::{Keys, Level};
use crate::prompt::{self, ASSISTANT, Item, Prompt};
use crate::request::{Request, Role};
use crate::spoken::measure;
use crate::tokens::Counter;
use serde_json::{Value, json};
use std::fmt;

/// First field of a seal, so that a signature of another kind is not taken for one.
const NAME: &str = "simcompact";

/// Content of a compaction block's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactionSeal {
    /// The summary, open and encrypted.
    pub(crate) content: Digest,
    /// System and tools when it was made.
    pub(crate) base: Digest,
    /// The conversation it stands for.
    pub(crate) cut: Digest,
}

impl CompactionSeal {
    fn fields(&self) -> String {
        format!("{NAME}.{}.{}.{}", self.content, self.base, self.cut)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(NAME)?.strip_prefix('.')?;
        let mut parts = rest.split('.').map(Digest::parse);
        let mut next = || parts.next().flatten();
        let seal = Self {
            content: next()?,
            base: next()?,
            cut: next()?,
        };
        (next()? == Digest::of(seal.fields().as_bytes())).then_some(seal)
    }
}

impl fmt::Display for CompactionSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields();
        write!(f, "{fields}.{}", Digest::of(fields.as_bytes()))
    }
}

fn content_digest(content: &str, encrypted: &str) -> Digest {
    Digest::of(content.as_bytes()).then(b'+', Digest::of(encrypted.as_bytes()))
}

fn refuse(place: Place, code: &str, text: &str) -> ApiError {
    ApiError::invalid(format!("{place}: {text}")).code(code)
}

/// Leaves only the part the model reads: nothing before the last compaction block.
///
/// With `signed`, the rules of the on-demand form are checked.
pub(crate) fn cut(
    items: &mut Vec<Item<'_>>,
    request: &Request<'_>,
    signed: bool,
) -> Result<Option<CompactionSeal>, ApiError> {
    if !items.iter().any(|item| item.kind == Kind::Compaction) {
        return Ok(None);
    }
    // A block without content is a failed compaction; the model does not see it.
    items.retain(|item| item.kind != Kind::Compaction || content(request, item.place).is_some());
    let blocks = || items.iter().filter(|item| item.kind == Kind::Compaction);
    let mut seal = None;
    if signed {
        // Which of two stands for the conversation cannot be told.
        if let Some(second) = blocks().nth(1) {
            return Err(refuse(
                second.place,
                "compaction_block_ambiguous",
                "there is more than one compaction block with content",
            ));
        }
        if let Some(block) = blocks().next() {
            seal = Some(check(block, request)?);
        }
    }
    // The older form may leave several; only the last one counts.
    let last = items.iter().rposition(|item| item.kind == Kind::Compaction);
    if let Some(last) = last {
        let mut at = 0;
        items.retain(|item| {
            at += 1;
            item.level < Level::Messages || at > last
        });
    }
    Ok(seal)
}

fn check(item: &Item<'_>, request: &Request<'_>) -> Result<CompactionSeal, ApiError> {
    let first = Place::Block {
        message: 0,
        block: 0,
    };
    if item.place != first || request.messages[0].role != Role::Assistant {
        return Err(refuse(
            item.place,
            "compaction_block_misplaced",
            "a compaction block must be the first block of the conversation",
        ));
    }
    let seal = item
        .names
        .signature
        .as_deref()
        .and_then(CompactionSeal::parse);
    let Some(seal) = seal else {
        return Err(refuse(
            item.place,
            "compaction_signature_invalid",
            "the signature of the compaction block is not valid",
        ));
    };
    // A client that edits the summary would change what the signature vouches for.
    if content(request, item.place) != Some(seal.content) {
        return Err(refuse(
            item.place,
            "compaction_content_mismatch",
            "the content of the compaction block is not what was signed",
        ));
    }
    Ok(seal)
}

fn content(request: &Request<'_>, place: Place) -> Option<Digest> {
    let Place::Block { message, block } = place else {
        return None;
    };
    let block = request.messages.get(message)?.content.get(block)?;
    let content = block.text("content")?;
    let encrypted = block.text("encrypted_content").unwrap_or_default();
    Some(content_digest(&content, &encrypted))
}

/// Checks that there are messages to summarise.
pub(crate) fn check_request(request: &Request<'_>, items: &[Item<'_>]) -> Result<(), ApiError> {
    let Some(asked) = &request.compaction else {
        return Ok(());
    };
    if asked["type"] != "summarize" {
        return Err(ApiError::invalid(
            "compaction.type: Input should be 'summarize'",
        ));
    }
    let any = items
        .iter()
        .any(|item| item.level == Level::Messages && item.kind != Kind::Compaction);
    if any {
        Ok(())
    } else {
        Err(
            ApiError::invalid("compaction: there is nothing to summarize")
                .code("compaction_nothing_to_summarize"),
        )
    }
}

/// Name of the threshold form among the edits.
const THRESHOLD_EDIT: &str = "compact_20260112";
/// Tokens of the threshold unless the edit names another: the documented default.
const DEFAULT_THRESHOLD: u64 = 150_000;
/// Least threshold in tokens that the provider accepts.
const LEAST_THRESHOLD: u64 = 50_000;

/// Condition for a summary without a request for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threshold {
    pub(crate) tokens: u64,
    /// The answer ends after the summary.
    pub(crate) pauses: bool,
}

/// Reads the threshold form among the edits of a request.
pub(crate) fn threshold(asked: Option<&Value>) -> Result<Option<Threshold>, ApiError> {
    let edits = asked.and_then(|asked| asked["edits"].as_array());
    let edit = edits
        .into_iter()
        .flatten()
        .find(|edit| edit["type"] == THRESHOLD_EDIT);
    let Some(edit) = edit else {
        return Ok(None);
    };
    let trigger = &edit["trigger"];
    let tokens = match trigger {
        Value::Null => Some(DEFAULT_THRESHOLD),
        _ => trigger["value"]
            .as_u64()
            // A lower one would compact again at once.
            .filter(|value| trigger["type"] == "input_tokens" && *value >= LEAST_THRESHOLD),
    };
    match tokens {
        Some(tokens) => Ok(Some(Threshold {
            tokens,
            pauses: edit["pause_after_compaction"] == true,
        })),
        None => Err(ApiError::invalid(format!(
            "context_management.edits: the trigger of `{THRESHOLD_EDIT}` should be input_tokens, \
             at least {LEAST_THRESHOLD}"
        ))),
    }
}

/// A conversation that was summed up on the way.
#[derive(Debug)]
pub(crate) struct Compacted {
    pub(crate) block: Value,
    /// Tokens of the summary.
    pub(crate) tokens: u64,
    /// The prompt that the answer is made from.
    pub(crate) prompt: Prompt,
    pub(crate) pauses: bool,
}

impl Compacted {
    pub(crate) fn new(
        threshold: &Threshold,
        summary: &str,
        items: &mut Vec<Item<'_>>,
        keys: &Keys,
        counter: &Counter,
    ) -> Self {
        let block = json!({
            "type": "compaction",
            "content": summary,
            "encrypted_content": Digest::of(summary.as_bytes()).to_string(),
        });
        let (tokens, digest) = measure(&block, counter);
        // Tools and system stay: the answer is made from them and the summary.
        items.retain(|item| item.level < Level::Messages);
        items.push(Item {
            place: Place::Block {
                message: 0,
                block: 0,
            },
            level: Level::Messages,
            kind: Kind::Compaction,
            digest,
            tokens,
            marker: None,
            counts: true,
            tag: ASSISTANT,
            turn: 0,
            names: Names::default(),
        });
        Self {
            block,
            tokens,
            prompt: prompt::chain(items, keys),
            pauses: threshold.pauses,
        }
    }
}

/// Text of a summary: enough to tell two apart, and the instructions it was asked to follow.
pub(crate) fn summary(request: &Request<'_>, tokens: u64) -> String {
    let instructions = request
        .compaction
        .as_ref()
        .and_then(|asked| asked["instructions"].as_str())
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let mut text = format!(
        "The conversation so far had {} messages and {tokens} tokens of prompt.",
        request.messages.len()
    );
    if let Some(instructions) = instructions {
        text.push_str(" It was summarised as asked: ");
        text.push_str(instructions);
    }
    text
}

/// The signed block of a summary; without one, the block of a failed compaction.
pub(crate) fn block(summary: Option<&str>, bond: &Bond) -> Value {
    let Some(summary) = summary else {
        return json!({"type": "compaction", "content": null});
    };
    let encrypted = format!("{}", Digest::of(summary.as_bytes()));
    let seal = CompactionSeal {
        content: content_digest(summary, &encrypted),
        base: bond.base,
        cut: bond.prefix,
    };
    json!({
        "type": "compaction",
        "content": summary,
        "encrypted_content": encrypted,
        "signature": seal.to_string(),
    })
}
