//! Questions over sixty memories, by the library of a session.

use super::{Half, Table, lines, show};
use crate::kit::Kit;
use dormouse_engine::Seen;
use dormouse_keeper::recaller::{Library, Question};
use dormouse_memory::topic::Kind;
use dormouse_memory::trust::Trust;
use dormouse_memory::write::{NewMemory, render};
use dormouse_recall::Work;

const MEMORIES: &str = include_str!("memories.txt");
const HALVES: [(Half, &str); 2] = [
    (Half::Tuning, include_str!("questions_tuning.txt")),
    (Half::Unseen, include_str!("questions_unseen.txt")),
];
/// Most characters of a description, as extraction writes it.
const DESCRIPTION: usize = 150;

/// The sixty memories, one file each, named by its id.
fn store() -> Kit {
    let kit = Kit::with(|keeper| keeper.model = None);
    for fields in lines(MEMORIES) {
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
    let kit = store();
    let library = Library::of_session(&kit.keeper);
    for (half, text) in HALVES {
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
const BOUNDS: [[(&str, usize, usize); 4]; 2] = [
    [("en", 7, 3), ("de", 3, 2), ("zh", 4, 4), ("cross", 0, 1)],
    [("en", 5, 4), ("de", 2, 2), ("zh", 4, 1), ("cross", 1, 0)],
];
