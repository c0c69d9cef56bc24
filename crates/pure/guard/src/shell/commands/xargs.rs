//! `xargs`, whose words come from a pipe and are not visible in the line.
//!
//! # Model
//! Two questions. Can a word that begins with a dash do harm? Not for an inert command, and only
//! those may follow. Can a word name a file that must not be read? Not if the pipe begins with
//! something that lists names below readable directories, and only chooses among them.

use super::{check_row, find, git, table};
use crate::shell::arguments::Parsed;
use crate::shell::grammar::{Operands, Row, Trait, row};
use crate::shell::places;
use crate::shell::policy::Policy;
use crate::shell::reason::Reason;
use crate::shell::structure::Simple;
use crate::shell::word::Word;

/// Options of `xargs` itself. `-a` reads words from a file, `-p` and `-o` want a terminal, and
/// `--process-slot-var` sets a variable.
const OWN: Row = row(
    "xargs",
    "-0 -r -t -x -n= -L= -P= -s= -I= -d= -E= --null --no-run-if-empty --verbose --exit --max-args= --max-procs= \
    --max-chars= --delimiter=",
    Operands::Text,
)
.runs("-p -o --interactive --open-tty")
.reads("-a= --arg-file=");

/// Filters that choose among lines and change none.
const CHOOSING: [&str; 6] = ["head", "tail", "sort", "uniq", "tac", "cat"];

/// Judges the words after `xargs`.
pub(super) fn check(words: &[Word], before: &[Simple], policy: &Policy) -> Result<(), Reason> {
    let (own, rest) = OWN.parse_leading(words, policy)?;
    let Some((name, rest)) = rest.split_first() else {
        // Without a command it is `echo`.
        return Ok(());
    };
    // The words of the pipe take the place of this text, in the name of the command too.
    let replaced = own.value(&["-I"]);
    if replaced.is_some_and(|replaced| name.text.contains(replaced)) {
        return Err(Reason::UnseenWords {
            why: "one of them would be the name of a command",
        });
    }
    let inner = table::ROWS.iter().find(|row| row.name == name.text);
    let Some(inner) = inner.filter(|row| row.is(Trait::Inert) && name.plain && !name.glob) else {
        return Err(Reason::UnseenWords {
            why: "only commands without any harmful option may follow, such as `cat`, `grep` or `wc`",
        });
    };
    check_row(inner, rest, policy)?;
    match inner.operands {
        Operands::Text | Operands::Names => Ok(()),
        _ => lists_readable_names(before, policy),
    }
}

/// Checks that a pipe carries nothing but names of files that may be read.
fn lists_readable_names(before: &[Simple], policy: &Policy) -> Result<(), Reason> {
    let unseen = |why| Err(Reason::UnseenWords { why });
    let Some((source, filters)) = before.split_first() else {
        return unseen("nothing lists the files; begin with `find .` or `git ls-files`");
    };
    if filters.iter().any(|filter| !only_chooses(filter, policy)) {
        return unseen("between the list of files and `xargs` only filters of lines may stand");
    }
    let words = source.words.as_slice();
    let parsed = |row: &Row| row.parse(words, policy).ok();
    match source.name.as_str() {
        "find" => find::lists_readable_names(words, policy),
        "git" if git::lists_names(words) => Ok(()),
        name @ ("ls" | "fd" | "grep" | "rg") => {
            let row = table::ROWS.iter().find(|row| row.name == name);
            match row.and_then(parsed) {
                Some(parsed) if prints_names(name, &parsed) => {
                    // A pattern counts as a path too: it seldom begins with a slash.
                    let mut paths = parsed.operands.into_iter();
                    paths.try_for_each(|word| places::check_contents(word, policy))
                }
                _ => unseen("the list has more than names"),
            }
        }
        _ => unseen("begin with `find .`, `git ls-files`, `ls`, `grep -l` or `rg -l`"),
    }
}

/// True if a command prints names of files that its operands contain, and nothing else.
fn prints_names(name: &str, parsed: &Parsed<'_>) -> bool {
    let harmless: &[&str] = match name {
        // Without `-a`, which lists the directory above.
        "ls" => &["-1", "-t", "-r", "-S", "-d", "-A"],
        "fd" => &[
            "-e",
            "-t",
            "-d",
            "-H",
            "-I",
            "-g",
            "-E",
            "-0",
            "--type",
            "--extension",
            "--hidden",
        ],
        _ => &[
            "-l",
            "-L",
            "-i",
            "-w",
            "-v",
            "-E",
            "-F",
            "-P",
            "-r",
            "-R",
            "-s",
            "-I",
            "-e",
            "-g",
            "-t",
            "-T",
            "-Z",
            "-0",
            "-S",
            "-u",
            "-x",
            "--files",
            "--files-with-matches",
            "--files-without-match",
            "--include",
            "--exclude",
            "--exclude-dir",
            "--glob",
            "--type",
            "--type-not",
            "--hidden",
            "--null",
            "--ignore-case",
            "--recursive",
        ],
    };
    // A letter of `rg` that puts another text in place of the match.
    let replaces = name == "rg" && parsed.has(&["-r"]);
    let lists = [
        "-l",
        "-L",
        "--files",
        "--files-with-matches",
        "--files-without-match",
    ];
    let mut flags = parsed.flags.iter();
    flags.all(|(flag, _)| harmless.contains(&flag.as_str()))
        && !replaces
        && (matches!(name, "ls" | "fd") || parsed.has(&lists))
}

/// True if a filter reads only the pipe, and passes on whole lines.
fn only_chooses(filter: &Simple, policy: &Policy) -> bool {
    let Some(row) = table::ROWS.iter().find(|row| row.name == filter.name) else {
        return false;
    };
    let Ok(parsed) = row.parse(&filter.words, policy) else {
        return false;
    };
    let operands = parsed.operands.len();
    let alters = [
        "-o",
        "-c",
        "-n",
        "-b",
        "-H",
        "-r",
        "-R",
        "-Z",
        "-A",
        "-E",
        "-T",
        "-v",
        "-s",
        "-t",
        "--count",
        "--only-matching",
        "--line-number",
        "--byte-offset",
        "--with-filename",
        "--recursive",
        "--bytes",
        "--number",
        "--show-all",
        "--separator",
        "--verbose",
        "--label",
    ];
    if !filter.inputs.is_empty() {
        return false;
    }
    match filter.name.as_str() {
        // Its letters mean other things: `-v` chooses the other lines, `-E` is the kind of pattern.
        "grep" | "egrep" | "fgrep" => {
            let pattern_in_flag = parsed.has(&["-e", "--regexp"]);
            let alters: Vec<&str> = alters
                .into_iter()
                .filter(|flag| !matches!(*flag, "-v" | "-E" | "-s"))
                .chain([
                    "-f",
                    "--file",
                    "--null",
                    "--null-data",
                    "-z",
                    "-l",
                    "-L",
                    "-d",
                    "-D",
                ])
                .collect();
            operands == usize::from(!pattern_in_flag) && !parsed.has(&alters)
        }
        "sort" => operands == 0,
        name if CHOOSING.contains(&name) => {
            let is_count = |flag: &str| flag == "-n" && matches!(name, "head" | "tail");
            operands == 0
                && !parsed
                    .flags
                    .iter()
                    .any(|(flag, _)| alters.contains(&flag.as_str()) && !is_count(flag))
        }
        _ => false,
    }
}
