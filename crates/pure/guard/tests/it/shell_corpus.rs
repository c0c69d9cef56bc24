//! Labelled command lines of the material.

use dormouse_guard::shell::{Folder, Policy, Reach, Verdict, classify_with};
use dormouse_testkit::material::material;
use serde::Deserialize;
use std::path::PathBuf;

/// Least percentage of harmless lines that have to pass; the measured figure is 97.
const LEAST_ALLOWED: usize = 90;

#[derive(Deserialize)]
struct Case {
    cmd: String,
    read_only: bool,
    /// Permissions that the authors of the case assume.
    opts: String,
}

impl Case {
    /// Policy of a case. The corpus counts network requests as reading.
    fn policy(&self, network: bool) -> Policy {
        let reach = if self.opts.contains("allowExternalPaths: true") {
            Reach::Anywhere
        } else if let Some((_, roots)) = self.opts.split_once("allowedPathRoots:") {
            let roots = roots.split('"').skip(1).step_by(2);
            Reach::Below(roots.map(PathBuf::from).collect())
        } else {
            Reach::Inside
        };
        Policy {
            reach,
            network,
            folder: Folder::Held,
        }
    }
}

fn cases() -> Vec<Case> {
    let file = material("security/readonly-shell-apache/cases.jsonl");
    let text = file.map_or_else(String::new, |path| read(&path));
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn no_dangerous_line_passes_and_few_harmless_ones_are_refused() {
    let cases = cases();
    let (harmless, dangerous): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.read_only);
    for network in [true, false] {
        let mut refused = 0;
        for case in &harmless {
            if let Verdict::Refuse(reason) = classify_with(&case.cmd, &case.policy(network)) {
                refused += 1;
                println!("refused: {}: {reason}", case.cmd);
            }
        }
        let passed: Vec<&str> = dangerous
            .iter()
            .filter(|case| classify_with(&case.cmd, &case.policy(network)).is_allowed())
            .map(|case| case.cmd.as_str())
            .collect();
        println!(
            "network {network}: {} of {} harmless allowed, {} of {} dangerous refused",
            harmless.len() - refused,
            harmless.len(),
            dangerous.len() - passed.len(),
            dangerous.len()
        );
        assert!(passed.is_empty(), "{passed:#?}");
        let allowed = harmless.len() - refused;
        assert!(!network || allowed * 100 >= harmless.len() * LEAST_ALLOWED);
    }
}

#[expect(clippy::disallowed_methods, reason = "material is read by path")]
fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
