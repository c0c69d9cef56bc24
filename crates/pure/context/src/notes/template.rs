//! The frame of the notes: the sections, and the line that says what belongs in each.
//!
//! A section begins with its heading, followed by one italic line. Both are the same in every
//! version of the notes; only the body below them changes. Users may supply a template of their
//! own, with any sections.
//!
//! Not here: the bodies ([`super::document`]).

use super::document::Notes;
use std::sync::{Arc, LazyLock};

/// Template of ten sections that comes with the program.
const BUILTIN: &str = include_str!("default_template.md");

/// Sections of the notes, in order. Cloning copies a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    sections: Arc<[Section]>,
}

/// Immutable part of one section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Heading line as written, such as `# Worklog`.
    heading: String,
    /// Byte offset of the title in `heading`.
    title_at: usize,
    /// Italic line as written.
    italic: String,
}

/// Reasons why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No heading at all.
    #[error(
        "the template has no section; write headings such as `# Worklog`, each followed by an \
         italic line such as `_What was done_`"
    )]
    NoSections,
    /// Text in front of the first heading.
    #[error("line {line}: text before the first heading; begin the template with a heading")]
    BeforeFirst {
        /// Line number, from one.
        line: usize,
    },
    /// Heading that is not followed by an italic line.
    #[error(
        "line {line}: the heading `{title}` has no italic line; put one such as `_What belongs \
         here_` right below it"
    )]
    NoItalic {
        /// Line number of the heading, from one.
        line: usize,
        /// Title of the heading.
        title: String,
    },
    /// Text below the italic line.
    #[error(
        "line {line}: text below the italic line of `{title}`; say all of it in the one italic \
         line, since the rest of a section is written during the session"
    )]
    BelowItalic {
        /// Line number, from one.
        line: usize,
        /// Title of the section that holds it.
        title: String,
    },
    /// Second section with the same title.
    #[error("line {line}: there is already a section `{title}`; give this one another title")]
    Twice {
        /// Line number of the second one.
        line: usize,
        /// Title that is repeated.
        title: String,
    },
    /// Heading without a title.
    #[error("line {line}: a heading without a title; write one, or remove the line")]
    NoTitle {
        /// Line number, from one.
        line: usize,
    },
    /// Title with a quotation mark, which the tags of an answer cannot name.
    #[error("line {line}: the title `{title}` contains a quotation mark; leave it out")]
    Quote {
        /// Line number, from one.
        line: usize,
        /// Title that contains it.
        title: String,
    },
}

impl Section {
    /// Title without the marks of a heading.
    pub fn title(&self) -> &str {
        self.heading.get(self.title_at..).unwrap_or_default()
    }

    /// Heading as it stands in the file.
    pub fn heading(&self) -> &str {
        &self.heading
    }

    /// Italic line as it stands in the file.
    pub fn italic(&self) -> &str {
        &self.italic
    }

    /// Italic line without its marks: the description of what belongs here.
    pub fn purpose(&self) -> &str {
        self.italic.trim_matches(['_', '*']).trim()
    }

    /// True if a line is this section's heading, possibly with other spacing or closing marks.
    fn is_headed_by(&self, line: &str) -> bool {
        heading(line).is_some_and(|(level, title)| {
            title == self.title() && heading(&self.heading).is_some_and(|own| own.0 == level)
        })
    }
}

impl Template {
    /// Template that comes with the program.
    pub fn builtin() -> Self {
        // A test parses the built-in text. If it failed at run time, a template without sections
        // would write nothing, which is safe.
        static TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
            Template::parse(BUILTIN).unwrap_or_else(|_| Template {
                sections: Arc::default(),
            })
        });
        TEMPLATE.clone()
    }

    /// Parses a user's template.
    ///
    /// # Errors
    /// When it is not a list of headings, each with its italic line.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut sections: Vec<Section> = Vec::new();
        // Heading whose italic line has not been read yet.
        let mut open: Option<(usize, String)> = None;
        let text = plain_lines(text);
        let lines = (1..).zip(text.lines().map(str::trim));
        for (line, content) in lines.filter(|(_, content)| !content.is_empty()) {
            if let Some((at, title)) = open.take() {
                if !is_italic(content) {
                    return Err(TemplateError::NoItalic { line: at, title });
                }
                if let Some(section) = sections.last_mut() {
                    content.clone_into(&mut section.italic);
                }
            } else if let Some((level, title)) = heading(content) {
                let section = new_section(line, level, title, &sections)?;
                open = Some((line, title.to_owned()));
                sections.push(section);
            } else if let Some(section) = sections.last() {
                let title = section.title().to_owned();
                return Err(TemplateError::BelowItalic { line, title });
            } else {
                return Err(TemplateError::BeforeFirst { line });
            }
        }
        if let Some((line, title)) = open {
            return Err(TemplateError::NoItalic { line, title });
        }
        if sections.is_empty() {
            return Err(TemplateError::NoSections);
        }
        Ok(Self {
            sections: sections.into(),
        })
    }

    /// Sections in file order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Text of a new file: the frame with empty bodies.
    pub fn render(&self) -> String {
        Notes::blank(self).text()
    }

    /// Position of the section with this title; XML entities in it are decoded, because answers are
    /// written as tags.
    pub(super) fn position(&self, title: &str) -> Option<usize> {
        let find = |title: &str| {
            self.sections
                .iter()
                .position(|section| section.title() == title)
        };
        let title = title.trim();
        find(title).or_else(|| find(&unescaped(title)))
    }

    /// Position of the section that a line is the heading of, in any spelling.
    pub(super) fn headed_by(&self, line: &str) -> Option<usize> {
        // Nearly all lines are no headings and need no comparison with every section.
        heading(line)?;
        self.sections
            .iter()
            .position(|section| section.is_headed_by(line))
    }

    /// True if a line is the italic line of any section.
    pub(super) fn has_italic(&self, line: &str) -> bool {
        self.sections
            .iter()
            .any(|section| section.italic == line.trim())
    }
}

