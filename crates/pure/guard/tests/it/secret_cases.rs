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

/// Least share of the completions that has to be found, per thousand.
const LEAST_FOUND: usize = 970;

#[test]
fn credentials_are_found_where_people_write_them() {
    for half in [Half::Tuning, Half::Unseen] {
        let (found, made) = found(half);
        assert!(
            found * 1000 >= made * LEAST_FOUND,
            "{half:?}: {found} of {made}"
        );
    }
}

#[test]
fn look_alikes_raise_no_alarm() {
    for half in [Half::Tuning, Half::Unseen] {
        let (alarms, made) = alarms(half);
        // One in a thousand, as for notes.
        assert!(alarms * 1000 <= made, "{half:?}: {alarms} of {made}");
    }
}

/// Ends of the names of files that are text of this repository.
const TEXTS: [&str; 3] = ["rs", "md", "toml"];

/// Folders of the repository that hold its text.
const FOLDERS: [&str; 3] = ["crates", "docs", ".ci"];

#[test]
fn the_repository_contains_nothing_that_looks_like_a_credential() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = root.ancestors().nth(3).unwrap();
    let mut files = Vec::new();
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        for ending in TEXTS {
            if folder.exists() {
                files.extend(dormouse_testkit::material::files_below(&folder, ending));
            }
        }
    }
    assert!(files.len() > 500, "only {} files", files.len());
    let mut found = Vec::new();
    for file in &files {
        for finding in scan(&crate::read(file)) {
            found.push(format!(
                "{}:{}: {}",
                file.display(),
                finding.line,
                finding.rule
            ));
        }
    }
    println!("{} files", files.len());
    assert!(found.is_empty(), "{}", found.join("\n"));
}
