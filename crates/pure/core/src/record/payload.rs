//! What Dormouse's own records carry. Field names are the format on disk.
//!
//! Readers are lenient: a missing field takes its default, an unknown one is ignored. Adding a
//! field is compatible; changing the meaning of one needs a new [`super::FORMAT`].

use super::layout::Manifest;
use crate::block::Block;
use crate::hash::Hash;
use crate::id::{BlockKey, MessageId, RecordId, Seq, SessionId};
use crate::json::RawJson;
use crate::units::Tokens;
use crate::usage::TokenUsage;
use serde::{Deserialize, Serialize};

/// The first record of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStart {
    /// The format of the log; a newer one than [`super::FORMAT`] is read-only.
    pub format: u32,
    /// The real path of the project folder: shown, never an identity.
    #[serde(default)]
    pub project: String,
    /// For a fork: where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Lineage>,
}

/// Where a fork comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lineage {
    /// The parent's session.
    pub session: SessionId,
    /// The parent's record at which the fork begins.
    pub record: RecordId,
    /// Its sequence; the fork counts on from here, so that block keys stay unique.
    pub seq: Seq,
    /// The prefix in use.
    pub prefix: Option<Hash>,
    /// What the fork was told to do.
    pub directive: String,
    /// The view at that point; its ranges lie in the parent's log.
    #[serde(default)]
    pub manifest: Manifest,
}

/// One rendered part of the prefix, kept as a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixPart {
    /// A name for people: the tool, or where the text comes from.
    pub name: String,
    /// The blob with the part's canonical bytes.
    pub blob: Hash,
    /// Its length.
    pub bytes: u64,
}

/// The rendered prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prefix {
    /// The hash over all parts: the prefix's identity.
    pub id: Hash,
    /// Tool definitions, in order.
    pub tools: Vec<PrefixPart>,
    /// System blocks, in order.
    pub system: Vec<PrefixPart>,
    /// Instruction and index fragments at the head of the first user turn.
    pub fragments: Vec<PrefixPart>,
}

/// How long a cache entry lives after it was last used.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Ttl {
    /// Five minutes.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// One hour.
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

/// What a cache marker stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkerPlace {
    /// A tool definition.
    Tool(u32),
    /// A system block.
    System(u32),
    /// A fragment of the prefix.
    Fragment(u32),
    /// A segment of the view.
    Segment(u64),
}

/// One cache marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Where it stands.
    pub place: MarkerPlace,
    /// How long the entry lives.
    pub ttl: Ttl,
}

/// A request that is about to leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The prefix.
    #[serde(default)]
    pub prefix: Option<Hash>,
    /// The model it goes to.
    pub model: String,
    /// How many segments of the view it contains.
    pub segments: u64,
    /// The chain over them.
    pub chain: Hash,
    /// Its cache markers.
    #[serde(default)]
    pub markers: Vec<Marker>,
    /// Every other member of the body, in order, as one JSON object.
    pub params: RawJson,
    /// What was decided on the way, and why; bounded.
    #[serde(default)]
    pub decisions: Vec<String>,
}

/// What a request was made for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// The conversation itself.
    #[default]
    Turn,
    /// An update of the session notes.
    Notes,
    /// The summary of a compaction.
    Compaction,
    /// One token, so that the provider's cache does not lapse.
    KeepAlive,
    /// Sampling beyond the answer that the provider did on its own account.
    Provider,
    /// Any other fork.
    Fork,
}

impl Purpose {
    /// Whether the response is part of the conversation, so that its prompt measures it.
    pub const fn is_turn(&self) -> bool {
        matches!(self, Self::Turn)
    }
}

/// What a response used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageReport {
    /// The response.
    #[serde(default)]
    pub message: Option<MessageId>,
    /// The model that answered.
    pub model: String,
    /// Token counts by kind.
    pub usage: TokenUsage,
    /// The reason it was asked for. Logs of earlier versions have turns only.
    #[serde(default, skip_serializing_if = "Purpose::is_turn")]
    pub purpose: Purpose,
    /// What the cache ledger made of it.
    #[serde(default)]
    pub cache: Option<CacheObservation>,
}

/// The ledger's verdict on one response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheObservation {
    /// Tokens the ledger expected to be read.
    pub predicted: Tokens,
    /// Why fewer were read, if so.
    #[serde(default)]
    pub broken: Option<String>,
    /// Whether that break had been announced.
    #[serde(default)]
    pub expected: bool,
}

/// What an injected fragment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FragmentKind {
    /// A recalled memory.
    Memory,
    /// Instruction files.
    Instructions,
    /// Session notes or a part of a summary.
    Notes,
    /// The date, a budget, a status: a new value of something that changes.
    Status,
    /// A message from another agent.
    Mail,
    /// The output of a hook.
    Hook,
    /// Anything else.
    Other,
}

/// Something injected into the conversation. Its bytes are final: ages are rendered once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fragment {
    /// What it is about.
    pub kind: FragmentKind,
    /// Its bytes.
    pub block: Block,
}

/// Layer 1's decision about one tool result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replacement {
    /// The result.
    pub key: BlockKey,
    /// Replaced or left, for ever.
    pub decision: ReplacementDecision,
}

