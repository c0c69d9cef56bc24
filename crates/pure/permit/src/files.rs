//! Patterns of files, written as in `.gitignore`.
//!
//! A pattern without a slash in its middle matches at any depth; one with a slash is anchored where
//! it starts from. A pattern that names a folder covers everything below it.

use crate::call::Ground;
use crate::rule::Behaviour;
use globset::{GlobBuilder, GlobMatcher};
use std::path::{Path, PathBuf};

/// Pattern of file names, as `Read(…)` and `Edit(…)` carry them.
#[derive(Clone, Debug)]
pub(crate) struct FilePattern {
    start: Start,
    /// Matches paths relative to the start.
    at_start: GlobMatcher,
    /// The same at any depth.
    anywhere: GlobMatcher,
    /// True if the pattern has a slash in its middle and so is anchored.
    anchored: bool,
}

/// Folder that a pattern starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// `//…`: the root of the file system.
    Root,
    /// `~/…`: the home of the user.
    Home,
    /// `/…`: the folder of the settings file.
    Origin,
    /// Anything else: the folders of the session.
    Folder,
}

impl FilePattern {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let (start, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Start::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Start::Home, rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Start::Origin, rest)
        } else {
            (Start::Folder, text.strip_prefix("./").unwrap_or(text))
        };
        let rest = rest.trim_end_matches('/');
        if rest.is_empty() {
            return Err("it names no file".to_owned());
        }
        if rest.split('/').any(|name| name == "..") {
            return Err("`..` leads out; write the path from its start".to_owned());
        }
        Ok(Self {
            start,
            at_start: glob(rest)?,
            anywhere: glob(&format!("**/{rest}"))?,
            anchored: start != Start::Folder || rest.contains('/'),
        })
    }

    /// True if the pattern names a path.
    pub(crate) fn names(
        &self,
        path: &Path,
        behaviour: Behaviour,
        origin: &Path,
        ground: &Ground,
    ) -> bool {
        let starts: Vec<PathBuf> = match self.start {
            Start::Root => vec![PathBuf::from("/")],
            Start::Home => ground.home.iter().cloned().collect(),
            Start::Origin => vec![origin.to_owned()],
            // A refusal holds in every folder of the session, an allowance in the working one.
            Start::Folder if behaviour == Behaviour::Allow => vec![ground.folder.clone()],
            Start::Folder => ground.roots().map(Path::to_owned).collect(),
        };
        // `src/**` refuses `src` at any depth, and allows the one of the working folder only.
        let deep = !self.anchored || (self.start == Start::Folder && behaviour != Behaviour::Allow);
        let pattern = if deep { &self.anywhere } else { &self.at_start };
        starts.iter().any(|start| {
            path.strip_prefix(start)
                .is_ok_and(|below| below.ancestors().any(|it| is_named(pattern, it)))
        })
    }
}

/// True if the pattern matches, the empty path excepted: it is the start itself.
fn is_named(pattern: &GlobMatcher, path: &Path) -> bool {
    path.as_os_str() != "" && pattern.is_match(path)
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}
