//! A session at a glance, in one pass over its log.
//!
//! # Model
//! A few members of each line are read, no blocks are built. Titles are ranked: the user's choice,
//! a model's suggestion, a summary line, the user's first words.
//!
//! # Not here
//! Tokens and cost ([`crate::scan_usage`]); which records lie on the current branch.

use crate::foreign::ForeignLog;
use crate::issue::Issues;
use crate::log_file::{LogFile, ReadError};
use crate::scan_line::{ScanLine, scan};
use crate::usage_scan::{Depth, UsageNoter};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::record::{RecordFields, origin_of, speaker};
use dormouse_core::fragment::{Speaker, command, sent};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::json::{Number, Text};
use dormouse_core::record::{Body, MessageOrigin, Role};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage_book::UsageBook;
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

impl SessionSummary {
    fn take_time(&mut self, at: Millis) {
        // The minimum, not the first line's: lines of parallel agents are not in order of time.
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }
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
    /// Slash command, for a session in which nothing else was said.
    command: Option<String>,
}

/// Reads a transcript once, whichever tool wrote it, and returns its title, times and counts.
pub fn summarise(log: &LogFile) -> Result<SessionSummary, ReadError> {
    match log.read_foreign()? {
        Some(foreign) => Ok(foreign_summary(foreign)),
        None => summarise_lines(log, |_, _| {}),
    }
}

/// Summary and usage of another tool's transcript that was read before.
pub fn summarise_and_bill_foreign(foreign: ForeignLog, book: &mut UsageBook) -> SessionSummary {
    for response in &foreign.usage {
        book.note(response.key.clone(), &response.model, response.usage);
    }
    foreign_summary(foreign)
}

/// Reads a transcript of Claude Code or Dormouse once for its summary and its usage.
pub fn summarise_and_bill(
    log: &LogFile,
    book: &mut UsageBook,
) -> Result<SessionSummary, ReadError> {
    let mut noter = UsageNoter::new(book, Depth::Figures);
    summarise_lines(log, |line, offset| {
        noter.note(line, offset);
    })
}

fn summarise_lines(
    log: &LogFile,
    mut each: impl FnMut(&ScanLine<'_>, u64),
) -> Result<SessionSummary, ReadError> {
    let mut summary = SessionSummary {
        bytes: log.len()?,
        ..SessionSummary::default()
    };
    let mut titles = Titles::default();
    let mut responses = HashSet::new();
    let mut issues = Issues::default();
    for line in log.lines()? {
        summary.lines += 1;
        let number = summary.lines;
        scan(&line?, number, &mut issues, |line, offset| {
            take(line, &mut summary, &mut titles, &mut responses);
            each(line, offset);
        });
    }
    summary.skipped = issues;
    summary.title = titles.best();
    Ok(summary)
}

impl Titles {
    fn best(self) -> Option<String> {
        let ranked = [
            self.custom,
            self.found,
            self.summary,
            self.said,
            self.command,
        ];
        ranked.into_iter().flatten().next()
    }

    /// Takes the user's words for a title: a slash command with arguments as it was typed, one
    /// without only where nothing else was said.
    fn take_words(&mut self, text: &str) {
        let command = command(text);
        let has_arguments = |command: &&String| command.contains(char::is_whitespace);
        let words = match command.as_ref().filter(has_arguments) {
            Some(command) => command.clone(),
            None => sent(text),
        };
        if self.said.is_none() {
            self.said = title(&words);
        }
        if self.command.is_none() {
            self.command = command.as_deref().and_then(title);
        }
    }
}

/// Summary of another tool's transcript, from its records.
fn foreign_summary(foreign: ForeignLog) -> SessionSummary {
    let ForeignLog { read, about, .. } = foreign;
    let mut summary = SessionSummary {
        session: about.session,
        cwd: about.cwd,
        git_branch: about.git_branch,
        bytes: read.bytes,
        lines: read.lines,
        ..SessionSummary::default()
    };
    let mut titles = Titles::default();
    let mut responses = HashSet::new();
    for record in &read.records {
        if let Some(at) = record.at {
            summary.take_time(at);
        }
        match &record.body {
            Body::Foreign(line) => {
                titles.found = line.title.as_deref().and_then(title).or(titles.found);
            }
            Body::Boundary(boundary) => summary.boundaries.push(BoundarySummary {
                id: Some(record.id.clone()),
                at: record.at,
                trigger: None,
                pre_tokens: boundary.pre_tokens,
                post_tokens: boundary.post_tokens,
            }),
            Body::Message(message) if message.role == Role::Assistant => {
                let is_new = message.id.as_ref().is_none_or(|id| responses.insert(id));
                if is_new {
                    summary.assistant_messages += 1;
                    if let Some(model) = &message.model {
                        *summary.models.entry(model.to_string()).or_default() += 1;
                    }
                }
            }
            Body::Message(message) if message.origin == MessageOrigin::Conversation => {
                let texts = message
                    .content
                    .iter()
                    .filter(|block| block.kind() == BlockKind::Text);
                let texts: Vec<String> = texts.filter_map(Block::readable_text).collect();
                let text = texts.join(" ");
                if !sent(&text).is_empty() {
                    summary.human_messages += 1;
                    titles.take_words(&text);
                }
            }
            _ => {}
        }
    }
    summary.skipped = read.issues;
    summary.title = titles.best();
    summary
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
            if let Some(text) = said_by_user(line) {
                summary.human_messages += u64::from(!sent(&text).is_empty());
                titles.take_words(&text);
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
        summary.take_time(at);
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

/// Words of a line that are the user's own; `None` for results of tools and for what a client wrote
/// in the user's name.
pub(crate) fn said_by_user(line: &ScanLine<'_>) -> Option<String> {
    // Clients write reminders and summaries in the user's name; a title of one would mislead.
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
    human_text(line).filter(|_| by_user)
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
