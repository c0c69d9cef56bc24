//! `gh`: rows for the subcommands that only read. All of them use the network.

use super::subcommand;
use crate::shell::grammar::{Operands, Row, row};
use crate::shell::policy::Policy;
use crate::shell::reason::Reason;
use crate::shell::word::Word;

macro_rules! show_flags {
    () => {
        " -R= --repo= --json= -q~ --jq~ -t= --template= --help"
    };
}

macro_rules! list_flags {
    () => {
        concat!(
            show_flags!(),
            " -s= --state= -L= --limit= -a= --assignee= -A= --author= -B= --base= -H= --head= -l= --label= -S= --search= \
             -m= --milestone= --draft -b= --branch= --workflow= --status= --sort= --order= --owner= --language="
        )
    };
}

const ROWS: &[Row] = &[
    row("gh pr list", list_flags!(), Operands::None),
    row(
        "gh pr status",
        concat!(show_flags!(), " -c --conflict-status"),
        Operands::None,
    ),
    row(
        "gh pr view",
        concat!(show_flags!(), " -c --comments"),
        Operands::Text,
    ),
    row(
        "gh pr diff",
        concat!(show_flags!(), " --color= --name-only --patch"),
        Operands::Text,
    ),
    row(
        "gh pr checks",
        concat!(show_flags!(), " --required --fail-fast"),
        Operands::Text,
    ),
    row("gh issue list", list_flags!(), Operands::None),
    row("gh issue status", show_flags!(), Operands::None),
    row(
        "gh issue view",
        concat!(show_flags!(), " -c --comments"),
        Operands::Text,
    ),
    row(
        "gh repo view",
        concat!(show_flags!(), " -b= --branch="),
        Operands::Text,
    ),
    row(
        "gh run list",
        concat!(list_flags!(), " -w="),
        Operands::None,
    ),
    row(
        "gh run view",
        concat!(
            show_flags!(),
            " -j= --job= --log --log-failed -v --verbose -a= --attempt="
        ),
        Operands::Text,
    ),
    row("gh release list", list_flags!(), Operands::None),
    row("gh release view", show_flags!(), Operands::Text),
    row("gh search repos", list_flags!(), Operands::Text),
    row("gh search issues", list_flags!(), Operands::Text),
    row("gh search prs", list_flags!(), Operands::Text),
    row("gh search code", list_flags!(), Operands::Text),
    row("gh search commits", list_flags!(), Operands::Text),
    row(
        "gh api",
        " -q~ --jq~ -t= --template= --paginate --slurp -i --include",
        Operands::Endpoint,
    ),
    row("gh status", " -o= --org= -e= --exclude=", Operands::None),
];

/// Judges the words after `gh`.
pub(super) fn check(words: &[Word], policy: &Policy) -> Result<(), Reason> {
    let (row, rest) = subcommand("gh", ROWS, words)?;
    // After the row was found: the reason for an unknown subcommand is more useful than "network".
    if !policy.network {
        return Err(Reason::Network {
            command: row.name.to_owned(),
        });
    }
    let mut is_repository = row.name == "gh repo view";
    for word in rest {
        if names_other_host(word, is_repository) {
            return Err(Reason::Argument {
                command: row.name.to_owned(),
                argument: word.text.clone(),
                why: "it may name another host, which would get the token",
            });
        }
        is_repository = row.name == "gh repo view" || matches!(word.text.as_str(), "-R" | "--repo");
    }
    // The letter means another thing only where the row has it.
    super::check_row(&row.runs("-w --web"), rest, policy)
}

/// Host that may be asked.
const HOST: &str = "https://github.com/";

/// True if a word may name another host: by a whole address, or as the first of three parts of a
/// repository's name.
fn names_other_host(word: &Word, is_repository: bool) -> bool {
    let text = word.text.as_str();
    let attached = text
        .strip_prefix("--repo=")
        .or_else(|| text.strip_prefix("-R"));
    let value = attached.unwrap_or(text).trim_start_matches('=');
    let parts = value.trim_start_matches(HOST).split('/').count();
    let is_other = value.contains("://") && !value.starts_with(HOST);
    is_other || (is_repository || attached.is_some()) && parts > 2
}
