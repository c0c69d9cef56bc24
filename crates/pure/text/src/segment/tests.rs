use super::{Kind, segment};
use pretty_assertions::assert_eq;

fn check(text: &str, expected: &[(Kind, &str)]) {
    let found: Vec<_> = segment(text)
        .iter()
        .map(|segment| (segment.kind, &text[segment.trimmed(text)]))
        .collect();
    assert_eq!(found, expected);
}

/// Checks prose that has to be split at the bars and nowhere else.
fn sentences(marked: &str) {
    let expected: Vec<_> = marked.split('|').map(str::trim).collect();
    let text = marked.replace('|', "");
    let found: Vec<_> = segment(&text)
        .iter()
        .map(|segment| text[segment.trimmed(&text)].to_owned())
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn sentences_end_where_a_reader_would_end_them() {
    let cases = [
        "The build failed. |It was the linker.",
        "Use e.g. Postgres, i.e. version 15.2. |Then run it.",
        "See src/main.rs. |It calls foo.bar() in v1.2.3-rc.1 on 10.0.0.1. |Done!",
        "Why? |Because it broke! |\"Really?\" |Yes.",
        "fix the parser. then run the tests. |Thanks",
        "Ask Dr. Smith or J. Doe vs. the rest. |OK.",
        "数据库连接失败。|请检查端口！|好吗？|是的。",
        "Das gilt z.B. für Tests, bzw. ggf. auch sonst. |Am 12. März 2026 ist Schluss.",
        "It costs 3.50 euros. |Not 4.",
        "He said \"stop.\" |Then he left.",
        "यह ठीक है। |वह नहीं।",
        "Wait... |What is a?b:c there?",
        "See https://example.org/a.b?c=d. |Good.",
    ];
    for case in cases {
        // The split before a lower-case word is our own rule, not Unicode's.
        sentences(&case.replace("parser. then", "parser. |then"));
    }
}

#[test]
fn wrapped_prose_is_joined_and_short_lines_are_not() {
    check(
        "A line that was wrapped at a margin, as editors do it,\ngoes on here. Then comes another.\nShort\nLines\n",
        &[
            (
                Kind::Prose,
                "A line that was wrapped at a margin, as editors do it,\ngoes on here.",
            ),
            (Kind::Prose, "Then comes another."),
            (Kind::Prose, "Short"),
            (Kind::Prose, "Lines"),
        ],
    );
}

#[test]
fn a_mixture_is_sorted_line_by_line() {
    check(
        "# Title\n\nSome text.\n\n- one. Two\n  goes on\n1. three\n\n> quoted\n\n```rust\nlet x = 1. + 2.;\n# no heading\n```\n\n    indented code\n\n| a | b |\n---\n",
        &[
            (Kind::Heading, "# Title"),
            (Kind::Prose, "Some text."),
            (Kind::ListItem, "- one."),
            (Kind::ListItem, "Two\n  goes on"),
            (Kind::ListItem, "1. three"),
            (Kind::Quote, "> quoted"),
            (Kind::Fence, "```rust"),
            (Kind::Code, "let x = 1. + 2.;"),
            (Kind::Code, "# no heading"),
            (Kind::Fence, "```"),
            (Kind::Code, "indented code"),
            (Kind::TableRow, "| a | b |"),
            (Kind::Fence, "---"),
        ],
    );
}

#[test]
fn logs_and_traces_stay_lines() {
    check(
        "2026-03-12T10:00:00Z INFO started. Fine.\n[ERROR] no. Not fine.\n12:00:01 tick\nTraceback (most recent call last):\n  File \"a.py\", line 3\n    at run (a.js:1:2)\n   3: core::panicking::panic\n  --> src/a.rs:1:2\n",
        &[
            (Kind::Log, "2026-03-12T10:00:00Z INFO started. Fine."),
            (Kind::Log, "[ERROR] no. Not fine."),
            (Kind::Log, "12:00:01 tick"),
            (Kind::Trace, "Traceback (most recent call last):"),
            (Kind::Trace, "File \"a.py\", line 3"),
            (Kind::Trace, "at run (a.js:1:2)"),
            (Kind::Trace, "3: core::panicking::panic"),
            (Kind::Trace, "--> src/a.rs:1:2"),
        ],
    );
}

#[test]
fn blank_space_belongs_to_what_is_before_it() {
    assert_eq!(segment(""), []);
    assert_eq!(segment(" \n ")[0].kind, Kind::Blank);
    let segments = segment("\n\n a \n\n b \n");
    let ranges: Vec<_> = segments
        .iter()
        .map(|segment| segment.range.clone())
        .collect();
    assert_eq!(ranges, [0..7, 7..11]);
}

#[test]
fn a_line_of_any_length_is_cut() {
    let text = "word ".repeat(1_000);
    let segments = segment(&text);
    assert!(
        segments
            .iter()
            .all(|segment| segment.range.len() <= super::LONGEST)
    );
    assert!(
        segments
            .iter()
            .all(|segment| text[segment.range.clone()].starts_with("word"))
    );
}
