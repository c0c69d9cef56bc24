//! Finding the memory that a person means.

use crate::error::{Exit, Failure, UserError};
use dormouse_guard::paths::SafePath;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::topic::Topic;

/// How many candidates an error names.
const MOST_NAMED: usize = 5;

/// The memory that a name means: its file, with or without ending or folder, or its own name.
pub(super) fn find(snapshot: &Snapshot, name: &str) -> Result<SafePath, Failure> {
    let exact = [
        name.to_owned(),
        format!("{name}.md"),
        format!("pinned/{name}"),
        format!("pinned/{name}.md"),
    ];
    for wanted in &exact {
        let found = snapshot.topics().find(|(path, _)| path.as_str() == wanted);
        if let Some((path, _)) = found {
            return Ok(path.clone());
        }
    }
    let folded = name.to_lowercase();
    let matches = |path: &SafePath, text: &str| {
        Topic::read(text).name.to_lowercase() == folded
            || path.as_str().to_lowercase().contains(&folded)
    };
    let found: Vec<&SafePath> = snapshot
        .topics()
        .filter(|(path, file)| matches(path, &file.text()))
        .map(|(path, _)| path)
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(missing(name)),
        many => Err(ambiguous(name, many)),
    }
}

fn missing(name: &str) -> Failure {
    UserError::new(Exit::Unreadable, format!("there is no memory `{name}`"))
        .hint("`dormouse memory list` shows what there is")
        .into()
}

fn ambiguous(name: &str, many: &[&SafePath]) -> Failure {
    let mut error = UserError::new(
        Exit::Usage,
        format!("`{name}` could be any of {} memories", many.len()),
    );
    let shown = many.iter().take(MOST_NAMED).map(|path| path.to_string());
    error.causes.extend(shown);
    error.hint("name the file").into()
}
