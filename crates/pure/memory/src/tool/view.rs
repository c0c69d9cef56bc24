//! Commands that show directories and files.
//!
//! # Not here
//! Numbers, sizes and remarks in the provider's format (`text`).

use super::answer::CommandAnswer;
use super::command::LineRange;
use super::place::ToolPath;
use super::text::{human_size, lines, number, remark};
use super::tree::{Tree, TreeEntry};
use bytes::Bytes;
use dormouse_core::show::Grouped;
use dormouse_guard::paths::SafePath;
use std::path::Path;

/// Most characters of content in an answer, as the tool's description tells the model.
pub(super) const MOST_CHARS: usize = 16_000;

/// Most lines of a file; more could not be numbered in six digits.
pub(super) const MOST_LINES: usize = 999_999;

/// Depth of a listing, as the tool's description promises.
const LEVELS: usize = 2;

/// Shows the directory or file at a path.
pub(super) fn view(
    tree: &dyn Tree,
    place: &ToolPath,
    range: Option<LineRange>,
) -> Result<CommandAnswer, String> {
    let Some(path) = place.below() else {
        return directory(tree, place, range);
    };
    match tree.find(path) {
        None => Err(format!(
            "The path {place} does not exist. Please provide a valid path."
        )),
        Some(TreeEntry::Directory) => directory(tree, place, range),
        Some(TreeEntry::File { .. }) => file(tree, place, path, range),
    }
}

fn directory(
    tree: &dyn Tree,
    place: &ToolPath,
    range: Option<LineRange>,
) -> Result<CommandAnswer, String> {
    // Ignoring it would let the model believe that it saw a part only.
    if range.is_some() {
        return Err(format!(
            "Error: Invalid `view_range` parameter: {place} is a directory, which has no lines"
        ));
    }
    let mut rows = Vec::new();
    let total = collect(tree, place.below(), LEVELS, &mut rows);
    let mut text = format!(
        "Here're the files and directories up to 2 levels deep in {place}, excluding hidden items and node_modules:\n{}\t{place}",
        human_size(total)
    );
    let mut room = MOST_CHARS;
    for (index, (size, path)) in rows.iter().enumerate() {
        let row = format!("\n{}\t{path}", human_size(*size));
        let length = row.chars().count();
        // The number of entries left tells the model to look deeper instead of taking this for all.
        if length > room {
            let left = rows.len() - index;
            remark(
                &mut text,
                &format!("{left} more entries. View a directory to see what is in it."),
            );
            break;
        }
        room -= length;
        text.push_str(&row);
    }
    Ok(CommandAnswer::told(text))
}

/// Adds the rows of a directory, and returns the bytes of all visible files below it.
fn collect(
    tree: &dyn Tree,
    directory: Option<&SafePath>,
    levels: usize,
    rows: &mut Vec<(u64, ToolPath)>,
) -> u64 {
    let mut total = 0;
    for (name, entry) in tree.list(directory) {
        if name.starts_with('.') || name == "node_modules" {
            continue;
        }
        let path = match directory {
            None => SafePath::parse(&name),
            Some(directory) => directory.join(&name),
        };
        // A name that the guard refuses could not be used in a command either.
        let Ok(path) = path else { continue };
        let row = rows.len();
        // Deeper levels are still walked: their bytes belong to the directory's size.
        if levels > 0 {
            rows.push((0, path.clone().into()));
        }
        let size = match entry {
            TreeEntry::File { bytes } => bytes,
            TreeEntry::Directory => collect(tree, Some(&path), levels.saturating_sub(1), rows),
        };
        if let Some(shown) = rows.get_mut(row) {
            shown.0 = size;
        }
        total += size;
    }
    total
}

fn file(
    tree: &dyn Tree,
    place: &ToolPath,
    path: &SafePath,
    range: Option<LineRange>,
) -> Result<CommandAnswer, String> {
    // Found a moment ago in the same snapshot, so it can be read.
    let content = tree.read(path).unwrap_or_default();
    if is_image(path) {
        return Err(format!(
            "Error: {place} is an image ({}); images cannot be shown here",
            human_size(content.len() as u64)
        ));
    }
    let text = as_text(place, &content)?;
    let lines = lines(text);
    if lines.len() > MOST_LINES {
        return Err(format!(
            "File {place} exceeds maximum line limit of 999,999 lines."
        ));
    }
    let (first, last) = match range {
        None => (1, lines.len()),
        Some(range) => check(range, lines.len())?,
    };
    let chosen = lines.get(first - 1..last).unwrap_or_default();
    let numbered = number(chosen, first, MOST_CHARS);
    let mut text = format!(
        "Here's the content of {place} with line numbers:\n{}",
        numbered.text
    );
    let end = first + numbered.shown;
    if numbered.torn {
        remark(
            &mut text,
            &format!(
                "Line {first} is cut: an answer holds at most {} characters.",
                Grouped(MOST_CHARS as u64)
            ),
        );
    }
    if numbered.shown < chosen.len() {
        remark(
            &mut text,
            &format!(
                "Shown up to line {} of {}: an answer holds at most {} characters. View the rest with view_range [{end}, {last}].",
                end - 1,
                lines.len(),
                Grouped(MOST_CHARS as u64)
            ),
        );
    }
    Ok(CommandAnswer::told(text))
}

/// First and last line meant. An end behind the file is its end.
fn check(range: LineRange, count: usize) -> Result<(usize, usize), String> {
    let first = usize::try_from(range.first).unwrap_or(0);
    let last = match range.last {
        -1 => count,
        last => usize::try_from(last).unwrap_or(0).min(count),
    };
    // The first line of an empty file may be asked for, though there is none.
    let reversed = range.last != -1 && range.last < range.first;
    if first == 0 || first > count.max(1) || reversed {
        return Err(format!(
            "Error: Invalid `view_range` parameter: [{}, {}]. The file has {count} lines: the first must be within [1, {}], the last not before it, or -1 for the end of the file",
            range.first,
            range.last,
            count.max(1)
        ));
    }
    Ok((first, last))
}

/// Content as text; the error is for the model.
pub(super) fn as_text<'a>(place: &ToolPath, content: &'a Bytes) -> Result<&'a str, String> {
    std::str::from_utf8(content).map_err(|_| format!("Error: {place} is not a text file in UTF-8"))
}

fn is_image(path: &SafePath) -> bool {
    let end = Path::new(path.file_name()).extension();
    end.and_then(|end| end.to_str()).is_some_and(|end| {
        ["jpg", "jpeg", "png"]
            .iter()
            .any(|image| end.eq_ignore_ascii_case(image))
    })
}
