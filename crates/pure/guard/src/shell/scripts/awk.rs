//! Programs of `awk`.
//!
//! # Model
//! A tokeniser that follows strings, patterns and brackets, and refuses where versions of `awk`
//! could read differently. A program only prints if none of its tokens starts a program, reads or
//! writes a file, or looks at the environment. The sign `>` compares, except in a `print` that no
//! parenthesis encloses, where it writes.

use super::brackets_close;

/// Names that start programs, read files or show the environment. They are refused wherever they
/// stand, also in strings: a program seldom prints them.
const FORBIDDEN: [&str; 9] = [
    "system", "getline", "ENVIRON", "PROCINFO", "SYMTAB", "FUNCTAB", "ARGV", "ARGC", "ARGIND",
];

/// Words after which a value follows, so that a slash begins a pattern.
const BEFORE_VALUE: [&str; 12] = [
    "print", "printf", "return", "in", "else", "do", "exit", "delete", "case", "if", "while", "for",
];

/// Token before the present one, as far as it decides what a slash is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value ended, so that a slash divides.
    Value,
    /// A value is due, so that a slash begins a pattern.
    Operator,
    /// Versions of awk read it differently.
    Unclear,
}

/// Bracket that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Parenthesis of a condition, after which a statement follows.
    Condition,
    Parenthesis,
    Bracket,
}

/// True if a program only prints.
pub(in crate::shell) fn awk_only_prints(program: &str) -> bool {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut names = program.split(|character: char| !is_name(character));
    !program.trim().is_empty()
        && !names.any(|name| FORBIDDEN.contains(&name))
        && Reader::new(program).run().is_some()
}

struct Reader<'a> {
    rest: &'a str,
    before: Before,
    open: Vec<Open>,
    /// Number of brackets around the `print` that the reader is in.
    print: Option<usize>,
    /// True after `if`, `while` and `for`: their parenthesis follows.
    condition: bool,
}

impl<'a> Reader<'a> {
    fn new(program: &'a str) -> Self {
        Self {
            rest: program,
            before: Before::Operator,
            open: Vec::new(),
            print: None,
            condition: false,
        }
    }

    /// Reads the program to its end; none if something in it is refused.
    fn run(&mut self) -> Option<()> {
        while let Some(first) = self.next() {
            match first {
                ' ' | '\t' => {}
                '"' => self.string()?,
                '/' => self.slash()?,
                '0'..='9' => {
                    self.skip(|next| next.is_ascii_alphanumeric() || next == '.');
                    self.before = Before::Value;
                }
                '(' | '[' => self.opens(first),
                ')' | ']' => self.closes(first)?,
                '{' | '}' | ';' => {
                    self.print = None;
                    self.before = Before::Operator;
                }
                '>' => self.greater()?,
                // A single one is a pipe.
                '|' => {
                    self.rest = self.rest.strip_prefix('|')?;
                    self.before = Before::Operator;
                }
                '+' | '-' if self.rest.starts_with(first) => {
                    self.next();
                    self.before = Before::Unclear;
                }
                '+' | '-' | '*' | '%' | '^' | '=' | '!' | '<' | '~' | '&' | ',' | '?' | ':'
                | '$' => self.before = Before::Operator,
                '.' if self.rest.starts_with(|next: char| next.is_ascii_digit()) => {
                    self.skip(|next| next.is_ascii_alphanumeric());
                    self.before = Before::Value;
                }
                _ if first.is_ascii_alphabetic() || first == '_' => self.name(first),
                // Comments, indirect calls, continued lines, and whatever is no `awk`.
                _ => return None,
            }
        }
        self.open.is_empty().then_some(())
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next();
        self.rest = characters.as_str();
        character
    }

    fn skip(&mut self, part: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(part);
    }

