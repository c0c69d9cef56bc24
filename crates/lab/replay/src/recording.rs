//! What a transcript tells of its requests.

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

/// The model of answers that a client made up.
const SYNTHETIC: &str = "<synthetic>";

/// Why a transcript cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// No response says what it used.
    #[error("no response in it says what it used, so there is nothing to replay")]
    NothingMeasured,
}

/// One recorded request.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The response.
    pub message: MessageId,
    /// When its first line was written; the request left shortly before.
    pub at: Millis,
    /// The model.
    pub model: Arc<str>,
    /// The messages, as far as they were logged.
    pub segments: SegmentList,
    /// Whether a compaction lies between this request and the one before.
    pub compacted: bool,
    /// How long the entries it wrote were meant to live.
    pub ttl: Ttl,
    /// What the provider reported.
    pub usage: TokenUsage,
}

/// A recorded session.
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
    /// When no response says what it used.
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
                view.apply(record);
            }
        }
        if turns.is_empty() {
            return Err(RecordingError::NothingMeasured);
        }
        Ok(Self { turns, compactions })
    }
}

/// What was sent: a response arrives while its first line is not applied yet, and a prompt ends
/// with the user's side.
fn sent(view: &View) -> SegmentList {
    let mut segments = view.segments();
    let user_side = |segment: &Segment| segment.role != Role::Assistant;
    let last = segments
        .iter()
        .collect::<Vec<_>>()
        .into_iter()
        .rposition(user_side);
    segments.truncate(last.map_or(0, |last| last + 1));
    segments
}

/// The tier a request's markers asked for, read from where its writes went.
fn tier(usage: &TokenUsage) -> Ttl {
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

/// The last figures of every response.
pub(crate) fn figures(records: &[Record]) -> HashMap<&MessageId, TokenUsage> {
    let told = records.iter().filter_map(|record| match &record.body {
        Body::Message(message) => Some((message.id.as_ref()?, message.usage?)),
        Body::Usage(report) => Some((report.message.as_ref()?, report.usage)),
        _ => None,
    });
    told.collect()
}

/// Ends of the main conversation: what each compaction of another tool cut off, and the newest.
pub(crate) fn leaves(records: &[Record]) -> Vec<&RecordId> {
    let mut leaves = Vec::new();
    let mut last: Option<&Record> = None;
    for record in records.iter().filter(|record| !record.side_chain) {
        match &record.body {
            // A boundary of Dormouse's own stays on the chain.
            Body::Boundary(_) if record.parent.is_none() => {
                leaves.extend(last.map(|record| &record.id));
            }
            Body::Message(_) => last = Some(record),
            _ => {}
        }
    }
    leaves.extend(last.map(|record| &record.id));
    leaves
}
