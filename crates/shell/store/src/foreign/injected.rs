//! Separates the host's additions in a user's message from the user's words.
//!
//! # Model
//! Hosts wrap their additions into tags of their own, begin them with a heading of their own, or
//! put them before a heading under which the user's words stand. In doubt a text in tags is the
//! host's: a user's message is seldom nothing but an element.
//!
//! # Not here
//! Secrets and instructions inside the text: `dormouse-guard`.

use dormouse_core::block::{Block, BlockKind};

/// Headings that begin a text written by the host.
const HOSTS: [&str; 3] = [
    "# AGENTS.md instructions",
    "# Instructions from AGENTS.md",
    "Another language model started to solve this problem",
];

/// The heading that an editor puts over the user's words.
const REQUEST: &str = "## My request for Codex:";

/// Wrappers that are the host's even when their end is missing, as in a text that was cut off.
const WRAPPERS: [&str; 8] = [
    "environment_context",
    "user_instructions",
    "INSTRUCTIONS",
    "permissions",
    "collaboration_mode",
    "turn_aborted",
    "user_shell_command",
    "subagent_notification",
];

/// Divides the blocks of a message into the host's and the user's.
pub(super) fn divide_blocks(blocks: Vec<Block>) -> (Vec<Block>, Vec<Block>) {
    let (mut hosts, mut own) = (Vec::new(), Vec::new());
    for block in blocks {
        let text = block.readable_text().unwrap_or_default();
        if block.kind() != BlockKind::Text {
            own.push(block);
        // A label beside an image is the client's, and of no use without its file.
        } else if !is_label(&text) {
            match divide(&text) {
                (host, _) if host.trim().is_empty() => own.push(block),
                (host, said) => {
                    hosts.push(Block::text(host));
                    own.extend((!said.is_empty()).then(|| Block::text(said)));
                }
            }
        }
    }
    (hosts, own)
}

/// True if a text is only the name of the image beside it; such blocks are dropped.
fn is_label(text: &str) -> bool {
    let text = text.trim();
    text == "</image>"
        || text.starts_with("<image") && text.find('>').is_some_and(|at| at + 1 == text.len())
}

/// Divides a text into the host's part and the user's, each perhaps empty.
fn divide(text: &str) -> (&str, &str) {
    // Before the tags: the text above the heading may itself hold unclosed ones.
    if let Some(at) = text.find(REQUEST) {
        return (&text[..at], text[at + REQUEST.len()..].trim());
    }
    let begin = text.trim_start();
    if HOSTS.iter().any(|host| begin.starts_with(host)) {
        return (text, "");
    }
    // Several elements may follow each other before the user's words begin.
    let mut rest = begin;
    while let Some(after) = behind_element(rest) {
        rest = after.trim_start();
    }
    text.split_at(text.len() - rest.len())
}

/// The text behind the element that a text begins with; `None` if it begins with none.
fn behind_element(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('<')?;
    let (tag, content) = inner.split_once('>')?;
    let name = tag.split_whitespace().next()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    // `a < b and c > d` is the user's arithmetic, not a tag.
    if !name.chars().all(is_name) {
        return None;
    }
    // Some hosts close with the whole of the opening tag, attributes included.
    let ends = [format!("</{tag}>"), format!("</{name}>")];
    let close = ends
        .iter()
        .find_map(|end| Some(content.find(end)? + end.len()));
    match close {
        Some(close) => Some(&content[close..]),
        None => WRAPPERS.contains(&name).then_some(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn what_the_host_added_is_told_from_what_was_said() {
        let cases = [
            ("always use tabs", ("", "always use tabs")),
            (
                "<environment_context>\n<cwd>/p</cwd>\n</environment_context>",
                ("all", ""),
            ),
            (
                "<permissions instructions>never ask</permissions instructions>",
                ("all", ""),
            ),
            ("<user_instructions>cut sho", ("all", "")),
            (
                "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>x</INSTRUCTIONS>",
                ("all", ""),
            ),
            (
                "<skill name=\"s\">do</skill>\n\nfor the parser",
                ("rest", "for the parser"),
            ),
            (
                "# Context from my IDE setup:\n- a.rs\n## My request for Codex:\nfix it",
                ("rest", "fix it"),
            ),
            ("<3 this", ("", "<3 this")),
            ("a < b and c > d", ("", "a < b and c > d")),
            ("<Vec<u8>> is what I want", ("", "<Vec<u8>> is what I want")),
        ];
        for (text, (host, said)) in cases {
            let (found, own) = divide(text);
            assert_eq!(own, said, "{text}");
            match host {
                "all" => assert_eq!(found, text),
                "" => assert_eq!(found, ""),
                _ => assert!(!found.is_empty(), "{text}"),
            }
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_divided(text in "(<|>|</|a|b |\\n|é|##? ?|My request for Codex:){0,20}") {
            let (host, said) = divide(&text);
            prop_assert!(host.len() + said.len() <= text.len());
        }
    }
}
