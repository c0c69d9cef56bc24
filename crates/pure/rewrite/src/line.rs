//! Our part of one conversation: the fold of its records.

use crate::aside::{Aside, Inserted};
use crate::body::Body;
use dormouse_context::economy::{Compacted, Estimators};
use dormouse_core::hash::Hash;
use dormouse_core::units::{Millis, Tokens};
use dormouse_recognise::Seen;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Observations that the assumed rate of fetching again is worth, and that rate; as in
/// `dormouse_context::distil`, whose book is per tool and needs a view.
const ASSUMED: (f64, f64) = (0.07, 8.0);

/// Bounds of the correction of estimates: beyond them a measurement is about something else.
const CORRECTION: (f64, f64) = (0.5, 2.0);

/// Results to be distilled that are remembered: those of a round with many calls, and of some
/// branches.
const MOST_DUE: usize = 64;

/// Way in which a result became shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Before it was ever sent.
    Offloaded,
    /// After it was answered.
    Distilled,
    /// When it was old.
    Cleared,
}

/// A block that stands in for a block of the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// Position in the client's history.
    pub at: usize,
    /// Digest of the client's block.
    pub digest: Hash,
    /// Way in which it became shorter.
    pub form: Form,
    /// Bytes that are sent, from now on for ever.
    pub block: String,
    /// Name of the file with the whole text.
    pub file: String,
}

/// A summary that stands in for the beginning of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// Number of the client's blocks that it replaces.
    pub upto: usize,
    /// Chain of these blocks.
    pub chain: Hash,
    /// Blocks that are sent in their place, as the user's.
    pub front: Vec<String>,
    /// Summary alone, for the next one.
    pub summary: String,
    /// Estimated tokens of the prompt before.
    pub before: Tokens,
    /// Estimated tokens of the prompt after.
    pub after: Tokens,
    /// Tokens of system prompt and tools.
    pub prefix: Tokens,
    /// Tokens that a model wrote; none if no model was asked.
    pub written: Option<Tokens>,
}

/// A result that is to be distilled once it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// Position in the client's history.
    pub at: usize,
    /// Digest of the block.
    pub digest: Hash,
}

/// A request that was answered whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Time of the answer.
    pub at: Millis,
    /// Tokens of the prompt, measured by the provider.
    pub prompt: Tokens,
    /// Our estimate of the same.
    pub estimate: Tokens,
    /// Estimate of the client's own prompt, unchanged.
    pub untouched: Tokens,
    /// Cost in tokens of uncached input, our own calls included.
    pub cost: f64,
    /// Results to be distilled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<Due>,
    /// Position of the last marker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<usize>,
    /// Calls that fetched a shortened result again.
    #[serde(default)]
    pub again: u32,
}

/// One record of a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A block of the client has a shorter form from here on.
    Replaced(Replaced),
    /// A summary stands for the history before it.
    Boundary(Box<Boundary>),
    /// An answer came, with the usage that its prompt was measured at.
    Answered(Answered),
    /// A summary that a model could not give.
    Failed,
    /// Our tool is offered in this conversation.
    Offered,
    /// Blocks of a reply that the client does not have.
    Aside(Box<Aside>),
}

/// Our part of one conversation. See the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Line {
    replaced: HashMap<usize, Vec<Arc<Replaced>>>,
    boundaries: Vec<Arc<Boundary>>,
    asides: Vec<Arc<Aside>>,
    /// True if our tool is among those that the model may call.
    pub(crate) offered: bool,
    pub(crate) known: Estimators,
    pub(crate) spent: f64,
    pub(crate) last: Option<Answered>,
    /// Tokens that the last boundary left, until the next measurement.
    left: Option<Tokens>,
    distilled: u32,
    again: u32,
    /// Summaries in a row that no model gave.
    pub(crate) failures: u32,
    /// Results to be distilled once they are answered, of requests that are under way or over.
    pub(crate) due: Vec<Due>,
    /// Position of the last marker that was sent.
    pub(crate) marked: Option<usize>,
    /// Position of the one before: a retry has both, as its first attempt had.
    pub(crate) marked_before: Option<usize>,
    /// Size in use of the last outlook.
    pub in_use: Option<Tokens>,
}

