//! A session at a glance, in one pass over its log.
//!
//! # Model
//! A few members of each line are read, no blocks are built. Titles are ranked: the user's choice,
//! a model's suggestion, a summary line, the user's first words.
//!
//! # Not here
//! Tokens and cost ([`crate::scan_usage`]); which records lie on the current branch.

use crate::issue::{Issues, Trouble};
use crate::lines::Line;
use crate::log_file::{LogFile, ReadError, is_object};
use crate::scan_line::ScanLine;
use dormouse_core::fragment::record::{RecordFields, origin_of, speaker};
use dormouse_core::fragment::{Speaker, sent};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::json::{Number, Text};
use dormouse_core::record::LineError;
use dormouse_core::units::{Millis, Tokens};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};

/// Characters of a title that are kept: one line of a terminal with room for date and size.
const TITLE_CHARS: usize = 80;

/// Subject and size of a session, for lists.
#[derive(Debug, Default)]
pub struct SessionSummary {
    /// Its id as the lines give it; the first one where they differ.
    pub session: Option<SessionId>,
    /// The best title found; `None` if the user said nothing yet.
    pub title: Option<String>,
    /// Earliest time on any line.
    pub first: Option<Millis>,
    /// Latest time on any line; a clock set back does not make it earlier.
    pub last: Option<Millis>,
    /// Messages that a person wrote.
    pub human_messages: u64,
    /// Responses of models; one that is spread over several lines counts once.
    pub assistant_messages: u64,
    /// Lines of side conversations, which are in no other figure.
    pub side_chain_lines: u64,
    /// Compactions of the main conversation, oldest first.
    pub boundaries: Vec<BoundarySummary>,
    /// Newest working folder named by a line.
    pub cwd: Option<String>,
    /// Newest git branch named by a line.
    pub git_branch: Option<String>,
    /// Version of the tool that wrote the newest line.
    pub version: Option<String>,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Number of lines, blank ones included.
    pub lines: u64,
    /// Lines that could not be read, with reasons.
    pub skipped: Issues,
    /// Number of responses by model.
    pub models: BTreeMap<String, u64>,
}

/// One compaction, as its boundary line describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundarySummary {
    /// Id of the boundary record; other tools may omit it.
    pub id: Option<RecordId>,
    /// Time of the compaction, if the line names it.
    pub at: Option<Millis>,
    /// Cause as the line spells it, such as `auto` or `manual`.
    pub trigger: Option<String>,
    /// Tokens of the context before it.
    pub pre_tokens: Option<Tokens>,
    /// Tokens of the context after it; older lines lack it.
    pub post_tokens: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    trigger: Text<'a>,
    #[serde(default)]
    pre_tokens: Number,
    #[serde(default)]
    post_tokens: Number,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
}

/// Titles by rank; of one rank the newest counts, of the user's words the first.
#[derive(Default)]
struct Titles {
    custom: Option<String>,
    found: Option<String>,
    summary: Option<String>,
    said: Option<String>,
}

/// Reads a log once and returns its title, times and counts.
pub fn summarise(log: &LogFile) -> Result<SessionSummary, ReadError> {
    let mut summary = SessionSummary {
        bytes: log.len()?,
        ..SessionSummary::default()
    };
    let mut titles = Titles::default();
    let mut responses = HashSet::new();
    for line in log.lines()? {
        summary.lines += 1;
        let number = Some(summary.lines);
        match line? {
            Line::Overlong { offset, bytes } => {
                summary
                    .skipped
                    .add(number, offset, Trouble::Overlong { bytes });
            }
            Line::Text { bytes, .. } if bytes.trim_ascii().is_empty() => {}
            Line::Text { offset, bytes, .. } => match serde_json::from_slice(&bytes) {
                Ok(line) if bytes.trim_ascii_start().starts_with(b"{") => {
                    take(&line, &mut summary, &mut titles, &mut responses);
                }
                Ok(_) => {
                    let what = Trouble::NotARecord(LineError::NotAnObject);
                    summary.skipped.add(number, offset, what);
                }
                Err(error) => {
                    // Valid JSON that does not fit the struct has a member twice: the reader of
                    // records refuses it for the same reason.
                    let error = if is_object(&bytes) {
                        LineError::Ambiguous(error)
                    } else {
                        LineError::NotJson(error)
                    };
                    let what = Trouble::NotARecord(error);
                    summary.skipped.add(number, offset, what);
                }
            },
        }
    }
    summary.title = [titles.custom, titles.found, titles.summary, titles.said]
        .into_iter()
        .flatten()
        .next();
    Ok(summary)
}

