//! Answers, from the model's blocks to the notes they leave.

use super::*;
use dormouse_testkit::blocks::{block, thinking};
use pretty_assertions::assert_eq;
use std::error::Error;

/// Notes after an answer: their bodies, or the error with its causes.
fn outcome(blocks: &[Block]) -> String {
    let error = match edits_of(blocks, PATH) {
        Err(error) => told(&error),
        Ok(edits) => match apply(&notes(), &edits) {
            Err(error) => told(&error),
            Ok(notes) => {
                let again = Notes::parse(&notes.text(), &template()).expect("whole notes");
                assert_eq!(again, notes);
                let bodies: Vec<_> = notes.sections().map(|(_, body)| body).collect();
                return bodies.join(" | ").replace('\n', "⏎");
            }
        },
    };
    format!("error: {error}")
}

fn told(error: &dyn Error) -> String {
    let cause = error.source().map(told);
    cause.map_or(error.to_string(), |cause| format!("{error}: {cause}"))
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(outcome(&[Block::text(text)]), *expected, "{text:?}");
    }
}

#[test]
fn tags_edit_sections() {
    check(&[
        (
            "<section title=\"Goal\">\nship it today\n</section>",
            "ship it today |  | read a⏎read b",
        ),
        (
            "<append title=\"Log\">\nread c\n</append>",
            "ship it |  | read a⏎read b⏎read c",
        ),
        (
            "<append title=\"Errors & More\">none</append>",
            "ship it | none | read a⏎read b",
        ),
        // XML's own spelling of a title, and both kinds of quotes.
        (
            "<section title='Errors &amp; More' >none</section>",
            "ship it | none | read a⏎read b",
        ),
        // Words around, fences, several on a line, empty bodies.
        (
            "Here:\n```xml\n<section title=\"Goal\">a</section> <append title=\"Log\">c</append>\n```\nDone.",
            "a |  | read a⏎read b⏎c",
        ),
        ("<section title=\"Log\"></section>", "ship it |  | "),
        // In order: the second edit applies to the result of the first.
        (
            "<section title=\"Log\">x</section>\n<append title=\"Log\">y</append>",
            "ship it |  | x⏎y",
        ),
        (
            "<section title=\"Goal\">\r\n中文 ünï 🦀\r\nzwei\r\n</section>\r\n",
            "中文 ünï 🦀⏎zwei |  | read a⏎read b",
        ),
        // A closing tag quoted in a line does not close.
        (
            "<section title=\"Goal\">close `</section>` tags</section>",
            "close `</section>` tags |  | read a⏎read b",
        ),
        // Headings of other levels and titles belong to the section.
        (
            "<section title=\"Goal\">\n## Log\n# Other\n<sections>\n</section>",
            "## Log⏎# Other⏎<sections> |  | read a⏎read b",
        ),
        // A body that repeats the section's own frame is accepted without it.
        (
            "<section title=\"Goal\">\n# Goal\n_wanted_\n\nmore\n</section>",
            "more |  | read a⏎read b",
        ),
    ]);
}

#[test]
fn half_an_answer_is_none() {
    let unclosed = "error: the answer's `<section title=\"Goal\">` is not closed";
    check(&[
        ("", "error: the answer contains no edit of the notes"),
        (
            "Nothing to add.",
            "error: the answer contains no edit of the notes",
        ),
        (
            "see <section title=\"Goal\">",
            "error: the answer contains no edit of the notes",
        ),
        ("<section title=\"Goal\">\nship", unclosed),
        ("<section title=\"Goal\">ship</append>", unclosed),
        ("<section title=\"Goal\">ship</section> and more", unclosed),
        (
            "<section title=\"Goal\">ship\n<append title=\"Log\">x</append>\n</section>",
            unclosed,
        ),
        (
            "<append title=\"Log\">x</append>\n<section title=\"Goal",
            "error: the answer contains a broken tag: `<section title=\"Goal`",
        ),
        (
            "<section>x</section>",
            "error: the answer contains a broken tag: `<section>x</section>`",
        ),
        (
            "<section title=\"Goal\">a\n</section>\nlost\n</section>",
            "error: the answer contains a broken tag: `</section>`",
        ),
    ]);
}

