//! The section of the user's messages beside a summary.
//!
//! # Model
//! Each message has a line with its number, record and length, and its text in a fence longer than
//! any in the text, so that no content can end it. As long as all fit, all are exact. Then pasted
//! bulk is shortened to beginning and end, oldest first, then the others; if that is not enough,
//! the oldest are replaced by one range of the log. A line that names the record counts as kept,
//! because the log has the whole text.
//!
//! # Not here
//! Checking that a given prompt has all of them ([`super::accounts_for_all`]).

use super::{clean, cost};
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Chronicle, MessageText, UserMessage, UserMessages};
use dormouse_core::show;
use dormouse_core::units::Tokens;

/// Characters that a shortened message keeps of its beginning; half of what the chronicle stores of
/// a cut one, since the section is the tighter budget.
const SHORT_HEAD: usize = 400;
/// Characters that it keeps of its end; less, because requests tend to stand in front.
const SHORT_TAIL: usize = 200;
/// Length in bytes from which a message counts as pasted bulk, as in the chronicle's limits.
const BULK: usize = 4_000;
/// Longest record id written out, in characters. Ids of our own are shorter; others may be
/// anything.
const LONGEST_ID: usize = 120;

/// Beginning of the line above a message; the gate recognises it.
pub(super) const MESSAGE: &str = "[user message ";
/// Beginning of the line that stands for a range; the gate recognises it.
pub(super) const RANGE: &str = "[user messages 1 to ";
/// Shortest fence. Four, because three begin a code block in Markdown that messages often contain.
pub(super) const FENCE: &str = "~~~~";

/// Section of the user's messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserSection {
    /// Text for the prompt; empty if there are no messages to list.
    pub text: String,
    /// Form of each listed message, oldest first; skipped ones are not among them.
    pub accounted: Vec<Accounted>,
}

/// Form in which one message is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounted {
    /// Sequence number of its record.
    pub seq: Seq,
    /// Id of its record.
    pub record: RecordId,
    /// Form in the text.
    pub form: Form,
}

/// Forms in which a message is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Word for word, in a fence.
    Exact,
    /// Beginning and end, with a reference into the log.
    Shortened,
    /// Within a range of the log.
    Referred,
}

/// Writes the user's messages, oldest first, within `limit` tokens. Only the line for a range may
/// exceed it. `skip` leaves out messages that stay in the prompt elsewhere.
pub fn user_messages(
    chronicle: &Chronicle,
    limit: Tokens,
    bytes: BytesPerToken,
    skip: impl Fn(Seq) -> bool,
) -> UserSection {
    let mut plan = Plan::new(&chronicle.user, bytes, skip);
    // Least loss first: pasted bulk, then every message, then whole messages.
    plan.shorten(limit, |message| message.text.len() >= BULK);
    plan.shorten(limit, |_| true);
    plan.leave_out(limit);
    plan.write()
}

/// A message with its current form and cost.
struct Item<'a> {
    message: &'a UserMessage,
    form: Form,
    skipped: bool,
    text: String,
    cost: Tokens,
}

struct Plan<'a> {
    user: &'a UserMessages,
    items: Vec<Item<'a>>,
    bytes: BytesPerToken,
    /// Number of oldest messages replaced by a range.
    out: usize,
    total: Tokens,
}

impl<'a> Plan<'a> {
    fn new(user: &'a UserMessages, bytes: BytesPerToken, skip: impl Fn(Seq) -> bool) -> Self {
        let items: Vec<Item<'a>> = user
            .listed
            .iter()
            .enumerate()
            .map(|(index, message)| {
                let skipped = skip(message.seq);
                let (form, text) = match &message.text {
                    // A skipped message costs nothing here but keeps its number.
                    _ if skipped => (Form::Exact, String::new()),
                    MessageText::Whole(text) => (Form::Exact, exact(user, index, text)),
                    MessageText::Cut { .. } => (Form::Shortened, shortened(user, index)),
                };
                Item {
                    message,
                    form,
                    skipped,
                    cost: cost(&text, bytes),
                    text,
                }
            })
            .collect();
        // Messages no longer listed always need their range line.
        let earlier = cost(&range_line(user, 0).unwrap_or_default(), bytes);
        let total = earlier + items.iter().map(|item| item.cost).sum();
        Self {
            user,
            items,
            bytes,
            out: 0,
            total,
        }
    }

