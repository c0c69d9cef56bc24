//! Filters of `jq`, also those that `gh --jq` takes.

/// Names of functions and variables that show the environment, other files or the program itself.
const FORBIDDEN: [&str; 9] = [
    "env",
    "ENV",
    "import",
    "include",
    "input_filename",
    "get_search_list",
    "modulemeta",
    "__prog_args",
    "__loc__",
];

/// Part of a filter that the reader is in.
enum Within {
    /// Expression, with the brackets open in it.
    Expression(Vec<char>),
    /// String, in which `\(` opens an expression.
    Text,
}

/// True if a `jq` filter reads neither the environment nor other files. A field of that name
/// (`.env`) is no function, and text in quotes is text, the expressions in it excepted.
pub(in crate::shell) fn jq_only_reads(filter: &str) -> bool {
    let mut within = vec![Within::Expression(Vec::new())];
    let mut rest = filter;
    // Number of dots directly before the present place.
    let mut dots = 0_usize;
    let mut after_digit = false;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match within.last_mut() {
            None => return false,
            Some(Within::Text) => match first {
                '"' => drop(within.pop()),
                '\\' => {
                    let Some(escaped) = rest[1..].chars().next() else {
                        return false;
                    };
                    length += escaped.len_utf8();
                    if escaped == '(' {
                        within.push(Within::Expression(Vec::new()));
                    }
                }
                _ => {}
            },
            Some(Within::Expression(open)) => match first {
                '"' => within.push(Within::Text),
                '(' | '[' | '{' => open.push(first),
                ')' | ']' | '}' => match (open.pop(), first) {
                    (Some('('), ')') | (Some('['), ']') | (Some('{'), '}') => {}
                    // The end of an expression inside a string.
                    (None, ')') => drop(within.pop()),
                    _ => return false,
                },
                // A comment hides the rest from one version and not from another.
                '#' => return false,
                _ if is_name(first) && !first.is_ascii_digit() => {
                    length = rest.find(|next| !is_name(next)).unwrap_or(rest.len());
                    let is_field = dots == 1 && !after_digit;
                    // In braces a name before a colon is a key, elsewhere it may be computed.
                    let is_key = open.last() == Some(&'{') && rest[length..].starts_with(':');
                    if !is_field && !is_key && FORBIDDEN.contains(&&rest[..length]) {
                        return false;
                    }
                }
                _ => {}
            },
        }
        if first == '.' {
            dots += 1;
        } else {
            dots = 0;
            after_digit = first.is_ascii_digit();
        }
        rest = &rest[length..];
    }
    matches!(within.as_slice(), [Within::Expression(open)] if open.is_empty())
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        for filter in [
            ".foo[] | select(.environment == 1)",
            ".env",
            ".a.env.b",
            ".services[].env | keys",
            ".[\"env\"]",
            "\"env: \\(.env)\"",
            "{env: .env, a}",
            "to_entries[] | \"\\(.key)=\\(.value)\"",
        ] {
            assert!(jq_only_reads(filter), "{filter}");
        }
        for filter in [
            "env",
            "$ENV.HOME",
            ".a|env.PATH",
            "import \"x\" as y; .",
            "include \"x\"; .",
            "..env",
            "1.env",
            ". env",
            "\"\\(env)\"",
            "\"\\(\"\\(env)\")\"",
            "\"\\(.a)\\(env)\"",
            ".[env:]",
            ".[1,env:2]",
            "{a:.[env:]}",
            "{(env):1}",
            "{$ENV}",
            "{env}",
            "{a:env}:",
            "{a:env}",
            ".a # env",
            "\"a",
            "(.a",
            ".a)",
        ] {
            assert!(!jq_only_reads(filter), "{filter}");
        }
    }
}
