//! The notes: the sections of a template with their bodies.
//!
//! Parsing is lenient about line ends and blank lines around a body, and strict about the frame:
//! every heading and every italic line must be there once, in order, as in the template. Writing is
//! canonical, so parsing the written text gives the same notes.
//!
//! Not here: edits ([`super::update`]) and length limits ([`super::limits`]).

use super::template::{Section, Template, plain_lines};

/// Session notes. Their frame is intact by construction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notes {
    template: Template,
    /// One body per section of the template, without blank lines at either end.
    bodies: Vec<String>,
}

/// Ways in which a text breaks the frame of its template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotesError {
    /// Text in front of the first heading.
    #[error("line {line}: text before the first heading")]
    BeforeFirst {
        /// Line number, from one.
        line: usize,
    },
    /// Heading that is missing, or stands behind one that should follow it.
    #[error("the heading `{heading}` is missing or not in its place")]
    MissingHeading {
        /// Heading as in the template.
        heading: String,
    },
    /// Heading that is spelled differently from the template.
    #[error("line {line}: the heading `{heading}` was changed")]
    ChangedHeading {
        /// Line number, from one.
        line: usize,
        /// Heading as in the template.
        heading: String,
    },
    /// Italic line that does not follow its heading.
    #[error("the italic line below `{heading}` is missing or changed")]
    MissingItalic {
        /// Heading above it, as in the template.
        heading: String,
    },
    /// Heading or italic line of the template inside a body.
    #[error("line {line}: `{text}` belongs to the template and cannot stand inside a section")]
    Repeated {
        /// Line number, from one, in the file or in the new body.
        line: usize,
        /// Text of that line.
        text: String,
    },
}

impl Notes {
    /// Notes with empty bodies.
    pub fn blank(template: &Template) -> Self {
        Self {
            template: template.clone(),
            bodies: vec![String::new(); template.sections().len()],
        }
    }

    /// Parses notes and checks their frame against the template.
    ///
    /// # Errors
    /// When a heading or italic line is missing, changed, repeated or out of order.
    pub fn parse(text: &str, template: &Template) -> Result<Self, NotesError> {
        let text = plain_lines(text);
        let mut lines = (1_usize..).zip(text.lines());
        let mut bodies: Vec<Vec<&str>> = Vec::new();
        while let Some((line, content)) = lines.next() {
            // Headings with other titles or levels belong to the body.
            let Some(found) = template.headed_by(content) else {
                match bodies.last_mut() {
                    Some(body) if !template.has_italic(content) => body.push(content),
                    // An italic line without its heading means that the heading was deleted.
                    Some(_) => return Err(stray_italic(template, bodies.len(), (line, content))),
                    None if content.trim().is_empty() => {}
                    None => return Err(NotesError::BeforeFirst { line }),
                }
                continue;
            };
            check_heading(template, bodies.len(), found, (line, content))?;
            // Blank lines between heading and italic line are harmless.
            let below = lines.find(|(_, content)| !content.trim().is_empty());
            let italic = template.sections().get(found).map(Section::italic);
            if below.map(|(_, content)| content.trim()) != italic {
                let heading = content.trim().to_owned();
                return Err(NotesError::MissingItalic { heading });
            }
            bodies.push(Vec::new());
        }
        // Fewer headings than sections: the end of the file was cut off.
        if let Some(section) = template.sections().get(bodies.len()) {
            let heading = section.heading().to_owned();
            return Err(NotesError::MissingHeading { heading });
        }
        Ok(Self {
            template: template.clone(),
            bodies: bodies.iter().map(|lines| trimmed(lines)).collect(),
        })
    }

    /// Template that the notes follow.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// Titles and bodies of the sections, in order; bodies may be empty.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &str)> {
        let titles = self.template.sections().iter().map(Section::title);
        titles.zip(self.bodies.iter().map(String::as_str))
    }

    /// Body of a section, possibly empty; `None` for an unknown title.
    pub fn body(&self, title: &str) -> Option<&str> {
        let at = self.template.position(title)?;
        self.bodies.get(at).map(String::as_str)
    }

    /// True if all bodies are empty.
    pub(crate) fn is_blank(&self) -> bool {
        self.bodies.iter().all(String::is_empty)
    }

    /// Canonical text of the file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (section, body) in self.template.sections().iter().zip(&self.bodies) {
            if !text.is_empty() {
                text.push('\n');
            }
            for line in [section.heading(), section.italic()] {
                text.push_str(line);
                text.push('\n');
            }
            if !body.is_empty() {
                text.push('\n');
                text.push_str(body);
                text.push('\n');
            }
        }
        text
    }

    /// Same notes with another body in the section at `at`. Models often repeat the section's own
    /// heading and italic line at the start of a body; these are dropped instead of rejected.
    pub(super) fn with_body(&self, at: usize, body: &str) -> Result<Self, NotesError> {
        let body = plain_lines(body);
        let template = &self.template;
        let italic = template.sections().get(at).map(Section::italic);
        let is_blank = |line: &&str| line.trim().is_empty();
        let mut lines = (1_usize..).zip(body.lines()).peekable();
        while lines.next_if(|(_, line)| is_blank(line)).is_some() {}
        lines.next_if(|(_, line)| template.headed_by(line) == Some(at));
        while lines.next_if(|(_, line)| is_blank(line)).is_some() {}
        lines.next_if(|(_, line)| Some(line.trim()) == italic);
        let mut kept = Vec::new();
        for (line, content) in lines {
            // A frame line inside a body would be read as a section of its own next time.
            if template.headed_by(content).is_some() || template.has_italic(content) {
                return Err(repeated(line, content));
            }
            kept.push(content);
        }
        let mut new = self.clone();
        if let Some(body) = new.bodies.get_mut(at) {
            *body = trimmed(&kept);
        }
        Ok(new)
    }
}

/// Checks a heading found where the one at `expected` is due.
fn check_heading(
    template: &Template,
    expected: usize,
    found: usize,
    (line, content): (usize, &str),
) -> Result<(), NotesError> {
    let sections = template.sections();
    // A heading seen before is repeated; one that comes too early shows that others are missing.
    if found < expected {
        return Err(repeated(line, content));
    }
    if let Some(missing) = sections.get(expected).filter(|_| found > expected) {
        let heading = missing.heading().to_owned();
        return Err(NotesError::MissingHeading { heading });
    }
    match sections.get(found) {
        Some(section) if content.trim_end() != section.heading() => {
            let heading = section.heading().to_owned();
            Err(NotesError::ChangedHeading { line, heading })
        }
        _ => Ok(()),
    }
}

/// Error for an italic line outside its place: its heading is missing, or it is repeated.
fn stray_italic(
    template: &Template,
    expected: usize,
    (line, content): (usize, &str),
) -> NotesError {
    match template.sections().get(expected) {
        Some(next) if next.italic() == content.trim() => {
            let heading = next.heading().to_owned();
            NotesError::MissingHeading { heading }
        }
        _ => repeated(line, content),
    }
}

fn repeated(line: usize, text: &str) -> NotesError {
    let text = text.trim().to_owned();
    NotesError::Repeated { line, text }
}

/// Lines joined, without blank ones at either end.
fn trimmed(lines: &[&str]) -> String {
    let from = lines.iter().position(|line| !line.trim().is_empty());
    let lines = lines.get(from.unwrap_or(lines.len())..).unwrap_or_default();
    let mut text = lines.join("\n");
    text.truncate(text.trim_end().len());
    text
}
