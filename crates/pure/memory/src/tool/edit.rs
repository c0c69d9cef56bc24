//! Commands that create and change files.
//!
//! # Not here
//! Applying the changes: they are returned, and the caller makes them in one transaction.

use super::answer::{Change, CommandAnswer};
use super::command::Overwrite;
use super::place::ToolPath;
use super::text::{lines, number};
use super::tree::{Tree, TreeEntry};
use super::view::{MOST_CHARS, as_text};
use bytes::Bytes;
use dormouse_guard::paths::SafePath;

/// Lines shown before and after a replacement: enough to see it in its place.
const AROUND: usize = 4;

/// Most line numbers named when a text occurs more than once; more would not help to make it
/// unique.
const MOST_NAMED: usize = 100;

pub(super) fn create(
    tree: &dyn Tree,
    place: &ToolPath,
    file_text: &str,
    overwrite: Overwrite,
) -> Result<CommandAnswer, String> {
    let Some(path) = place.below() else {
        return Err(format!("Error: {place} is a directory"));
    };
    match (tree.find(path), overwrite) {
        (Some(TreeEntry::Directory), _) => return Err(format!("Error: {place} is a directory")),
        (Some(TreeEntry::File { .. }), Overwrite::Refuse) => {
            return Err(format!("Error: File {place} already exists"));
        }
        (Some(TreeEntry::File { .. }), Overwrite::Allow) => {}
        (None, _) => check_free(tree, path)?,
    }
    Ok(CommandAnswer::changed(
        format!("File created successfully at: {place}"),
        put(tree, path, file_text.to_owned()),
    ))
}

pub(super) fn str_replace(
    tree: &dyn Tree,
    place: &ToolPath,
    old: &str,
    new: &str,
) -> Result<CommandAnswer, String> {
    let missing =
        || format!("Error: The path {place} does not exist. Please provide a valid path.");
    let (path, content) = file(tree, place).ok_or_else(missing)?;
    let text = as_text(place, &content)?;
    // An empty text occurs everywhere.
    if old.is_empty() {
        return Err("Error: The field `old_str` must not be empty".to_owned());
    }
    let at = match occurrences(text, old).as_slice() {
        [] => {
            return Err(format!(
                "No replacement was performed, old_str `{old}` did not appear verbatim in {place}."
            ));
        }
        [at] => *at,
        several => {
            return Err(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                line_numbers(text, several)
            ));
        }
    };
    let edited = [&text[..at], new, &text[at + old.len()..]].concat();
    let snippet = snippet(&edited, at, new);
    Ok(CommandAnswer::changed(
        format!("The memory file has been edited.\n{snippet}"),
        put(tree, path, edited),
    ))
}

pub(super) fn insert(
    tree: &dyn Tree,
    place: &ToolPath,
    line: i64,
    inserted: &str,
) -> Result<CommandAnswer, String> {
    let missing = || format!("Error: The path {place} does not exist");
    let (path, content) = file(tree, place).ok_or_else(missing)?;
    let text = as_text(place, &content)?;
    let lines = lines(text);
    let at = usize::try_from(line).ok().filter(|at| *at <= lines.len());
    let Some(at) = at else {
        return Err(format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {}]",
            lines.len()
        ));
    };
    // Inserted text is whole lines, even if the last of them is not closed.
    let own = inserted.strip_suffix('\n').unwrap_or(inserted);
    let (before, after) = lines.split_at(at);
    let mut edited = [before, &[own], after].concat().join("\n");
    // A file without a final newline keeps that, unless the model itself closes its last line.
    let closes = after.is_empty() && inserted.ends_with('\n');
    if text.ends_with('\n') || closes {
        edited.push('\n');
    }
    Ok(CommandAnswer::changed(
        format!("The file {place} has been edited."),
        put(tree, path, edited),
    ))
}

/// File at a place; `None` for directories.
fn file<'a>(tree: &dyn Tree, place: &'a ToolPath) -> Option<(&'a SafePath, Bytes)> {
    let path = place.below()?;
    match tree.find(path)? {
        TreeEntry::File { .. } => Some((path, tree.read(path)?)),
        TreeEntry::Directory => None,
    }
}

/// Change of a file's content; none if the file holds just that already, so that the journal has no
/// empty entries.
fn put(tree: &dyn Tree, path: &SafePath, content: String) -> Vec<Change> {
    if tree
        .read(path)
        .is_some_and(|old| old.as_ref() == content.as_bytes())
    {
        return Vec::new();
    }
    vec![Change::Put {
        path: path.clone(),
        content: content.into(),
    }]
}

/// Offsets of the text, overlapping occurrences included: with them, too, it is not clear which one
/// is meant.
fn occurrences(text: &str, part: &str) -> Vec<usize> {
    // By one character, because a byte more could cut one.
    let step = part.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(part)) {
        found.push(from + at);
        from += at + step;
    }
    found
}

/// Numbers of the lines in which the occurrences begin, each once.
fn line_numbers(text: &str, places: &[usize]) -> String {
    let mut numbers: Vec<usize> = Vec::new();
    let (mut line, mut seen) = (1, 0);
    for place in places {
        line += text[seen..*place].matches('\n').count();
        seen = *place;
        if numbers.last() != Some(&line) {
            numbers.push(line);
        }
    }
    let named: Vec<_> = numbers
        .iter()
        .take(MOST_NAMED)
        .map(usize::to_string)
        .collect();
    let rest = if numbers.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    format!("{}{rest}", named.join(", "))
}

/// Numbered lines around the text that was put at `at`.
fn snippet(text: &str, at: usize, new: &str) -> String {
    let lines = lines(text);
    let first = text[..at].matches('\n').count();
    let last = first + new.matches('\n').count();
    let from = first.saturating_sub(AROUND).min(lines.len());
    let to = (last + AROUND + 1).min(lines.len());
    let shown = lines.get(from..to).unwrap_or_default();
    number(shown, from + 1, MOST_CHARS).text
}

/// Refuses a new file if another file stands in the way, or if a name differs from another one only
/// in a way that some disks ignore.
pub(super) fn check_free(tree: &dyn Tree, path: &SafePath) -> Result<(), String> {
    let mut directory: Option<SafePath> = None;
    for component in path.components() {
        let step = |directory: &Option<SafePath>, name: &str| match directory {
            None => SafePath::parse(name).ok(),
            Some(directory) => directory.join(name).ok(),
        };
        let Some(next) = step(&directory, component) else {
            return Ok(());
        };
        // Only the first new component can clash; the ones above it exist under exactly this name.
        if next == *path || tree.find(&next).is_none() {
            let entries = tree.list(directory.as_ref());
            let twin = entries
                .iter()
                .filter_map(|(name, _)| step(&directory, name))
                .find(|other| *other != next && other.same_on_any_disk(&next));
            if let Some(twin) = twin {
                return Err(format!(
                    "Error: {} would be the same file as {} on some disks; choose another name",
                    ToolPath::from(next),
                    ToolPath::from(twin)
                ));
            }
        }
        match tree.find(&next) {
            Some(TreeEntry::File { .. }) if next != *path => {
                return Err(format!(
                    "Error: {} is a file, so nothing can be below it",
                    ToolPath::from(next)
                ));
            }
            Some(_) => directory = Some(next),
            None => return Ok(()),
        }
    }
    Ok(())
}
