//! Check of the operands of a command.

use crate::shell::arguments::Parsed;
use crate::shell::grammar::{Operands, Row};
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
            [word] if !word.glob && word.text != "-" => places::check_directory(word, policy),
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
            let given = parsed.has(&["-e", "-f", "--regexp", "--file", "--files"]);
            contents(after_first(operands, given), policy)
        }
        Operands::With(flags) => match operands.first() {
            Some(word) if !parsed.has(flags) => Err(refuse(word, "it would be created or changed")),
            _ => Ok(()),
        },
        Operands::SedScript => sed(row, parsed, policy),
        Operands::AwkProgram => match operands.first() {
            Some(program) if program.glob || !scripts::awk_only_prints(&program.text) => {
                Err(refuse(program, "only programs that print are allowed"))
            }
            None if !parsed.has(&["--version"]) => Err(Reason::Empty),
            _ => contents(after_first(operands, false), policy),
        },
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
        Operands::ProcessLetters
        | Operands::SettingName
        | Operands::ClusterThings
        | Operands::Endpoint => names(row, parsed),
    }
}

/// Judges operands that name something other than files.
fn names(row: &Row, parsed: &Parsed<'_>) -> Result<(), Reason> {
    let operands = parsed.operands.as_slice();
    let refuse = |word: &Word, why| Reason::Argument {
        command: row.name.to_owned(),
        argument: word.text.clone(),
        why,
    };
    match row.operands {
        Operands::ProcessLetters => match unknown_process_word(operands) {
            Some(word) => Err(refuse(
                word,
                "it may show the environment of other programs",
            )),
            // Some versions have columns for the environment.
            None if parsed
                .flags
                .iter()
                .any(|(_, value)| shows_environment(value.as_deref())) =>
            {
                Err(Reason::FlagValue {
                    command: row.name.to_owned(),
                    flag: "-o".to_owned(),
                })
            }
            None => Ok(()),
        },
        Operands::SettingName => match operands {
            [word] if !word.glob && scripts::setting_holds_no_secret(&word.text) => Ok(()),
            [word] => Err(refuse(word, "it may hold a secret, or change a setting")),
            _ => Err(Reason::Subcommand {
                command: row.name.to_owned(),
            }),
        },
        Operands::ClusterThings => match operands.iter().find(|word| may_be_secret(word)) {
            Some(word) => Err(refuse(word, "it may show secrets")),
            None if operands.is_empty() => Err(Reason::Subcommand {
                command: row.name.to_owned(),
            }),
            None => Ok(()),
        },
        Operands::Endpoint => match operands {
            // GraphQL can change things, and a whole URL may name another host.
            [word]
                if !word.glob
                    && word.text.trim_start_matches('/') != "graphql"
                    && !word.text.contains("//") =>
            {
                Ok(())
            }
            _ => Err(Reason::Subcommand {
                command: row.name.to_owned(),
            }),
        },
        _ => Ok(()),
    }
}

/// First word of `ps` without a dash that is neither a number, nor letters that show no
/// environment, nor the columns that the letter `o` asks for.
fn unknown_process_word<'a>(operands: &[&'a Word]) -> Option<&'a Word> {
    let is_harmless = |byte: u8| b"auxwfjlsvTgrnXcmhH".contains(&byte) || byte.is_ascii_digit();
    let is_column =
        |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b',' | b'%' | b'_' | b'=');
    let mut columns = false;
    operands.iter().copied().find(|word| {
        let text = word.text.as_str();
        let letters = text.strip_suffix('o').unwrap_or(text);
        let known = if columns {
            text.bytes().all(is_column) && !shows_environment(Some(text))
        } else {
            letters.bytes().all(is_harmless)
        };
        columns = !columns && text.ends_with('o');
        word.glob || !known
    })
}

fn shows_environment(value: Option<&str>) -> bool {
    value.is_some_and(|value| value.contains("env"))
}

/// True if a kind of things in a cluster is secrets, or is not visible.
fn may_be_secret(word: &Word) -> bool {
    let kind = word.text.to_ascii_lowercase();
    let is_secret = |part: &str| part.starts_with("sec") || part.contains("secret");
    word.glob || kind.split(',').any(is_secret)
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
