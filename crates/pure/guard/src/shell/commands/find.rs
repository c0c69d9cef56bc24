//! `find`, whose arguments are an expression instead of flags.

use crate::shell::places;
use crate::shell::policy::Policy;
use crate::shell::reason::Reason;
use crate::shell::word::Word;

/// Options, tests and actions without a value that write nothing and run nothing.
const ALONE: &[&str] = &[
    "-H",
    "-L",
    "-P",
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "!",
    "(",
    ")",
    ",",
    "-true",
    "-false",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-follow",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-nouser",
    "-nowarn",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-warn",
    "-writable",
    "-xdev",
];
/// Options, tests and actions with one value that write nothing and run nothing.
const WITH_VALUE: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-newermt",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

/// Judges the words after `find`.
pub(super) fn check(words: &[Word]) -> Result<(), Reason> {
    let mut words = words.iter();
    let mut in_expression = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        // A match of the pattern may be a file named `-delete`.
        if word.glob && text.starts_with(['*', '?', '[', '-', '!']) {
            return Err(Reason::Glob {
                word: text.to_owned(),
            });
        }
        if WITH_VALUE.contains(&text) {
            in_expression = true;
            check_value(text, words.next())?;
        } else if ALONE.contains(&text) {
            // These options precede the paths; everything else begins the expression.
            in_expression |= !matches!(text, "-H" | "-L" | "-P");
        // After the expression has begun, versions differ in what a plain word means.
        } else if text.starts_with(['-', '!', '(', ')', ',']) || in_expression {
            return Err(Reason::UnknownFlag {
                command: "find".to_owned(),
                flag: text.to_owned(),
            });
        }
    }
    Ok(())
}

/// Checks that the output is nothing but names below directories whose contents may be read.
pub(super) fn lists_readable_names(words: &[Word], policy: &Policy) -> Result<(), Reason> {
    let starts = words
        .iter()
        .skip_while(|word| matches!(word.text.as_str(), "-H" | "-L" | "-P"))
        .take_while(|word| !word.text.starts_with(['-', '(', '!']));
    let mut starts = starts.peekable();
    let formats = |word: &Word| matches!(word.text.as_str(), "-printf" | "-ls");
    // Without a start, names have no `./` before them in some versions.
    if starts.peek().is_none() || words.iter().any(formats) {
        return Err(Reason::UnseenWords {
            why: "`find` may print more than names; name where it starts, and leave out formats",
        });
    }
    starts.try_for_each(|word| places::check_contents(word, policy))
}

/// Checks a value: one that looks like a flag could be one to another version of `find`.
fn check_value(flag: &str, value: Option<&Word>) -> Result<(), Reason> {
    let acceptable = |word: &Word| {
        let after_dash = word.text.strip_prefix('-');
        let is_flag =
            after_dash.is_some_and(|rest| !rest.starts_with(|first: char| first.is_ascii_digit()));
        // No option has a dot, so that no match of `*.rs` is one.
        let harmless_glob = word
            .text
            .rsplit(['*', '?', ']'])
            .next()
            .is_some_and(|end| end.contains('.'));
        (!word.glob || harmless_glob) && !word.home && !is_flag
    };
    match value {
        Some(word) if acceptable(word) => Ok(()),
        Some(word) if word.glob => Err(Reason::Glob {
            word: word.text.clone(),
        }),
        _ => Err(Reason::FlagValue {
            command: "find".to_owned(),
            flag: flag.to_owned(),
        }),
    }
}
