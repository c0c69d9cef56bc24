//! The prompt of a session, now or at an earlier request.
//!
//! # Not here
//! Folding records into a conversation: `dormouse-context`. The window's figures: `window`.

use crate::error::HostError;
use crate::transcripts::{Transcript, Transcripts};
use dormouse_context::plan::rebuild;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::segment::Segment;
use dormouse_context::tokens;
use dormouse_context::validate;
use dormouse_core::block::Block;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, Derived, Record, Request};
use dormouse_core::units::Tokens;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// A point of a session, at which its prompt can be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// The end of the newest branch.
    Now,
    /// A line of the file, from 1.
    Line(u64),
    /// A request, from 1.
    Request(usize),
    /// A record: the end of a branch or of a sub-agent's conversation.
    Leaf(RecordId),
}

/// A session at a point, and the request that was recorded there.
#[derive(Debug)]
pub struct PromptAt {
    number: Option<usize>,
    transcript: Transcript,
    request: Option<Box<Request>>,
}

type Found = (Transcript, Option<Box<Request>>);

/// The prompt as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromptView {
    /// The model it is made for.
    pub model: String,
    /// Number of the request, from 1.
    pub request: Option<usize>,
    /// Set if a recorded request was rebuilt exactly; `None` without one.
    pub rebuilt: Option<bool>,
    /// Its segments, in the order they are sent.
    pub segments: Vec<PromptSegment>,
    /// Tokens of the whole prompt, measured or estimated.
    pub tokens: Tokens,
    /// The reason why a provider would refuse it; `None` if it is acceptable.
    pub acceptable: Option<String>,
    /// Records that rewrote it, oldest first.
    pub rewrites: Vec<PromptRewrite>,
    /// Inconsistencies that were found on the way.
    pub issues: Vec<String>,
}

/// A segment of the prompt: one block and its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromptSegment {
    /// Its place, from 0.
    pub at: usize,
    /// The role it is sent under.
    pub role: &'static str,
    /// The sort of content, as `context` counts it.
    pub category: &'static str,
    /// Estimated tokens, corrected by what the session has measured.
    pub tokens: Tokens,
    /// Id of the record it stems from.
    pub record: String,
    /// The place it comes from, with the block.
    pub origin: String,
    /// The record that its text stems from.
    pub source: String,
    /// The reason why it is not simply what was said.
    pub why: Option<String>,
    /// The block as it is sent.
    pub block: Block,
}

/// A record that rewrote the prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromptRewrite {
    /// Id of the rewriting record.
    pub record: String,
    /// The rewrite, in words.
    pub what: String,
}

impl Transcripts {
    /// The session at a point.
    ///
    /// # Errors
    /// When the file cannot be read, is no transcript, or has no such point.
    pub fn prompt_at(&self, file: &Path, point: &Point) -> Result<PromptAt, HostError> {
        let (transcript, request) = match point {
            Point::Now => (self.live(file)?, None),
            Point::Line(line) => (self.at_line(file, *line)?, None),
            Point::Request(number) => at_request(self, file, *number)?,
            Point::Leaf(leaf) => {
                let read = self.read(file)?;
                // Folding up to a record that does not exist would show the newest branch instead.
                if !read.records.iter().any(|record| record.id == *leaf) {
                    return Err(HostError::NoRecord {
                        file: file.to_owned(),
                        id: leaf.clone(),
                    });
                }
                (self.fold(file, &read.records, Some(leaf)), None)
            }
        };
        Ok(PromptAt {
            number: match point {
                Point::Request(number) => Some(*number),
                _ => None,
            },
            transcript,
            request,
        })
    }
}

impl PromptAt {
    /// The session at the point.
    pub const fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The prompt, segment by segment. The caller words what rewriting records did.
    pub fn view(&self, rewrite: impl Fn(&Record) -> Option<String>) -> PromptView {
        let request = self.request.as_deref();
        view(self.number, &self.transcript, request, &rewrite)
    }

    /// The bytes of the request body as they were sent.
    ///
    /// # Errors
    /// When the transcript does not record what was sent, or parts of it are missing.
    pub fn body(&self, file: &Path) -> Result<Vec<u8>, HostError> {
        let Some(request) = &self.request else {
            return Err(HostError::NothingRecorded(file.to_owned()));
        };
        let empty = RenderedPrefix::default();
        let prefix = match (&self.transcript.prefix, request.prefix) {
            (Some(prefix), _) => prefix,
            // The request has a prefix and its blobs are gone: any other bytes would be a guess.
            // A request without tools and system prompt has no prefix to miss.
            (None, None) => &empty,
            (None, Some(id)) => return Err(HostError::NoPrefix(id.to_string())),
        };
        let view = self.transcript.conversation.view();
        Ok(rebuild(view, request, prefix))
    }
}

