//! Rules that hold for some files only.
//!
//! # Model
//! Front matter lists globs relative to a directory. Usable ones are compiled; bad ones are
//! reported, and the others still hold.
//!
//! # Not here
//! Finding rule files (`load`); their includes (`take`).

use super::parts::File;
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Most patterns of a rule once its braces are written out. `{a,b}` twenty times over stands for a
/// million globs, which no rule needs and an attacker may try.
const BRACE_BUDGET: u64 = 1_000;

/// Most bytes of a pattern; real ones have less than a hundred.
const LONGEST_PATTERN: usize = 1_024;

/// Instructions that hold for the files that match.
#[derive(Clone, Debug)]
pub struct Rule {
    /// File of the rule, then its includes.
    pub files: Vec<File>,
    pub(super) patterns: Patterns,
}

impl Rule {
    /// True if it holds for a file, given by absolute path.
    pub fn matches(&self, path: &Path) -> bool {
        self.patterns.matches(path)
    }
}

/// Globs relative to a directory.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    base: PathBuf,
    globs: GlobSet,
    /// Patterns as written, for the report.
    pub(super) written: Vec<String>,
    /// Unusable patterns, each with its error.
    pub(super) problems: Vec<String>,
}

impl Patterns {
    /// Compiles patterns; the unusable ones are named in `problems`.
    pub(super) fn new(base: &Path, written: Vec<String>) -> Self {
        let mut globs = GlobSetBuilder::new();
        let mut problems = Vec::new();
        let mut budget = BRACE_BUDGET;
        for pattern in &written {
            let cost = expansions(pattern);
            // The others still hold: one bad pattern must not switch a rule off.
            if cost > budget {
                problems.push(format!(
                    "`{}`: more than {BRACE_BUDGET} patterns",
                    pattern.chars().take(60).collect::<String>()
                ));
                continue;
            }
            budget -= cost;
            match glob(pattern) {
                Ok(glob) => {
                    globs.add(glob);
                }
                Err(problem) => problems.push(problem),
            }
        }
        // Built from valid globs, it fails only for a set that is too large; then nothing matches.
        let globs = globs.build().unwrap_or_else(|error| {
            problems.push(error.to_string());
            GlobSet::empty()
        });
        Self {
            base: base.to_owned(),
            globs,
            written,
            problems,
        }
    }

    /// True if no file can ever match.
    pub(super) fn is_useless(&self) -> bool {
        self.globs.is_empty()
    }

    fn matches(&self, path: &Path) -> bool {
        path.strip_prefix(&self.base)
            .is_ok_and(|below| self.globs.is_match(below))
    }
}

fn glob(pattern: &str) -> Result<Glob, String> {
    if pattern.len() > LONGEST_PATTERN {
        return Err(format!(
            "`{}…`: longer than {LONGEST_PATTERN} bytes",
            pattern.chars().take(60).collect::<String>()
        ));
    }
    // People write `./src` and `/src` for the same; both are relative to the base.
    let relative = pattern.strip_prefix("./").unwrap_or(pattern);
    GlobBuilder::new(relative.trim_start_matches('/'))
        // `*` must not cross a slash, as in `.gitignore`.
        .literal_separator(true)
        .build()
        .map_err(|error| error.to_string())
}

/// Patterns of a front matter's `paths`: a list of texts, or one text with commas.
///
/// A pattern that begins with `*` and has no quotes is no YAML. Such a list arrives as the text it
/// is written as, on one line or many.
pub(super) fn written(value: &Value) -> Vec<String> {
    let texts: Vec<&str> = match value {
        Value::String(text) => pieces(text),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    texts
        .into_iter()
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Cuts at line ends, and at commas outside of braces.
fn pieces(text: &str) -> Vec<&str> {
    let text = text.trim();
    // An unquoted flow list (`[*.rs, *.toml]`) is no YAML and arrives as text with its brackets.
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let mut depth = 0_usize;
    inner
        .unwrap_or(text)
        .split(|letter| {
            match letter {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            letter == '\n' || letter == ',' && depth == 0
        })
        .map(|piece| {
            let piece = piece.trim();
            let piece = piece.strip_prefix("- ").unwrap_or(piece);
            piece.trim().trim_matches(['"', '\''])
        })
        .collect()
}

/// Number of patterns that come of writing the braces out, without writing them.
fn expansions(pattern: &str) -> u64 {
    // For each open brace: sum of its finished alternatives, product of the current one.
    let mut open: Vec<(u64, u64)> = vec![(0, 1)];
    for letter in pattern.chars() {
        match letter {
            '{' => open.push((0, 1)),
            ',' if open.len() > 1 => {
                if let Some((sum, product)) = open.last_mut() {
                    *sum = sum.saturating_add(*product);
                    *product = 1;
                }
            }
            '}' if open.len() > 1 => {
                let (sum, product) = open.pop().unwrap_or_default();
                if let Some((_, outer)) = open.last_mut() {
                    *outer = outer.saturating_mul(sum.saturating_add(product));
                }
            }
            _ => {}
        }
    }
    // Unclosed braces count as closed at the end: the safe side.
    open.into_iter().fold(1, |all, (sum, product)| {
        all.saturating_mul(sum.saturating_add(product))
    })
}

#[cfg(test)]
mod tests {
    use super::{Patterns, expansions, written};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn braces_are_counted() {
        let cases = [
            ("a", 1),
            ("{a,b}", 2),
            ("{a,b}/{c,d,e}", 6),
            ("{a,{b,c}x{d,e}}", 5),
            ("{a,b", 2),
            ("a,b}", 1),
            (&"{a,b}".repeat(100), u64::MAX),
        ];
        for (pattern, expected) in cases {
            assert_eq!(expansions(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_are_relative_to_their_directory() {
        let patterns = Patterns::new(
            Path::new("/p"),
            written(&json!("src/**/*.{ts,tsx}, *.md , ./lib/*.rs")),
        );
        assert_eq!(patterns.problems, Vec::<String>::new());
        for (path, expected) in [
            ("/p/src/a/b.ts", true),
            ("/p/src/b.tsx", true),
            ("/p/README.md", true),
            ("/p/docs/README.md", false),
            ("/p/lib/x.rs", true),
            ("/p/lib/y/x.rs", false),
            ("/q/README.md", false),
        ] {
            assert_eq!(patterns.matches(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn lists_without_quotes_are_understood() {
        let cases = [
            json!("a.ts, {b,c}.ts"),
            json!("- a.ts\n  - \"{b,c}.ts\""),
            json!("[a.ts, {b,c}.ts]"),
            json!(["a.ts", "", " {b,c}.ts "]),
        ];
        for value in cases {
            assert_eq!(written(&value), ["a.ts", "{b,c}.ts"], "{value}");
        }
        assert!(written(&json!(null)).is_empty() && written(&json!(3)).is_empty());
    }

    #[test]
    fn bad_patterns_are_named_and_the_others_hold() {
        let patterns = Patterns::new(
            Path::new("/p"),
            written(&json!([
                "[z",
                "{a,b}".repeat(100),
                "x".repeat(2_000),
                "ok/*",
                7
            ])),
        );
        assert_eq!(patterns.problems.len(), 3, "{:?}", patterns.problems);
        assert!(patterns.matches(Path::new("/p/ok/a")));
        assert!(Patterns::new(Path::new("/p"), vec!["[".into()]).is_useless());
    }
}
