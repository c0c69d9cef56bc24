//! Glob: files by their names.

use crate::host::Desk;
use crate::input;
use crate::limits::{FILES_SHOWN, LONGEST_PATTERN, LONGEST_SEARCH};
use crate::reply::{Failure, Page, Reply};
use crate::walk::walk;
use dormouse_core::units::Millis;
use globset::{GlobBuilder, GlobMatcher};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub(crate) fn glob(desk: &Desk, input: &input::Glob) -> Reply {
    let (place, pattern) = split(&input.pattern);
    let place = match (place, &input.path) {
        // An absolute pattern names its own place; `path` could only contradict it.
        (Some(place), _) => place,
        (None, Some(path)) => path.clone(),
        (None, None) => desk.places.working().display().to_string(),
    };
    let wanted = Wanted::new(&pattern)?;
    let start = desk.clock.ticks();
    let mut found: Vec<(Millis, PathBuf)> = Vec::new();
    let mut late = false;
    let (spot, _) = desk
        .places
        .with(&place, |spot| spot.files.metadata(&spot.path))?;
    let walked = walk(&spot, &mut |path, facts| {
        if wanted.includes(path, &spot.path) {
            found.push((facts.modified, path.to_owned()));
        }
        late = desk.clock.ticks().since(start) > LONGEST_SEARCH;
        if late {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    // Newest first, because of many matches the latest work is wanted.
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut page = Page::default();
    for (_, path) in found.iter().take(FILES_SHOWN) {
        page.line(&spot.name(path));
    }
    let more = found.len().saturating_sub(FILES_SHOWN);
    let notes = [
        found.is_empty().then(|| "no file matches".to_owned()),
        (more > 0).then(|| format!("{more} more; at most {FILES_SHOWN} are shown, newest first")),
        late.then(|| format!("stopped after {} seconds", LONGEST_SEARCH.as_secs())),
        walked.note(),
    ];
    Ok(page.finish(notes.into_iter().flatten()))
}

/// Directory and rest of an absolute pattern; relative ones have no directory.
fn split(pattern: &str) -> (Option<String>, String) {
    if !pattern.starts_with('/') {
        return (None, pattern.to_owned());
    }
    let special = pattern.find(['*', '?', '[', '{', '\\']);
    let fixed = pattern
        .get(..special.unwrap_or(pattern.len()))
        .unwrap_or(pattern);
    match fixed.rfind('/') {
        None | Some(0) => (
            Some("/".to_owned()),
            pattern.trim_start_matches('/').to_owned(),
        ),
        Some(end) => {
            // At the last slash before the first wildcard: everything before it is a plain
            // directory.
            let (place, rest) = pattern.split_at(end);
            (
                Some(place.to_owned()),
                rest.trim_start_matches('/').to_owned(),
            )
        }
    }
}

/// Files that a glob means. One without a slash is about names, wherever they lie.
#[derive(Debug)]
pub(crate) struct Wanted {
    matcher: GlobMatcher,
    by_name: bool,
}

impl Wanted {
    pub(crate) fn new(pattern: &str) -> Result<Self, Failure> {
        if pattern.len() > LONGEST_PATTERN {
            let message = format!("A pattern has at most {LONGEST_PATTERN} bytes.");
            return Err(Failure::failed(message));
        }
        let glob = GlobBuilder::new(pattern)
            // `*` must not cross a slash, as in every shell.
            .literal_separator(true)
            .build()
            .map_err(|error| Failure::failed(format!("This is no glob: {error}")))?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            by_name: !pattern.contains('/'),
        })
    }

    /// True if a path is meant, seen from where the search began.
    pub(crate) fn includes(&self, path: &Path, start: &Path) -> bool {
        match path.file_name() {
            Some(name) if self.by_name => self.matcher.is_match(Path::new(name)),
            _ => self
                .matcher
                .is_match(path.strip_prefix(start).unwrap_or(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_pattern_begins_with_a_place() {
        let parts = |pattern: &str| {
            let (place, rest) = split(pattern);
            (place.unwrap_or_default(), rest)
        };
        let both = |place: &str, rest: &str| (place.to_owned(), rest.to_owned());
        assert_eq!(parts("**/*.rs"), both("", "**/*.rs"));
        assert_eq!(parts("/a/b/*.rs"), both("/a/b", "*.rs"));
        assert_eq!(parts("/a/b*/c"), both("/a", "b*/c"));
        assert_eq!(parts("/a/b"), both("/a", "b"));
        assert_eq!(parts("/*"), both("/", "*"));
    }

    #[test]
    fn a_glob_without_a_slash_is_about_names() {
        let includes = |pattern: &str, path: &str| {
            let wanted = Wanted::new(pattern).unwrap();
            wanted.includes(Path::new(path), Path::new("a"))
        };
        assert!(includes("*.rs", "a/b/c.rs"));
        assert!(includes("b/*.rs", "a/b/c.rs"));
        assert!(!includes("*/c.rs", "a/b/d/c.rs"));
        assert!(includes("**/c.rs", "a/b/d/c.rs"));
        assert!(includes("**/c.rs", "a/c.rs"));
        assert!(includes("*.{rs,md}", "a/b.md"));
    }
}