#[test]
fn tags_cannot_touch_the_frame() {
    check(&[
        (
            "<section title=\"Plans\">x</section>",
            "error: edit 1 of 1 was rejected: there is no section `Plans`",
        ),
        (
            "<section title=\"Goal\">x\n# Log\n_was done_\nforged</section>",
            "error: edit 1 of 1 was rejected: the edit damages the notes: line 2: `# Log` belongs to the template and cannot stand inside a section",
        ),
        (
            "<section title=\"Goal\">x\r  #  Log #\rforged</section>",
            "error: edit 1 of 1 was rejected: the edit damages the notes: line 2: `#  Log #` belongs to the template and cannot stand inside a section",
        ),
        (
            "<append title=\"Log\">_wanted_</append>",
            "error: edit 1 of 1 was rejected: the edit damages the notes: line 3: `_wanted_` belongs to the template and cannot stand inside a section",
        ),
        // All or nothing: the valid first edit is rejected with the invalid second one.
        (
            "<section title=\"Goal\">good</section>\n<append title=\"Log\"># Goal</append>",
            "error: edit 2 of 2 was rejected: the edit damages the notes: line 3: `# Goal` belongs to the template and cannot stand inside a section",
        ),
    ]);
}

#[test]
fn calls_of_the_editing_tools_are_edits() {
    let multi = json!({ "file_path": PATH, "edits": [
        { "old_string": "read a", "new_string": "ran a" },
        { "old_string": "r", "new_string": "R", "replace_all": true },
    ] });
    let everywhere = json!({
        "file_path": PATH, "old_string": "read", "new_string": "saw", "replace_all": true
    });
    let cases = [
        (vec![edit("ship it", "ship")], "ship |  | read a⏎read b"),
        (vec![edit("read a\r\nread b", "x\r\ny")], "ship it |  | x⏎y"),
        (
            vec![edit("_went wrong_", "_went wrong_\nnothing")],
            "ship it | nothing | read a⏎read b",
        ),
        (
            vec![call("c", "Edit", &everywhere)],
            "ship it |  | saw a⏎saw b",
        ),
        (
            vec![write(&NOTES.replace("ship it", "all new"))],
            "all new |  | read a⏎read b",
        ),
        (vec![write(FRAME)], " |  | "),
        (
            vec![
                thinking("hm"),
                Block::text("<append title=\"Log\">read c</append>"),
                edit("read c", "wrote c"),
            ],
            "ship it |  | read a⏎read b⏎wrote c",
        ),
    ];
    for (blocks, expected) in cases {
        assert_eq!(outcome(&blocks), expected);
    }
    // `r` is in a heading too, so replacing it everywhere damages the frame.
    assert_eq!(
        outcome(&[call("c", "MultiEdit", &multi)]),
        "error: edit 2 of 2 was rejected: the edit damages the notes: the heading `# Errors & More` is missing or not in its place"
    );
}

#[test]
fn calls_that_do_anything_else_refuse_the_answer() {
    let good = Block::text("<append title=\"Log\">x</append>");
    let elsewhere = |path: &str| json!({ "file_path": path, "content": "" });
    let web = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    let half = json!({ "file_path": PATH, "edits": [{ "old_string": "a" }] });
    let cases = [
        (
            call("c", "Bash", &json!({ "command": "rm -r /" })),
            "error: the answer calls the tool `Bash`; an update may only edit the notes",
        ),
        (
            call("c", "Read", &json!({ "file_path": PATH })),
            "error: the answer calls the tool `Read`; an update may only edit the notes",
        ),
        (
            block(&web),
            "error: the answer calls the tool `web_search`; an update may only edit the notes",
        ),
        (
            call("c", "Write", &elsewhere("/etc/passwd")),
            "error: the answer calls `Write` on `/etc/passwd`; an update may only edit the notes",
        ),
        (
            call(
                "c",
                "Write",
                &elsewhere("/s/../s/session-memory/summary.md"),
            ),
            "error: the answer calls `Write` on `/s/../s/session-memory/summary.md`; an update may only edit the notes",
        ),
        (
            call("c", "Write", &json!({ "content": "" })),
            "error: the arguments of `Write` cannot be read: `file_path` is missing or of the wrong type",
        ),
        (
            call("c", "Edit", &json!({ "file_path": PATH, "old_string": 7 })),
            "error: the arguments of `Edit` cannot be read: `old_string` is missing or of the wrong type",
        ),
        (
            call("c", "MultiEdit", &half),
            "error: the arguments of `MultiEdit` cannot be read: `edits` is missing or of the wrong type",
        ),
        (
            call("c", "Edit", &json!("not even an object")),
            "error: the arguments of `Edit` cannot be read: `file_path` is missing or of the wrong type",
        ),
    ];
    for (bad, expected) in cases {
        assert_eq!(outcome(&[good.clone(), bad]), expected);
    }
}

