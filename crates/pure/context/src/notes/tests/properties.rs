//! Properties over random edits and texts.

use super::*;
use proptest::prelude::*;

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-c {}<>\"#_\r\u{feff}字é-]{0,8}",
        1 => prop::sample::select(vec![
            "# Goal", "_wanted_", "# Errors & More", "_went wrong_", "# Log", "_was done_",
            "#  Log", "## Log", " # Goal #", "ship it", "read a", "",
            "<section title=\"Goal\">", "</section>", "<append title=\"Log\">", "</append>",
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(any_line(), 0..6),
        prop::sample::select(vec!["\n", "\r\n", "\r"]),
    )
        .prop_map(|(lines, end)| lines.join(end))
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let title = || prop::sample::select(vec!["Goal", "Errors &amp; More", "Log", "Plans"]);
    prop_oneof![
        (title(), any_text()).prop_map(|(title, body)| Edit::Section {
            title: title.into(),
            body
        }),
        (title(), any_text()).prop_map(|(title, lines)| Edit::Append {
            title: title.into(),
            lines
        }),
        (any_line(), any_text(), any::<bool>()).prop_map(|(old, new, all)| Edit::Replace {
            old,
            new,
            all
        }),
        any_text().prop_map(|text| Edit::Whole {
            text: format!("{FRAME}{text}")
        }),
    ]
}

/// Headings and italic lines of a text, found independently of the code under test.
fn frame_of(text: &str) -> Vec<&str> {
    let is_frame = |line: &&str| FRAME.lines().any(|own| !own.is_empty() && own == *line);
    text.lines().filter(is_frame).collect()
}

proptest! {
    #[test]
    fn no_edit_damages_the_frame(edits in prop::collection::vec(any_edit(), 0..5)) {
        if let Ok(after) = apply(&notes(), &edits) {
            let text = after.text();
            prop_assert_eq!(frame_of(&text), frame_of(FRAME));
            prop_assert_eq!(Notes::parse(&text, &template()), Ok(after));
        }
    }

    #[test]
    fn no_text_makes_reading_fail_badly(text in any_text(), other in any_text()) {
        let answer = [Block::text(&text), edit(&text, &other), write(&other)];
        if let Ok(edits) = edits_of(&answer, PATH) {
            let _ignored = apply(&notes(), &edits);
        }
        if let Ok(template) = Template::parse(&text) {
            prop_assert_eq!(Template::parse(&template.render()), Ok(template.clone()));
            prop_assert!(Notes::parse(&template.render(), &template).is_ok());
        }
        unknown_placeholders(&text);
    }

    #[test]
    fn a_summary_keeps_its_limits(
        body in prop::collection::vec("[a-z 字]{0,30}", 0..40),
        section in 0_u64..300,
        total in 0_u64..400,
    ) {
        let notes = with_body(&body.join("\n"));
        let summary = as_summary(&notes, limits(section, total), bytes());
        let tokens = |text: &str| crate::tokens::estimate(Block::text(text).weight(), bytes());
        prop_assert!(tokens(&summary) <= Tokens(total));
        let log = summary.split("# Log\n").nth(1).unwrap_or_default();
        let mark = Tokens(10);
        prop_assert!(tokens(log) <= Tokens(section).max(mark));
    }

    #[test]
    fn excess_that_is_removed_is_gone(words in prop::collection::vec(0_usize..400, 3), section in 1_u64..300, total in 60_u64..900) {
        let limits = limits(section, total);
        let body = |tokens: usize| "abc ".repeat(tokens).trim_end().to_owned();
        let edits = |sizes: &[usize]| {
            let sections = template();
            let titles = sections.sections().iter().map(|section| section.title().to_owned());
            titles.zip(sizes).map(|(title, size)| Edit::Section { title, body: body(*size) }).collect::<Vec<_>>()
        };
        let long = apply(&notes(), &edits(&words)).expect("good edits");
        let mut sizes = words.clone();
        for excess in over_limit(&long, limits, bytes()) {
            let at = template().sections().iter().position(|section| section.title() == excess.title).expect("a section");
            sizes[at] = usize::try_from(excess.limit.get()).expect("small");
        }
        let short = apply(&notes(), &edits(&sizes)).expect("good edits");
        prop_assert_eq!(over_limit(&short, limits, bytes()), Vec::new());
    }
}
