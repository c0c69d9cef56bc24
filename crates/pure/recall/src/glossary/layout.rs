//! Layout of a table of words, for the build script that writes it and the search that reads it.
//!
//! # Model
//! Numbers have four bytes, least significant first:
//!
//! | section | per | holds |
//! |---|---|---|
//! | head | table | numbers of keys, groups, stands and members |
//! | key ends | key, sorted | end of its text |
//! | stand ends | key | end of its stands |
//! | group ends | group | end of its members |
//! | stands | key and group | group and [`Relation`] |
//! | members | group and key | number of the key |
//! | texts | key | its terms, joined by blanks |

/// Terms of the longest phrase.
pub(crate) const LONGEST: usize = 3;
/// Numbers at the beginning of a table.
pub(crate) const HEAD: usize = 4;
/// Bits of a stand that hold its relation.
pub(crate) const RELATION_BITS: u32 = 2;

/// Relation of a key to a group that may stand for it; its number is part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The key is one of the group.
    Synonym = 0,
    /// The group has things of the kind that the key names.
    OfKind = 1,
    /// The group names the kind of the thing that the key is.
    KindOf = 2,
}

/// True for a letter of a script without blanks between words.
pub(crate) fn is_wide(letter: char) -> bool {
    matches!(u32::from(letter), 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF)
}
