//! Colours of source code: a line of a fenced block as spans, by the grammar of its language.
//!
//! # Model
//! A [`Painter`] belongs to one block and goes from line to line: each line is parsed once, and the state
//! behind it is kept, so that a block costs the same per line however long it is. The text is never
//! changed: spans of a line are its text, cut where the colour changes.
//!
//! # Not here
//! Colours themselves: `line`. Where a block begins and ends: `markdown`.

use crate::line::{Line, Role, Span};
use crate::text::width;
use unicode_segmentation::UnicodeSegmentation as _;

/// Painter of one block of code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Painter(#[cfg(feature = "syntax")] Option<grammar::State>);

impl Painter {
    /// Painter for a language by the name behind the fence; one that paints nothing if it is not known.
    #[cfg(feature = "syntax")]
    pub(crate) fn of(language: &str) -> Self {
        Self(grammar::State::of(language))
    }

    /// Without grammars nothing is painted.
    #[cfg(not(feature = "syntax"))]
    pub(crate) const fn of(_: &str) -> Self {
        Self()
    }

    /// A line as spans whose texts are the line.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Span> {
        #[cfg(feature = "syntax")]
        if let Some(spans) = self.0.as_mut().and_then(|state| state.line(line)) {
            return spans;
        }
        vec![Span::new(line, Role::Code)]
    }
}

/// Rows of a line of code, each of at most `columns`; spaces count, so words are not looked for.
pub(crate) fn folded(spans: &[Span], columns: usize) -> Vec<Line> {
    let columns = columns.saturating_sub(2).max(4);
    let begin = || Line::of("  ", Role::Plain);
    let text: String = spans.iter().map(|span| span.text.as_str()).collect();
    let mut ends = spans.iter().scan(0, |end, span| {
        *end += span.text.len();
        Some((*end, span.role))
    });
    let mut role = ends.next();
    let mut rows = vec![begin()];
    let mut used = 0;
    // By graphemes of the whole line: a mark may join a letter across two spans, and the rows must be
    // those of the same line without colours.
    for (at, grapheme) in text.grapheme_indices(true) {
        while role.is_some_and(|(end, _)| end <= at) {
            role = ends.next();
        }
        let role = role.map_or(Role::Code, |(_, role)| role);
        let size = width(grapheme);
        if used + size > columns {
            rows.push(begin());
            used = 0;
        }
        used += size;
        let Some(row) = rows.last_mut() else { continue };
        match row.spans.get_mut(1..).and_then(<[Span]>::last_mut) {
            Some(last) if last.role == role => last.text.push_str(grapheme),
            _ => row.spans.push(Span::new(grapheme, role)),
        }
    }
    rows
}

#[cfg(feature = "syntax")]
mod grammar {
    use crate::line::{Role, Span};
    use std::sync::OnceLock;
    use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

    /// Longest line that is parsed, in bytes: longer ones are data or minified, and a grammar may take
    /// quadratic time on them.
    const LONGEST_LINE: usize = 2_048;
    /// Bytes of a block that are parsed: more is a file, which is searched rather than read here.
    const LONGEST_BLOCK: usize = 512 * 1_024;

    /// Names behind a fence that the grammars do not know, and the nearest grammar.
    const OTHER_NAMES: [(&str, &str); 12] = [
        ("ts", "js"),
        ("tsx", "js"),
        ("jsx", "js"),
        ("typescript", "js"),
        ("javascript", "js"),
        ("toml", "python"),
        ("shell", "bash"),
        ("console", "bash"),
        ("dockerfile", "bash"),
        ("jsonc", "json"),
        ("kotlin", "java"),
        ("csharp", "cs"),
    ];

    /// Beginnings of scopes and their roles; the first that fits counts.
    const ROLES: [(&str, Role); 26] = [
        ("comment", Role::Comment),
        ("constant.character.escape", Role::Constant),
        ("string", Role::Text),
        ("constant", Role::Constant),
        ("keyword.operator", Role::Plain),
        ("keyword", Role::Keyword),
        ("storage", Role::Keyword),
        ("variable.language", Role::Keyword),
        ("variable.function", Role::Function),
        ("entity.name.function", Role::Function),
        ("entity.name.macro", Role::Function),
        ("support.function", Role::Function),
        ("support.macro", Role::Function),
        ("entity.name.tag", Role::Keyword),
        ("entity.other.attribute-name", Role::Type),
        ("entity.name.section", Role::Strong),
        ("entity.name", Role::Type),
        ("support.type", Role::Type),
        ("support.class", Role::Type),
        ("support.constant", Role::Constant),
        ("markup.inserted", Role::Good),
        ("markup.deleted", Role::Bad),
        ("markup.heading", Role::Strong),
        ("meta.diff.range", Role::Type),
        ("meta.diff.header", Role::Strong),
        ("punctuation.definition.variable", Role::Type),
    ];

