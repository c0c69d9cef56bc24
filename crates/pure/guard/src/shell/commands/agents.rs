//! Programs of other agents whose memories can be imported: only subcommands that print figures or
//! help.

use super::{check_row, subcommand};
use crate::shell::grammar::{self, Operands, Row};
use crate::shell::policy::Policy;
use crate::shell::reason::Reason;
use crate::shell::word::Word;

const fn row(name: &'static str, flags: &'static str) -> Row {
    grammar::row(name, flags, Operands::None)
}

/// Flags of the token counts. They select and format, none writes.
const TOKENS: &str = "--quiet --format= --memory-dir= --top= --help";

const ROWS: &[Row] = &[
    row("letta memory tokens", TOKENS),
    row("letta memory help", ""),
    row("letta memfs tokens", TOKENS),
    row("letta memfs help", ""),
];

/// Judges the words after `letta`.
pub(super) fn check(words: &[Word], policy: &Policy) -> Result<(), Reason> {
    let (row, rest) = subcommand("letta", ROWS, words)?;
    check_row(row, rest, policy)
}
