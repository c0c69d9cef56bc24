//! Tests of wishes as transactions.

use super::*;
use crate::snapshot::StoredFile;
use crate::topic::{Field, Kind, Topic};
use crate::transaction::Author;
use crate::trust::{Origin, Speaker, Trust};
use dormouse_core::units::Millis;
use pretty_assertions::assert_eq;

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn with(files: &[(&str, &str)]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (name, text) in files {
        let file = StoredFile {
            content: (*text).to_owned().into(),
            modified: Millis(0),
        };
        snapshot.insert(path(name), file);
    }
    snapshot
}

fn rule(name: &str, body: &str) -> NewMemory {
    NewMemory {
        kind: Some(Kind::Feedback),
        name: name.into(),
        description: body.into(),
        body: body.into(),
        trust: Some(Trust::User),
        origin: Some(Origin {
            session: Some("s".into()),
            message: Some("m".into()),
            speaker: Speaker::User,
            time: Millis(0),
        }),
        ..NewMemory::default()
    }
}

fn apply(snapshot: &Snapshot, transaction: &Transaction) -> Snapshot {
    assert_eq!(transaction.vet(snapshot), Ok(()));
    assert_eq!(transaction.check(snapshot), Ok(()));
    transaction.applied(snapshot, Millis(1))
}

fn no_drift(snapshot: &Snapshot) -> bool {
    let facts = crate::index::IndexFacts {
        today: jiff::civil::date(2026, 11, 16),
        limits: crate::index::Limits {
            lines: 200,
            bytes: 25_000,
        },
        past: &crate::index::IndexPast::default(),
        missing: crate::index::Missing::Keep,
    };
    crate::index::drift(snapshot, &facts).is_none()
}

fn text(snapshot: &Snapshot, name: &str) -> String {
    snapshot.get(&path(name)).unwrap().text().into_owned()
}

#[test]
fn a_new_memory_gets_a_file_and_a_line() {
    let memory = rule(
        "Never mock the database",
        "Integration tests use the real database, never mocks of it.",
    );
    let added = add(&with(&[]), &memory, Author::Extractor, "said");
    let after = apply(&with(&[]), &added.transaction);
    let name = "feedback_never_mock_the_database.md";
    assert_eq!(added.placement, Placement::Create(path(name)));
    let topic = Topic::read(&text(&after, name));
    assert_eq!(
        (topic.kind, topic.trust),
        (Some(Kind::Feedback), Some(Trust::User))
    );
    assert!(no_drift(&after));
}

#[test]
fn what_is_there_is_not_added_again() {
    let memory = rule(
        "No mocks",
        "Integration tests use the real database, never mocks of it.",
    );
    let before = apply(
        &with(&[]),
        &add(&with(&[]), &memory, Author::User, "").transaction,
    );
    let again = rule(
        "Other name",
        "integration tests use the real database, never mocks of it",
    );
    let added = add(&before, &again, Author::Extractor, "");
    assert!(
        matches!(added.placement, Placement::Known(_)),
        "{:?}",
        added.placement
    );
    assert!(added.transaction.is_empty());
}

#[test]
fn what_is_nearly_there_is_merged_at_the_lesser_trust() {
    let body = "Deploys go through the release script in the tools folder, on Tuesdays, by the person on call.";
    let before = apply(
        &with(&[]),
        &add(&with(&[]), &rule("Deploys", body), Author::User, "").transaction,
    );
    let mut more = rule(
        "Deploys",
        &format!("{body}\nThe script asks for the ticket."),
    );
    more.trust = Some(Trust::Assistant);
    let added = add(&before, &more, Author::Extractor, "");
    let Placement::Merge(file) = &added.placement else {
        panic!("{:?}", added.placement)
    };
    let after = apply(&before, &added.transaction);
    let merged = text(&after, file.as_str());
    assert_eq!(
        merged.matches("release script").count(),
        2,
        "once in the description, once in the body"
    );
    assert!(merged.ends_with("The script asks for the ticket.\n"));
    assert_eq!(Topic::read(&merged).trust, Some(Trust::Assistant));
}

