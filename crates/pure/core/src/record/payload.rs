//! Payloads of Dormouse's own records. Field names are the format on disk.
//!
//! Readers are lenient: a missing field takes its default, an unknown one is ignored. Adding a
//! field is compatible; changing the meaning of one requires a new [`super::FORMAT`].

use super::layout::Manifest;
use super::splice::LineRun;
use crate::block::Block;
use crate::hash::Hash;
use crate::id::{BlockKey, MessageId, RecordId, Seq, SessionId};
use crate::json::RawJson;
use crate::units::Tokens;
use crate::usage::TokenUsage;
use serde::{Deserialize, Serialize};

/// First record of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStart {
    /// The format of the log; a newer one than [`super::FORMAT`] is read-only.
    pub format: u32,
    /// Real path of the project directory; for display, never an identity.
    #[serde(default)]
    pub project: String,
    /// Origin of a fork; none for other sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Lineage>,
}

/// Origin of a fork.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// Session of the parent.
    pub session: SessionId,
    /// Record of the parent at which the fork begins.
    pub record: RecordId,
    /// Sequence number of that record; the fork counts on from it, so that block keys stay unique.
    pub seq: Seq,
    /// Id of the prefix in use at that point.
    pub prefix: Option<Hash>,
    /// Instruction given to the fork.
    pub directive: String,
    /// View at that point; its ranges lie in the parent's log.
    #[serde(default)]
    pub manifest: Manifest,
}

/// One rendered part of the prefix, stored as a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixPart {
    /// Name for display: the tool, or the origin of the text.
    pub name: String,
    /// Blob with the part's canonical bytes.
    pub blob: Hash,
    /// Length of the blob in bytes.
    pub bytes: u64,
}

/// Rendered prefix of a request, in the order in which it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prefix {
    /// Hash over all parts; the identity of the prefix.
    pub id: Hash,
    /// Tool definitions, in order.
    pub tools: Vec<PrefixPart>,
    /// System blocks, in order.
    pub system: Vec<PrefixPart>,
    /// Instruction and index fragments at the start of the first user turn.
    pub fragments: Vec<PrefixPart>,
}

/// Lifetime of a cache entry after its last use.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Ttl {
    /// Five minutes, the provider's default; written at 1.25 times the input price.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour; written at twice the input price.
    #[serde(rename = "1h")]
    OneHour,
}

impl Ttl {
    /// The lifetime in milliseconds.
    pub const fn millis(self) -> u64 {
        match self {
            Self::FiveMinutes => 5 * 60 * 1_000,
            Self::OneHour => 60 * 60 * 1_000,
        }
    }
}

/// Location of a cache marker: everything up to and including it is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkerPlace {
    /// Tool definition with this index.
    Tool(u32),
    /// System block with this index.
    System(u32),
    /// Prefix fragment with this index.
    Fragment(u32),
    /// Segment of the view with this index.
    Segment(u64),
}

/// One cache marker; a request carries at most four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Block that the marker is set on.
    pub place: MarkerPlace,
    /// Lifetime of the entry it creates.
    pub ttl: Ttl,
}

/// Request about to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Id of the prefix; none if the request has none.
    #[serde(default)]
    pub prefix: Option<Hash>,
    /// Model it is sent to.
    pub model: String,
    /// Number of segments of the view it contains.
    pub segments: u64,
    /// Hash chain over those segments; a rebuilt request is checked against it.
    pub chain: Hash,
    /// Cache markers, in prompt order.
    #[serde(default)]
    pub markers: Vec<Marker>,
    /// All other members of the body, in order, as one JSON object.
    pub params: RawJson,
    /// Decisions that led to this request, with their reasons; bounded.
    #[serde(default)]
    pub decisions: Vec<String>,
    /// Results to be distilled once the request is answered, in the order they are sent: behind all
    /// other results of their turn, and behind the last cache marker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distil: Vec<BlockKey>,
    /// Hash chain over the segments up to the last marker, if results are to be distilled: by it a
    /// resumed session recognises the cached part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<Hash>,
}

