//! Dreams without a model over folders that people and agents really wrote.

use crate::material;
use dormouse_core::settings::Percent;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::dream::{CheckLimits, Draft, OfflineFacts, Writing, check, offline};
use dormouse_memory::index::{self, IndexFacts, IndexPast, Limits, Missing};
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::trust::{Origin, Speaker};
use dormouse_testkit::material::{material as find, sample};
use jiff::civil::date;
use pretty_assertions::assert_eq;

fn dream(before: &Snapshot) -> Draft {
    let facts = OfflineFacts {
        today: date(2026, 11, 15),
        writing: Writing::default(),
        index: Limits {
            lines: 200,
            bytes: 25_000,
        },
        past: IndexPast::default(),
    };
    let draft = offline(before, &facts);
    let source = Origin {
        session: Some("dream".into()),
        message: Some("1".into()),
        speaker: Speaker::Assistant,
        time: Millis(0),
    };
    let limits = CheckLimits {
        index: facts.index,
        loss: Percent::new(25.0).unwrap(),
        today: facts.today,
        writing: facts.writing.clone(),
        past: IndexPast::default(),
    };
    check(before, &draft.after, &draft.declared(source), &limits).unwrap();
    let again = offline(&draft.after, &facts);
    assert_eq!(again.changes, []);
    draft
}

fn targets(snapshot: &Snapshot) -> Vec<String> {
    let entries = index::entries(&snapshot.index());
    entries
        .into_iter()
        .map(|entry| entry.path.to_string())
        .collect()
}

#[test]
fn memories_of_agents_and_their_lines_keep_their_bytes() {
    let real = [
        "recommendarr-mit/.claude/memory",
        "compose-envkit-mit/.claude/agent-memory/code-reviewer",
        "compose-envkit-mit/.claude/agent-memory/go-engineer",
        "compose-envkit-mit/.claude/agent-memory/architect",
        "compose-envkit-mit/.claude/agent-memory/qa-engineer",
    ];
    let real = real.map(|name| find(&format!("memories/{name}")));
    let folders = std::iter::once(sample("memories/agent")).chain(real.into_iter().flatten());
    for folder in folders {
        let name = folder.display();
        let before = material::snapshot(&folder);
        let draft = dream(&before);
        for (path, file) in before.topics() {
            assert_eq!(draft.after.get(path), Some(file), "{name}/{path}");
        }
        let (was, is) = (targets(&before), targets(&draft.after));
        assert!(is.starts_with(&was), "{name}");
        // One of these folders really has a memory that its index does not know.
        let facts = IndexFacts {
            today: date(2026, 11, 15),
            limits: Limits {
                lines: 200,
                bytes: 25_000,
            },
            past: &IndexPast::default(),
            missing: Missing::Keep,
        };
        let missing: Vec<String> = index::drift(&before, &facts)
            .unlisted
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(is[was.len()..], missing, "{name}");
        // Their lines are up to 500 characters long, and none is cut.
        let (old, new) = (before.index(), draft.after.index());
        assert!(new.starts_with(old.trim_end()), "{name}");
    }
}

/// Real folders of which only every third file has arrived: no line of theirs is touched.
#[test]
fn a_real_folder_that_is_half_synced_keeps_its_index() {
    let real = [
        "recommendarr-mit/.claude/memory",
        "compose-envkit-mit/.claude/agent-memory/code-reviewer",
    ];
    let real = real.map(|name| find(&format!("memories/{name}")));
    let folders = std::iter::once(sample("memories/agent")).chain(real.into_iter().flatten());
    for folder in folders {
        let whole = material::snapshot(&folder);
        let mut half = Snapshot::new();
        for (number, (path, file)) in whole.files().enumerate() {
            if number % 3 == 0 || path.as_str() == "MEMORY.md" {
                half.insert(path.clone(), file.clone());
            }
        }
        let draft = dream(&half);
        let (old, new) = (half.index(), draft.after.index());
        assert!(new.starts_with(old.trim_end()), "{}", folder.display());
    }
}

/// The agents of one project wrote down some of the same things.
#[test]
fn a_folder_of_several_agents_is_one_directory_too() {
    let Some(folder) = find("memories/compose-envkit-mit/.claude/agent-memory") else {
        return;
    };
    let before = material::snapshot(&folder);
    let draft = dream(&before);
    assert_eq!(draft.after.topics().count(), before.topics().count());
    let listed = targets(&draft.after);
    assert_eq!(listed.len(), before.topics().count());
}

#[test]
fn a_large_folder_of_notes_gets_an_index_that_fits() {
    let Some(folder) = find("memories/notes-jbranchaud-til-mit") else {
        return;
    };
    let before = material::snapshot(&folder);
    let draft = dream(&before);
    for (path, file) in before.files() {
        assert_eq!(draft.after.get(path), Some(file), "{path}");
    }
    let index = draft.after.index();
    assert_eq!(index.lines().count(), 200);
    let remark = index.lines().last().unwrap();
    let unlisted = before.topics().count() - 199;
    assert!(
        remark.contains(&format!("{unlisted} have no line")),
        "{remark}"
    );
}

#[test]
fn a_small_folder_of_notes_gets_a_line_for_each() {
    let before = material::snapshot(&sample("memories/notes"));
    let draft = dream(&before);
    for (path, file) in before.files() {
        assert_eq!(draft.after.get(path), Some(file), "{path}");
    }
    let mut listed = targets(&draft.after);
    listed.sort();
    let all: Vec<String> = before.topics().map(|(path, _)| path.to_string()).collect();
    assert_eq!((listed.len(), listed), (12, all));
}

#[test]
fn a_copy_among_many_notes_is_found_and_its_own_words_are_kept() {
    let Some(folder) = find("memories/notes-jbranchaud-til-mit") else {
        return;
    };
    let mut before = material::snapshot(&folder);
    let name = |text: &str| SafePath::parse(text).unwrap();
    let original = name("git/accessing-a-lost-commit.md");
    let mut copy = before.get(&original).unwrap().clone();
    copy.content = format!("{}\nAsk Ann before you prune.\n", copy.text()).into();
    before.insert(name("zz/copy.md"), copy);
    let draft = dream(&before);
    assert_eq!(draft.after.topics().count(), before.topics().count() - 1);
    let left = [original, name("zz/copy.md")];
    let left: Vec<String> = left
        .iter()
        .filter_map(|path| Some(draft.after.get(path)?.text().into_owned()))
        .collect();
    assert_eq!(left.len(), 1);
    assert!(left[0].contains("Ask Ann before you prune."));
}
