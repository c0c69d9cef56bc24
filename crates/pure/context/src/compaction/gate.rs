//! Whether a summary may take the place of a conversation.

use super::directive::REQUIRED_SECTIONS;
use super::protocol::Answer;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::units::Tokens;

/// Why a summary was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// There was nothing in it.
    #[error("the summary is empty")]
    Empty,
    /// The answer was cut off.
    #[error("the summary was cut off before its end")]
    CutOff,
    /// The model tried to work on.
    #[error("a tool was called instead of writing a summary")]
    ToolCall,
    /// Sections are missing.
    #[error("the summary lacks {}", .0.join(", "))]
    Sections(Vec<&'static str>),
    /// It would not make the prompt smaller.
    #[error("the result of {result} tokens is not smaller than the {replaced} it replaces")]
    NotSmaller {
        /// What would stand there.
        result: Tokens,
        /// What stands there.
        replaced: Tokens,
    },
    /// Words of the user would be gone.
    #[error("{0} messages of the user are not accounted for")]
    UserMessages(usize),
}

/// The summary in an answer, if it may be taken.
///
/// # Errors
/// When a tool was called, the answer was cut off, or it holds no complete summary.
pub(super) fn accepted(answer: &Answer) -> Result<String, GateError> {
    let called = |block: &Block| block.kind() == BlockKind::ToolUse;
    let text: Vec<String> = answer
        .blocks
        .iter()
        .filter(|block| block.kind() == BlockKind::Text)
        .filter_map(Block::readable_text)
        .collect();
    if answer.blocks.iter().any(called) {
        return Err(GateError::ToolCall);
    }
    if answer.cut_off {
        return Err(GateError::CutOff);
    }
    summary_of(&text.join("\n"))
}

/// Takes the summary out of an answer: without the analysis, within its tags if it has them.
///
/// # Errors
/// When nothing is left, or a required section is missing.
pub fn summary_of(answer: &str) -> Result<String, GateError> {
    let answer = without_analysis(answer);
    let inner = match answer.find("<summary>") {
        Some(start) => {
            let body = &answer[start + "<summary>".len()..];
            // A summary may quote the tag; the last one ends it.
            match body.rfind("</summary>") {
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

fn without_analysis(answer: &str) -> String {
    // One that a summary quotes is none.
    let summary = answer.find("<summary>").unwrap_or(answer.len());
    let analysis = answer.find("<analysis>").filter(|start| *start < summary);
    let Some(start) = analysis else {
        return answer.to_owned();
    };
    match answer[start..].find("</analysis>") {
        Some(end) => {
            let rest = &answer[start + end + "</analysis>".len()..];
            format!("{}{rest}", &answer[..start])
        }
        // An analysis that never ends may still be followed by a summary.
        None => match answer[start..].find("<summary>") {
            Some(summary) => answer[start + summary..].to_owned(),
            None => answer[..start].to_owned(),
        },
    }
}

/// Whether a line consists of the title, whatever numbering and emphasis surrounds it.
fn has_section(summary: &str, title: &str) -> bool {
    summary.lines().any(|line| {
        let bare = line.trim_start_matches(|c: char| !c.is_alphabetic());
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
