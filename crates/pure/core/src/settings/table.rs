//! The table of all settings: every constant and switch has exactly one row, here.
//!
//! A row's doc comment is its documentation, in the program's reference and in rustdoc alike.
//!
//! # Not here
//! Types of rows and builders: `setting`. Names of earlier versions: `removed`.

mod agent;
mod context;
mod layers;
mod memory;
mod removed;

use super::setting::Setting;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One typed constant for each setting, by which code reads it.
pub mod keys {
    pub use super::agent::*;
    pub use super::context::*;
    pub use super::layers::*;
    pub use super::memory::*;
}

/// Writes rows down once, giving a constant for reading the value and a row of the table.
macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $ty:ty = $key:literal, $def:expr;)*) => {
        $(
            $(#[doc = $doc])+
            #[doc = ""]
            #[doc = concat!("Key: `", $key, "`.")]
            pub const $name: Key<$ty> = Key::new($key);
        )*
        pub(super) static ROWS: &[Setting] = &[
            $({
                const DEF: Def<$ty> = $def;
                DEF.named($key, concat!($($doc),+))
            }),*
        ];
    };
}
use settings;

pub(super) use removed::is_removed;

/// Settings that something reads, in the order of the documentation.
pub fn all_settings() -> impl Iterator<Item = &'static Setting> {
    rows().filter(|setting| !setting.hidden)
}

/// Every row, the reserved ones included: these can be parsed, but are not offered.
pub(super) fn rows() -> impl Iterator<Item = &'static Setting> {
    // The order of the documentation, not of the alphabet: related settings stand together.
    [agent::ROWS, context::ROWS, layers::ROWS, memory::ROWS]
        .into_iter()
        .flatten()
}

static BY_KEY: LazyLock<BTreeMap<&str, &Setting>> =
    LazyLock::new(|| rows().map(|setting| (setting.key, setting)).collect());

/// The row of a key as a user may write it: its own row, or the pattern it falls under.
pub fn find_setting(key: &str) -> Option<&'static Setting> {
    let literal = BY_KEY
        .get(key)
        .copied()
        .filter(|setting| setting.pattern_prefix().is_none());
    // A row of its own wins over a pattern: `offload.limit.Bash` has its own default.
    literal.or_else(|| {
        rows().find(|setting| {
            let rest = setting
                .pattern_prefix()
                .and_then(|prefix| key.strip_prefix(prefix));
            rest.is_some_and(|rest| !rest.is_empty())
        })
    })
}

/// True if some key lies below this name, or did in an earlier version.
pub(super) fn is_group(name: &str) -> bool {
    let known = rows().map(|setting| setting.key);
    known.chain(removed::REMOVED.iter().copied()).any(|key| {
        key.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

/// The key that a misspelt one most likely meant, if any comes close.
pub fn nearest_key(key: &str) -> Option<&'static str> {
    let (distance, nearest) = all_settings()
        .map(|setting| (edit_distance(key, setting.key), setting.key))
        .min_by_key(|(distance, _)| *distance)?;
    // A third of the letters may differ, and at least two: more would suggest unrelated keys.
    (distance <= 2.max(key.chars().count() / 3)).then_some(nearest)
}

/// Levenshtein distance, in characters.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}