#[test]
fn the_last_word_of_the_user_overtakes_and_the_old_file_stays() {
    let old = rule(
        "Port",
        "The staging server of the shop listens on port 8080 behind the proxy.",
    );
    let before = apply(
        &with(&[]),
        &add(&with(&[]), &old, Author::User, "").transaction,
    );
    let new = rule(
        "Staging port",
        "The staging server of the shop listens on port 9090 behind the proxy.",
    );
    let added = add(&before, &new, Author::Extractor, "");
    let Placement::Contradict { path: file, other } = &added.placement else {
        panic!("{:?}", added.placement)
    };
    let after = apply(&before, &added.transaction);
    assert_eq!(
        Topic::read(&text(&after, other.as_str())).superseded_by,
        Some(file.to_string())
    );
    assert!(text(&after, other.as_str()).contains("8080"));
    assert!(no_drift(&after));
    let mut guess = new;
    guess.trust = Some(Trust::Assistant);
    let added = add(&before, &guess, Author::Extractor, "");
    let after = apply(&before, &added.transaction);
    assert!(text(&after, file.as_str()).contains("contradicts: "));
    assert_eq!(
        Topic::read(&text(&after, other.as_str())).superseded_by,
        None
    );
}

#[test]
fn forgetting_takes_the_line_and_marks_what_depended_on_it() {
    let before = with(&[
        ("MEMORY.md", "- [A](a.md)\n- [B](b.md)\n"),
        ("a.md", "a\n"),
        ("b.md", "because of [[a]]\n"),
    ]);
    let after = apply(
        &before,
        &forget(&before, &path("a.md"), Author::User, "wrong").unwrap(),
    );
    assert_eq!(after.index(), "- [B](b.md)\n");
    assert!(text(&after, "b.md").starts_with("---\nreview: a.md was forgotten\n---\n"));
    let missing = forget(&before, &path("z.md"), Author::User, "");
    assert_eq!(missing, Err(WriteError::Missing(path("z.md"))));
}

#[test]
fn pinning_moves_the_file_and_its_line_follows() {
    let before = with(&[
        ("MEMORY.md", "# x\n- [A](a.md) — hook\nrest\n"),
        ("a.md", "a\n"),
    ]);
    let after = apply(&before, &pin(&before, &path("a.md")).unwrap());
    assert_eq!(after.index(), "# x\n- [A](pinned/a.md) — hook\nrest\n");
    let back = apply(&after, &unpin(&after, &path("pinned/a.md")).unwrap());
    assert_eq!(back.version(), before.version());
}

#[test]
fn an_edit_updates_the_line() {
    let before = with(&[
        ("MEMORY.md", "- [A](a.md) — old\n"),
        ("a.md", "---\nname: A\ndescription: old\n---\nx\n"),
    ]);
    let fields = [Field::Description("new".into())];
    let after = apply(
        &before,
        &edit(&before, &path("a.md"), &fields, Author::User, "").unwrap(),
    );
    assert_eq!(after.index(), "- [A](a.md) — new\n");
}

#[test]
fn names_of_other_scripts_can_be_read_and_do_not_collide() {
    let mut snapshot = Snapshot::new();
    let cases = [
        ("部署流程", "project_bu_shu_liu_cheng.md"),
        ("部署流程", "project_bu_shu_liu_cheng_2.md"),
        (
            "Развёртывание по пятницам",
            "project_razviortyvanie_po_piatnitsam.md",
        ),
        ("Größe der Überschrift", "project_grosse_der_uberschrift.md"),
        ("デプロイ", "project_depuroi.md"),
        ("…", "project.md"),
    ];
    for (name, expected) in cases {
        let memory = NewMemory {
            kind: Some(Kind::Project),
            name: name.to_owned(),
            description: name.to_owned(),
            body: format!("{name} {expected}"),
            ..NewMemory::default()
        };
        let path = free_path(&snapshot, &memory);
        assert_eq!(path.as_str(), expected, "{name}");
        let file = StoredFile {
            content: render(&memory).into(),
            modified: Millis(1),
        };
        snapshot.insert(path, file);
    }
}
