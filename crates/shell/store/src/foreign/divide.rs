//! Division of a user's message into the host's part and the user's.
//!
//! # Model
//! Authorship is decided by [`dormouse_core::fragment`]: of the record by its fields
//! ([`origin`]), of its text by [`recognise`]. A record that comes out as *meta* holds nobody's
//! words; one of the conversation is examined again by every reader.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::record::{RecordFields, speaker};
use dormouse_core::fragment::{How, Span, Speaker, recognise};
use dormouse_core::record::MessageOrigin;

/// Origin of a message of the user's side, by the fields of its record.
pub(super) fn origin(fields: &RecordFields<'_>) -> MessageOrigin {
    match speaker(fields) {
        Speaker::User => MessageOrigin::Conversation,
        Speaker::Host | Speaker::Tool | Speaker::OtherAgent | Speaker::Dormouse => {
            MessageOrigin::Meta
        }
    }
}

/// Divides the blocks of a message into the host's and the user's.
pub(super) fn divide_blocks(blocks: Vec<Block>) -> (Vec<Block>, Vec<Block>) {
    let (mut hosts, mut own) = (Vec::new(), Vec::new());
    for block in blocks {
        let text = block.readable_text().unwrap_or_default();
        if block.kind() != BlockKind::Text {
            own.push(block);
        } else if !is_label(&text) {
            let (host, said) = divide(&text);
            if host.trim().is_empty() {
                own.push(block);
            } else {
                hosts.push(Block::text(&host));
                own.extend((!said.is_empty()).then(|| Block::text(&said)));
            }
        }
    }
    (hosts, own)
}

/// True if a text is but the name of the image beside it.
fn is_label(text: &str) -> bool {
    let text = text.trim();
    text == "</image>"
        || text.starts_with("<image") && text.find('>').is_some_and(|at| at + 1 == text.len())
}

/// Divides a text into the host's part and the user's, each perhaps empty.
fn divide(text: &str) -> (String, String) {
    let spans = recognise(text);
    // Typed words inside a client's tags are only known by the tags around them.
    let is_typed_in_tags =
        |span: &Span| matches!(span.how, How::Wrapped(row) if row.speaker == Speaker::User);
    if spans.iter().any(is_typed_in_tags) {
        return (String::new(), text.to_owned());
    }
    let (mut host, mut said) = (String::new(), String::new());
    for span in spans {
        let part = &text[span.range.clone()];
        if span.is_sent() {
            said.push_str(part);
        } else {
            host.push_str(part);
            // Words on either side of a fragment must not grow together.
            said.push('\n');
        }
    }
    (host, said.trim().to_owned())
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
            (
                "fix it\n<environment_context>x</environment_context>\nnow",
                ("rest", "fix it\n\n\nnow"),
            ),
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
            prop_assert!(host.is_empty() || host.len() + said.len() <= 2 * text.len());
        }
    }
}
