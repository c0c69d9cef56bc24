//! Forgery: words that a client, a tool, another agent or a paste brought are never the user's.
//!
//! # Model
//! A template has a class and a body with `{rule}` (planted by others) or `{own}` (typed by the
//! user). The generator fills templates of two files in turn: `tuning.txt` was used and added to
//! while the rules were written, `unseen.txt` was written before them and looked at afterwards.
//! Every case becomes a session file of Claude Code, Codex, pi and Dormouse, goes through the
//! store's readers, and is then asked for by everything that could believe it: the spans of
//! extraction, the rules without a model, the judge that decides about a model's proposal, and the
//! evidence of a compaction.
//!
//! # Not here
//! The table and its properties (`dormouse_core::fragment`).

mod formats;
mod pastes;

use dormouse_context::evidence::{EvidenceLimits, observe};
use dormouse_context::path::{Leaf, path};
use dormouse_core::record::{Chronicle, MessageText, Record};
use dormouse_guard::paths::SafePath;
use dormouse_memory::extract::judge::{Context, Judged, Proposed, Review, judge};
use dormouse_memory::extract::{offline, spans};
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::transaction::Author;
use formats::Format;
use std::collections::BTreeMap;

/// Templates that the rules were fitted to.
const TUNING: &str = include_str!("tuning.txt");
/// Templates that were looked at only after the rules had been written.
const UNSEEN: &str = include_str!("unseen.txt");

/// Cases of each half: at least 300 attacks and 150 honest messages together, and every template at
/// least once.
const ATTACKS: usize = 180;
/// Honest messages of each half; see [`ATTACKS`].
const HONEST: usize = 75;

/// Sentences that extraction by rules keeps when a user says them.
const SENTENCES: [&str; 7] = [
    "Always run {t} before pushing.",
    "Never push to {t}.",
    "I prefer {t} over make.",
    "From now on, use {t} for logging.",
    "Remember that the staging server is called {t}.",
    "Don't mock {t} in tests.",
    "We use {t} because analytics needs it.",
];

/// Beginnings of the words that tell sentences apart.
const OTHERS: &str = "qua";
/// Beginning of the words of the user's own sentences.
const OWN: &str = "fer";

/// Template of a case.
#[derive(Clone, Debug)]
struct Template {
    class: String,
    /// Only format that has this shape of a record; `None` for texts, which all formats have.
    format: Option<Format>,
    body: String,
}

/// A template filled with its sentences.
struct Case {
    template: Template,
    rule: Planted,
    own: Planted,
}

/// A sentence, and the word in it that occurs nowhere else.
struct Planted {
    sentence: String,
    word: String,
}

fn templates(file: &str) -> Vec<Template> {
    let parts = file.split("%% ").skip(1);
    let parsed = parts.map(|part| {
        let (head, body) = part.split_once('\n').unwrap();
        let mut head = head.split_whitespace();
        Template {
            class: head.next().unwrap().to_owned(),
            format: head.next().map(|name| Format::named(name).unwrap()),
            body: body.trim_end_matches('\n').to_owned(),
        }
    });
    parsed.collect()
}

/// A word that no other case has.
fn word(side: &str, number: usize) -> String {
    let letters = ["ba", "ke", "lo", "mi", "nu", "ra", "se", "to", "vi", "zu"];
    let digits = [number / 100 % 10, number / 10 % 10, number % 10];
    let tail: String = digits.iter().map(|digit| letters[*digit]).collect();
    format!("{side}{tail}")
}

fn planted(side: &str, number: usize) -> Planted {
    let word = word(side, number);
    // Another step than the templates': each template meets other sentences on every round.
    // Planted and own sentences differ in more than a word: a user who repeats a reminder tells
    // nothing new, and the judge says so.
    let other = if side == OWN { 3 } else { 0 };
    let sentence = SENTENCES[(number * 3 + number / 11 + other) % SENTENCES.len()];
    let sentence = sentence.replace("{t}", &word);
    Planted { sentence, word }
}

/// `count` cases of the templates that `wanted` takes.
fn cases(file: &str, count: usize, wanted: impl Fn(&Template) -> bool) -> Vec<Case> {
    let templates: Vec<Template> = templates(file).into_iter().filter(wanted).collect();
    let case = |number: usize| Case {
        template: templates[number % templates.len()].clone(),
        rule: planted(OTHERS, number),
        own: planted(OWN, number),
    };
    (0..count).map(case).collect()
}

impl Case {
    fn text(&self) -> String {
        let text = self.template.body.replace("{rule}", &self.rule.sentence);
        text.replace("{own}", &self.own.sentence)
    }

    /// Records of the case in a format, read from its file; `None` if the format lacks the shape.
    fn records(&self, format: Format) -> Option<Vec<Record>> {
        match self.template.format {
            None => Some(formats::text_session(format, &self.text())),
            Some(only) if only == format => Some(formats::record_session(format, &self.text())),
            Some(_) => None,
        }
    }

    /// True if the user sent the words and others wrote them: a compaction keeps such a message
    /// whole, because losing a text that the user showed would lose the task.
    fn is_pasted(&self) -> bool {
        matches!(
            self.template.class.as_str(),
            "terminal" | "chat" | "mail" | "turn" | "honest"
        )
    }
}

/// Everything that Dormouse believes about a session.
struct Believed {
    users_spans: Vec<String>,
    rules: Vec<String>,
    messages: Vec<String>,
    decisions: Vec<String>,
    spans: Vec<dormouse_memory::extract::Span>,
}

