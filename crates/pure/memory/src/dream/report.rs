//! Report of a model on its dream.
//!
//! # Model
//! The model leaves a Markdown file in the root of the staged copy. It has sections, and in each a
//! list; every item names files and gives a reason:
//!
//! ```text
//! ## Merged
//! - into.md: a.md, b.md - why
//! ## Removed
//! - gone.md - why
//! ## Changed
//! - file.md - why
//! ```
//! Reading is lenient: any heading whose first word begins like one of these counts, files may
//! stand in backticks or links, and `a.md, b.md -> into.md` is understood. Items that are not
//! understood are skipped, and their losses then count as unstated.
//!
//! # Not here
//! Checking the report against the directory (`check`).

use super::{Declared, Loss, Merge, Stated, What};
use crate::snapshot::Snapshot;
use dormouse_guard::paths::SafePath;

/// Name of the report in the staged copy. It is never swapped in.
pub(crate) const REPORT: &str = "DREAM_REPORT.md";

/// Report of a model, as far as it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Changes with their reasons, in the order of the report.
    pub changes: Vec<Stated>,
}

#[derive(Clone, Copy)]
enum Section {
    Merged,
    Removed,
    Changed,
}

impl Report {
    /// Takes the report out of a staged copy and reads it.
    pub fn take(staged: &mut Snapshot) -> Self {
        let file = SafePath::parse(REPORT)
            .ok()
            .and_then(|path| staged.remove(&path));
        file.map(|file| Self::parse(&file.text()))
            .unwrap_or_default()
    }

    /// Reads a report. Never fails: an empty one declares nothing.
    pub fn parse(text: &str) -> Self {
        let mut section = None;
        let mut changes = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                section = section_of(line.trim_start_matches('#'));
            } else if let (Some(section), Some(item)) = (section, item_of(line)) {
                changes.extend(stated(section, item));
            }
        }
        Self { changes }
    }

    /// Adds its statements to the declaration for the check.
    pub fn declare(&self, declared: &mut Declared) {
        for change in &self.changes {
            match change.what {
                What::Removed => declared.losses.push(Loss {
                    path: change.path.clone(),
                    reason: change.reason.clone(),
                }),
                What::Merged => {
                    declared.merges.push(Merge {
                        into: change.path.clone(),
                        sources: change.sources.clone(),
                    });
                    // Files that were merged are gone for that reason.
                    let gone = change.sources.iter().filter(|path| **path != change.path);
                    declared.losses.extend(gone.map(|path| Loss {
                        path: path.clone(),
                        reason: change.reason.clone(),
                    }));
                }
                _ => {}
            }
        }
    }
}

fn section_of(heading: &str) -> Option<Section> {
    let word = heading.trim().to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
    if begins(&["merg", "join", "combin"]) {
        Some(Section::Merged)
    } else if begins(&["remov", "delet", "drop", "lost", "loss", "forgot", "prun"]) {
        Some(Section::Removed)
    } else if begins(&["chang", "updat", "edit", "creat", "new", "writ"]) {
        Some(Section::Changed)
    } else {
        None
    }
}

/// Item of a list. A blank is needed behind the mark, because `**bold**` and `---` begin alike.
fn item_of(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['-', '*', '+'])?;
    rest.starts_with(' ').then(|| rest.trim())
}

/// File that an item names, and the end of the name.
struct Named {
    path: SafePath,
    end: usize,
}

/// Files of an item: words that end in `.md`, whatever stands around them.
fn named(item: &str) -> Vec<Named> {
    let edge = |c: char| c.is_whitespace() || "`[]()<>\"'*,;:→".contains(c);
    let mut found: Vec<Named> = Vec::new();
    let mut at = 0;
    for word in item.split_inclusive(edge) {
        let end = at + word.len();
        at = end;
        // A name may end a sentence.
        let name = word.trim_end_matches(edge).trim_end_matches('.');
        let name = name.strip_prefix("./").unwrap_or(name);
        let markdown = name.to_lowercase().ends_with(".md");
        if let Some(path) = SafePath::parse(name).ok().filter(|_| markdown) {
            match found.last_mut() {
                // A link names its file twice.
                Some(last) if last.path == path => last.end = end,
                _ => found.push(Named { path, end }),
            }
        }
    }
    found
}