    /// Grammars of the library, unpacked when the first block with a language arrives (under a
    /// millisecond); the patterns of a language are compiled when it is first used (up to 30 ms).
    fn grammars() -> &'static SyntaxSet {
        static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();
        GRAMMARS.get_or_init(SyntaxSet::load_defaults_newlines)
    }

    fn roles() -> &'static [(Scope, Role)] {
        static SCOPES: OnceLock<Vec<(Scope, Role)>> = OnceLock::new();
        SCOPES.get_or_init(|| {
            let scopes = ROLES.iter();
            let scopes = scopes.filter_map(|(name, role)| Some((Scope::new(name).ok()?, *role)));
            scopes.collect()
        })
    }

    /// Role of text inside nested scopes: that of the innermost one that has a role.
    fn role(stack: &ScopeStack) -> Role {
        let inside = stack.scopes.iter().rev();
        let mut found = inside.filter_map(|scope| {
            let mut fits = roles()
                .iter()
                .filter(|(begin, _)| begin.is_prefix_of(*scope));
            fits.next().map(|(_, role)| *role)
        });
        found.next().unwrap_or(Role::Plain)
    }

    /// State between two lines of a block.
    #[derive(Clone, Debug)]
    pub(super) struct State {
        parser: ParseState,
        scopes: ScopeStack,
        /// Bytes that were parsed.
        parsed: usize,
    }

    impl State {
        /// State before the first line; none if the language is not known.
        pub(super) fn of(language: &str) -> Option<Self> {
            // Attributes may follow the name: `rust,ignore`, `python title="x"`.
            let name = language.split([' ', ',', '{', ':']).next()?.to_lowercase();
            let other = OTHER_NAMES.iter().find(|(known, _)| *known == name);
            let name = other.map_or(name.as_str(), |(_, nearest)| nearest);
            if name.is_empty() {
                return None;
            }
            let grammar = grammars().find_syntax_by_token(name)?;
            Some(Self {
                parser: ParseState::new(grammar),
                scopes: ScopeStack::new(),
                parsed: 0,
            })
        }

        /// Spans of a line; none if it is left as it is.
        pub(super) fn line(&mut self, line: &str) -> Option<Vec<Span>> {
            self.parsed = self.parsed.saturating_add(line.len());
            if line.len() > LONGEST_LINE || self.parsed > LONGEST_BLOCK {
                return None;
            }
            // The grammars expect the line's end.
            let whole = format!("{line}\n");
            let changes = self.parser.parse_line(&whole, grammars()).ok()?;
            let mut spans: Vec<Span> = Vec::new();
            let mut from = 0;
            for (at, change) in changes {
                put(
                    &mut spans,
                    line.get(from..at.min(line.len()))?,
                    role(&self.scopes),
                );
                from = at.min(line.len());
                self.scopes.apply(&change).ok()?;
            }
            put(&mut spans, line.get(from..)?, role(&self.scopes));
            Some(spans)
        }
    }

    fn put(spans: &mut Vec<Span>, text: &str, role: Role) {
        match spans.last_mut() {
            _ if text.is_empty() => {}
            // Blanks have no colour: fewer sequences for the same look.
            Some(last) if last.role == role || text.trim().is_empty() => last.text.push_str(text),
            _ => spans.push(Span::new(text, role)),
        }
    }
}

#[cfg(all(test, feature = "syntax"))]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// Code with comments over lines, escapes, wide characters, marks that join across spans, and
    /// characters that no grammar expects.
    const CODE: [&str; 9] = [
        "fn main() { /* begins",
        "still a comment 日本語 */ let a = \"x\\n\u{301}\"; // e\u{301}",
        "",
        "\tdef f(a: int) -> str: return 'a' + \"b\" # c",
        "{\"key\": [1, 2.5, null], \"unfinished",
        "<div class=\"a\">&amp;</div> <!-- c -->",
        "- removed",
        "+ added `tick` $(sub \"shell\") 'quote",
        "👩‍👩‍👧 ~~~ \u{fffd} %% @@ \\",
    ];

    fn text(spans: &[Span]) -> String {
        spans.iter().map(|span| span.text.as_str()).collect()
    }

    #[test]
    fn colours_never_change_the_text_or_its_rows() {
        let languages = [
            "rust",
            "python",
            "js",
            "ts",
            "json",
            "bash",
            "html",
            "diff",
            "toml",
            "go",
            "c",
            "sql",
            "yaml",
            "",
            "no-such-language",
            "rust,ignore",
            "Markdown",
        ];
        for language in languages {
            let mut painter = Painter::of(language);
            for line in CODE {
                // As the reader of an answer hands it over: tabs and control characters are replaced.
                let line = &*crate::text::clean(line);
                let spans = painter.line(line);
                assert_eq!(text(&spans), line, "{language}");
                let plain = [Span::new(line, Role::Code)];
                for columns in [8, 13, 40, 80] {
                    let rows = |spans: &[Span]| -> Vec<String> {
                        folded(spans, columns).iter().map(Line::text).collect()
                    };
                    assert_eq!(rows(&spans), rows(&plain), "{language} at {columns}");
                }
            }
        }
    }

    #[test]
    fn a_known_language_is_painted_line_by_line() {
        let mut painter = Painter::of("rust");
        let roles = |painter: &mut Painter, line: &str| -> Vec<(String, Role)> {
            let spans = painter.line(line).into_iter();
            spans.map(|span| (span.text, span.role)).collect()
        };
        let first = roles(&mut painter, "let a = \"b\"; /* c");
        assert_eq!(first[0], ("let".to_owned(), Role::Keyword), "{first:?}");
        assert!(
            first.contains(&("\"b\"".to_owned(), Role::Text)),
            "{first:?}"
        );
        // The state goes on: the comment ends in the next line.
        let second = roles(&mut painter, "d */ 7");
        assert_eq!(second[0].1, Role::Comment, "{second:?}");
        assert_eq!(second.last(), Some(&("7".to_owned(), Role::Constant)));
        assert_eq!(
            roles(&mut Painter::of(""), "let a"),
            [("let a".to_owned(), Role::Code)]
        );
    }

    #[test]
    fn long_lines_and_long_blocks_are_left_as_they_are() {
        let mut painter = Painter::of("rust");
        let long = "let a = 1; ".repeat(200);
        assert_eq!(painter.line(&long), [Span::new(long.as_str(), Role::Code)]);
        assert_eq!(painter.line("let")[0].role, Role::Keyword);
        let lines = 512 * 1_024 / long.len();
        for _ in 0..lines {
            painter.line(&long);
        }
        assert_eq!(painter.line("let"), [Span::new("let", Role::Code)]);
    }
}