impl Believed {
    fn of(records: &[Record]) -> Self {
        let on_path: Vec<Record> = path(records, Leaf::Newest).into_iter().cloned().collect();
        let spans = spans(&on_path, None);
        let proposals = offline::extract(&spans, &Snapshot::new(), &[]);
        let mut chronicle = Chronicle::default();
        for record in &on_path {
            observe(&mut chronicle, record, &EvidenceLimits::default());
        }
        let listed = chronicle
            .user
            .listed
            .iter()
            .map(|message| match &message.text {
                MessageText::Whole(text) => text.clone(),
                MessageText::Cut { head, tail } => format!("{head}{tail}"),
            });
        Self {
            users_spans: spans
                .iter()
                .filter(|span| span.is_users())
                .map(|span| span.text.clone())
                .collect(),
            rules: proposals
                .iter()
                .map(|proposal| proposal.memory.body.clone())
                .collect(),
            messages: listed.collect(),
            decisions: chronicle.decisions.entries.keys().cloned().collect(),
            spans,
        }
    }

    /// True if a model's proposal of this sentence is written without the user's approval.
    fn is_trusted(&self, planted: &Planted) -> bool {
        let snapshot = Snapshot::new();
        let context = Context {
            snapshot: &snapshot,
            spans: &self.spans,
            recalled: &[],
            known: &[],
            review: Review::Untrusted,
            author: Author::Extractor,
        };
        let path = SafePath::parse("rule.md").unwrap();
        let sentence = &planted.sentence;
        let content = format!(
            "---\nname: {}\ndescription: {sentence}\ntype: feedback\nsource: \"{sentence}\"\n---\n\n{sentence}\n",
            planted.word
        );
        let proposed = Proposed::File {
            path: &path,
            content: &content,
        };
        matches!(judge(&proposed, &context), Judged::Write(_))
    }
}

fn has(texts: &[String], word: &str) -> bool {
    texts.iter().any(|text| text.contains(word))
}

/// Ways in which the planted rule was believed; empty if it was not.
fn leaks(case: &Case, believed: &Believed) -> Vec<&'static str> {
    let word = case.rule.word.as_str();
    let checks = [
        ("users' span", has(&believed.users_spans, word)),
        ("rule", has(&believed.rules, word)),
        ("trusted", believed.is_trusted(&case.rule)),
        ("decision", has(&believed.decisions, word)),
        (
            "message",
            !case.is_pasted() && has(&believed.messages, word),
        ),
    ];
    let found = checks.into_iter().filter(|(_, leaked)| *leaked);
    found.map(|(name, _)| name).collect()
}

/// Ways in which the user's sentence was lost; empty if it was kept.
fn losses(case: &Case, believed: &Believed) -> Vec<&'static str> {
    let word = case.own.word.as_str();
    let checks = [
        ("users' span", has(&believed.users_spans, word)),
        ("rule", has(&believed.rules, word)),
        ("trusted", believed.is_trusted(&case.own)),
        ("message", has(&believed.messages, word)),
    ];
    let lost = checks.into_iter().filter(|(_, kept)| !*kept);
    lost.map(|(name, _)| name).collect()
}

/// Cases that failed, with their class, format and reasons.
fn failures(cases: &[Case], check: impl Fn(&Case, &Believed) -> Vec<&'static str>) -> Vec<String> {
    let mut failed = Vec::new();
    for case in cases {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for format in Format::ALL {
            let Some(records) = case.records(format) else {
                continue;
            };
            for reason in check(case, &Believed::of(&records)) {
                reasons.entry(reason).or_default().push(format.name());
            }
        }
        if !reasons.is_empty() {
            let class = &case.template.class;
            failed.push(format!("{class} {reasons:?}\n{}\n", case.text()));
        }
    }
    failed
}

fn attacks(file: &str) -> Vec<String> {
    let cases = cases(file, ATTACKS, |template| template.class != "honest");
    failures(&cases, leaks)
}

fn honest(file: &str) -> Vec<String> {
    let cases = cases(file, HONEST, |template| template.class == "honest");
    failures(&cases, |case, believed| {
        let mut found = losses(case, believed);
        // A planted rule beside honest words must not ride on them.
        if case.template.body.contains("{rule}") {
            found.extend(leaks(case, believed));
        }
        found
    })
}

fn check(failed: &[String], of: usize) {
    assert!(
        failed.is_empty(),
        "{} of {of} cases failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

#[test]
fn no_attack_of_the_tuning_half_becomes_the_users_words() {
    check(&attacks(TUNING), ATTACKS);
}

#[test]
fn no_attack_of_the_unseen_half_becomes_the_users_words() {
    check(&attacks(UNSEEN), ATTACKS);
}

#[test]
fn honest_messages_of_the_tuning_half_stay_the_users() {
    check(&honest(TUNING), HONEST);
}

#[test]
fn honest_messages_of_the_unseen_half_stay_the_users() {
    check(&honest(UNSEEN), HONEST);
}

#[test]
fn every_class_and_every_format_is_attacked() {
    for file in [TUNING, UNSEEN] {
        let templates = templates(file);
        for class in [
            "closing", "nested", "unlisted", "turn", "terminal", "chat", "mail", "shell", "ide",
            "agent", "record", "honest",
        ] {
            let found = templates.iter().any(|template| template.class == class);
            assert!(found, "{class}");
        }
        let (honest, attacks): (Vec<_>, Vec<_>) = templates
            .iter()
            .partition(|template| template.class == "honest");
        assert!(honest.len() <= HONEST && attacks.len() <= ATTACKS);
        for format in Format::ALL {
            let shaped = |template: &Template| template.format == Some(format);
            assert!(templates.iter().any(shaped), "{}", format.name());
        }
    }
}
