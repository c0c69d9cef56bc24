//! The body that is sent: ours in place of theirs, everything else byte for byte.

use crate::aside::DEFINITION;
use crate::body::{Body, Layout, Role, Span, Turn};
use crate::line::{Due, Form, Line, Sent};
use crate::markers::{Cacheable, Mark, Marks, place};
use crate::plan::{Surroundings, estimate, prefix, rates, untouched};
use bytes::Bytes;
use dormouse_context::economy::Rates;
use dormouse_core::block::Block;
use dormouse_core::units::Tokens;
use dormouse_recognise::Seen;
use std::borrow::Cow;
use std::ops::Range;

/// A body with the facts that its answer is compared with.
#[derive(Clone, Debug)]
pub struct Composed {
    /// Bytes that go to the provider.
    pub body: Bytes,
    /// Layers that made them.
    pub acts: Acts,
    /// Estimated tokens of this prompt.
    pub estimate: Tokens,
    /// Estimated tokens of the client's own prompt.
    pub untouched: Tokens,
    /// Position of the last marker, if the markers are ours.
    pub marked: Option<usize>,
    /// Prices of the model.
    pub rates: Rates,
}

/// A layer that changes a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Results are files that were never shown whole.
    Offload,
    /// Results are distillates, or will be.
    Distil,
    /// Old results are paths.
    Clear,
    /// The beginning is a summary.
    Compaction,
    /// The model has our tool to read with.
    Read,
    /// Memories stand behind words of the user.
    Recall,
    /// Markers are not the client's.
    Markers,
}

/// Layers that made a prompt what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acts(Vec<Act>);

impl Acts {
    /// A prompt that no layer changed.
    pub const NONE: Self = Self(Vec::new());

    /// True if this layer acted.
    pub fn has(&self, act: Act) -> bool {
        self.0.contains(&act)
    }

    /// True if none acted: the bytes are the client's.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the layers; `on` if none of them acted.
    pub fn words(&self) -> String {
        if self.0.is_empty() {
            return "on".to_owned();
        }
        let name = |act: &Act| match act {
            Act::Offload => "offload",
            Act::Distil => "distil",
            Act::Clear => "clear",
            Act::Compaction => "compaction",
            Act::Read => "read",
            Act::Recall => "recall",
            Act::Markers => "markers",
        };
        self.0.iter().map(name).collect::<Vec<_>>().join(", ")
    }
}

/// Writes the body of a request under a line.
pub fn compose(
    body: &Body,
    seen: &Seen,
    line: &Line,
    due: &[Due],
    around: &Surroundings<'_>,
) -> Composed {
    let sent = line.sent(body, seen);
    let info = around.models.lookup(&body.model).info;
    let bytes = info.bytes_per_token;
    let size = estimate(body, &sent, bytes);
    let is_cacheable = line.corrected(size) >= info.cache_minimum;
    let prefix_is_cacheable = line.corrected(prefix(body, bytes)) >= info.cache_minimum;
    let cacheable = Cacheable {
        whole: is_cacheable,
        prefix: prefix_is_cacheable,
    };
    let mut marks = place(body, &sent, line, due, (body.len(), cacheable));
    let form = |form: Form| sent.stand_ins.values().any(|one| one.form == form);
    let acts = [
        (form(Form::Offloaded), Act::Offload),
        (form(Form::Distilled) || !due.is_empty(), Act::Distil),
        (form(Form::Cleared), Act::Clear),
        (sent.boundary.is_some(), Act::Compaction),
        (line.offered && body.has_tools, Act::Read),
        (sent.has_recalled(), Act::Recall),
        (marks.are_ours, Act::Markers),
    ];
    let acts = acts.iter().filter(|(acted, _)| *acted);
    let mut acts = Acts(acts.map(|(_, act)| *act).collect());
    let layout = if acts.is_empty() { None } else { body.layout() };
    let sent_body = if let Some(layout) = layout {
        let list = messages(body, &layout, &sent, &marks, (body.len(), None));
        let mut edits = Edits::new(&layout, list);
        edits.prefix(body, &layout, &marks, line.offered);
        edits.apply(&body.bytes)
    } else {
        (acts, marks) = (Acts::NONE, Marks::default());
        body.bytes.clone()
    };
    Composed {
        body: sent_body,
        acts,
        estimate: size,
        untouched: untouched(body, bytes),
        marked: marks.last(),
        rates: rates(body, around),
    }
}

/// Members of a body that are written anew.
pub(crate) struct Edits(Vec<(Range<usize>, Vec<u8>)>);

impl Edits {
    /// Edits that put other messages in place of the client's.
    pub(crate) fn new(layout: &Layout, messages: Vec<u8>) -> Self {
        Self(vec![(layout.messages.clone(), messages)])
    }

    /// Other bytes at a place that no other edit touches.
    pub(crate) fn put(&mut self, place: Range<usize>, bytes: Vec<u8>) {
        self.0.push((place, bytes));
    }

