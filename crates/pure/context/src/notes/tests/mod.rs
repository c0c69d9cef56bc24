//! Tests of the notes, on a template of three sections.

mod answers;
mod lengths;
mod properties;

use super::*;
use dormouse_core::block::Block;
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use dormouse_testkit::blocks::call;
use serde_json::json;

/// Path as the model was told.
const PATH: &str = "/s/session-memory/summary.md";
/// Text of blank notes.
const FRAME: &str = "# Goal\n_wanted_\n\n# Errors & More\n_went wrong_\n\n# Log\n_was done_\n";
/// Text of notes with two bodies written.
const NOTES: &str = "# Goal\n_wanted_\n\nship it\n\n# Errors & More\n_went wrong_\n\n# Log\n_was done_\n\nread a\nread b\n";

fn template() -> Template {
    Template::parse(FRAME).expect("a template")
}

fn notes() -> Notes {
    Notes::parse(NOTES, &template()).expect("notes")
}

fn with_body(body: &str) -> Notes {
    let edit = Edit::Section {
        title: "Log".to_owned(),
        body: body.to_owned(),
    };
    apply(&notes(), &[edit]).expect("a good edit")
}

fn edit(old: &str, new: &str) -> Block {
    let input = json!({ "file_path": PATH, "old_string": old, "new_string": new });
    call("c", "Edit", &input)
}

fn write(content: &str) -> Block {
    call(
        "c",
        "Write",
        &json!({ "file_path": PATH, "content": content }),
    )
}

fn limits(section: u64, total: u64) -> Limits {
    Limits {
        section: Tokens(section),
        total: Tokens(total),
    }
}

/// Four bytes a token for text, the default.
fn bytes() -> BytesPerToken {
    BytesPerToken::default()
}
