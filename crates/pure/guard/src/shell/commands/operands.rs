//! Check of the operands of a command.

use crate::shell::arguments::{Operands, Parsed, Row};
use crate::shell::places;
use crate::shell::policy::Policy;
use crate::shell::reason::Reason;
use crate::shell::scripts;
use crate::shell::word::Word;

/// Judges the operands. `words` are all words, flags included.
pub(super) fn check(
    row: &Row,
    words: &[Word],
    parsed: &Parsed<'_>,
    policy: &Policy,
) -> Result<(), Reason> {
    let operands = parsed.operands.as_slice();
    let refuse = |word: &Word, why| Reason::Argument {
        command: row.name.to_owned(),
        argument: word.text.clone(),
        why,
    };
    match row.operands {
        // Names may be listed anywhere; only contents are restricted.
        Operands::Text | Operands::Names => Ok(()),
        Operands::None => match operands.first() {
            Some(word) => Err(refuse(word, "it takes none that only reads")),
            None => Ok(()),
        },
        Operands::Contents => contents(operands, policy),
        Operands::OneContent => {
            // Some versions treat flags after the operand as further operands, and the second
            // operand is written to.
            let first = words
                .iter()
                .position(|word| Some(&word) == operands.first());
            let after = first.and_then(|at| words.get(at + 1));
            if let Some(extra) = after.or_else(|| operands.iter().copied().find(|word| word.glob)) {
                return Err(refuse(extra, "a second file would be written to"));
            }
            contents(operands, policy)
        }
        Operands::Directory => match operands {
            // `cd -` goes to a directory that the line does not show.
            [word] if !word.glob && word.text != "-" => places::check_contents(word, policy),
            _ => Err(Reason::Argument {
                command: row.name.to_owned(),
                argument: operands
                    .iter()
                    .map(|word| word.text.as_str())
                    .collect::<Vec<_>>()
                    .join(" "),
                why: "name one directory",
            }),
        },
        Operands::PatternAndContents => {
            // With the pattern in a flag, the first operand is a file already.
            let given = parsed.has(&["-e", "-f", "--regexp", "--file"]);
            contents(after_first(operands, given), policy)
        }
        Operands::With(flags) => match operands.first() {
            Some(word) if !parsed.has(flags) => Err(refuse(word, "it would be created or changed")),
            _ => Ok(()),
        },
        Operands::SedScript => sed(row, parsed, policy),
        Operands::JqFilter => {
            if let Some(filter) = operands.first()
                && (filter.glob || !scripts::jq_only_reads(&filter.text))
            {
                return Err(refuse(
                    filter,
                    "the filter reads the environment or other files",
                ));
            }
            contents(after_first(operands, false), policy)
        }
        Operands::PrintFormat => match operands.first() {
            Some(format) if format.glob || !scripts::printf_only_prints(&format.text) => {
                Err(refuse(format, "only `%s`, `%d` and the like are allowed"))
            }
            _ => Ok(()),
        },
        Operands::DateFormat => match operands
            .iter()
            .find(|word| word.glob || !word.text.starts_with('+'))
        {
            Some(word) => Err(refuse(word, "it would set the clock")),
            None => Ok(()),
        },
        Operands::Endpoint => match operands {
            // GraphQL can change things, and a whole URL may name another host.
            [word] if !word.glob && word.text != "graphql" && !word.text.contains("://") => Ok(()),
            _ => Err(Reason::Subcommand {
                command: row.name.to_owned(),
            }),
        },
    }
}

fn contents(operands: &[&Word], policy: &Policy) -> Result<(), Reason> {
    operands
        .iter()
        .try_for_each(|word| places::check_contents(word, policy))
}

fn after_first<'a, 'b>(operands: &'b [&'a Word], all: bool) -> &'b [&'a Word] {
    if all {
        return operands;
    }
    operands.get(1..).unwrap_or_default()
}

fn sed(row: &Row, parsed: &Parsed<'_>, policy: &Policy) -> Result<(), Reason> {
    let is_expression = |name: &str| matches!(name, "-e" | "--expression");
    let given = parsed.flags.iter().filter(|(name, _)| is_expression(name));
    let mut scripts: Vec<&str> = given.filter_map(|(_, value)| value.as_deref()).collect();
    let by_flag = !scripts.is_empty();
    if let Some(first) = parsed.operands.first()
        && !by_flag
    {
        if first.glob {
            return Err(Reason::Glob {
                word: first.text.clone(),
            });
        }
        scripts.push(&first.text);
    }
    if let Some(script) = scripts
        .iter()
        .find(|script| !scripts::sed_only_prints(script))
    {
        return Err(Reason::Argument {
            command: row.name.to_owned(),
            argument: (*script).to_owned(),
            why: "only addresses with `p`, `d`, `q`, `=` and plain `s/…/…/` are allowed",
        });
    }
    contents(after_first(&parsed.operands, by_flag), policy)
}
