//! The gate: conditions under which a summary may replace a conversation.

use super::directive::REQUIRED_SECTIONS;
use super::protocol::SummaryAnswer;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::{ANALYSIS, SUMMARY, close, open};
use dormouse_core::units::Tokens;

/// Reasons why a summary is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// No text in it, or nothing that would be removed.
    #[error("the summary is empty")]
    Empty,
    /// The output limit ended it, or the closing tag is missing.
    #[error("the summary was cut off before its end")]
    CutOff,
    /// The model called a tool instead of answering.
    #[error("a tool was called instead of writing a summary")]
    ToolCall,
    /// Required sections that are missing.
    #[error("the summary lacks {}", .0.join(", "))]
    Sections(Vec<&'static str>),
    /// The prompt would not become smaller.
    #[error("the result of {result} tokens is not smaller than the {replaced} it replaces")]
    NotSmaller {
        /// Tokens of the summary and everything beside it.
        result: Tokens,
        /// Tokens of what it replaces.
        replaced: Tokens,
    },
    /// Number of user messages that neither stay nor are quoted or referenced.
    #[error("{0} messages of the user are not accounted for")]
    UserMessages(usize),
}

/// Summary in an answer, if it passes the gate.
///
/// # Errors
/// When a tool was called, the answer was cut off, or it holds no complete summary.
pub(super) fn accepted(answer: &SummaryAnswer) -> Result<String, GateError> {
    let called = |block: &Block| block.kind() == BlockKind::ToolUse;
    let text: Vec<String> = answer
        .blocks
        .iter()
        .filter(|block| block.kind() == BlockKind::Text)
        .filter_map(Block::readable_text)
        .collect();
    // Text beside a call is the beginning of work, not a summary.
    if answer.blocks.iter().any(called) {
        return Err(GateError::ToolCall);
    }
    if answer.cut_off {
        return Err(GateError::CutOff);
    }
    summary_of(&text.join("\n"))
}

/// Extracts the summary from an answer: without the analysis, and inside its tags if it has them.
///
/// # Errors
/// When nothing is left, or a required section is missing.
pub fn summary_of(answer: &str) -> Result<String, GateError> {
    let answer = without_analysis(answer);
    let tag = open(&SUMMARY);
    let inner = match answer.find(&tag) {
        Some(start) => {
            let body = &answer[start + tag.len()..];
            // A summary may quote the tag, so the last closing tag counts.
            match body.rfind(&close(&SUMMARY)) {
                Some(end) => &body[..end],
                None => return Err(GateError::CutOff),
            }
        }
        None => answer.as_str(),
    };
    let summary = inner.trim();
    if summary.is_empty() {
        return Err(GateError::Empty);
    }
    let missing: Vec<&'static str> = REQUIRED_SECTIONS
        .into_iter()
        .filter(|section| !has_section(summary, section))
        .collect();
    if missing.is_empty() {
        Ok(summary.to_owned())
    } else {
        Err(GateError::Sections(missing))
    }
}

/// Removes the scratch part in front of the summary.
fn without_analysis(answer: &str) -> String {
    // An analysis tag inside the summary is a quotation.
    let (tag, end_tag) = (open(&SUMMARY), close(&ANALYSIS));
    let summary = answer.find(&tag).unwrap_or(answer.len());
    let analysis = answer
        .find(&open(&ANALYSIS))
        .filter(|start| *start < summary);
    let Some(start) = analysis else {
        return answer.to_owned();
    };
    match answer[start..].find(&end_tag) {
        Some(end) => {
            let rest = &answer[start + end + end_tag.len()..];
            format!("{}{rest}", &answer[..start])
        }
        // An analysis without a closing tag may still be followed by a summary.
        None => match answer[start..].find(&tag) {
            Some(summary) => answer[start + summary..].to_owned(),
            None => answer[..start].to_owned(),
        },
    }
}

/// True if a line begins with the title, case-insensitive, after any numbering and emphasis.
fn has_section(summary: &str, title: &str) -> bool {
    summary.lines().any(|line| {
        let bare = line.trim_start_matches(|c: char| !c.is_alphabetic());
        // `get`, because the title's length may fall inside a multi-byte character.
        bare.get(..title.len())
            .is_some_and(|begins| begins.eq_ignore_ascii_case(title))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> String {
        let titles = REQUIRED_SECTIONS.iter().enumerate();
        let lines = titles.map(|(at, title)| format!("**{}. {title}:** something", at + 1));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_analysis_goes_and_the_summary_stays() {
        let answer = format!(
            "<analysis>scratch</analysis>\n<summary>\n{}</summary>",
            complete()
        );
        let summary = summary_of(&answer).unwrap();
        assert!(summary.starts_with("**1. Primary") && !summary.contains("scratch"));
    }

    #[test]
    fn tags_are_not_needed_when_the_sections_are_there() {
        assert!(summary_of(&complete()).is_ok());
    }

    #[test]
    fn what_is_missing_is_named() {
        let text = complete().replace("Pending tasks", "Pending");
        assert_eq!(
            summary_of(&text),
            Err(GateError::Sections(vec!["Pending tasks"]))
        );
        assert_eq!(summary_of("<analysis>only"), Err(GateError::Empty));
        assert_eq!(summary_of("<summary> </summary>"), Err(GateError::Empty));
        assert_eq!(
            summary_of(&format!("<summary>{}", complete())),
            Err(GateError::CutOff)
        );
    }

    #[test]
    fn odd_letters_do_not_break_the_search() {
        assert!(summary_of("ßßßßßßßßßßßßßßßßßßßßßßßßß\n…").is_err());
    }
}
