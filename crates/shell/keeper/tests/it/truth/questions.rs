//! Questions over sixty memories, by the library of a session.

use super::{Half, Table, lines, show};
use crate::kit::Kit;
use dormouse_engine::Seen;
use dormouse_keeper::recaller::{Library, Question};
use dormouse_memory::topic::Kind;
use dormouse_memory::trust::Trust;
use dormouse_memory::write::{NewMemory, render};
use dormouse_recall::Work;

/// Memories that a part asks for: the second author's are another company's.
fn memories(half: Half) -> &'static str {
    match half {
        Half::Tuning | Half::Unseen => include_str!("memories.txt"),
        Half::Second => include_str!("memories_second.txt"),
        Half::Third => include_str!("memories_third.txt"),
    }
}

const HALVES: [(Half, &str); 4] = [
    (Half::Tuning, include_str!("questions_tuning.txt")),
    (Half::Second, include_str!("questions_second.txt")),
    (Half::Unseen, include_str!("questions_unseen.txt")),
    (Half::Third, include_str!("questions_third.txt")),
];
/// Most characters of a description, as extraction writes it.
const DESCRIPTION: usize = 150;

/// The sixty memories, one file each, named by its id.
fn store(half: Half) -> Kit {
    let kit = Kit::with(|keeper| keeper.model = None);
    for fields in lines(memories(half)) {
        let [id, _, kind, name, text] = fields[..] else {
            panic!("{fields:?}");
        };
        let memory = NewMemory {
            kind: Kind::parse(kind),
            name: name.to_owned(),
            description: text.chars().take(DESCRIPTION).collect(),
            body: text.to_owned(),
            trust: Some(Trust::User),
            ..NewMemory::default()
        };
        kit.remember(&format!("{id}.md"), &render(&memory));
    }
    kit
}

/// Answered, wrong and all, by language; `cross` apart.
fn run(library: &Library, kit: &Kit, half: Half, text: &str) -> (Table, Table) {
    let (mut answered, mut wrong) = (Table::default(), Table::default());
    for fields in lines(text) {
        let [answer, language, kind, question] = fields[..] else {
            panic!("{} fields", fields.len());
        };
        let settings = (kit.keeper.settings)();
        let found = library.recall(&Question {
            prompt: question,
            work: &Work::default(),
            seen: &Seen::default(),
            most: None,
            settings: &settings,
        });
        let brought = found.brought.first().unwrap();
        let first = brought.surfacing.now.first();
        let first = first.map(|pick| pick.path.to_string().replace(".md", ""));
        let right = first.as_deref() == Some(answer);
        let group = if kind == "cross" { kind } else { language };
        if answer != "-" {
            answered.add(group, right);
            answered.add(format!("({kind})"), right);
        }
        let is_wrong = first.is_some() && !right;
        wrong.add(group, is_wrong);
        if answer == "-" {
            wrong.add(format!("({kind})"), is_wrong);
        }
        if is_wrong || (answer != "-" && !right) {
            show(half, || {
                let best = brought.hits.iter().take(3);
                let best: Vec<String> = best
                    .map(|hit| format!("{} {:.2}", hit.path, hit.confidence))
                    .collect();
                format!("{answer} {kind} {question} -> {first:?} {best:?}")
            });
        }
    }
    (answered, wrong)
}

#[test]
fn questions_get_the_memory_that_answers_or_nothing() {
    judge(&HALVES[..2]);
}

#[test]
fn unseen_questions_are_answered_or_left() {
    judge(&HALVES[2..]);
}

fn judge(halves: &[(Half, &str)]) {
    for (half, text) in halves.iter().copied() {
        let kit = store(half);
        let library = Library::of_session(&kit.keeper);
        let (answered, wrong) = run(&library, &kit, half, text);
        println!("{half:?} answered{answered}");
        println!("{half:?} wrong   {wrong}");
        for (language, least, most) in BOUNDS[half as usize] {
            let (right, all) = answered.of(language);
            let (false_hits, _) = wrong.of(language);
            assert!(right >= least, "{half:?} {language}: {right} of {all}");
            assert!(
                false_hits <= most,
                "{half:?} {language}: {false_hits} wrong"
            );
        }
    }
}

/// By half: a language, its questions answered at least, and wrong answers at most.
const BOUNDS: [[(&str, usize, usize); 4]; 4] = [
    [("en", 20, 4), ("de", 9, 1), ("zh", 11, 2), ("cross", 4, 0)],
    [
        ("en", 39, 1),
        ("de", 14, 0),
        ("zh", 19, 4),
        ("cross", 13, 0),
    ],
    [("en", 10, 3), ("de", 8, 3), ("zh", 11, 3), ("cross", 5, 0)],
    [("en", 21, 5), ("de", 7, 6), ("zh", 7, 4), ("cross", 11, 0)],
];
