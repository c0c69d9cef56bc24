use super::*;
use crate::journal::JournalEntry;
use pretty_assertions::assert_eq;

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn with(files: &[(&str, &'static str)]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (name, text) in files {
        let file = StoredFile {
            content: (*text).into(),
            modified: Millis(0),
        };
        snapshot.insert(path(name), file);
    }
    snapshot
}

#[test]
fn a_credential_is_refused_in_names_and_taken_out_of_reasons() {
    // In parts, because the repository itself is scanned.
    let password = ["Marigold", "2019", "x"].concat();
    let snapshot = Snapshot::new();
    for name in [
        format!("the_staging_password_is_{password}.md"),
        format!("notes/password={password}.md"),
    ] {
        let mut change = Transaction::by(Author::User, "added");
        change.put(&snapshot, path(&name), "text");
        let refusal = change.vet(&snapshot).unwrap_err();
        assert!(matches!(refusal, Refusal::SecretName { .. }), "{name}");
        assert!(!refusal.to_string().contains(&password), "{refusal}");
    }
    let mut change = Transaction::by(Author::User, format!("the password is {password}"));
    change.put(&snapshot, path("a.md"), "text");
    let entry = JournalEntry::of(&change, &snapshot, "1".to_owned(), Millis(0));
    assert_eq!(entry.reason, "the password is [secret: stated-password]");
}

#[test]
fn automation_needs_a_source_and_leaves_pins_alone() {
    let snapshot = with(&[("pinned/a.md", "x")]);
    let mut change = Transaction::by(Author::Dream, "tidy");
    change.put(&snapshot, path("b.md"), "y");
    assert_eq!(change.vet(&snapshot), Err(Refusal::NoSource(path("b.md"))));
    let mut change = Transaction::by(Author::Dream, "tidy");
    change.delete(&snapshot, path("pinned/a.md"));
    assert_eq!(
        change.vet(&snapshot),
        Err(Refusal::Pinned(path("pinned/a.md")))
    );
    change.author = Author::User;
    assert_eq!(change.vet(&snapshot), Ok(()));
}

#[test]
fn nobody_writes_hidden_files_and_automation_only_markdown() {
    let snapshot = Snapshot::new();
    let refused = |author, name: &str| {
        let mut change = Transaction::by(author, "");
        change.put(&snapshot, path(name), "x");
        change.vet(&snapshot).err()
    };
    let hidden = Some(Refusal::Hidden(path(".inbox/a.md")));
    assert_eq!(refused(Author::User, ".inbox/a.md"), hidden);
    let other = Some(Refusal::NotMarkdown(path("run.sh")));
    assert_eq!(refused(Author::Extractor, "run.sh"), other);
    assert_eq!(refused(Author::Agent, "progress.txt"), None);
}

#[test]
fn a_name_that_some_disks_take_for_another_is_refused() {
    let snapshot = with(&[("Notes.md", "x"), ("caf\u{e9}.md", "x")]);
    let put = |names: &[&str]| {
        let mut change = Transaction::by(Author::Agent, "");
        for name in names {
            change.put(&snapshot, path(name), "y");
        }
        change.vet(&snapshot)
    };
    for (name, other) in [("notes.md", "Notes.md"), ("CAF\u{c9}.md", "caf\u{e9}.md")] {
        let (path, other) = (path(name), path(other));
        assert_eq!(put(&[name]), Err(Refusal::SameName { path, other }));
    }
    let two_new = put(&["new.md", "NEW.md"]);
    assert!(
        matches!(two_new, Err(Refusal::SameName { .. })),
        "{two_new:?}"
    );
    assert_eq!(put(&["Notes.md"]), Ok(()));
    let mut renamed = Transaction::by(Author::User, "");
    renamed.delete(&snapshot, path("Notes.md"));
    renamed.put(&snapshot, path("notes.md"), "x");
    assert_eq!(renamed.vet(&snapshot), Ok(()));
}

#[test]
fn a_change_that_comes_too_late_is_a_conflict() {
    let before = with(&[("a.md", "1")]);
    let mut change = Transaction::by(Author::User, "");
    change.put(&before, path("a.md"), "2");
    change.put(&before, path("b.md"), "3");
    assert_eq!(change.check(&before), Ok(()));
    let after = change.applied(&before, Millis(5));
    assert_eq!(
        change.check(&after),
        Err(Conflict(vec![path("a.md"), path("b.md")]))
    );
    assert_eq!(
        between(&before, &after, Author::User, "").operations,
        change.operations
    );
}
