//! Rules, most specific first.
//!
//! # Model
//! The files of `data/secrets` have one row a format, with the documentation it was taken from and
//! samples without a key. Vendors publish the formats so that leaked keys can be recognised.
//!
//! # Not here
//! Words for passwords in sentences: [`vocabulary`](super::vocabulary).

use super::rule::Rule;
use serde::Deserialize;
use std::sync::LazyLock;

/// Files in the order of precedence: where two rules match the same text, the earlier one names the
/// finding.
const FILES: [&str; 5] = [
    include_str!("../../data/secrets/structures.toml"),
    include_str!("../../data/secrets/clouds.toml"),
    include_str!("../../data/secrets/developers.toml"),
    include_str!("../../data/secrets/services.toml"),
    include_str!("../../data/secrets/assignments.toml"),
];

#[derive(Deserialize)]
struct File {
    rule: Vec<Rule>,
}

/// All rules, read on first use.
pub(super) fn all() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        FILES
            .iter()
            // A test reads every file, so that none is missing here.
            .filter_map(|file| toml::from_str::<File>(file).ok())
            .flat_map(|file| file.rule)
            .collect()
    });
    &RULES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_every_row_says_where_it_is_from() {
        for file in FILES {
            let file: File = toml::from_str(file).unwrap();
            for rule in &file.rule {
                assert!(rule.source().len() >= 8, "{}", rule.name());
                assert!(!rule.samples().is_empty(), "{}", rule.name());
                assert!(!rule.keywords.is_empty(), "{}", rule.name());
            }
        }
    }
}