/// Purpose of a request, for the accounting of usage.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Turn of the conversation itself.
    #[default]
    Turn,
    /// Update of the session notes.
    Notes,
    /// Summary for a compaction.
    Compaction,
    /// Request for one token that renews the provider's cache entry.
    KeepAlive,
    /// Sampling beyond the answer that the provider did on its own, such as its compaction.
    Provider,
    /// Fork for any other purpose.
    Fork,
}

impl Purpose {
    /// True if the response belongs to the conversation, so that its prompt measures the view.
    pub const fn is_turn(&self) -> bool {
        matches!(self, Self::Turn)
    }
}

/// Token usage of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageReport {
    /// Message id of the response, if the provider gave one.
    #[serde(default)]
    pub message: Option<MessageId>,
    /// Model that answered; the price depends on it.
    pub model: String,
    /// Token counts by kind.
    pub usage: TokenUsage,
    /// Purpose of the request. Logs of earlier versions contain turns only.
    #[serde(default, skip_serializing_if = "Purpose::is_turn")]
    pub purpose: Purpose,
    /// Comparison with the cache ledger's prediction, where there was one.
    #[serde(default)]
    pub cache: Option<CacheObservation>,
}

/// Prediction and verdict of the cache ledger for one response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheObservation {
    /// Tokens expected to be read from the cache.
    pub predicted: Tokens,
    /// Cause, if fewer were read.
    #[serde(default)]
    pub broken: Option<String>,
    /// True if that miss was announced before the request, as after a compaction.
    #[serde(default)]
    pub expected: bool,
}

/// Subject of an injected fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FragmentKind {
    /// Memory that recall found.
    Memory,
    /// Content of instruction files.
    Instructions,
    /// Session notes, or a part of a summary.
    Notes,
    /// New value of something that changes: date, budget, status.
    Status,
    /// Message from another agent.
    Mail,
    /// Output of a hook.
    Hook,
    /// Any subject not listed above.
    Other,
}

/// Text injected into the conversation. Its bytes are final: relative ages are rendered once and
/// never updated, since that would invalidate the cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fragment {
    /// Subject of the fragment.
    pub kind: FragmentKind,
    /// Content as it is sent.
    pub block: Block,
}

/// Layer 1's decision about one tool result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// Address of the result.
    pub key: BlockKey,
    /// Decision; it is never changed, since the result is part of the cached prompt.
    pub decision: ReplacementDecision,
}

impl Replacement {
    /// Block that replaces the result, if it was replaced.
    pub const fn preview(&self) -> Option<&Block> {
        match &self.decision {
            ReplacementDecision::Replaced { preview, .. } => Some(preview),
            ReplacementDecision::Left => None,
        }
    }
}

/// Decision of layer 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacementDecision {
    /// Result replaced by a preview.
    Replaced {
        /// Exact block that is sent instead.
        preview: Block,
        /// Hash of the whole result.
        blob: Hash,
        /// File with the whole result in the session's `tool-results` folder; a blob if there is
        /// none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// Result left in the prompt.
    Left,
}

/// Side that clears results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClearingPlace {
    /// Cleared in the view, by Dormouse.
    #[default]
    Local,
    /// Cleared by the provider: an observation; later requests repeat the same edit parameters.
    Server,
}

/// One cleared block with its replacement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClearedBlock {
    /// Address of the cleared block.
    pub key: BlockKey,
    /// Replacement that is sent instead.
    pub block: Block,
}

/// Clearing of tool results by layer 2, in one batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clearing {
    /// Side that applies the clearing.
    pub place: ClearingPlace,
    /// Cleared blocks with their replacements.
    pub blocks: Vec<ClearedBlock>,
    /// Thinking blocks after the first cleared block, dropped because they were bound to it.
    pub thinking: Vec<BlockKey>,
    /// Reason given by the policy, for `dormouse log`.
    pub reason: String,
    /// Tokens freed, by the estimate at the time of clearing.
    pub freed: Tokens,
    /// Blob with the cleared content, so that it can be read again.
    pub blob: Option<Hash>,
}

