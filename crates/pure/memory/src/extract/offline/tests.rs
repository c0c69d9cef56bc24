use super::*;
use crate::extract::span::SpanKind;
use crate::trust::Speaker;
use dormouse_core::units::Millis;
use pretty_assertions::assert_eq;

fn said(text: &str) -> Vec<Span> {
    vec![Span {
        session: Some("s".into()),
        record: "m1".into(),
        seq: 1,
        speaker: Speaker::User,
        text: text.to_owned(),
        time: Millis::parse("2026-03-02T12:00:00Z").unwrap(),
        kind: SpanKind::Said,
    }]
}

fn found(text: &str) -> Vec<(Cue, Kind, String)> {
    extract(&said(text), &Snapshot::new(), &[])
        .into_iter()
        .filter_map(|proposal| Some((proposal.cue, proposal.memory.kind?, proposal.memory.body)))
        .collect()
}

#[test]
fn a_rule_keeps_its_words_its_reason_and_says_when() {
    let body = "Don't mock the database in tests.\n\n**Why:** mocked tests passed and the migration failed.\n\n\
                **How to apply:** whenever the work touches this, without being told again.\n";
    assert_eq!(
        found(
            "Don't mock the database in tests, because mocked tests passed and the migration failed."
        ),
        [(Cue::Rule, Kind::Feedback, body.to_owned())]
    );
}

#[test]
fn relative_days_get_a_date_and_keep_their_words() {
    let all = extract(
        &said("The freeze starts on Thursday."),
        &Snapshot::new(),
        &[],
    );
    let memory = &all[0].memory;
    assert_eq!(
        memory.description,
        "The freeze starts on Thursday (2026-03-05)"
    );
    assert_eq!(memory.kind, Some(Kind::Project));
}

#[test]
fn only_an_end_that_is_still_to_come_ends_a_memory() {
    let until = |text: &str| {
        let all = extract(&said(text), &Snapshot::new(), &[]);
        all[0].memory.valid_until.clone()
    };
    assert_eq!(until("The freeze starts on Thursday."), None);
    assert_eq!(
        until("The freeze ends on 20 March 2026.").as_deref(),
        Some("2026-03-20")
    );
    assert_eq!(until("The old contract expires on 3 May 2025."), None);
}

#[test]
fn the_name_of_a_file_is_no_date() {
    assert_eq!(found("/tmp/Screenshot 2026-01-05 at 10.22.33.png"), []);
}

#[test]
fn each_cue_is_recognised() {
    for (text, cue) in [
        (
            "Remember that staging is rebuilt every night.",
            Cue::Remember,
        ),
        ("Never push to main.", Cue::Rule),
        ("I'm a data scientist.", Cue::Person),
        ("I prefer short answers.", Cue::Preference),
        ("No, use pnpm instead of npm.", Cue::Correction),
        ("Perfect, keep writing table tests.", Cue::Confirmation),
        ("The audit ends on 3 May 2026.", Cue::Date),
        ("We use Postgres because analytics needs it.", Cue::Decision),
        ("Bugs are tracked in Linear.", Cue::Reference),
    ] {
        let cues: Vec<Cue> = found(text).into_iter().map(|(cue, _, _)| cue).collect();
        assert_eq!(cues, [cue], "{text}");
    }
}

#[test]
fn what_is_not_meant_to_last_is_left_out() {
    for text in [
        "Should we always use tabs?",
        "Don't touch that file.",
        "Remember to run the tests.",
        "The build always fails.",
        "I am trying to fix the build.",
        "Do you remember the port?",
        "Refactor the parser, don't change the API.",
        "Let's say I am a pirate and pretend it is 1700. I am a captain.",
        "Remember that the parser is in src/parser.rs.",
        "never mind",
        "I'm on it.",
        "Don't worry about the tests.",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
}

#[test]
fn what_instruction_files_say_is_not_proposed() {
    let spans = said("Always run make lint before pushing.");
    let known = ["Rules: always run make lint before pushing. Be nice."];
    assert_eq!(extract(&spans, &Snapshot::new(), &known), []);
    assert_eq!(extract(&spans, &Snapshot::new(), &[]).len(), 1);
}