#[test]
fn calls_cannot_touch_the_frame() {
    let cases = [
        (
            edit("x y z", "x"),
            "the text to be replaced is not in the notes",
        ),
        (
            edit("read ", "ran "),
            "the text to be replaced is in the notes 2 times; it must be unique",
        ),
        (edit("", "x"), "the text to be replaced is empty"),
        (
            edit("# Log", "# Diary"),
            "the edit damages the notes: the heading `# Log` is missing or not in its place",
        ),
        (
            edit("# Log", "#  Log"),
            "the edit damages the notes: line 9: the heading `# Log` was changed",
        ),
        (
            edit("_was done_", "_was not done_"),
            "the edit damages the notes: the italic line below `# Log` is missing or changed",
        ),
        (
            edit("_was done_\n", ""),
            "the edit damages the notes: the italic line below `# Log` is missing or changed",
        ),
        (
            edit("ship it", "# Log\n_was done_\nforged"),
            "the edit damages the notes: the heading `# Errors & More` is missing or not in its place",
        ),
        (
            edit("read b", "# Goal"),
            "the edit damages the notes: line 13: `# Goal` belongs to the template and cannot stand inside a section",
        ),
        (
            edit("ship it", "_wanted_"),
            "the edit damages the notes: line 4: `_wanted_` belongs to the template and cannot stand inside a section",
        ),
        (
            write(""),
            "the edit damages the notes: the heading `# Goal` is missing or not in its place",
        ),
        (
            write("# Log\n_was done_\n"),
            "the edit damages the notes: the heading `# Goal` is missing or not in its place",
        ),
        (
            write(&format!("Notes:\n{NOTES}")),
            "the edit damages the notes: line 1: text before the first heading",
        ),
        (
            write(&format!("{NOTES}{NOTES}")),
            "the edit damages the notes: line 14: `# Goal` belongs to the template and cannot stand inside a section",
        ),
    ];
    for (call, expected) in cases {
        let expected = format!("error: edit 1 of 1 was rejected: {expected}");
        assert_eq!(outcome(&[call]), expected);
    }
}

#[test]
fn an_answer_cannot_fill_the_memory() {
    let seed = json!({ "old_string": "ship it", "new_string": "xx" });
    let doubled = json!({ "old_string": "x", "new_string": "xx", "replace_all": true });
    let edits = [vec![seed], vec![doubled; 64]].concat();
    let input = json!({ "file_path": PATH, "edits": edits });
    assert_eq!(
        outcome(&[call("c", "MultiEdit", &input)]),
        "error: edit 20 of 65 was rejected: the notes would become longer than 1048576 bytes"
    );
}

#[test]
fn notes_are_read_from_any_editor_and_written_in_one_form() {
    let messy = format!(
        "\u{feff}\n\n{}\n\n",
        NOTES.replace("_wanted_\n", "\n_wanted_  \n\n\n")
    );
    let read = Notes::parse(&messy.replace('\n', "\r\n"), &template()).expect("notes");
    assert_eq!(read.text(), NOTES);
    assert_eq!(read.body("Goal"), Some("ship it"));
    assert_eq!(read.body("Plans"), None);
    assert!(!read.is_blank());
    let blank = Notes::parse(FRAME, &template()).expect("notes");
    assert!(blank.is_blank());
    assert_eq!(blank, Notes::blank(&template()));
}
