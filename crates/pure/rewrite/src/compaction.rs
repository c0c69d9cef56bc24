//! Layer 4 for a client's history: the request for a summary, and the boundary made of it.
//!
//! The request rides the client's cache: the same bytes as before, then a directive. The newest
//! answer and what follows it are no part of it; they stay as they are.

use crate::body::{Body, Kind, Role, Turn};
use crate::compose::{Edits, messages};
use crate::line::{Boundary, Line, Sent};
use crate::markers::{Cacheable, place};
use crate::plan::{Model, Save, Surroundings, estimate, prefix};
use crate::transcript::transcript;
use bytes::Bytes;
use dormouse_context::compaction::{
    GateError, History, Part, Parts, directive, extract, summary_of,
};
use dormouse_context::conversation::Conversation;
use dormouse_context::evidence;
use dormouse_context::target::Target;
use dormouse_core::block::Block;
use dormouse_core::id::{MessageId, RecordId, Seq};
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Body as Content, Message, MessageOrigin, Record};
use dormouse_core::units::Tokens;
use dormouse_recognise::Seen;
use std::ops::Range;
use std::sync::Arc;

/// Room for a summary: two thousand tokens of it, as many of analysis, and as many to spare.
const ANSWER: u64 = 8_192;
/// Most tokens of an extract without a model: as long as a summary by a model usually is.
const OFFLINE: Tokens = Tokens(4_000);
/// Summaries in a row that no model gave, after which none is asked for.
const BREAKER: u32 = 3;
/// Divisors of the room for user messages and evidence, tried while the result is not shorter.
const LESS_ROOM: [u64; 4] = [1, 4, 16, 64];

/// Reason that nothing is compacted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCompaction {
    /// Everything has to stay.
    #[error("nothing in front of the newest answer can go")]
    AllStays,
    /// Thinking behind the summary would be invalid.
    #[error("thinking is bound to what would go")]
    Bound,
    /// The result would not be shorter, or the summary is none.
    #[error("the summary is refused: {0}")]
    Refused(#[from] GateError),
}

/// A request for a summary.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Body to send; `None` where models have failed too often.
    pub body: Option<Bytes>,
    cut: usize,
}

/// A boundary, and the text to save before it is recorded.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// History that is no longer sent, if the client can open a file.
    pub save: Option<Save>,
    /// Record that puts the summary in place of the history.
    pub boundary: Box<Boundary>,
}

/// Name of the file with the history that a boundary replaces.
pub fn history_file(upto: usize) -> String {
    format!("history-{upto:06}.txt")
}

/// Position from which everything stays beside a summary.
pub(crate) fn cut(
    body: &Body,
    sent: &Sent,
    tail: Tokens,
    model: &Model,
) -> Result<usize, NoCompaction> {
    let answer = body.last_answer();
    let begins = |turn: &&Turn| {
        let start = turn.parts.start;
        let parts = body.parts.get(turn.parts.clone()).unwrap_or_default();
        let answers = parts.iter().any(|part| part.kind == Kind::ToolResult);
        // A result stays with its call.
        let is_cut = turn.role == Role::Assistant || (turn.role == Role::User && !answers);
        is_cut && start > sent.start && (start <= answer || start >= body.round())
    };
    let cuts: Vec<usize> = body
        .turns
        .iter()
        .filter(begins)
        .map(|turn| turn.parts.start)
        .collect();
    if cuts.iter().all(|at| *at > answer) {
        return Err(NoCompaction::AllStays);
    }
    let free = |at: &usize| {
        let behind = body.parts.get(*at..).unwrap_or_default();
        !model.binds || behind.iter().all(|part| part.kind != Kind::Thinking)
    };
    let fits = |at: usize| {
        let kept = (at..answer).filter_map(|at| Some((at, body.parts.get(at)?)));
        let kept: Tokens = kept
            .map(|(at, part)| match sent.stand_ins.get(&at) {
                Some(one) => model.bytes.text.tokens_of(one.block.len() as u64),
                None => part.tokens(model.bytes),
            })
            .sum();
        kept <= tail
    };
    let mut free_cuts = cuts.iter().copied().filter(free).peekable();
    if free_cuts.peek().is_none() {
        return Err(NoCompaction::Bound);
    }
    let free_cuts: Vec<usize> = free_cuts.collect();
    let first = free_cuts.iter().copied().find(|at| fits(*at));
    first
        .or(free_cuts.last().copied())
        .ok_or(NoCompaction::AllStays)
}