    /// Shortens messages, oldest first, until the total fits.
    fn shorten(&mut self, limit: Tokens, which: impl Fn(&UserMessage) -> bool) {
        for (index, item) in self.items.iter_mut().enumerate() {
            if self.total <= limit {
                return;
            }
            if item.skipped || item.form != Form::Exact || !which(item.message) {
                continue;
            }
            let text = shortened(self.user, index);
            let short = cost(&text, self.bytes);
            // A short message with its two fences may be longer shortened than whole.
            if short < item.cost {
                self.total = self.total - item.cost + short;
                (item.form, item.text, item.cost) = (Form::Shortened, text, short);
            }
        }
    }

    /// Replaces the oldest messages by a range of the log until the total fits.
    fn leave_out(&mut self, limit: Tokens) {
        while self.total > limit && self.out < self.items.len() {
            let item = &mut self.items[self.out];
            let before = range_line(self.user, self.out).unwrap_or_default();
            self.out += 1;
            let after = range_line(self.user, self.out).unwrap_or_default();
            self.total =
                self.total - item.cost - cost(&before, self.bytes) + cost(&after, self.bytes);
            item.form = Form::Referred;
        }
        // A range of nothing but skipped messages is not needed.
        if self.items[..self.out].iter().all(|item| item.skipped) {
            self.out = 0;
        }
    }

    fn write(self) -> UserSection {
        let mut text = range_line(self.user, self.out).unwrap_or_default();
        for item in &self.items[self.out..] {
            text.push_str(&item.text);
        }
        // Skipped messages are accounted for by staying in the prompt.
        let accounted = self.items.into_iter().filter(|item| !item.skipped);
        let accounted = accounted.map(|item| Accounted {
            seq: item.message.seq,
            record: item.message.record.clone(),
            form: item.form,
        });
        UserSection {
            text,
            accounted: accounted.collect(),
        }
    }
}

/// Line above a message that is exact.
pub(super) fn exact_line(user: &UserMessages, index: usize) -> String {
    reference(user, index, "")
}

/// Line above a message that is shortened.
pub(super) fn shortened_line(user: &UserMessages, index: usize) -> String {
    reference(user, index, ", shortened, whole in the log")
}

fn reference(user: &UserMessages, index: usize, more: &str) -> String {
    let earlier = user.earlier.as_ref().map_or(0, |earlier| earlier.count);
    let number = earlier + index as u64 + 1;
    let message = &user.listed[index];
    let (record, chars) = (id(&message.record), message.chars);
    format!("{MESSAGE}{number}: record {record}, {chars} characters{more}]\n")
}

fn exact(user: &UserMessages, index: usize, text: &str) -> String {
    exact_line(user, index) + &fenced(text)
}

fn shortened(user: &UserMessages, index: usize) -> String {
    let (head, tail) = match &user.listed[index].text {
        MessageText::Whole(text) => (text, text),
        MessageText::Cut { head, tail } => (head, tail),
    };
    let head = fenced(show::head(head, SHORT_HEAD));
    let tail = fenced(show::tail(tail, SHORT_TAIL));
    format!(
        "{}{head}and at the end\n{tail}",
        shortened_line(user, index)
    )
}

/// Line for the range of all messages before the listed one at `listed`.
pub(super) fn range_line(user: &UserMessages, listed: usize) -> Option<String> {
    let out = &user.listed[..listed.min(user.listed.len())];
    let earlier = user.earlier.as_ref();
    let first = earlier
        .map(|earlier| &earlier.first)
        .or_else(|| out.first().map(|message| &message.record))?;
    let last = out
        .last()
        .map(|message| &message.record)
        .or_else(|| earlier.map(|earlier| &earlier.last))?;
    let number = earlier.map_or(0, |earlier| earlier.count) + out.len() as u64;
    let chars = earlier.map_or(0, |earlier| earlier.chars)
        + out.iter().map(|message| message.chars).sum::<u64>();
    Some(format!(
        "{RANGE}{number}: records {} to {}, {chars} characters in all, whole in the log]\n",
        id(first),
        id(last)
    ))
}

/// A record id, sanitised: ids come from the log and may contain anything.
fn id(record: &RecordId) -> String {
    clean::line(record.as_str(), LONGEST_ID)
}

/// Text between two fences longer than any run of tildes in it.
fn fenced(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'~' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "~".repeat((longest + 1).max(FENCE.len()));
    format!("{fence}\n{text}\n{fence}\n")
}
