//! Rules, most specific first.
//!
//! The formats are published by the vendors so that leaked keys can be recognised. No row contains
//! a key.

mod assignments;
mod clouds;
mod developers;
mod services;
mod structures;

use super::rule::Rule;

/// All rules. Where two match the same text, the earlier one names the finding.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    let tables: [&'static [Rule]; 5] = [
        structures::RULES,
        clouds::RULES,
        developers::RULES,
        services::RULES,
        assignments::RULES,
    ];
    tables.into_iter().flatten()
}