fn new_section(
    line: usize,
    level: usize,
    title: &str,
    earlier: &[Section],
) -> Result<Section, TemplateError> {
    let named = || title.to_owned();
    if title.is_empty() {
        return Err(TemplateError::NoTitle { line });
    }
    // An answer names the section in a quoted attribute.
    if title.contains('"') {
        let title = named();
        return Err(TemplateError::Quote { line, title });
    }
    // An edit names a section by its title, which must therefore be unique.
    if earlier.iter().any(|section| section.title() == title) {
        let title = named();
        return Err(TemplateError::Twice { line, title });
    }
    Ok(Section {
        heading: format!("{} {title}", "#".repeat(level)),
        title_at: level + 1,
        italic: String::new(),
    })
}

/// Text with `\n` line ends and without a byte order mark, as editors on any system may write.
pub(super) fn plain_lines(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Level and title of a Markdown heading, without closing `#`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim();
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    // `#tag` without a blank is no heading in Markdown.
    let is_heading =
        (1..=6).contains(&level) && (title.is_empty() || title.starts_with([' ', '\t']));
    if !is_heading {
        return None;
    }
    let title = title.trim();
    let bare = title.trim_end_matches('#');
    let is_closed = bare.is_empty() || bare.ends_with([' ', '\t']);
    Some((level, if is_closed { bare.trim_end() } else { title }))
}

/// True if a whole line is italic: `_so_` or `*so*`.
fn is_italic(line: &str) -> bool {
    ['_', '*'].into_iter().any(|mark| {
        line.strip_prefix(mark)
            .and_then(|rest| rest.strip_suffix(mark))
            .is_some_and(|inner| {
                !inner.trim().is_empty() && !inner.starts_with(mark) && !inner.ends_with(mark)
            })
    })
}

/// Text with the predefined XML entities decoded.
fn unescaped(text: &str) -> String {
    /// The five predefined entities of XML, the apostrophe in both spellings.
    const NAMED: [(&str, &str); 6] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        // Decoded last: `&amp;lt;` stands for `&lt;`, not for `<`.
        ("&amp;", "&"),
    ];
    let text = text.to_owned();
    NAMED
        .iter()
        .fold(text, |text, (name, plain)| text.replace(name, plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_builtin_template_has_the_ten_sections() {
        let template = Template::builtin();
        let titles: Vec<_> = template.sections().iter().map(Section::title).collect();
        assert_eq!(
            titles,
            [
                "Session Title",
                "Current State",
                "Task specification",
                "Files and Functions",
                "Workflow",
                "Errors & Corrections",
                "Codebase and System Documentation",
                "Learnings",
                "Key results",
                "Worklog",
            ]
        );
        assert_eq!(template.render(), BUILTIN);
    }

    #[test]
    fn a_custom_template_is_read_whatever_editor_wrote_it() {
        let text = "\u{feff}\r\n## Goal ##\r\n\r\n*what we want*  \r\n\r\n# Log\r\n_done_\r\n";
        let template = Template::parse(text).expect("a template");
        assert_eq!(
            template.render(),
            "## Goal\n*what we want*\n\n# Log\n_done_\n"
        );
        let goal = &template.sections()[0];
        assert_eq!((goal.title(), goal.purpose()), ("Goal", "what we want"));
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        let cases = [
            (
                "",
                "the template has no section; write headings such as `# Worklog`, each followed by an italic line such as `_What was done_`",
            ),
            (
                "\nhello\n# A\n_a_",
                "line 2: text before the first heading; begin the template with a heading",
            ),
            (
                "# A\n# B\n_b_",
                "line 1: the heading `A` has no italic line; put one such as `_What belongs here_` right below it",
            ),
            (
                "# A\n_a_\n# B",
                "line 3: the heading `B` has no italic line; put one such as `_What belongs here_` right below it",
            ),
            (
                "# A\n__bold__",
                "line 1: the heading `A` has no italic line; put one such as `_What belongs here_` right below it",
            ),
            (
                "# A\n_a_\nmore",
                "line 3: text below the italic line of `A`; say all of it in the one italic line, since the rest of a section is written during the session",
            ),
            (
                "# A\n_a_\n## A\n_b_",
                "line 3: there is already a section `A`; give this one another title",
            ),
            (
                "# \n_a_",
                "line 1: a heading without a title; write one, or remove the line",
            ),
            (
                "# A \"b\"\n_a_",
                "line 1: the title `A \"b\"` contains a quotation mark; leave it out",
            ),
        ];
        for (text, expected) in cases {
            let error = Template::parse(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn headings_are_known_in_other_spellings() {
        let template = Template::builtin();
        let worklog = template.position("Worklog");
        assert!(worklog.is_some());
        for line in ["# Worklog", "  # Worklog  ", "#\tWorklog", "# Worklog ##"] {
            assert_eq!(template.headed_by(line), worklog, "{line:?}");
        }
        for line in ["## Worklog", "#Worklog", "# Worklog of May", "Worklog"] {
            assert_eq!(template.headed_by(line), None, "{line:?}");
        }
    }

    #[test]
    fn titles_are_found_as_xml_writes_them() {
        let template = Template::builtin();
        assert_eq!(template.position(" Errors &amp; Corrections"), Some(5));
        assert_eq!(template.position("Errors & Corrections"), Some(5));
        assert_eq!(template.position("errors"), None);
    }
}
