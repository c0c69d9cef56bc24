//! Limits and cuts.

use super::*;
use crate::layers::LayerSettings;
use dormouse_core::settings::Settings;
use pretty_assertions::assert_eq;

#[test]
fn long_sections_are_named_with_their_limit() {
    let excess = |notes: &Notes, limits| {
        let excess = over_limit(notes, limits, bytes());
        let told = excess
            .iter()
            .map(|one| format!("{} {}/{}", one.title, one.tokens, one.limit));
        told.collect::<Vec<_>>()
    };
    let long = with_body(&"abc ".repeat(100));
    assert_eq!(excess(&long, limits(100, 1_000)), Vec::<String>::new());
    assert_eq!(excess(&long, limits(99, 1_000)), ["Log 100/99"]);
    // The frame takes 16 tokens and the goal 2; the rest is left for the log.
    assert_eq!(excess(&long, limits(100, 118)), Vec::<String>::new());
    assert_eq!(excess(&long, limits(100, 101)), ["Log 100/83"]);
    assert_eq!(
        LayerSettings::new(&Settings::default()).notes.limits,
        limits(2_000, 12_000)
    );
}

#[test]
fn a_summary_has_what_was_written() {
    assert_eq!(
        as_summary(&notes(), limits(100, 1_000), bytes()),
        "# Goal\nship it\n\n# Log\nread a\nread b"
    );
    assert_eq!(
        as_summary(&Notes::blank(&template()), limits(100, 1_000), bytes()),
        ""
    );
}

#[test]
fn a_summary_is_cut_at_the_end_of_a_line() {
    let long = with_body(&"read one more file\n".repeat(20));
    assert_eq!(
        as_summary(&long, limits(20, 1_000), bytes()),
        "# Goal\nship it\n\n# Log\nread one more file\nread one more file\n\
         [cut here: about 85 tokens more]"
    );
    let line = with_body(&"word ".repeat(100));
    assert_eq!(
        as_summary(&line, limits(16, 1_000), bytes()),
        "# Goal\nship it\n\n# Log\nword word word word word\n[cut here: about 119 tokens more]"
    );
    let unbroken = with_body(&"字".repeat(100));
    assert_eq!(
        as_summary(&unbroken, limits(14, 1_000), bytes()),
        "# Goal\nship it\n\n# Log\n字字字字字\n[cut here: about 95 tokens more]"
    );
}
