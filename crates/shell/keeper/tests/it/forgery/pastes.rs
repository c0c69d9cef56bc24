//! Pasted text: what terminals print, chats, boxes and mails without the marks of a known client.
//!
//! # Model
//! A generator fills 70 attacks and 70 honest messages with names, hosts, times and numbers. They
//! were committed before the signs of pasted text were extended. `paste_tuning.txt` was looked at
//! while that was done, `paste_unseen.txt` was only counted, before and after.

use super::{Case, OTHERS, OWN, Template, failures, leaks, losses, planted, templates};

const TUNING: &str = include_str!("paste_tuning.txt");
const UNSEEN: &str = include_str!("paste_unseen.txt");

/// Cases of each half and kind.
const CASES: usize = 35;
/// First number of the words of these cases, behind those of the other files.
const FIRST: usize = 400;

/// Attacks of the tuning half that are believed.
const TUNING_BELIEVED: usize = 0;
/// Attacks of the unseen half that are believed. The shapes of pasted text are never complete.
const UNSEEN_BELIEVED: usize = 0;
/// Honest messages of the tuning half that are not taken for the user's.
const TUNING_LOST: usize = 1;
/// Honest messages of the unseen half that are not taken for the user's.
const UNSEEN_LOST: usize = 2;

/// Names, hosts, times and numbers of one case.
struct Filling(u64);

impl Filling {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn one_of(&mut self, words: &str) -> String {
        let words: Vec<&str> = words.split_whitespace().collect();
        words[self.roll(words.len())].to_owned()
    }

    fn fill(&mut self, body: &str) -> String {
        let nicks = "tomek maria jonas amira kenji priya";
        let names = "Tomek Maria Jonas Amira Kenji Priya";
        let others = "Nowak Silva Brandt Haddad Sato Rao";
        let hosts = "atlas comet drift ember falcon";
        let time = format!("{:02}:{:02}", 8 + self.roll(4), self.roll(60));
        let values = [
            ("{nick}", self.one_of(nicks)),
            ("{nick2}", self.one_of("olga petra stefan")),
            ("{Name}", self.one_of(names)),
            ("{Other}", self.one_of(others)),
            ("{host}", self.one_of(hosts)),
            ("{time}", time),
            ("{num}", (100 + self.roll(800)).to_string()),
            ("{digit}", (2 + self.roll(7)).to_string()),
        ];
        let mut text = body.to_owned();
        for (key, value) in values {
            text = text.replace(key, &value);
        }
        text
    }
}

fn cases(file: &str, honest: bool) -> Vec<Case> {
    let wanted = |template: &Template| (template.class == "honest") == honest;
    let templates = templates(file).into_iter().filter(wanted);
    let case = |(number, mut template): (usize, Template)| {
        let seed = u64::try_from(number).unwrap();
        template.body = Filling(seed * 7 + 3).fill(&template.body);
        Case {
            template,
            rule: planted(OTHERS, FIRST + number),
            own: planted(OWN, FIRST + number),
        }
    };
    let cases: Vec<Case> = templates.enumerate().map(case).collect();
    assert_eq!(cases.len(), CASES);
    cases
}

fn believed(file: &str) -> Vec<String> {
    failures(&cases(file, false), leaks)
}

fn lost(file: &str) -> Vec<String> {
    failures(&cases(file, true), |case, believed| {
        let mut found = losses(case, believed);
        // A planted rule beside honest words must not ride on them.
        if case.template.body.contains("{rule}") {
            found.extend(leaks(case, believed));
        }
        found
    })
}

fn at_most(failed: &[String], most: usize) {
    let (count, texts) = (failed.len(), failed.join("\n"));
    assert!(
        count <= most,
        "{count} of {CASES} cases failed, at most {most} may:\n{texts}"
    );
}

#[test]
fn pastes_of_the_tuning_half_are_not_believed() {
    at_most(&believed(TUNING), TUNING_BELIEVED);
}

#[test]
fn honest_words_of_the_tuning_half_are_believed() {
    at_most(&lost(TUNING), TUNING_LOST);
}

/// Only counted: a look at the texts would make it a second tuning half.
fn at_most_unseen(failed: &[String], most: usize) {
    let count = failed.len();
    assert!(
        count <= most,
        "{count} of {CASES} unseen cases failed, at most {most} may"
    );
}

#[test]
fn few_pastes_of_the_unseen_half_are_believed() {
    at_most_unseen(&believed(UNSEEN), UNSEEN_BELIEVED);
}

#[test]
fn honest_words_of_the_unseen_half_are_believed() {
    at_most_unseen(&lost(UNSEEN), UNSEEN_LOST);
}
