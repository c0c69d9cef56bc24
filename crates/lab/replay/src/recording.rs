//! Requests of a session, as its transcript records them.
//!
//! # Not here
//! Sending them again ([`crate::replay`]) and the session without its policy ([`crate::Script`]).

use dormouse_context::path::{Leaf, path};
use dormouse_context::segment::{Segment, SegmentList};
use dormouse_context::target::Target;
use dormouse_context::view::View;
use dormouse_core::id::{MessageId, RecordId};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Record, Role, Ttl};
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Model name of answers that a client made up; no provider billed them.
const SYNTHETIC: &str = "<synthetic>";

/// Reason that a transcript cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// No response reports its usage.
    #[error("no response in it says what it used, so there is nothing to replay")]
    NothingMeasured,
}

/// One recorded request and its usage.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Id of the response, which names the request.
    pub message: MessageId,
    /// Time of its first line; the request left shortly before.
    pub at: Millis,
    /// The model that answered.
    pub model: Arc<str>,
    /// The messages, as far as they were logged.
    pub segments: SegmentList,
    /// True if a compaction lies between this request and the one before.
    pub compacted: bool,
    /// Lifetime of the cache entries it wrote.
    pub ttl: Ttl,
    /// Usage that the provider reported.
    pub usage: TokenUsage,
}

/// A recorded session with at least one request.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its requests in order.
    pub turns: Vec<Turn>,
    /// Compactions on the way.
    pub compactions: usize,
}

impl Recording {
    /// Reads the main conversation of a transcript.
    ///
    /// # Errors
    /// When no response reports its usage.
    pub fn new(records: &[Record], models: &Arc<ModelTable>) -> Result<Self, RecordingError> {
        let figures = figures(records);
        let mut turns: Vec<Turn> = Vec::new();
        let mut compactions = 0;
        let mut compacted = false;
        let mut seen: HashSet<&MessageId> = HashSet::new();
        let mut view = View::new(Target::new(models, ""));
        for leaf in leaves(records) {
            for record in path(records, Leaf::Record(leaf)) {
                if matches!(record.body, Body::Boundary(_)) {
                    compactions += 1;
                    compacted = true;
                }
                if let Some(found) = response(record, &figures)
                    // A response is several lines, and the paths to two leaves share their
                    // beginning.
                    && seen.insert(found.id)
                {
                    turns.push(Turn {
                        message: found.id.clone(),
                        at: found.at,
                        model: Arc::clone(found.model),
                        segments: sent(&view),
                        compacted: std::mem::take(&mut compacted),
                        ttl: tier(&found.usage),
                        usage: found.usage,
                    });
                }
                // Only now: the view before the response is what the request contained.
                view.apply(record);
            }
        }
        if turns.is_empty() {
            return Err(RecordingError::NothingMeasured);
        }
        Ok(Self { turns, compactions })
    }
}

/// Segments that were sent: a response arrives while its first line is not applied yet, and a
/// prompt ends with the user's side.
fn sent(view: &View) -> SegmentList {
    let mut segments = view.segments();
    // Lines of the same response may be applied already; they were not part of its prompt.
    let assistant = |segment: &&Segment| segment.role == Role::Assistant;
    let applied = segments.iter().rev().take_while(assistant).count();
    segments.truncate(segments.len() - applied);
    segments
}

/// The tier that a request's markers asked for, read off its writes.
fn tier(usage: &TokenUsage) -> Ttl {
    // Reads tell nothing about the marker; only writes carry a tier.
    if usage.cache_write_1h > usage.cache_write_5m {
        Ttl::OneHour
    } else {
        Ttl::FiveMinutes
    }
}

struct Response<'a> {
    id: &'a MessageId,
    at: Millis,
    model: &'a Arc<str>,
    usage: TokenUsage,
}

fn response<'a>(
    record: &'a Record,
    figures: &HashMap<&'a MessageId, TokenUsage>,
) -> Option<Response<'a>> {
    let Body::Message(message) = &record.body else {
        return None;
    };
    let id = message.id.as_ref()?;
    let model = message
        .model
        .as_ref()
        .filter(|model| &***model != SYNTHETIC)?;
    let usage = *figures.get(id)?;
    Some(Response {
        id,
        at: record.at?,
        model,
        usage,
    })
}

/// The largest figures of every response; earlier ones of a stream are preliminary.
pub(crate) fn figures(records: &[Record]) -> HashMap<&MessageId, TokenUsage> {
    let told = records.iter().filter_map(|record| match &record.body {
        Body::Message(message) => Some((message.id.as_ref()?, message.usage?)),
        Body::Usage(report) => Some((report.message.as_ref()?, report.usage)),
        _ => None,
    });
    let mut figures: HashMap<&MessageId, TokenUsage> = HashMap::new();
    for (id, usage) in told {
        let known = figures.entry(id).or_insert(usage);
        if usage.supersedes(known) {
            *known = usage;
        }
    }
    figures
}

/// Ends of the main conversation: the record before each compaction of another tool, and the
/// newest.
pub(crate) fn leaves(records: &[Record]) -> Vec<&RecordId> {
    let mut leaves = Vec::new();
    let mut last: Option<&Record> = None;
    for record in records.iter().filter(|record| !record.side_chain) {
        match &record.body {
            // A boundary of Dormouse's own stays on the chain.
            Body::Boundary(_) if record.parent.is_none() => {
                leaves.extend(last.map(|record| &record.id));
            }
            // Only messages can end a conversation; other records may follow the last one.
            Body::Message(_) => last = Some(record),
            _ => {}
        }
    }
    leaves.extend(last.map(|record| &record.id));
    leaves
}