/// The request for a summary, in the bytes of the request before it.
///
/// # Errors
/// When nothing can go.
pub fn ask(
    body: &Body,
    seen: &Seen,
    line: &Line,
    tail: Tokens,
    around: &Surroundings<'_>,
) -> Result<Ask, NoCompaction> {
    let sent = line.sent(body, seen);
    let model = Model::of(body, around);
    let cut = cut(body, &sent, tail, &model)?;
    let answer = body.last_answer();
    if line.failures >= BREAKER || answer <= sent.start {
        return Ok(Ask { body: None, cut });
    }
    let cacheable = Cacheable {
        whole: true,
        prefix: line.corrected(prefix(body, model.bytes)) >= model.minimum,
    };
    let marks = place(body, &sent, line, &[], (answer, cacheable));
    let words = Block::text(&directive(&Part::Whole, &[]));
    let layout = body.layout().ok_or(NoCompaction::AllStays)?;
    let list = messages(body, &layout, &sent, &marks, (answer, Some(&words)));
    let mut edits = Edits::new(&layout, list);
    edits.prefix(body, &layout, &marks, line.offered);
    if let Some((place, _)) = layout.max_tokens.filter(|(_, limit)| *limit < ANSWER) {
        edits.put(place, ANSWER.to_string().into_bytes());
    }
    Ok(Ask {
        body: Some(edits.apply(&body.bytes)),
        cut,
    })
}

/// The boundary of a model's answer.
///
/// # Errors
/// When the answer holds no summary, or nothing would become shorter.
pub fn boundary(
    body: &Body,
    seen: &Seen,
    line: &Line,
    ask: &Ask,
    answer: &[Block],
    around: &Surroundings<'_>,
) -> Result<Compaction, NoCompaction> {
    let text = answer
        .iter()
        .filter(|block| block.kind() == dormouse_core::block::BlockKind::Text);
    let text: Vec<String> = text.filter_map(Block::readable_text).collect();
    let called = |block: &Block| block.kind() == dormouse_core::block::BlockKind::ToolUse;
    if answer.iter().any(called) {
        return Err(GateError::ToolCall.into());
    }
    let summary = summary_of(&text.join("\n"))?;
    let bytes = around.models.lookup(&body.model).info.bytes_per_token;
    let written = bytes.text.tokens_of(summary.len() as u64);
    composed(body, seen, line, ask, (&summary, Some(written)), around)
}

/// The boundary of an extract, where no model gives a summary.
///
/// # Errors
/// When nothing would become shorter.
pub fn without_model(
    body: &Body,
    seen: &Seen,
    line: &Line,
    ask: &Ask,
    around: &Surroundings<'_>,
) -> Result<Compaction, NoCompaction> {
    let sent = line.sent(body, seen);
    let gone = folded(body, sent.start..ask.cut, around);
    let segments = gone.view().segments();
    let earlier = sent
        .boundary
        .as_ref()
        .map(|boundary| boundary.summary.as_str());
    let summary = extract(segments.iter(), earlier, OFFLINE, gone.bytes_per_token());
    composed(body, seen, line, ask, (&summary, None), around)
}