fn stated(section: Section, item: &str) -> Option<Stated> {
    let files = named(item);
    let first = files.first()?;
    let reason_after = |end: usize| {
        let edge = |c: char| c.is_whitespace() || "`[]()<>\"'*,;:-–—→".contains(c);
        item[end..].trim_start_matches(edge).trim().to_owned()
    };
    match section {
        Section::Removed | Section::Changed => Some(Stated {
            path: first.path.clone(),
            what: match section {
                Section::Removed => What::Removed,
                Section::Merged | Section::Changed => What::Changed,
            },
            reason: reason_after(first.end),
            sources: Vec::new(),
        }),
        Section::Merged => {
            let forward = ["->", "→", "=>", " into "];
            let arrow = forward.iter().filter_map(|arrow| item.find(arrow)).min();
            // `a, b -> into`: the file behind the arrow; otherwise the first.
            let into = arrow
                .and_then(|at| files.iter().position(|file| file.end > at + 1))
                // An arrow before the first file belongs to no list.
                .filter(|at| *at > 0)
                .unwrap_or(0);
            // Files in the reason are no sources: those stand before the first dash.
            let stop = if into > 0 {
                into
            } else {
                list_end(item, &files)
            };
            let sources = files.iter().enumerate();
            let sources = sources.filter(|(at, _)| *at != into && *at <= stop);
            Some(Stated {
                path: files[into].path.clone(),
                what: What::Merged,
                reason: reason_after(files[stop].end),
                sources: sources.map(|(_, file)| file.path.clone()).collect(),
            })
        }
    }
}

/// Last file of the list that an item begins with.
fn list_end(item: &str, files: &[Named]) -> usize {
    let dash = [" - ", " – ", " — "]
        .iter()
        .filter_map(|dash| item.find(dash))
        .min()
        .unwrap_or(item.len());
    let inside = files.iter().rposition(|file| file.end <= dash + 1);
    inside.unwrap_or(files.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn reports_of_many_hands_are_understood() {
        let text = "# Dream\n\nI tidied.\n\n## Merged files\n- `into.md`: `a.md`, b.md — same rule as in c.md\n\
             * a/x.md, y.md -> z.md: twice\n### Removed:\n- [gone.md](gone.md) - contradicted in old.md\n- nothing\n\
             ## Notes\n- note.md - no section\n## Changed\n- f.md: dates\n";
        let found: Vec<(String, String, String)> = Report::parse(text)
            .changes
            .into_iter()
            .map(|change| {
                let sources: Vec<String> = change.sources.iter().map(ToString::to_string).collect();
                (change.path.to_string(), sources.join(" "), change.reason)
            })
            .collect();
        let expected = [
            ("into.md", "a.md b.md", "same rule as in c.md"),
            ("z.md", "a/x.md y.md", "twice"),
            ("gone.md", "", "contradicted in old.md"),
            ("f.md", "", "dates"),
        ]
        .map(|(path, sources, reason)| (path.into(), sources.into(), reason.into()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_report_is_taken_out_of_the_copy() {
        let mut staged = Snapshot::new();
        let path = SafePath::parse(REPORT).unwrap();
        let file = crate::snapshot::StoredFile {
            content: "## Removed\n- a.md - old\n".into(),
            modified: dormouse_core::units::Millis(0),
        };
        staged.insert(path, file);
        assert_eq!(Report::take(&mut staged).changes.len(), 1);
        assert!(staged.is_empty());
        assert_eq!(Report::take(&mut staged), Report::default());
    }
}