fn take(
    line: &ScanLine<'_>,
    summary: &mut SessionSummary,
    titles: &mut Titles,
    responses: &mut HashSet<String>,
) {
    take_envelope(line, summary);
    take_titles(line, titles);
    // Counted apart: the words of a sub-agent's task are not the user's.
    if line.is_sidechain.0 {
        summary.side_chain_lines += 1;
        return;
    }
    match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
        (Some("system"), Some("compact_boundary")) => summary.boundaries.push(boundary(line)),
        (Some("user"), _) => {
            // Clients write reminders and summaries in the user's name; a title of one would
            // mislead.
            let origin = line.origin.and_then(|raw| origin_of(raw.get()));
            let fields = RecordFields {
                role: "user",
                kind: "user",
                is_meta: line.is_meta.0,
                is_summary: line.is_compact_summary.0,
                is_api_error: line.is_api_error_message.0,
                is_from_tool: line.tool_use_result.is_some() || line.source_tool_use_id.is_some(),
                origin: origin.as_deref(),
                ..RecordFields::default()
            };
            let by_user = speaker(&fields) == Speaker::User;
            let text = human_text(line).filter(|_| by_user).map(|text| sent(&text));
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                summary.human_messages += 1;
                if titles.said.is_none() {
                    titles.said = title(&text);
                }
            }
        }
        (Some("assistant"), _) if !line.is_api_error_message.0 => {
            let message = line.message();
            let id = message
                .and_then(|message| message.id.0.as_deref())
                .or(line.uuid.0.as_deref());
            // One response is several lines with the same id, one per block.
            if id.is_none_or(|id| responses.insert(id.to_owned())) {
                summary.assistant_messages += 1;
                if let Some(model) = message.and_then(|message| message.model.0.as_deref()) {
                    *summary.models.entry(model.to_owned()).or_default() += 1;
                }
            }
        }
        _ => {}
    }
}

fn take_envelope(line: &ScanLine<'_>, summary: &mut SessionSummary) {
    if summary.session.is_none() {
        summary.session = line.session_id.0.as_deref().map(SessionId::from);
    }
    if let Some(at) = line.timestamp.0.as_deref().and_then(Millis::parse) {
        // The minimum, not the first line's: lines of parallel agents are not in order of time.
        summary.first = Some(summary.first.map_or(at, |first| first.min(at)));
        summary.last = Some(summary.last.map_or(at, |last| last.max(at)));
    }
    // Newest value wins: a session can change branch and folder.
    for (told, known) in [
        (&line.cwd, &mut summary.cwd),
        (&line.git_branch, &mut summary.git_branch),
        (&line.version, &mut summary.version),
    ] {
        if let Some(told) = told.0.as_deref().filter(|told| !told.is_empty())
            && known.as_deref() != Some(told)
        {
            *known = Some(told.to_owned());
        }
    }
}

fn take_titles(line: &ScanLine<'_>, titles: &mut Titles) {
    for (told, known) in [
        (&line.custom_title, &mut titles.custom),
        (&line.ai_title, &mut titles.found),
        (&line.summary, &mut titles.summary),
    ] {
        if let Some(told) = told.0.as_deref().and_then(title) {
            *known = Some(told);
        }
    }
}

/// One line of at most [`TITLE_CHARS`] characters; nothing if there is nothing to read.
fn title(text: &str) -> Option<String> {
    let mut title = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let space = usize::from(!title.is_empty());
        if space > 0 {
            title.push(' ');
        }
        let room = TITLE_CHARS.saturating_sub(chars + space);
        title.extend(word.chars().filter(|c| !c.is_control()).take(room));
        chars += space + word.chars().count();
        if chars >= TITLE_CHARS {
            break;
        }
    }
    let title = title.trim().to_owned();
    (!title.is_empty()).then_some(title)
}

/// Words a person wrote in this message; `None` if it only brings results of tools.
fn human_text(line: &ScanLine<'_>) -> Option<String> {
    let content = line.message()?.content?.get();
    if content.starts_with('"') {
        return serde_json::from_str(content).ok();
    }
    // By far the most lines of this kind, and the longest: skipped without parsing.
    let tool = ["[{\"tool_use_id\"", "[{\"type\":\"tool_result\""];
    if tool.iter().any(|start| content.starts_with(start)) {
        return None;
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(content).ok()?;
    let is_result = |part: &Part<'_>| part.kind.0.as_deref() == Some("tool_result");
    if parts.is_empty() || parts.iter().any(is_result) {
        return None;
    }
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.text.0.as_deref())
        .collect();
    Some(texts.join(" "))
}

fn boundary(line: &ScanLine<'_>) -> BoundarySummary {
    let metadata = line
        .compact_metadata
        .and_then(|raw| serde_json::from_str::<Metadata<'_>>(raw.get()).ok());
    let metadata = metadata.as_ref();
    BoundarySummary {
        id: line.uuid.0.as_deref().map(RecordId::from),
        at: line.timestamp.0.as_deref().and_then(Millis::parse),
        trigger: metadata.and_then(|metadata| metadata.trigger.0.as_deref().map(str::to_owned)),
        pre_tokens: metadata.and_then(|metadata| metadata.pre_tokens.0.map(Tokens)),
        post_tokens: metadata.and_then(|metadata| metadata.post_tokens.0.map(Tokens)),
    }
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_one_short_line() {
        assert_eq!(title(" fix\n\tthe  bug "), Some("fix the bug".to_owned()));
        assert_eq!(title(" \n"), None);
        assert_eq!(title(&"x".repeat(200)), Some("x".repeat(80)));
        let long = title(&"word ".repeat(50)).unwrap();
        assert!(long.chars().count() <= 80 && long.starts_with("word word"));
    }
}
