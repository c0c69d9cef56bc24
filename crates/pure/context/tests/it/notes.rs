//! The directive of the fork that writes session notes, as snapshots.
//!
//! The files beside this one are the rendered prompts. After an intended change, compare the text
//! that the failing test prints and copy it into the file.

use dormouse_context::layers::LayerSettings;
use dormouse_context::notes::{
    Directive, Edit, Excess, Notes, Template, apply, directive, unknown_placeholders,
};
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use pretty_assertions::assert_eq;

/// Path as the model is told; part of the snapshots.
const PATH: &str = "/home/u/.dormouse/projects/p/s/session-memory/summary.md";

fn notes() -> Notes {
    let section = |title: &str, body: &str| Edit::Section {
        title: title.to_owned(),
        body: body.to_owned(),
    };
    let edits = [
        section("Session Title", "Parser for dates"),
        section("Worklog", "- read src/date.rs\n- quoted {{notesPath}}"),
    ];
    apply(&Notes::blank(&Template::builtin()), &edits).expect("good edits")
}

fn excess() -> Vec<Excess> {
    vec![Excess {
        title: "Worklog".to_owned(),
        tokens: Tokens(2_310),
        limit: Tokens(2_000),
    }]
}

fn told(custom: Option<&str>, notes: &Notes, excess: &[Excess]) -> String {
    directive(&Directive {
        notes,
        path: PATH,
        excess,
        limits: LayerSettings::new(&Settings::default()).notes.limits,
        custom,
    })
}

#[test]
fn the_first_directive() {
    let blank = Notes::blank(&Template::builtin());
    let text = told(None, &blank, &[]);
    assert_eq!(text, include_str!("notes/first.md").trim_end());
}

#[test]
fn a_later_directive_names_what_is_too_long() {
    let text = told(None, &notes(), &excess());
    assert_eq!(text, include_str!("notes/later.md").trim_end());
}

#[test]
fn a_users_prompt_replaces_the_text_but_not_what_an_update_needs() {
    let text = told(Some("Note it in {{notesPath}}.\n"), &notes(), &excess());
    assert_eq!(text, include_str!("notes/custom.md").trim_end());
    // Without an excess nothing is added about it.
    let text = told(Some("Note it."), &notes(), &[]);
    assert!(!text.contains("too long"), "{text}");
}

#[test]
fn a_users_prompt_that_has_it_all_is_all_there_is() {
    let custom = "{{sections}}\n{{currentNotes}}\n{{shorten}}\n{{answerFormat}}";
    let text = told(Some(custom), &notes(), &excess());
    assert!(
        text.starts_with("- Session Title: A handful of words"),
        "{text}"
    );
    for once in [
        "<section title=\"",
        "<append title=\"",
        "# Worklog\n",
        "2,310 tokens",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once}");
    }
    let own_words = "{{currentNotes}} Write <section title=\"T\"> or <append title=\"T\">.";
    let text = told(Some(own_words), &notes(), &[]);
    assert!(
        text.ends_with("Write <section title=\"T\"> or <append title=\"T\">."),
        "{text}"
    );
}

#[test]
fn quoting_the_form_in_the_notes_does_not_replace_explaining_it() {
    let quote = Edit::Section {
        title: "Learnings".to_owned(),
        body: "write `<section title=\"T\">` and `<append title=\"T\">`".to_owned(),
    };
    let notes = apply(&notes(), &[quote]).expect("a good edit");
    let text = told(Some("Go: {{currentNotes}}"), &notes, &[]);
    assert!(
        text.contains("<section title=\"TITLE OF THE SECTION\">"),
        "{text}"
    );
}

#[test]
fn placeholders_are_replaced_once() {
    let prompt = |words: &str| format!("{words} {{{{currentNotes}}}} {{{{answerFormat}}}}");
    let cases = [
        ("{{sectionLimit}}/{{totalLimit}}", "2,000/12,000"),
        ("{{{sectionLimit}}}", "{2,000}"),
        (
            "{{ sectionLimit }} {{}} {{ {",
            "{{ sectionLimit }} {{}} {{ {",
        ),
        (
            "{{other}} {{section{{sectionLimit}}",
            "{{other}} {{section2,000",
        ),
        ("{{sectionLimit", "{{sectionLimit"),
    ];
    for (words, expected) in cases {
        let text = told(Some(&prompt(words)), &notes(), &[]);
        let start = text.split(" # Session Title").next();
        assert_eq!(start, Some(expected), "{words}");
        // A placeholder quoted in the notes is not substituted.
        assert!(text.contains("- quoted {{notesPath}}"), "{text}");
    }
}

#[test]
fn an_empty_prompt_is_no_prompt() {
    assert_eq!(told(Some(" \n"), &notes(), &[]), told(None, &notes(), &[]));
}

#[test]
fn unknown_placeholders_are_reported_once_each() {
    let prompt = "{{currentNotes}} {{notes_path}} {{Sections}} {{notes_path}} {{ x }}";
    assert_eq!(unknown_placeholders(prompt), ["notes_path", "Sections"]);
}
