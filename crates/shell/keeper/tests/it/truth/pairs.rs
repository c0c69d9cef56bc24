//! Pairs of an older and a newer memory, both said by the user: as the newer one is added, and as
//! a dream finds both.

use super::{Half, Table, lines, show};
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memory::dream::{FileTimes, OfflineFacts, Writing, offline};
use dormouse_memory::index::{IndexPast, Limits};
use dormouse_memory::snapshot::{Snapshot, StoredFile};
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::transaction::Author;
use dormouse_memory::trust::{Origin, Speaker, Trust};
use dormouse_memory::write::{NewMemory, Placement, add, render};

const HALVES: [(Half, &str); 5] = [
    (Half::Tuning, include_str!("pairs_tuning.txt")),
    (Half::Second, include_str!("pairs_second.txt")),
    (Half::Unseen, include_str!("pairs_unseen.txt")),
    (Half::Third, include_str!("pairs_third.txt")),
    (Half::Fourth, include_str!("pairs_fourth.txt")),
];
const OLDER: Millis = Millis(1_793_000_000_000);
const NEWER: Millis = Millis(1_794_000_000_000);

fn memory(text: &str, time: Millis) -> NewMemory {
    NewMemory {
        kind: Some(Kind::Project),
        name: text.chars().take(40).collect(),
        description: text.to_owned(),
        body: text.to_owned(),
        origin: Some(Origin {
            session: None,
            message: None,
            speaker: Speaker::User,
            time,
        }),
        trust: Some(Trust::User),
        ..NewMemory::default()
    }
}

fn with(snapshot: &mut Snapshot, name: &str, text: &str, time: Millis) -> SafePath {
    let path = SafePath::parse(name).unwrap();
    let file = StoredFile {
        content: render(&memory(text, time)).into(),
        modified: time,
    };
    snapshot.insert(path.clone(), file);
    path
}

/// Judgement when the newer one is added.
fn added(older: &str, newer: &str) -> &'static str {
    let mut snapshot = Snapshot::new();
    let old = with(&mut snapshot, "old.md", older, OLDER);
    let added = add(&snapshot, &memory(newer, NEWER), Author::User, "said");
    let after = added.transaction.applied(&snapshot, NEWER);
    let kept = after.get(&old).map(|file| Topic::read(&file.text()));
    match added.placement {
        Placement::Create(_) => "both",
        Placement::Known(_) | Placement::Merge(_) => "duplicate",
        // History, with the day on which it ended, and never lost.
        Placement::Contradict { .. } if kept.is_some_and(|old| old.superseded_by.is_some()) => {
            "replaces"
        }
        Placement::Contradict { .. } => "contradicts",
    }
}

/// Judgement of a dream that finds both files.
fn dreamt(older: &str, newer: &str) -> &'static str {
    let mut snapshot = Snapshot::new();
    let old = with(&mut snapshot, "a.md", older, OLDER);
    let new = with(&mut snapshot, "b.md", newer, NEWER);
    let facts = OfflineFacts {
        today: jiff::civil::date(2026, 11, 17),
        writing: Writing {
            file_times: FileTimes::Believed,
            ..Writing::default()
        },
        index: Limits {
            lines: 200,
            bytes: 25_000,
        },
        past: IndexPast::default(),
    };
    let after = offline(&snapshot, &facts).after;
    let topic = |path| after.get(path).map(|file| Topic::read(&file.text()));
    match (topic(&old), topic(&new)) {
        (Some(old), Some(_)) if old.superseded_by.is_some() => "replaces",
        (Some(_), Some(new)) if new.superseded_by.is_some() => "replaced the newer",
        (Some(_), Some(_)) => "both",
        _ => "duplicate",
    }
}

#[test]
fn a_newer_word_replaces_repeats_or_stands_beside_an_older_one() {
    judge(&HALVES[..2]);
}

#[test]
fn unseen_pairs_are_judged() {
    judge(&HALVES[2..]);
}

fn judge(halves: &[(Half, &str)]) {
    for (half, text) in halves.iter().copied() {
        let (mut by_adding, mut by_dreaming) = (Table::default(), Table::default());
        for fields in lines(text) {
            let [expected, language, kind, older, newer] = fields[..] else {
                panic!("{} fields", fields.len());
            };
            let (first, second) = (added(older, newer), dreamt(older, newer));
            for (table, judged) in [(&mut by_adding, first), (&mut by_dreaming, second)] {
                table.add(language, judged == expected);
                table.add(format!("({expected})"), judged == expected);
            }
            if first != expected || second != expected {
                show(half, || {
                    format!("{expected} {kind}: {older} | {newer} -> {first}, {second}")
                });
            }
        }
        println!("{half:?} added {by_adding}");
        println!("{half:?} dreamt{by_dreaming}");
        for (language, adding, dreaming) in BOUNDS[half as usize] {
            let (right, all) = by_adding.of(language);
            assert!(
                right >= adding,
                "{half:?} added {language}: {right} of {all}"
            );
            let (right, all) = by_dreaming.of(language);
            assert!(
                right >= dreaming,
                "{half:?} dreamt {language}: {right} of {all}"
            );
        }
    }
}

/// By half: a language, right judgements at least when added and when dreamt.
const BOUNDS: [[(&str, usize, usize); 3]; 5] = [
    [("en", 38, 38), ("de", 18, 18), ("zh", 19, 19)],
    [("en", 36, 36), ("de", 17, 17), ("zh", 14, 14)],
    [("en", 30, 29), ("de", 13, 13), ("zh", 13, 13)],
    [("en", 47, 46), ("de", 31, 31), ("zh", 25, 26)],
    [("en", 36, 36), ("de", 13, 13), ("zh", 14, 14)],
];
