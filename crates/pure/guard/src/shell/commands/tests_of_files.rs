//! `test` and `[`, whose arguments are an expression.

use crate::shell::reason::Reason;
use crate::shell::word::Word;

/// Operators. Without `-v` and `-R`, which expand the name they get, subscripts included.
const OPERATORS: [&str; 40] = [
    "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-p", "-S", "-b", "-c", "-g", "-u", "-k",
    "-O", "-G", "-N", "-n", "-z", "-t", "-a", "-o", "-eq", "-ne", "-lt", "-le", "-gt", "-ge",
    "-nt", "-ot", "-ef", "=", "==", "!=", "!", "(", ")", "]",
];

/// Judges the words after `test` or `[`.
pub(super) fn check(name: &str, words: &[Word]) -> Result<(), Reason> {
    if name == "[" && words.last().is_none_or(|word| word.text != "]") {
        return Err(Reason::Unparsable {
            detail: "`[` has no `]`".to_owned(),
        });
    }
    words.iter().try_for_each(|word| {
        // A pattern may match a file that is named like an operator.
        if word.glob && word.text.starts_with(['*', '?', '[', '-']) {
            return Err(Reason::Glob {
                word: word.text.clone(),
            });
        }
        let text = word.text.as_str();
        let is_number = text
            .trim_start_matches('-')
            .bytes()
            .all(|byte| byte.is_ascii_digit());
        if text.starts_with('-') && !is_number && !OPERATORS.contains(&text) {
            return Err(Reason::UnknownFlag {
                command: name.to_owned(),
                flag: text.to_owned(),
            });
        }
        Ok(())
    })
}
