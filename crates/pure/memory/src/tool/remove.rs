//! Commands that remove and move.

use super::answer::{Change, CommandAnswer};
use super::edit::check_free;
use super::place::ToolPath;
use super::tree::{Tree, files_below};
use dormouse_guard::paths::SafePath;

pub(super) fn delete(tree: &dyn Tree, place: &ToolPath) -> Result<CommandAnswer, String> {
    let path = place
        .below()
        .ok_or_else(|| format!("Error: The directory {place} itself cannot be deleted"))?;
    if tree.find(path).is_none() {
        return Err(format!("Error: The path {place} does not exist"));
    }
    let gone = files_below(tree, path);
    Ok(CommandAnswer::changed(
        format!("Successfully deleted {place}"),
        gone.into_iter()
            .map(|path| Change::Delete { path })
            .collect(),
    ))
}

pub(super) fn rename(
    tree: &dyn Tree,
    old: &ToolPath,
    new: &ToolPath,
) -> Result<CommandAnswer, String> {
    let from = old
        .below()
        .ok_or_else(|| format!("Error: The directory {old} itself cannot be renamed"))?;
    if tree.find(from).is_none() {
        return Err(format!("Error: The path {old} does not exist"));
    }
    let exists = || format!("Error: The destination {new} already exists");
    let to = new.below().ok_or_else(exists)?;
    // Overwriting would lose a memory that the model did not look at.
    if tree.find(to).is_some() {
        return Err(exists());
    }
    // A directory moved into itself would vanish with its content.
    if below(to, from).is_some() {
        return Err(format!(
            "Error: {old} cannot be moved to {new}, which is inside it"
        ));
    }
    check_free(tree, to)?;
    let mut operations = Vec::new();
    for file in files_below(tree, from) {
        let target = match below(&file, from) {
            None => Ok(to.clone()),
            Some(rest) => SafePath::parse(&format!("{to}/{rest}")),
        };
        // A deeper path may become too long at its new place.
        let target = target.map_err(|refusal| {
            format!(
                "Error: {} cannot be moved: {refusal}",
                ToolPath::from(file.clone())
            )
        })?;
        let content = tree.read(&file).unwrap_or_default();
        operations.push(Change::Delete { path: file });
        operations.push(Change::Put {
            path: target,
            content,
        });
    }
    Ok(CommandAnswer::changed(
        format!("Successfully renamed {old} to {new}"),
        operations,
    ))
}

/// Path relative to a directory it lies in.
fn below<'a>(path: &'a SafePath, directory: &SafePath) -> Option<&'a str> {
    path.as_str()
        .strip_prefix(directory.as_str())?
        .strip_prefix('/')
}