/// The session at its N-th request: a recorded one, or in other tools' transcripts the point just
/// before the N-th response.
fn at_request(opener: &Transcripts, file: &Path, number: usize) -> Result<Found, HostError> {
    let read = opener.read(file)?;
    let requests: Vec<&Record> = read
        .records
        .iter()
        .filter(|record| matches!(record.body, Body::Request(_)))
        .collect();
    let missing = |count: usize| HostError::NoRequest {
        file: file.to_owned(),
        number,
        count,
    };
    // Only Dormouse's own logs record requests; the others are told by their responses.
    if !requests.is_empty() {
        let record = number.checked_sub(1).and_then(|index| requests.get(index));
        let record = record.ok_or_else(|| missing(requests.len()))?;
        let transcript = opener.fold(file, &read.records, Some(&record.id));
        let request = match &record.body {
            Body::Request(request) => Some(request.clone()),
            _ => None,
        };
        return Ok((transcript, request));
    }
    // A response is written in several lines under one id; its first line marks the request.
    let mut seen = std::collections::HashSet::new();
    let starts: Vec<usize> = read
        .records
        .iter()
        .enumerate()
        // Sub-agents have requests of their own, counted in their own conversation.
        .filter(|(_, record)| !record.side_chain)
        .filter_map(|(at, record)| match &record.body {
            Body::Message(message) => Some((at, message.id.as_ref()?)),
            _ => None,
        })
        .filter(|(_, id)| seen.insert(*id))
        .map(|(at, _)| at)
        .collect();
    let start = number.checked_sub(1).and_then(|index| starts.get(index));
    let start = *start.ok_or_else(|| missing(starts.len()))?;
    // The prompt is everything before the response, on the branch that led to it.
    let before = read.records[start].parent.as_ref();
    Ok((opener.fold(file, &read.records[..start], before), None))
}

fn view(
    number: Option<usize>,
    transcript: &Transcript,
    request: Option<&Request>,
    rewrite: &dyn Fn(&Record) -> Option<String>,
) -> PromptView {
    let conversation = &transcript.conversation;
    let view = conversation.view();
    let segments = view.segments();
    let reasons = reasons(&transcript.rewrites, rewrite);
    let calibration = tokens::calibration(conversation.state(), transcript.model());
    let bytes = conversation.bytes_per_token();
    let rows = segments
        .iter()
        .enumerate()
        .map(|(at, segment)| PromptSegment {
            at,
            role: segment.role.as_str(),
            category: segment.category.label(),
            tokens: calibration.correct(tokens::estimate(segment.block.weight(), bytes)),
            record: segment.record().to_string(),
            origin: segment.origin.to_string(),
            source: segment.source().to_string(),
            why: why(segment, &reasons),
            block: segment.block.clone(),
        });
    let rewrites = transcript.rewrites.iter().filter_map(|record| {
        let what = rewrite(record)?;
        Some(PromptRewrite {
            record: record.id.to_string(),
            what,
        })
    });
    PromptView {
        model: transcript.model().to_owned(),
        request: number,
        // Equal length and equal chain of hashes mean equal segments.
        rebuilt: request.map(|request| view.extent() == (request.segments, request.chain)),
        segments: rows.collect(),
        tokens: conversation.count(&transcript.prefix_weight()).tokens,
        acceptable: validate::consistent(segments.iter())
            .err()
            .map(|invalid| invalid.to_string()),
        rewrites: rewrites.collect(),
        issues: view.issues().iter().map(ToString::to_string).collect(),
    }
}

/// The words of each rewriting record.
fn reasons<'a>(
    records: &'a [Record],
    rewrite: &dyn Fn(&Record) -> Option<String>,
) -> HashMap<&'a RecordId, String> {
    records
        .iter()
        .filter_map(|record| Some((&record.id, rewrite(record)?)))
        .collect()
}

/// The reason why a segment is not simply what was said.
fn why(segment: &Segment, reasons: &HashMap<&RecordId, String>) -> Option<String> {
    let derived = segment.derived.map(|derived| match derived {
        Derived::MissingResult => "the call got no result",
        Derived::LateResult => "the result came too late to be one",
        Derived::Opening => "a conversation begins with the user",
        Derived::NoResponse => "the request before got no answer",
    });
    derived
        .map(str::to_owned)
        .or_else(|| reasons.get(segment.record()).cloned())
}