    fn string(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                '"' => break,
                '\\' => _ = self.next()?,
                _ => {}
            }
        }
        self.before = Before::Value;
        Some(())
    }

    fn slash(&mut self) -> Option<()> {
        match self.before {
            Before::Value => self.before = Before::Operator,
            Before::Unclear => return None,
            Before::Operator => {
                let from = self.rest;
                loop {
                    match self.next()? {
                        '/' => break,
                        '\\' => _ = self.next()?,
                        _ => {}
                    }
                }
                let pattern = &from[..from.len() - self.rest.len() - 1];
                if !brackets_close(pattern) {
                    return None;
                }
                // A second pattern directly behind would be a division to some.
                self.before = Before::Unclear;
            }
        }
        Some(())
    }

    fn opens(&mut self, bracket: char) {
        self.open.push(match bracket {
            '(' if self.condition => Open::Condition,
            '(' => Open::Parenthesis,
            _ => Open::Bracket,
        });
        self.condition = false;
        self.before = Before::Operator;
    }

    fn closes(&mut self, bracket: char) -> Option<()> {
        let open = self.open.pop()?;
        if (bracket == ']') != (open == Open::Bracket) {
            return None;
        }
        self.before = match open {
            Open::Condition => Before::Operator,
            Open::Parenthesis | Open::Bracket => Before::Value,
        };
        Some(())
    }

    /// `>`: refused where it would write.
    fn greater(&mut self) -> Option<()> {
        let writes = self.rest.starts_with('>') || self.print == Some(self.open.len());
        self.before = Before::Operator;
        (!writes).then_some(())
    }

    fn name(&mut self, first: char) {
        let from = self.rest;
        self.skip(|next| next.is_ascii_alphanumeric() || next == '_');
        let name = format!("{first}{}", &from[..from.len() - self.rest.len()]);
        if matches!(name.as_str(), "print" | "printf") {
            self.print = Some(self.open.len());
        }
        self.condition = matches!(name.as_str(), "if" | "while" | "for");
        self.before = match name.as_str() {
            // Some stand with and without parentheses; behind the others no slash belongs.
            "length" | "rand" | "srand" | "fflush" | "systime" | "next" | "nextfile" | "break"
            | "continue" | "default" | "BEGIN" | "END" => Before::Unclear,
            name if BEFORE_VALUE.contains(&name) => Before::Operator,
            _ => Before::Value,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_print_pass() {
        for program in [
            "{print $1}",
            "NR>=10 && NR<=20",
            "/^## /{print NR\": \"$0}",
            "NR>1 {sum+=$3} END {print sum}",
            "{s+=$1} END {print s/NR}",
            "length > 120 {print FILENAME\": \"FNR}",
            "$2 == \"error\" {print $3}",
            "!seen[$0]++",
            "BEGIN{FS=\"=\"} /version/ {print $2; exit}",
            "/START/,/END/",
            "{printf \"%-20s %s\\n\", $1, $2}",
            "{print ($1 > 2)}",
            "$1 > 5 || $2 ~ /a|b/ {print}",
            "{ if ($1 > 3) print $2; else print \"small > 3\" }",
            "{ for (i = 1; i <= NF; i++) if ($i > max) max = $i } END { print max }",
            "{ a[$1] += $2 } END { for (k in a) print k, a[k] }",
            "function f(x) { return x / 2 } { print f($1) }",
            "/^[[:space:]]*[A-Z_]+=/ {print $1}",
            "/\\[error\\]/ && $2 > 3",
            "1",
        ] {
            assert!(awk_only_prints(program), "{program}");
        }
    }

    #[test]
    fn programs_that_write_or_run_do_not() {
        for program in [
            "",
            "{print > \"out\"}",
            "{print >> \"out\"}",
            "{print | \"sh\"}",
            "{print |& \"sh\"}",
            "BEGIN{system(\"id\")}",
            "{\"date\" | getline}",
            "{getline x < \"f\"}",
            "BEGIN{print ENVIRON[\"A\"]}",
            "{print ($1)($2) > \"out\"}",
            "{ if (x) /\"/; print \"a\" > \"f\" ; y = /\"/ }",
            "{ length /\"/; print \"a\" > \"f\"; length /\"/ }",
            "{ next /\"/; print \"a\" > \"f\"; /\"/ }",
            "{ i++ /\"/; print \"a\" > \"f\"; /\"/ }",
            "@load \"x\"; {print}",
            "BEGIN { f = \"x\"; @f() }",
            "{ print # \" }",
            "{ print (1]",
            "{ print \"a",
            "/[/]/ { print > \"x\" }",
            "{ print $1 > $2 }",
            "{ x[/[]/\"]/]; print \"q\" > \"z\"; y = \"]\"; w = /\"/ }",
            "{ x[/[[:alpha:]/\"]/]; print \"q\" > \"z\"; y = \"]\"; w = /\"/ }",
            "/a/ /\"/ { print \"q\" > \"z\" } /\"/",
        ] {
            assert!(!awk_only_prints(program), "{program}");
        }
    }
}