fn composed(
    body: &Body,
    seen: &Seen,
    line: &Line,
    ask: &Ask,
    (summary, written): (&str, Option<Tokens>),
    around: &Surroundings<'_>,
) -> Result<Compaction, NoCompaction> {
    let sent = line.sent(body, seen);
    let model = Model::of(body, around);
    let chain = seen.chain(ask.cut).ok_or(NoCompaction::AllStays)?;
    // The client re-sends everything, so that the user's messages and the evidence reach back to
    // the first of them, over all boundaries.
    let all = folded(body, 0..ask.cut, around);
    let before = estimate(body, &sent, model.bytes);
    let mut refused = GateError::Empty;
    for part in LESS_ROOM {
        let front = front(&all, summary, part, around)?;
        let after = Sent {
            boundary: Some(Arc::new(Boundary {
                upto: ask.cut,
                chain,
                front,
                summary: summary.to_owned(),
                before: Tokens::ZERO,
                after: Tokens::ZERO,
                prefix: Tokens::ZERO,
                written,
            })),
            start: ask.cut,
            stand_ins: sent.stand_ins.clone(),
            inserted: sent.inserted.clone(),
        };
        let size = estimate(body, &after, model.bytes);
        if size < before
            && let Some(boundary) = after.boundary.and_then(Arc::into_inner)
        {
            let corrected = |tokens| line.corrected(tokens);
            let text = transcript(body, &(sent.start..ask.cut));
            return Ok(Compaction {
                save: around.folder.map(|_| Save {
                    file: history_file(ask.cut),
                    text,
                }),
                boundary: Box::new(Boundary {
                    before: corrected(before),
                    after: corrected(size),
                    prefix: corrected(prefix(body, model.bytes)),
                    ..boundary
                }),
            });
        }
        refused = GateError::NotSmaller {
            result: size,
            replaced: before,
        };
    }
    Err(refused.into())
}

/// Blocks in place of what goes.
fn front(
    all: &Conversation,
    summary: &str,
    part: u64,
    around: &Surroundings<'_>,
) -> Result<Vec<String>, NoCompaction> {
    let bytes: BytesPerToken = all.bytes_per_token();
    let chronicle = &all.state().chronicle;
    let settings = &around.rules.compact;
    let room = |limit: Tokens| Tokens(limit.get() / part);
    let section =
        evidence::user_messages(chronicle, room(settings.user_messages), bytes, |_| false);
    let exact: Vec<Seq> = section
        .accounted
        .iter()
        .filter(|message| message.form == evidence::Form::Exact)
        .map(|message| message.seq)
        .collect();
    let quoted = |seq: Seq| exact.contains(&seq);
    let ledger = evidence::render_beside(chronicle, room(settings.evidence), bytes, quoted);
    if let Err(missing) = evidence::accounts_for_all(chronicle, &section.text, |_| false) {
        return Err(GateError::UserMessages(missing.len()).into());
    }
    let parts = Parts {
        summary: summary.to_owned(),
        user_messages: Some(section.text).filter(|text| !text.is_empty()),
        evidence: Some(ledger).filter(|text| !text.is_empty()),
        history: History::Folder(around.folder.map(str::to_owned)),
    };
    let text = |block: &Block| String::from_utf8_lossy(block.bytes()).into_owned();
    Ok(parts.blocks().iter().map(text).collect())
}

/// The turns that begin within a range of parts, folded as a session of our own would be.
fn folded(body: &Body, range: Range<usize>, around: &Surroundings<'_>) -> Conversation {
    let mut conversation = Conversation::new(Target::new(around.models, &body.model));
    let mut parent: Option<RecordId> = None;
    let turns = body
        .turns
        .iter()
        .filter(|turn| range.contains(&turn.parts.start));
    for (number, turn) in (1_u64..).zip(turns) {
        let parts = body.parts.get(turn.parts.clone()).unwrap_or_default();
        let blocks: Vec<Block> = parts.iter().filter_map(crate::body::Part::block).collect();
        let id = RecordId::new(format!("r{number}"));
        let message = match turn.role {
            Role::Assistant => {
                let answer = MessageId::new(format!("m{number}"));
                Message::assistant(answer, &body.model, blocks)
            }
            Role::User => Message::user(blocks),
            // Told by the client's program, not by a person.
            Role::System => continue,
        };
        debug_assert_eq!(message.origin, MessageOrigin::Conversation);
        let record = Record {
            seq: Seq::new(number),
            offset: 0,
            id: id.clone(),
            parent: parent.replace(id),
            session: None,
            at: None,
            caused_by: None,
            side_chain: false,
            agent: None,
            own: true,
            body: Content::Message(message),
        };
        conversation.apply(&record);
    }
    conversation
}