    /// Our tool behind those of the client, and a marker behind system prompt and tools, where the
    /// prompt is to have them.
    pub(crate) fn prefix(&mut self, body: &Body, layout: &Layout, marks: &Marks, offers: bool) {
        let member = |place: &Range<usize>| &body.bytes[place.clone()];
        let tools = layout.tools.as_ref().filter(|_| offers);
        let mut tools = tools.and_then(|place| Some((place, with_ours(member(place))?)));
        if marks.on_prefix {
            // The system prompt follows the tools, so that its marker covers both.
            let system = layout.system.as_ref();
            let marked = system.and_then(|place| {
                let marked = last_marked(member(place), &marks.marker)?;
                Some((place.clone(), marked))
            });
            match (marked, layout.tools.as_ref(), &mut tools) {
                (Some((place, member)), _, _) => self.put(place, member),
                (None, _, Some((_, written))) => {
                    if let Some(marked) = last_marked(written, &marks.marker) {
                        *written = marked;
                    }
                }
                (None, Some(place), None) => {
                    if let Some(marked) = last_marked(member(place), &marks.marker) {
                        self.put(place.clone(), marked);
                    }
                }
                (None, None, None) => {}
            }
        }
        if let Some((place, written)) = tools {
            self.put(place.clone(), written);
        }
    }

    /// The body with these edits.
    pub(crate) fn apply(mut self, bytes: &Bytes) -> Bytes {
        self.0.sort_by_key(|(place, _)| place.start);
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for (place, written) in &self.0 {
            out.extend_from_slice(&bytes[at..place.start]);
            out.extend_from_slice(written);
            at = place.end;
        }
        out.extend_from_slice(&bytes[at..]);
        out.into()
    }
}

/// A list of tools with ours at its end; `None` if it has none of the client's.
fn with_ours(tools: &[u8]) -> Option<Vec<u8>> {
    let list = tools.strip_suffix(b"]")?.trim_ascii_end();
    if !list.ends_with(b"}") {
        return None;
    }
    let mut out = list.to_vec();
    out.push(b',');
    out.extend_from_slice(DEFINITION.as_bytes());
    out.push(b']');
    Some(out)
}

/// A body with the answer to it and the results of its calls behind its messages; `None` if it is no
/// request.
pub fn continued(body: &Bytes, answer: &[Block], results: &[Block]) -> Option<Bytes> {
    let layout = Body::read(body).ok()?.layout()?;
    let end = layout.messages.end.checked_sub(1)?;
    let mut list = List {
        out: body[layout.messages.start..end].trim_ascii_end().to_vec(),
        ..List::default()
    };
    let sendable = answer.iter().filter(|block| !block.is_unsendable());
    for block in sendable {
        list.block(Role::Assistant, block.bytes());
    }
    for block in results {
        list.block(Role::User, block.bytes());
    }
    Some(Edits::new(&layout, list.finish()).apply(body))
}

/// A system prompt or a list of tools with a marker on its last block; `None` if there is none that
/// takes it.
fn last_marked(member: &[u8], marker: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(member.len() + 64);
    // Two characters are an empty string or list.
    if member.len() <= 2 {
        return None;
    }
    if member.starts_with(b"\"") {
        out.extend_from_slice(b"[{\"type\":\"text\",\"text\":");
        out.extend_from_slice(member);
    } else {
        let list = member.strip_suffix(b"]")?.trim_ascii_end();
        let block = list.strip_suffix(b"}")?;
        // An object without a member would need no comma.
        if block.trim_ascii_end().ends_with(b"{") {
            return None;
        }
        out.extend_from_slice(block);
    }
    out.extend_from_slice(b",\"cache_control\":");
    out.extend_from_slice(marker.as_bytes());
    out.extend_from_slice(b"}]");
    Some(out)
}

/// The list of messages that ends before the part `end`, with a text of ours behind it.
pub(crate) fn messages(
    body: &Body,
    layout: &Layout,
    sent: &Sent,
    marks: &Marks,
    (end, behind): (usize, Option<&Block>),
) -> Vec<u8> {
    let mut list = List::default();
    if let Some(boundary) = &sent.boundary {
        let last = boundary.front.len().saturating_sub(1);
        for (at, block) in boundary.front.iter().enumerate() {
            let is_marked = at == last && marks.places.contains(&Mark::Front);
            list.block(Role::User, &marked(block.as_bytes(), is_marked, marks));
        }
        // Instructions that the client gave on the way stay in force.
        let before = body
            .turns
            .iter()
            .zip(&layout.spans)
            .filter(|(turn, _)| turn.parts.end <= sent.start);
        for (_, span) in before.filter(|(turn, _)| turn.role == Role::System) {
            list.turn(&span.raw);
        }
    }
    let turns = body.turns.iter().zip(&layout.spans);
    for (turn, span) in
        turns.filter(|(turn, _)| turn.parts.start >= sent.start && turn.parts.start < end)
    {
        // A call of ours may stand behind the last block of an answer, a memory behind the user's words.
        let lacks_end = follows(sent, turn.parts.end).any(|(role, _)| role == turn.role);
        let own = lacks_end || turn.parts.clone().any(|at| changes(body, sent, marks, at));
        let joins = list.open == Some(turn.role);
        if own || joins {
            list.parts(body, sent, marks, (turn, span));
        } else {
            list.turn(&span.raw);
        }
    }
    // Memories recalled for the last words; blocks of the next answer are none of this list.
    for (role, block) in follows(sent, end).take_while(|(role, _)| *role == Role::User) {
        list.block(role, block);
    }
    if let Some(block) = behind {
        list.end();
        list.block(Role::User, block.bytes());
    }
    list.finish()
}

