//! Credentials in the surroundings people write them in, and texts that only resemble them.

use crate::slots::complete;
use dormouse_guard::secrets::{redact, scan};
use serde::Deserialize;

const SECRETS: &str = include_str!("../data/secrets.toml");
const LOOKALIKES: &str = include_str!("../data/lookalikes.toml");
/// Completions of each template: one of every shape of password, twice.
const COMPLETIONS: u64 = 12;

#[derive(Deserialize)]
struct Secrets {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    kind: String,
    half: Half,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Half {
    Tuning,
    Unseen,
}

#[derive(Deserialize)]
struct Lookalikes {
    tuning: Vec<String>,
    unseen: Vec<String>,
}

/// Completions found, and made. A credential counts if redaction leaves no part of it.
fn found(half: Half) -> (usize, usize) {
    let cases = toml::from_str::<Secrets>(SECRETS).unwrap().case;
    let (mut found, mut made) = (0, 0);
    for case in cases.iter().filter(|case| case.half == half) {
        let mut missed = Vec::new();
        for seed in 0..COMPLETIONS {
            let completed = complete(&case.text, seed);
            let clean = redact(&completed.text);
            if completed
                .secrets
                .iter()
                .any(|secret| clean.contains(secret))
            {
                missed.push(completed.text);
            }
        }
        made += usize::try_from(COMPLETIONS).unwrap();
        found += usize::try_from(COMPLETIONS).unwrap() - missed.len();
        if let (Half::Tuning, Some(text)) = (half, missed.first()) {
            println!("{}: {} missed, for one {text}", case.kind, missed.len());
        } else if !missed.is_empty() {
            // Only the number: the text of an unseen case is not looked at.
            println!("{}: {} missed", case.kind, missed.len());
        }
    }
    println!("{half:?}: {found} of {made} found");
    (found, made)
}

/// Alarms, and look-alikes completed.
fn alarms(half: Half) -> (usize, usize) {
    let all = toml::from_str::<Lookalikes>(LOOKALIKES).unwrap();
    let lines = match half {
        Half::Tuning => all.tuning,
        Half::Unseen => all.unseen,
    };
    let (mut alarms, mut made) = (0, 0);
    for line in &lines {
        for seed in 0..COMPLETIONS {
            let text = complete(line, seed).text;
            made += 1;
            for finding in scan(&text) {
                alarms += 1;
                if half == Half::Tuning {
                    println!("{}: {text}", finding.rule);
                } else {
                    println!("{}: line of the unseen half", finding.rule);
                }
            }
        }
    }
    println!("{half:?}: {alarms} alarms in {made} look-alikes");
    (alarms, made)
}

#[test]
fn there_are_cases_of_many_kinds() {
    let cases = toml::from_str::<Secrets>(SECRETS).unwrap().case;
    let kinds: std::collections::BTreeSet<&str> =
        cases.iter().map(|case| case.kind.as_str()).collect();
    assert_eq!(kinds.len(), cases.len());
    assert!(kinds.len() >= 80);
    let lookalikes = toml::from_str::<Lookalikes>(LOOKALIKES).unwrap();
    assert!(lookalikes.tuning.len() >= 100 && lookalikes.unseen.len() >= 100);
}

#[test]
fn credentials_are_found_where_people_write_them() {
    // The score on the day the cases were written.
    let (tuning, unseen) = (found(Half::Tuning), found(Half::Unseen));
    assert_eq!((tuning, unseen), ((317, 660), (354, 816)));
}

#[test]
fn look_alikes_raise_few_alarms() {
    // The score on the day the cases were written.
    let (tuning, unseen) = (alarms(Half::Tuning), alarms(Half::Unseen));
    assert_eq!((tuning, unseen), ((12, 1236), (0, 1260)));
}
