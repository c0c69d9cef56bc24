//! Finding the memory that a user means by a name.

use dormouse_guard::paths::SafePath;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::topic::Topic;

/// Reason why a name means no memory, or no single one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No memory has the name, nor a part of it.
    #[error("there is no memory `{name}`")]
    Missing {
        /// The name that was given.
        name: String,
        /// Memories that share a word with it.
        near: Vec<SafePath>,
    },
    /// Only a part of names, where a whole one is wanted.
    #[error("`{name}` is only a part of {}", if many.len() == 1 { "a name" } else { "names" })]
    Partial {
        /// The part that was given.
        name: String,
        /// The memories whose names have it.
        many: Vec<SafePath>,
    },
    /// Several memories fit the name equally well.
    #[error("`{name}` could be any of {} memories", many.len())]
    Ambiguous {
        /// The name that was given.
        name: String,
        /// The memories that it could mean.
        many: Vec<SafePath>,
    },
}

/// A way in which a memory fits a name.
type Fits<'a> = &'a dyn Fn(&SafePath, &Topic) -> bool;

/// The memory that a name means: its file, with or without ending or folder, or its own name, or a
/// part of one that no other memory has.
pub(super) fn find(snapshot: &Snapshot, name: &str) -> Result<SafePath, NameError> {
    match find_whole(snapshot, name) {
        Err(NameError::Partial { many, name }) => match many.as_slice() {
            [one] => Ok(one.clone()),
            _ => Err(NameError::Ambiguous { name, many }),
        },
        found => found,
    }
}

/// The memory that a whole name means: for changes where a guess would do harm.
pub(super) fn find_whole(snapshot: &Snapshot, name: &str) -> Result<SafePath, NameError> {
    // A narrow list cuts names with an ellipsis, and users copy the cut name.
    let name = name.trim().trim_end_matches('…');
    if name.is_empty() {
        return Err(missing(name, Vec::new()));
    }
    // The spelling of a list can be typed back: the file, then without its ending or folder.
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
    let by = |fits: Fits<'_>| -> Vec<SafePath> {
        let topics = snapshot.topics();
        let fitting = topics.filter(|(path, file)| fits(path, &Topic::read(&file.text())));
        fitting.map(|(path, _)| path.clone()).collect()
    };
    let owned = name.to_owned();
    match by(&|_, topic| topic.name.to_lowercase() == folded).as_slice() {
        [] => {}
        [one] => return Ok(one.clone()),
        many => {
            return Err(NameError::Ambiguous {
                name: owned,
                many: many.to_vec(),
            });
        }
    }
    // A better fit counts alone: a part of the file before a part of its own name.
    let parts: [Fits<'_>; 2] = [
        &|path, _| path.as_str().to_lowercase().contains(&folded),
        &|_, topic| topic.name.to_lowercase().contains(&folded),
    ];
    let found = parts.into_iter().map(by).find(|many| !many.is_empty());
    Err(match found {
        Some(many) => NameError::Partial { name: owned, many },
        None => missing(name, near(snapshot, &folded)),
    })
}

/// Memories that share a word with a name, as suggestions.
fn near(snapshot: &Snapshot, folded: &str) -> Vec<SafePath> {
    let words: Vec<&str> = folded
        .split(|c: char| !c.is_alphanumeric())
        // Short words and the two commonest prefixes of file names would make nearly every memory
        // near.
        .filter(|word| word.len() > 3 && *word != "feedback" && *word != "project")
        .collect();
    let fits = |path: &SafePath| {
        let path = path.as_str().to_lowercase();
        words.iter().any(|word| path.contains(word))
    };
    let paths = snapshot.topics().map(|(path, _)| path);
    paths.filter(|path| fits(path)).cloned().collect()
}

fn missing(name: &str, near: Vec<SafePath>) -> NameError {
    NameError::Missing {
        name: name.to_owned(),
        near,
    }
}
