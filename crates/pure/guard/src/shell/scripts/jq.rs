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
    /// Expression, with the number of parentheses open in it.
    Expression(usize),
    /// String, in which `\(` opens an expression.
    Text,
}

/// True if a `jq` filter reads neither the environment nor other files. A field of that name
/// (`.env`) is no function, and text in quotes is text, the expressions in it excepted.
pub(in crate::shell) fn jq_only_reads(filter: &str) -> bool {
    let mut within = vec![Within::Expression(0)];
    let mut rest = filter;
    // Number of dots directly before the present place.
    let mut dots = 0_usize;
    let mut after_digit = false;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match within.last_mut() {
            None => return false,
            Some(Within::Text) => match first {
                '"' => _ = within.pop(),
                '\\' => {
                    let Some(escaped) = rest[1..].chars().next() else {
                        return false;
                    };
                    length += escaped.len_utf8();
                    if escaped == '(' {
                        within.push(Within::Expression(0));
                    }
                }
                _ => {}
            },
            Some(Within::Expression(open)) => match first {
                '"' => within.push(Within::Text),
                '(' => *open += 1,
                ')' => match open.checked_sub(1) {
                    Some(fewer) => *open = fewer,
                    // The end of an expression inside a string.
                    None => _ = within.pop(),
                },
                // A comment hides the rest from one version and not from another.
                '#' => return false,
                _ if is_name(first) && !first.is_ascii_digit() => {
                    length = rest.find(|next| !is_name(next)).unwrap_or(rest.len());
                    let is_field = dots == 1 && !after_digit;
                    if !is_field && FORBIDDEN.contains(&&rest[..length]) {
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
    matches!(within.as_slice(), [Within::Expression(0)])
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