/// Update of the session notes by layer 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// Sequence number of the last message they cover.
    pub last_summarised: Seq,
    /// Length of the notes in tokens.
    pub tokens: Tokens,
    /// Blob with the text of the notes.
    pub blob: Hash,
    /// Tokens of the conversation they were written from, without its prefix.
    #[serde(default)]
    pub conversation: Tokens,
    /// Tokens sent after the conversation to request the update.
    #[serde(default)]
    pub sent: Tokens,
    /// Tokens the model wrote for the update.
    #[serde(default)]
    pub edits: Tokens,
}

/// Cause of a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// Threshold of the window reached.
    Auto,
    /// Command of the user.
    Manual,
    /// Prompt refused by the provider as too long.
    Reactive,
    /// Economic policy: compacting was cheaper than carrying on.
    Economic,
    /// Not named by the log of another tool.
    Unknown,
}

/// Source of a compaction's summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundaryKind {
    /// Session notes, without a model call.
    Notes,
    /// Model summary of the whole conversation.
    Full,
    /// Model summary of a part of it.
    Partial,
    /// Evidence alone, without any model.
    Offline,
    /// Compaction of another tool, which left no manifest.
    Foreign,
}

/// Compaction. With its manifest it is self-contained: rendering needs no other boundary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// Cause of the compaction.
    pub trigger: Trigger,
    /// Source of the summary.
    pub kind: BoundaryKind,
    /// Length of the prompt before, in tokens.
    #[serde(default)]
    pub pre_tokens: Option<Tokens>,
    /// Estimated length of the prompt after, in tokens.
    #[serde(default)]
    pub post_tokens: Option<Tokens>,
    /// Tokens among them that no compaction can remove: the prefix and unsent segments.
    #[serde(default)]
    pub fixed_tokens: Option<Tokens>,
    /// Tokens a model wrote for the summary; none without a model.
    #[serde(default)]
    pub summary_tokens: Option<Tokens>,
    /// Blocks of the summary, inside the record so that a crash leaves either both or neither.
    #[serde(default)]
    pub summary: Vec<Block>,
    /// Blocks restored after the summary, such as recently read files.
    #[serde(default)]
    pub restored: Vec<Block>,
    /// Lines that this boundary writes first; its text blocks and those of later ones name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// Text blocks as runs of lines, joined by line feeds. Their indices follow those of `summary`
    /// and `restored`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spliced: Vec<Vec<LineRun>>,
    /// Boundary before this one on the path.
    #[serde(default)]
    pub previous: Option<RecordId>,
    /// View from here on; none in transcripts of other tools.
    #[serde(default)]
    pub manifest: Option<Manifest>,
    /// Messages that another tool reports as kept.
    #[serde(default)]
    pub preserved: Option<Preserved>,
}

/// Stretch of messages that another tool kept across its compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preserved {
    /// Id of its first message.
    pub head: RecordId,
    /// Id of its last message.
    pub tail: RecordId,
}

/// Range of records, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeqRange {
    /// Sequence number of the first record.
    pub first: Seq,
    /// Sequence number of the last record.
    pub last: Seq,
}

impl SeqRange {
    /// True if the record lies in the range.
    pub fn contains(self, seq: Seq) -> bool {
        (self.first..=self.last).contains(&seq)
    }
}

/// Ranges removed from the view without a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snip {
    /// Removed ranges, in log order.
    pub ranges: Vec<SeqRange>,
    /// Thinking blocks after them, dropped because they were bound to them.
    pub thinking: Vec<BlockKey>,
}

/// Span that was folded into one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldSpan {
    /// Records of the span.
    pub range: SeqRange,
    /// Replacement block, sent with the user's role.
    pub block: Block,
}

/// Folded spans, committed as one batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Folding {
    /// Spans in log order.
    pub spans: Vec<FoldSpan>,
    /// Thinking blocks after the first span, dropped because they were bound to it.
    pub thinking: Vec<BlockKey>,
}

/// Undo of earlier rewrites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    /// Undone rewrites: the newest, or an older one with all newer ones.
    pub targets: Vec<RecordId>,
    /// Thinking blocks bound to the rewritten prompt, dropped with it.
    #[serde(default)]
    pub thinking: Vec<BlockKey>,
    /// View from here on.
    pub manifest: Manifest,
}

/// Snapshot of view and state, from which resuming can start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Manifest of the view, with the folded state.
    pub manifest: Manifest,
}
