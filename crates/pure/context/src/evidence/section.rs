//! The user's messages, written out for a summary.
//!
//! # Model
//! Each message has a line that names its number, its record and its length, and its text in a
//! fence that is longer than any in the text, so that nothing a message says can end it. As long as
//! all fit, all are exact. Then pasted bulk is shortened to beginning and end, oldest first, then
//! the others; what still does not fit is left out from the oldest on, as one range of the log. A
//! line that names the record counts as kept: the log has the whole.
//!
//! # Not here
//! Whether a given prompt has them all ([`super::accounts_for_all`]).

use super::{clean, cost};
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{Chronicle, MessageText, UserMessage, UserMessages};
use dormouse_core::units::Tokens;

/// Characters that a shortened message keeps of its beginning.
const SHORT_HEAD: usize = 400;
/// Characters that it keeps of its end.
const SHORT_TAIL: usize = 200;
/// Bytes from which a message is taken for pasted bulk.
const BULK: usize = 4_000;
/// Longest record id that is written out. Ids of our own are shorter.
const LONGEST_ID: usize = 120;

/// What the line above a message begins with.
pub(super) const MESSAGE: &str = "[user message ";
/// What the line that stands for a range begins with.
pub(super) const RANGE: &str = "[user messages 1 to ";
/// The shortest fence.
pub(super) const FENCE: &str = "~~~~";

/// The user's messages as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserSection {
    /// The text; empty if there is nothing to say.
    pub text: String,
    /// What became of each listed message, oldest first; those skipped are not among them.
    pub accounted: Vec<Accounted>,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accounted {
    /// Its place in the log.
    pub seq: Seq,
    /// Its record.
    pub record: RecordId,
    /// In which form it is in the text.
    pub form: Form,
}

/// In which form a message is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Word for word.
    Exact,
    /// Beginning and end, with a reference into the log.
    Shortened,
    /// As part of a range of the log.
    Referred,
}

/// Writes the user's messages out, oldest first, within `limit`. Only the line for a range may
/// exceed it. `skip` leaves out messages that stay in the prompt anyway.
pub fn user_messages(
    chronicle: &Chronicle,
    limit: Tokens,
    bytes: BytesPerToken,
    skip: impl Fn(Seq) -> bool,
) -> UserSection {
    let mut plan = Plan::new(&chronicle.user, bytes, skip);
    plan.shorten(limit, |message| message.text.len() >= BULK);
    plan.shorten(limit, |_| true);
    plan.leave_out(limit);
    plan.write()
}

/// A message and what it takes in either form.
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
    /// How many of the oldest are left out.
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
            if short < item.cost {
                self.total = self.total - item.cost + short;
                (item.form, item.text, item.cost) = (Form::Shortened, text, short);
            }
        }
    }

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
        // Messages that stay in the prompt do not make a range by themselves.
        if self.items[..self.out].iter().all(|item| item.skipped) {
            self.out = 0;
        }
    }

    fn write(self) -> UserSection {
        let mut text = range_line(self.user, self.out).unwrap_or_default();
        for item in &self.items[self.out..] {
            text.push_str(&item.text);
        }
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

/// The line above a message that is exact.
pub(super) fn exact_line(user: &UserMessages, index: usize) -> String {
    reference(user, index, "")
}

/// The line above a message that is shortened.
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
    let head = fenced(clean::head(head, SHORT_HEAD));
    let tail = fenced(clean::tail(tail, SHORT_TAIL));
    format!(
        "{}{head}and at the end\n{tail}",
        shortened_line(user, index)
    )
}

/// The line that stands for all messages up to and without the listed one at `listed`.
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

/// Ids come from the log and may be anything there.
fn id(record: &RecordId) -> String {
    clean::line(record.as_str(), LONGEST_ID)
}

/// The text between two fences longer than any run of the same sign in it.
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