impl Line {
    /// Takes the next record.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Replaced(one) => {
                self.distilled += u32::from(one.form == Form::Distilled);
                self.replaced.entry(one.at).or_default().push(Arc::new(one));
            }
            Record::Boundary(boundary) => {
                self.known.observe_compaction(&Compacted {
                    before: boundary.before,
                    after: boundary.after,
                    static_prefix: boundary.prefix,
                    summary: boundary.written,
                });
                if boundary.written.is_some() {
                    self.failures = 0;
                }
                self.left = Some(boundary.after);
                self.boundaries.push(Arc::new(*boundary));
            }
            Record::Answered(answered) => {
                let before = self.left.take();
                let before = before.or(self.last.as_ref().map(|last| last.prompt));
                if let Some(before) = before {
                    self.known.observe_request(before, answered.prompt);
                }
                self.spent += answered.cost;
                self.again += answered.again;
                self.sending(&answered.due, answered.marked);
                self.last = Some(answered);
            }
            Record::Failed => self.failures += 1,
            Record::Offered => self.offered = true,
            Record::Aside(aside) => {
                self.again += aside.reads;
                self.asides.push(Arc::new(*aside));
            }
        }
    }

    /// True without a record: the conversation has just begun.
    pub(crate) fn is_fresh(&self) -> bool {
        !self.offered
            && self.last.is_none()
            && self.replaced.is_empty()
            && self.boundaries.is_empty()
    }

    /// True if something was recalled for the newest words of a history.
    pub fn has_recalled(&self, seen: &Seen) -> bool {
        let mut asides = self.asides.iter().filter(|aside| aside.at == seen.len());
        asides.any(|aside| seen.chain(aside.at) == Some(aside.chain))
    }

    /// True if the model has our tool in this conversation.
    pub const fn is_offered(&self) -> bool {
        self.offered
    }

    /// Takes note of a request that is about to be sent. The client's next request shows whether it
    /// was answered, so that this need not be durable.
    pub fn sending(&mut self, due: &[Due], marked: Option<usize>) {
        for due in due {
            if !self.due.contains(due) {
                self.due.push(*due);
            }
        }
        let many = self.due.len().saturating_sub(MOST_DUE);
        self.due.drain(..many);
        // Answers may come in another order than their requests were sent.
        if marked > self.marked {
            self.marked_before = self.marked;
            self.marked = marked;
        }
    }

    /// Results that are to be distilled and that no answer follows yet: those of a retry.
    pub fn unanswered(&self, body: &Body, seen: &Seen) -> Vec<Due> {
        let round = body.round();
        let open = self.due.iter().filter(|due| due.at >= round);
        open.filter(|due| seen.digest(due.at) == Some(due.digest))
            .copied()
            .collect()
    }

    /// True once a request of this conversation was answered.
    pub fn is_known(&self) -> bool {
        self.last.is_some()
    }

    /// Number of compactions of this conversation so far.
    pub fn boundaries(&self) -> usize {
        self.boundaries.len()
    }

    /// Number of blocks that stand in for others.
    pub fn replacements(&self) -> usize {
        self.replaced.values().map(Vec::len).sum()
    }

    /// Tokens of the client's own prompt at the last answer, unchanged.
    pub fn untouched(&self) -> Option<Tokens> {
        self.last.as_ref().map(|last| last.untouched)
    }

    /// An estimate, corrected by the last measurement.
    pub(crate) fn corrected(&self, estimate: Tokens) -> Tokens {
        let factor = self.last.as_ref().map_or(1.0, |last| {
            let (measured, estimated) = (figure(last.prompt), figure(last.estimate));
            let factor = if estimated > 0.0 {
                measured / estimated
            } else {
                1.0
            };
            factor.clamp(CORRECTION.0, CORRECTION.1)
        });
        tokens(figure(estimate) * factor)
    }

    /// Probability that a distilled result is fetched again.
    pub(crate) fn fetched_again(&self) -> f64 {
        let (rate, weight) = ASSUMED;
        (f64::from(self.again) + rate * weight) / (f64::from(self.distilled) + weight)
    }

    /// The part of this line that applies to a history.
    pub(crate) fn sent(&self, body: &Body, seen: &Seen) -> Sent {
        let boundary = self.boundaries.iter().rev().find(|boundary| {
            let starts = |turn: &crate::body::Turn| turn.parts.start == boundary.upto;
            boundary.upto < body.len()
                && body.turns.iter().any(starts)
                && seen.chain(boundary.upto) == Some(boundary.chain)
        });
        let start = boundary.map_or(0, |boundary| boundary.upto);
        let mut stand_ins = BTreeMap::new();
        if !self.replaced.is_empty() {
            for at in start..body.len() {
                let Some(known) = self.replaced.get(&at) else {
                    continue;
                };
                let digest = seen.digest(at);
                let same = known.iter().find(|one| Some(one.digest) == digest);
                if let Some(one) = same {
                    stand_ins.insert(at, Arc::clone(one));
                }
            }
        }
        let mut inserted = Inserted::new();
        let reached = |aside: &&Arc<Aside>| aside.at >= start && aside.at <= body.len();
        for aside in self.asides.iter().filter(reached) {
            if seen.chain(aside.at) == Some(aside.chain) {
                aside.insert(body, seen, &mut inserted);
            }
        }
        Sent {
            boundary: boundary.cloned(),
            start,
            stand_ins,
            inserted,
        }
    }
}

/// Our blocks in one history.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) boundary: Option<Arc<Boundary>>,
    /// First part of the client that is sent.
    pub(crate) start: usize,
    pub(crate) stand_ins: BTreeMap<usize, Arc<Replaced>>,
    /// Blocks that the client does not have, by the part that they stand in front of.
    pub(crate) inserted: Inserted,
}

impl Sent {
    /// True if memories are sent with the user's words.
    pub(crate) fn has_recalled(&self) -> bool {
        let mut items = self.inserted.values().flatten();
        items.any(|(_, aside, _)| aside.is_recalled())
    }

    /// True if anything of ours is sent.
    pub(crate) fn is_rewritten(&self) -> bool {
        self.boundary.is_some() || !self.stand_ins.is_empty() || !self.inserted.is_empty()
    }
}

/// A count as a number; counts beyond 32 bits do not occur in prompts.
pub(crate) fn figure(tokens: Tokens) -> f64 {
    f64::from(u32::try_from(tokens.get()).unwrap_or(u32::MAX))
}

/// A number as a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to integer cast stops at the bounds, which is what is wanted"
)]
pub(crate) fn tokens(figure: f64) -> Tokens {
    Tokens(figure.round() as u64)
}
