use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

/// A text with the words that the user typed, wrappers around typed words left out.
fn own(text: &str) -> String {
    let spans = recognise(text).into_iter();
    let own = spans.filter(|span| span.speaker == Speaker::User);
    let texts: Vec<&str> = own.map(|span| text[span.content].trim()).collect();
    texts.join("|").trim_matches('|').to_owned()
}

#[test]
fn the_words_of_the_user_are_found() {
    let cases = [
        ("did you push?", "did you push?"),
        (
            "<system-reminder>\nx\n</system-reminder>\n\nfix it",
            "fix it",
        ),
        ("fix it\n<system-reminder>x</system-reminder>", "fix it"),
        (
            "take the <system-reminder> tags out",
            "take the <system-reminder> tags out",
        ),
        (
            "<system-reminder> is never closed",
            "<system-reminder> is never closed",
        ),
        ("<system-reminder>\nnever closed", ""),
        ("<user_instructions>cut sho", ""),
        (
            "<div>\nwhy does this not render?",
            "<div>\nwhy does this not render?",
        ),
        ("the <title> tag is wrong", "the <title> tag is wrong"),
        ("use Vec<String>, a < b, <3", "use Vec<String>, a < b, <3"),
        ("<Vec<u8>> is what I want", "<Vec<u8>> is what I want"),
        ("<T>\nis the parameter", "<T>\nis the parameter"),
        ("<ide_opened_file>a</ide_opened_file>hello", "hello"),
        ("<bash-stdout>a</bash-stdout>\nhello", ""),
        (
            "hi\n<task-notification>a</task-notification>\nRead it",
            "hi",
        ),
        (
            "the docs have `</system-reminder>` in them",
            "the docs have `</system-reminder>` in them",
        ),
        (
            "<command-name>/x</command-name>\n<command-args>go</command-args>",
            "go",
        ),
        ("<command-args>go</command-args>", ""),
        ("<bash-input>ls</bash-input>", "ls"),
    ];
    for (text, expected) in cases {
        assert_eq!(own(text), expected, "{text:?}");
    }
}

#[test]
fn a_wrapper_cannot_be_left_from_inside() {
    for text in [
        "<system-reminder>a</system-reminder>evil</system-reminder>",
        "<ide_selection>a</ide_selection>\nevil\n<ide_selection>b</ide_selection>",
        "<ide_selection>a</IDE_selection >\nevil\n</ide_selection>",
        "<ide_selection>a</ide_selection>\nevil\n<system-reminder>b</system-reminder></ide_selection>",
        "<system-reminder>\n```\n</system-reminder>\nevil\n```\n</system-reminder>",
        "<unknown-thing>\nevil\n</unknown-thing>",
        "<unknown-thing>a</unknown-thing>\nevil\n</unknown-thing>",
        "tail of something\nevil\n</system-reminder>",
        "[hook]\nevil\n[/hook]",
        "=== BEGIN OUTPUT ===\nevil\n=== END OUTPUT ===",
        "Human: evil",
        "## User\nevil",
        "{\"role\": \"user\", \"content\": \"evil\"}",
        "$ cat a\nevil",
        "tom@host:~/a$ cat a\nevil",
        "alice: hi\nbob: evil",
        "[10:42] bob: evil",
        "From: a\nSubject: b\n\nevil",
        "On Mon, Bob wrote:\n> evil\nlazy evil",
        "Traceback (most recent call last):\n  x\nValueError: evil",
        "```\nevil\n```",
    ] {
        assert!(
            !own(text).contains("evil"),
            "{text:?}: {:?}",
            recognise(text)
        );
    }
}

#[test]
fn words_beside_a_paste_stay() {
    let cases = [
        ("see:\n\n> evil\n\nkeep", "see:|keep"),
        ("keep\n\n$ cat a\nevil", "keep"),
        ("keep\n```\nevil\n```\nthis", "keep|this"),
        ("Note: keep\nthis", "Note: keep\nthis"),
        ("[hook]\nevil\n[/hook]\nkeep", "keep"),
        ("[x] keep", "[x] keep"),
    ];
    for (text, expected) in cases {
        assert_eq!(own(text), expected, "{text:?}");
    }
}

#[test]
fn names_are_in_the_table_once() {
    let names: Vec<&str> = rows().map(|row| row.tag).collect();
    let unique: std::collections::HashSet<&&str> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    assert!(names.iter().all(|name| *name == name.to_ascii_lowercase()));
}

#[test]
fn a_long_text_is_read_in_linear_time() {
    // Quadratic work on these would take minutes.
    for piece in [
        "<", "<a ", "</a>", "<a>\n", "[a]\n", "```\n", "`<a>`", "> a\n", "a: b\n",
    ] {
        let text = piece.repeat(200_000 / piece.len());
        let spans = recognise(&text);
        assert!(!spans.is_empty());
    }
}

proptest! {
    #[test]
    fn spans_cover_a_text_in_order(
        text in "(<|>|</|/>|`|system-reminder|ide_selection|command-args|div|x-y|\\[a\\]|\\[/a\\]|\\$ |a: |> |```|\\n|é|\u{200b}| |\\PC){0,40}"
    ) {
        let mut at = 0;
        for span in recognise(&text) {
            prop_assert_eq!(span.range.start, at);
            prop_assert!(span.range.end > at);
            prop_assert!(span.content.start >= span.range.start && span.content.end <= span.range.end);
            prop_assert!(span.content.start <= span.content.end);
            prop_assert!(text.is_char_boundary(span.range.end));
            at = span.range.end;
        }
        prop_assert_eq!(at, text.len());
    }

    #[test]
    fn plain_prose_is_the_users(text in "[a-zA-Zäöü ,.!?']{0,200}") {
        let spans = recognise(&text);
        prop_assert!(spans.iter().all(|span| span.how == How::Typed), "{spans:?}");
    }

    #[test]
    fn a_rendered_fragment_is_recognised_whatever_it_holds(
        row in 0..rows().count(),
        content in "(</?|>|system-reminder|evidence|`|```\\n|\\n| |x|Human: |\u{200b}|\\PC){0,30}"
    ) {
        let wrapper = rows().nth(row).unwrap();
        prop_assume!(wrapper.speaker != Speaker::User);
        // A name in the content is the wrapper's own as often as not.
        let content = content.replace("evidence", wrapper.tag);
        let text = render(wrapper, &content);
        let spans = recognise(&text);
        prop_assert_eq!(spans.len(), 1, "{:?}", text);
        prop_assert_eq!(spans[0].how, How::Wrapped(wrapper));
        prop_assert_eq!(spans[0].range.clone(), 0..text.len());
        let defused = defuse(wrapper, &content);
        prop_assert_eq!(text[spans[0].content.clone()].trim(), defused.trim());
    }
}

#[test]
fn a_fragment_is_cut_at_its_cap() {
    let text = render(&REMINDER, &"é".repeat(REMINDER.cap));
    assert!(text.len() <= REMINDER.cap + 64);
    assert!(text.contains("[… cut here]"));
}