impl Replacement {
    /// The block that stands in for the result, if it was replaced.
    pub const fn preview(&self) -> Option<&Block> {
        match &self.decision {
            ReplacementDecision::Replaced { preview, .. } => Some(preview),
            ReplacementDecision::Left => None,
        }
    }
}

/// What layer 1 decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacementDecision {
    /// A preview stands in for the result.
    Replaced {
        /// The exact bytes that stand in.
        preview: Block,
        /// The hash of the whole result.
        blob: Hash,
        /// The file that holds it, in the session's folder for results; a blob if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// The result stays.
    Left,
}

/// Where results are cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClearingPlace {
    /// By the view.
    #[default]
    Local,
    /// By the provider: an observation; later requests repeat the same edit parameters.
    Server,
}

/// One cleared block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClearedBlock {
    /// The block that was cleared.
    pub key: BlockKey,
    /// What stands there now.
    pub block: Block,
}

/// Layer 2 cleared tool results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Clearing {
    /// Who applies it.
    pub place: ClearingPlace,
    /// The blocks, with what stands there now.
    pub blocks: Vec<ClearedBlock>,
    /// Thinking behind the first cleared block that had to go with it.
    pub thinking: Vec<BlockKey>,
    /// Why.
    pub reason: String,
    /// Tokens freed, as estimated.
    pub freed: Tokens,
    /// The blob that holds what was cleared.
    pub blob: Option<Hash>,
}

/// Layer 3 updated its notes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// The last message they cover.
    pub last_summarised: Seq,
    /// Their size.
    pub tokens: Tokens,
    /// The blob that holds them.
    pub blob: Hash,
    /// How long the conversation was that they were written from, without its prefix.
    #[serde(default)]
    pub conversation: Tokens,
    /// Tokens sent behind the conversation to have them written.
    #[serde(default)]
    pub sent: Tokens,
    /// Tokens the model wrote for them.
    #[serde(default)]
    pub edits: Tokens,
}

/// What set off a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The window was nearly full.
    Auto,
    /// The user asked.
    Manual,
    /// The provider refused the prompt.
    Reactive,
    /// It was the cheapest moment.
    Economic,
}

/// How a compaction was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundaryKind {
    /// From the session notes, without a call.
    Notes,
    /// From a summary of everything.
    Full,
    /// From a summary of a part.
    Partial,
    /// Without any model.
    Offline,
    /// By another tool; it left no manifest.
    Foreign,
}

/// A compaction. With its manifest it is complete: no other boundary is needed to render it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// What set it off.
    pub trigger: Trigger,
    /// How it was made.
    pub kind: BoundaryKind,
    /// Tokens before.
    #[serde(default)]
    pub pre_tokens: Option<Tokens>,
    /// Tokens after, as estimated.
    #[serde(default)]
    pub post_tokens: Option<Tokens>,
    /// Tokens among them that no compaction can remove: the prefix, and what was not sent yet.
    #[serde(default)]
    pub fixed_tokens: Option<Tokens>,
    /// Tokens a model wrote for the summary, where one did.
    #[serde(default)]
    pub summary_tokens: Option<Tokens>,
    /// The summary.
    #[serde(default)]
    pub summary: Vec<Block>,
    /// What was put back after it.
    #[serde(default)]
    pub restored: Vec<Block>,
    /// The boundary before.
    #[serde(default)]
    pub previous: Option<RecordId>,
    /// The view from here on; absent in transcripts of other tools.
    #[serde(default)]
    pub manifest: Option<Manifest>,
    /// What another tool says it kept.
    #[serde(default)]
    pub preserved: Option<Preserved>,
}

/// A stretch of messages that another tool kept across its compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preserved {
    /// Its first message.
    pub head: RecordId,
    /// Its last message.
    pub tail: RecordId,
}

/// A range of records, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeqRange {
    /// The first record.
    pub first: Seq,
    /// The last record.
    pub last: Seq,
}

impl SeqRange {
    /// Whether the record lies in the range.
    pub fn contains(self, seq: Seq) -> bool {
        (self.first..=self.last).contains(&seq)
    }
}

/// Ranges that left the view without a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snip {
    /// The ranges.
    pub ranges: Vec<SeqRange>,
    /// Thinking behind them that had to go with them.
    pub thinking: Vec<BlockKey>,
}

/// A span that was folded into one block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoldSpan {
    /// The span.
    pub range: SeqRange,
    /// What stands there now, on the user's side.
    pub block: Block,
}

/// Spans that were folded, committed as one batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Folding {
    /// The spans.
    pub spans: Vec<FoldSpan>,
    /// Thinking behind the first of them that had to go with them.
    pub thinking: Vec<BlockKey>,
}

/// Rewrites were undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    /// The rewrites: the newest, or an older one with all newer ones.
    pub targets: Vec<RecordId>,
    /// Thinking that was bound to the rewritten prompt and goes with it.
    #[serde(default)]
    pub thinking: Vec<BlockKey>,
    /// The view from here on.
    pub manifest: Manifest,
}

/// The folded state of the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The view and the state.
    pub manifest: Manifest,
}
