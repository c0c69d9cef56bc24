//! Markdown notes as a set: the title is the question, the rest the document.

/// Note with its title taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// First heading of the first rank.
    pub title: String,
    /// Text without that line; with it, every question would be answered by itself.
    pub body: String,
}

/// Takes the title out of a note. `None` without a title, or without anything else.
pub fn note(text: &str) -> Option<Note> {
    let mut fenced = false;
    let mut title = None;
    let mut body = String::with_capacity(text.len());
    for line in text.lines() {
        // A `#` in code is a comment.
        fenced ^= line.trim_start().starts_with("```");
        match line.strip_prefix("# ") {
            Some(heading) if !fenced && title.is_none() => title = Some(heading.trim().to_owned()),
            _ => {
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    let title = title.filter(|title| !title.is_empty())?;
    (!body.trim().is_empty()).then_some(Note { title, body })
}

/// True for a file that speaks about its folder instead of being a note in it.
pub fn is_about_the_folder(file_name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "readme",
        "contributing",
        "license",
        "licence",
        "changelog",
        "code_of_conduct",
        "security",
        "index",
    ];
    let name = file_name.trim_start_matches('_').to_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    NAMES.contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_first_heading_outside_code_is_the_title() {
        let found = note("```\n# a comment\n```\n# Title \n\nText\n# Another\n").unwrap();
        assert_eq!(found.title, "Title");
        assert_eq!(found.body, "```\n# a comment\n```\n\nText\n# Another\n");
        assert_eq!(note("## Only a section\n\nText"), None);
        assert_eq!(note("# Only a title\n\n"), None);
    }

    #[test]
    fn files_about_the_folder_are_told_by_their_name() {
        let about = ["README.md", "_LICENSE.md", "readme", "CODE_OF_CONDUCT.md"];
        assert!(about.into_iter().all(is_about_the_folder));
        assert!(!is_about_the_folder("reading-a-file.md"));
    }
}