/// Blocks in front of a part that the client does not have.
fn follows(sent: &Sent, at: usize) -> impl Iterator<Item = (Role, &[u8])> {
    let inserted = sent.inserted.get(&at).into_iter().flatten();
    inserted.filter_map(|(role, aside, number)| {
        let item = aside.items.get(*number)?;
        Some((*role, item.block.as_bytes()))
    })
}

/// True if a part is not sent as the client wrote it.
fn changes(body: &Body, sent: &Sent, marks: &Marks, at: usize) -> bool {
    let is_marked = body.parts.get(at).is_some_and(|part| part.is_marked);
    sent.stand_ins.contains_key(&at)
        || sent.inserted.contains_key(&at)
        || (marks.are_ours && is_marked)
        || marks.places.contains(&Mark::Part(at))
}

/// The bytes of a part.
fn part<'a>(body: &'a Body, sent: &'a Sent, marks: &Marks, at: usize) -> Cow<'a, [u8]> {
    let is_marked = marks.places.contains(&Mark::Part(at));
    if let Some(one) = sent.stand_ins.get(&at) {
        return Cow::Owned(marked(one.block.as_bytes(), is_marked, marks).into_owned());
    }
    let Some(part) = body.parts.get(at) else {
        return Cow::Borrowed(b"null");
    };
    if marks.are_ours && part.is_marked {
        // Canonical, so without markers; a block that is none is sent as it came.
        if let Some(block) = part.block() {
            return Cow::Owned(marked(block.bytes(), is_marked, marks).into_owned());
        }
    }
    marked(&part.raw, is_marked, marks)
}

/// A block with a marker as its last member.
fn marked<'b>(block: &'b [u8], is_marked: bool, marks: &Marks) -> Cow<'b, [u8]> {
    let inner = block.trim_ascii_end().strip_suffix(b"}");
    let Some(inner) = inner.filter(|_| is_marked) else {
        return Cow::Borrowed(block);
    };
    let mut out = inner.to_vec();
    out.extend_from_slice(b",\"cache_control\":");
    out.extend_from_slice(marks.marker.as_bytes());
    out.push(b'}');
    Cow::Owned(out)
}

/// A list of messages in the making.
#[derive(Default)]
struct List {
    out: Vec<u8>,
    /// Role of a message whose content is still open.
    open: Option<Role>,
    /// Bytes that close the open message.
    close: Vec<u8>,
}

impl List {
    fn separate(&mut self) {
        self.out.push(if self.out.is_empty() { b'[' } else { b',' });
    }

    /// A message of the client, part by part, with the blocks that it lacks.
    fn parts(&mut self, body: &Body, sent: &Sent, marks: &Marks, (turn, span): (&Turn, &Span)) {
        for at in turn.parts.clone() {
            for (role, block) in follows(sent, at) {
                self.block(role, block);
            }
            self.member((turn.role, span), &part(body, sent, marks, at));
        }
        // Two messages of the client stay two, unless a result of ours belongs to the next one.
        if !sent.inserted.contains_key(&turn.parts.end) {
            self.end();
        }
    }

    /// A whole message as it came.
    fn turn(&mut self, raw: &[u8]) {
        self.end();
        self.separate();
        self.out.extend_from_slice(raw);
    }

    /// A block in the message that is open, or in a new one of ours.
    fn block(&mut self, role: Role, block: &[u8]) {
        if self.open == Some(role) {
            self.out.push(b',');
        } else {
            self.end();
            self.separate();
            let name = match role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::System => "system",
            };
            self.out
                .extend_from_slice(format!("{{\"role\":\"{name}\",\"content\":[").as_bytes());
            self.open = Some(role);
            self.close = b"]}".to_vec();
        }
        self.out.extend_from_slice(block);
    }

    /// A block of a client's message, whose other members stay.
    fn member(&mut self, (role, span): (Role, &Span), block: &[u8]) {
        if self.open == Some(role) {
            self.out.push(b',');
        } else {
            self.end();
            self.separate();
            self.out.extend_from_slice(&span.raw[..span.content.start]);
            self.out.push(b'[');
            self.open = Some(role);
            self.close = b"]".to_vec();
            self.close.extend_from_slice(&span.raw[span.content.end..]);
        }
        self.out.extend_from_slice(block);
    }

    fn end(&mut self) {
        if self.open.take().is_some() {
            let close = std::mem::take(&mut self.close);
            self.out.extend_from_slice(&close);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.end();
        if self.out.is_empty() {
            self.out.push(b'[');
        }
        self.out.push(b']');
        self.out
    }
}
