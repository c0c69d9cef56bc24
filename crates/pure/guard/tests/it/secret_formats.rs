//! Keys made at run time from public formats: ours and, where the material is present, those of a
//! widely used scanner. No file contains a key.

use crate::random::Random;
use crate::read;
use crate::slots::complete;
use dormouse_guard::secrets::{languages, redact, rules, scan};
use dormouse_testkit::material;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};
use serde::Deserialize;

/// Number of keys made from each format.
const KEYS: u64 = 20;
/// Least percentage of keys that have to be found; the measured figure is about 98.
const LEAST_FOUND: usize = 95;

fn parse(pattern: &str) -> Hir {
    let mut builder = ParserBuilder::new();
    // Names of services are matched with words of any script; keys have none.
    builder
        .unicode(true)
        .utf8(true)
        .build()
        .parse(pattern)
        .unwrap()
}

#[derive(Deserialize)]
struct File {
    rules: Vec<Format>,
}

#[derive(Deserialize)]
struct Format {
    id: String,
    regex: Option<String>,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    entropy: f64,
}

fn entropy(text: &str) -> f64 {
    let total = text.chars().count();
    let mut counts = std::collections::BTreeMap::new();
    for character in text.chars() {
        *counts.entry(character).or_insert(0_u32) += 1;
    }
    let total = f64::from(u32::try_from(total).unwrap());
    counts
        .values()
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}

/// Longest capturing group, or the whole pattern.
fn captured(pattern: &Hir) -> &Hir {
    let mut groups = Vec::new();
    collect(pattern, &mut groups);
    let longest = groups
        .into_iter()
        .max_by_key(|group| group.properties().minimum_len());
    longest.unwrap_or(pattern)
}

fn collect<'a>(pattern: &'a Hir, groups: &mut Vec<&'a Hir>) {
    match pattern.kind() {
        HirKind::Capture(group) => {
            groups.push(&group.sub);
            collect(&group.sub, groups);
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            for part in parts {
                collect(part, groups);
            }
        }
        HirKind::Repetition(repetition) => collect(&repetition.sub, groups),
        _ => {}
    }
}

/// True if the key is recognisable without a name beside it.
fn stands_alone(format: &Format) -> bool {
    let pattern = format.regex.as_deref().unwrap_or_default();
    !pattern.contains(r"(?:[ \t\w.-]{0,20})")
}

/// Lines as users write them.
fn lines(format: &Format, key: &str) -> Vec<String> {
    let word = format.keywords.first().map_or("service", String::as_str);
    let name: String = word
        .chars()
        .filter(|character| character.is_alphanumeric() || *character == '_')
        .collect();
    if stands_alone(format) {
        return vec![
            format!("we used {key} until May"),
            format!("KEY = \"{key}\""),
        ];
    }
    vec![
        format!("{}_API_KEY = \"{key}\"", name.to_uppercase()),
        format!("{name}_token: {key}"),
        format!("  \"{name}Secret\": \"{key}\","),
        format!("const {name} = '{key}';"),
    ]
}

#[test]
fn keys_of_other_scanners_formats_are_found() {
    let Some(path) = material::material("security/gitleaks-mit/rules.toml") else {
        return;
    };
    let file: File = toml::from_str(&read(&path)).unwrap();
    let mut sums = [("shows itself", 0, 0), ("named beside", 0, 0)];
    let mut formats = 0;
    for format in &file.rules {
        let Some(pattern) = &format.regex else {
            continue;
        };
        formats += 1;
        let whole = parse(pattern);
        let part = if stands_alone(format) {
            &whole
        } else {
            captured(&whole)
        };
        let (mut found, mut made, mut missed) = (0, 0, String::new());
        for seed in 0..KEYS {
            let mut random = Random::new(seed + 1);
            // A key that is less random than its own format demands does not count.
            let keys = std::iter::repeat_with(|| random.text(part)).take(50);
            let Some(key) = keys.into_iter().find(|key| entropy(key) >= format.entropy) else {
                continue;
            };
            for line in lines(format, key.trim_matches(['"', ' ', '\'', ';', '`'])) {
                made += 1;
                if scan(&line).is_empty() {
                    missed = line;
                } else {
                    found += 1;
                }
            }
        }
        let sum = &mut sums[usize::from(!stands_alone(format))];
        sum.1 += found;
        sum.2 += made;
        if found < made {
            println!("{}: {found} of {made}, for one {missed}", format.id);
        }
    }
    let (found, made) = (sums[0].1 + sums[1].1, sums[0].2 + sums[1].2);
    println!("{formats} formats: {found} of {made} keys found; {sums:?}");
    assert!(found * 100 >= made * LEAST_FOUND);
}

/// Share of completed samples that a name is found in, with one that was missed.
fn found_of(name: &str, samples: &[String]) -> (usize, usize) {
    let (mut found, mut made, mut missed) = (0, 0, None);
    for sample in samples {
        for seed in 0..KEYS {
            let completed = complete(sample, seed);
            let clean = redact(&completed.text);
            made += 1;
            if completed
                .secrets
                .iter()
                .all(|secret| !clean.contains(secret))
            {
                found += 1;
            } else {
                missed = Some(completed.text);
            }
        }
    }
    if let Some(missed) = missed {
        println!("{name}: {found} of {made}, for one {missed}");
    }
    (found, made)
}

#[test]
fn every_rule_and_every_language_finds_its_samples() {
    let rules = rules().iter().map(|rule| (rule.name(), rule.samples()));
    let (mut found, mut made) = (0, 0);
    for (name, samples) in rules.chain(languages()) {
        let (of_name, of_made) = found_of(name, samples);
        // A few random keys contain a placeholder by chance, or are less random than a key is.
        assert!(
            of_name * 100 >= of_made * 80,
            "{name}: {of_name} of {of_made}"
        );
        found += of_name;
        made += of_made;
    }
    println!("{found} of {made} samples found");
    assert!(found * 1000 >= made * 985, "{found} of {made}");
}

#[test]
fn nothing_is_found_in_notes() {
    let notes = material::texts_below(material::notes().path());
    let mut alarms = 0;
    for (name, text) in &notes {
        for finding in scan(text) {
            alarms += 1;
            println!("{name}:{}: {}", finding.line, finding.rule);
        }
        assert_eq!(scan(&redact(text)), [], "{name}");
    }
    println!("{alarms} alarms in {} notes", notes.len());
    assert!(alarms * 1000 <= notes.len());
}
