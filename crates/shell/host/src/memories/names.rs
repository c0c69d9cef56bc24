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

/// The memory that a name means: its file, with or without ending or folder, or its own name.
pub(super) fn find(snapshot: &Snapshot, name: &str) -> Result<SafePath, NameError> {
    // A narrow list cuts names with an ellipsis, and users copy the cut name.
    let name = name.trim().trim_end_matches('…');
    if name.is_empty() {
        return Err(missing(name, Vec::new()));
    }
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
    // A better fit counts alone: the whole name before a part of one.
    let ways: [Fits<'_>; 3] = [
        &|_, topic| topic.name.to_lowercase() == folded,
        &|path, _| path.as_str().to_lowercase().contains(&folded),
        &|_, topic| topic.name.to_lowercase().contains(&folded),
    ];
    for way in ways {
        match by(way).as_slice() {
            [] => {}
            [one] => return Ok(one.clone()),
            many => {
                return Err(NameError::Ambiguous {
                    name: name.to_owned(),
                    many: many.to_vec(),
                });
            }
        }
    }
    Err(missing(name, near(snapshot, &folded)))
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
