//! Messages that extraction without a model saves or leaves, through the judge.

use super::{Half, Table, is_skipped, show};
use dormouse_memory::extract::trial::{Way, cases};
use dormouse_memory::topic::Topic;
use serde_json::json;

const HALVES: [(Half, &str); 5] = [
    (Half::Tuning, include_str!("sentences_tuning.txt")),
    (Half::Second, include_str!("sentences_second.txt")),
    (Half::Unseen, include_str!("sentences_unseen.txt")),
    (Half::Third, include_str!("sentences_third.txt")),
    (Half::Fourth, include_str!("sentences_fourth.txt")),
];
/// Day of every session: a Tuesday.
const NOON: &str = "2026-11-17T12:00:00Z";

#[derive(Debug, Default)]
struct Message<'a> {
    language: &'a str,
    instructions: String,
    assistant: String,
    user: String,
    expected: &'a str,
}

fn messages(text: &str) -> Vec<Message<'_>> {
    let mut all: Vec<Message<'_>> = Vec::new();
    for line in text.lines().filter(|line| !is_skipped(line)) {
        if let Some(language) = line.strip_prefix("%% ") {
            all.push(Message {
                language,
                ..Message::default()
            });
            continue;
        }
        let message = all.last_mut().unwrap();
        // A mark without a blank behind it is an empty line of a message.
        let behind = |mark: char| {
            line.strip_prefix(mark)
                .map(|rest| rest.strip_prefix(' ').unwrap_or(rest))
        };
        let target = match line.chars().next() {
            Some('@') => behind('@').zip(Some(&mut message.instructions)),
            Some('<') => behind('<').zip(Some(&mut message.assistant)),
            Some('>') => behind('>').zip(Some(&mut message.user)),
            _ => None,
        };
        match target {
            Some((rest, target)) => {
                if !target.is_empty() {
                    target.push('\n');
                }
                target.push_str(rest);
            }
            None => message.expected = line,
        }
    }
    all
}

/// Memories that the rules make of a message and the judge lets through: type and text.
fn saved(message: &Message<'_>) -> Vec<(String, String)> {
    let mut said = Vec::new();
    if !message.assistant.is_empty() {
        said.push(json!({"by": "assistant", "text": message.assistant}));
    }
    said.push(json!({"by": "user", "text": message.user}));
    let known: Vec<&str> = Some(message.instructions.as_str())
        .filter(|text| !text.is_empty())
        .into_iter()
        .collect();
    let case = json!({
        "id": "case", "label": "benign", "sort": "truth", "time": NOON,
        "messages": said, "known": known,
    });
    let case = cases(&case.to_string()).unwrap().remove(0);
    let texts = case.run(Way::Offline).recallable;
    let parts = |text: String| {
        let topic = Topic::read(&text);
        let kind = topic.kind.map_or("untyped", |kind| kind.name());
        let told = format!(
            "{}\n{}\n{}",
            topic.name,
            topic.description,
            &text[topic.body..]
        );
        (kind.to_owned(), told)
    };
    texts.into_iter().map(parts).collect()
}

fn fits((kind, text): &(String, String), types: &str, words: &str) -> bool {
    let said = |word: &str| text.contains(&word.trim().to_lowercase());
    types.split('/').any(|allowed| allowed == kind)
        && words.split("; ").all(|word| word.split(" / ").any(said))
}

#[test]
fn messages_are_saved_with_their_words_or_left() {
    judge(&HALVES[..2]);
}

#[test]
fn unseen_messages_are_kept_or_left() {
    judge(&HALVES[2..]);
}

/// Expected saves, proposals, right ones; by language.
fn judge(halves: &[(Half, &str)]) {
    for (half, text) in halves.iter().copied() {
        let (mut recall, mut precision) = (Table::default(), Table::default());
        for message in messages(text) {
            let saved = saved(&message);
            let right = if let Some(expected) = message.expected.strip_prefix("save ") {
                let mut fields = expected.split(" | ");
                let types = fields.next().unwrap();
                let kind = fields.next().unwrap();
                let words = fields.next().unwrap();
                let found = saved.iter().any(|memory| fits(memory, types, words));
                recall.add(message.language, found);
                recall.add("all", found);
                recall.add(format!("({kind})"), found);
                found
            } else {
                let reason = message.expected.strip_prefix("leave | ").unwrap();
                precision.add(format!("({reason})"), saved.is_empty());
                false
            };
            if !saved.is_empty() {
                precision.add(message.language, right);
                precision.add("all", right);
            }
            let left = message.expected.starts_with("leave") && saved.is_empty();
            if !right && !left {
                show(half, || {
                    format!("{}: {} -> {saved:?}", message.expected, message.user)
                });
            }
        }
        println!("{half:?} recall   {recall}");
        println!("{half:?} precision{precision}");
        for (language, least, most) in BOUNDS[half as usize] {
            let (found, all) = recall.of(language);
            assert!(found >= least, "{half:?} {language}: {found} of {all}");
            let (right, proposed) = precision.of(language);
            let wrong = proposed - right;
            assert!(
                wrong <= most,
                "{half:?} {language}: {wrong} of {proposed} wrong"
            );
        }
    }
}

/// By half: a language, messages found at least, and wrong proposals at most.
const BOUNDS: [[(&str, usize, usize); 3]; 5] = [
    [("en", 30, 5), ("de", 16, 2), ("zh", 17, 0)],
    [("en", 67, 17), ("de", 33, 9), ("zh", 37, 0)],
    [("en", 27, 9), ("de", 10, 1), ("zh", 12, 5)],
    [("en", 53, 13), ("de", 30, 6), ("zh", 24, 2)],
    [("en", 61, 5), ("de", 24, 2), ("zh", 20, 4)],
];
