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
        Half::Fourth => include_str!("memories_fourth.txt"),
    }
}

const HALVES: [(Half, &str); 5] = [
    (Half::Tuning, include_str!("questions_tuning.txt")),
    (Half::Second, include_str!("questions_second.txt")),
    (Half::Unseen, include_str!("questions_unseen.txt")),
    (Half::Third, include_str!("questions_third.txt")),
    (Half::Fourth, include_str!("questions_fourth.txt")),
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
        let sum = |table: &Table| {
            let counts = LANGUAGES.map(|language| table.of(language));
            (counts.iter()).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
        };
        let ((right, all), (false_hits, asked)) = (sum(&answered), sum(&wrong));
        println!("{half:?} {right} of {all} answered, {false_hits} of {asked} wrong");
        let (least, most) = BOUNDS[half as usize];
        assert!(right >= least, "{half:?}: {right} of {all} answered");
        assert!(false_hits <= most, "{half:?}: {false_hits} wrong");
    }
}

/// Groups that every question is in one of: its language, or `cross`.
const LANGUAGES: [&str; 4] = ["en", "de", "zh", "cross"];
/// By half: questions answered at least, and wrong answers at most.
const BOUNDS: [(usize, usize); 5] = [(47, 4), (89, 6), (34, 5), (44, 7), (58, 10)];
