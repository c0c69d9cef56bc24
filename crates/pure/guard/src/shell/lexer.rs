//! Lexer: splits a line into words and operators, by quotes alone.
//!
//! # Model
//! The parser that follows knows the whole language and recurses as deep as its input. This lexer
//! knows only quotes, so it can neither be misled nor made to recurse: it refuses what opens a
//! deeper level (substitutions, brackets, reserved words) before the parser sees it. Its words are
//! compared with the parser's afterwards; a line that the two read differently is refused.

use super::MOST_BRACKETS;
use super::reason::Reason;
use super::word::Word;

/// Reserved words that begin a compound command, with the name of the construct.
const RESERVED: [(&str, &str); 19] = [
    ("if", "a condition"),
    ("then", "a condition"),
    ("elif", "a condition"),
    ("else", "a condition"),
    ("fi", "a condition"),
    ("case", "a condition"),
    ("esac", "a condition"),
    ("for", "a loop"),
    ("select", "a loop"),
    ("while", "a loop"),
    ("until", "a loop"),
    ("do", "a loop"),
    ("done", "a loop"),
    ("in", "a loop"),
    ("function", "a function"),
    ("coproc", "a coprocess"),
    ("{", "a group in `{ }`"),
    ("}", "a group in `{ }`"),
    ("[[", "a test in `[[ ]]`"),
];

/// Piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// Word as written, quotes included.
    Word(&'a str),
    /// Characters that end a word, one or several in a row.
    Operator(&'a str),
}

/// The line without its comment, and its words as written, without file descriptors before `<` and
/// `>`, and without `time`, which no command gets.
pub(super) fn words(line: &str) -> Result<(&str, Vec<&str>), Reason> {
    let (line, tokens) = tokens(line)?;
    let mut words = Vec::new();
    let mut at_command = true;
    let mut after_time = false;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Operator(operator) => {
                check_operator(operator)?;
                // The parser expands `|&` to `2>&1 |`; its word is added here for the comparison.
                if *operator == "|&" {
                    words.push("1");
                }
                after_time = false;
                at_command = !operator.contains(['<', '>']) && operator.contains(['|', '&', ';']);
            }
            Token::Word(word) => {
                if is_descriptor(line, word, tokens.get(at + 1)) {
                    continue;
                }
                // With its flag for the plain format.
                if at_command && (*word == "time" || *word == "-p" && after_time) {
                    after_time = true;
                    continue;
                }
                if at_command {
                    check_reserved(word)?;
                }
                if word.matches('[').count() > MOST_BRACKETS {
                    return Err(Reason::TooManyBrackets);
                }
                Word::read(word)?;
                words.push(*word);
                at_command = false;
            }
        }
    }
    Ok((line, words))
}

fn check_operator(operator: &str) -> Result<(), Reason> {
    let what = match operator {
        _ if operator.contains("<(") || operator.contains(">(") => "a process substitution",
        _ if operator.contains("((") => "arithmetic",
        _ if operator.contains(['(', ')']) => "a subshell in `( )` or a function",
        _ => return Ok(()),
    };
    Err(Reason::Compound { what })
}

fn check_reserved(word: &str) -> Result<(), Reason> {
    match RESERVED.iter().find(|(reserved, _)| *reserved == word) {
        Some((_, what)) => Err(Reason::Compound { what }),
        None if word == "!" => Err(Reason::Negation),
        None => Ok(()),
    }
}

/// True if a word is a file descriptor: `2` in `2>`, with nothing in between.
fn is_descriptor(line: &str, word: &str, next: Option<&Token<'_>>) -> bool {
    let Some(Token::Operator(operator)) = next else {
        return false;
    };
    // Both are slices of the line, so that the difference of addresses is the offset.
    let place = |piece: &str| piece.as_ptr().addr() - line.as_ptr().addr();
    word.bytes().all(|byte| byte.is_ascii_digit())
        && operator.starts_with(['<', '>'])
        && place(word) + word.len() == place(operator)
}

/// The line up to its comment, and its tokens.
fn tokens(line: &str) -> Result<(&str, Vec<Token<'_>>), Reason> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start_matches([' ', '\t']);
    while let Some(first) = rest.chars().next() {
        let (length, is_operator) = if is_operator(first) {
            let end = rest.find(|character| !is_operator(character));
            (end.unwrap_or(rest.len()), true)
        } else if first == '#' {
            check_comment(rest)?;
            return Ok((&line[..line.len() - rest.len()], tokens));
        } else {
            (word_length(rest)?, false)
        };
        let (piece, after) = rest.split_at(length);
        tokens.push(if is_operator {
            Token::Operator(piece)
        } else {
            Token::Word(piece)
        });
        rest = after.trim_start_matches([' ', '\t']);
    }
    Ok((line, tokens))
}

/// Interactive shells differ in whether `#` begins a comment, so the comment may hold nothing that
/// would matter as a part of the command.
fn check_comment(comment: &str) -> Result<(), Reason> {
    let matters = |sign: char| is_operator(sign) || "$`{}\\*[]~=".contains(sign);
    let has_flag = comment
        .split([' ', '\t'])
        .any(|word| word.starts_with('-') && word.len() > 1);
    if comment.contains(matters) || has_flag {
        return Err(Reason::Comment);
    }
    Ok(())
}

fn is_operator(character: char) -> bool {
    matches!(character, '|' | '&' | ';' | '<' | '>' | '(' | ')')
}

/// Length up to a blank or operator outside of quotes.
fn word_length(text: &str) -> Result<usize, Reason> {
    let unfinished = || Reason::Unparsable {
        detail: "a quote or an escape is not finished".to_owned(),
    };
    let mut quote = None;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, ' ' | '\t') => return Ok(at),
            (None, _) if is_operator(character) => return Ok(at),
            (None, '\'' | '"') => quote = Some(character),
            // Refused here already: inside a substitution the quotes start anew, which this lexer
            // does not follow.
            (None, '$' | '`') => {
                let word = text.split([' ', '\t']).next().unwrap_or(text);
                return Err(Reason::Expansion {
                    word: word.to_owned(),
                });
            }
            (None | Some('"'), '\\') => _ = characters.next().ok_or_else(unfinished)?,
            _ => {}
        }
    }
    if quote.is_some() {
        return Err(unfinished());
    }
    Ok(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        let line = "ls -l 'a b'\"c;d\"\\ e | grep x 2>&1;wc <f";
        let expected = ["ls", "-l", "'a b'\"c;d\"\\ e", "grep", "x", "1", "wc", "f"];
        let words = |line| words(line).unwrap().1;
        assert_eq!(words(line), expected);
        assert_eq!(words("echo 2 >/dev/null"), ["echo", "2", "/dev/null"]);
        assert_eq!(words("ls a#b\\ #c"), ["ls", "a#b\\ #c"]);
        assert_eq!(words("ls -l # all of it"), ["ls", "-l"]);
        assert_eq!(words("time -p ls -p"), ["ls", "-p"]);
    }

    #[test]
    fn what_opens_a_deeper_level_is_refused() {
        for line in [
            "(ls)",
            "ls; (ls)",
            "a() b",
            "((1))",
            "{ ls; }",
            "if x",
            "ls && if x",
            "ls | while x",
            "cat <(ls)",
            "cat $(ls)",
            "cat `ls`",
            "cat \"$(ls)\"",
            "ls 'a",
            "ls \\",
            "! ls",
            "[[ a ]]",
            "ls # x; rm y",
            "ls # -x",
        ] {
            assert!(words(line).is_err(), "{line}");
        }
    }
}
