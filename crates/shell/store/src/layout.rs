//! Layout of the folders and files below Dormouse's home.
//!
//! # Model
//! ```text
//! <home>/projects/<slug>/project-path          the real path of the project
//! <home>/projects/<slug>/<session>.jsonl       a session's log
//! <home>/projects/<slug>/<session>/            what belongs to it: blobs, sub-agents
//! ```
//! The slug is the project's path with everything but letters and digits turned into `-`, as other
//! tools do it, so different paths can have the same slug. The file `project-path` tells whose the
//! folder is; a project that finds its slug taken adds a hash of its path.
//!
//! # Responsibilities
//! Names that are safe as names of files; folders private to their owner.
//!
//! # Not here
//! The real path of a project: the caller resolves links. Opening and writing logs:
//! [`crate::FileLog`].

use dormouse_core::hash::Hash;
use dormouse_core::id::SessionId;
use dormouse_system::{Access, FileError, Files, OptionalFile as _};
use std::path::{Path, PathBuf};

/// Longest slug in bytes without a hash: file names end at 255 bytes, and hash and suffix must fit.
const LONGEST_SLUG: usize = 200;

/// Hex digits of the path's hash in a unique slug. 12 digits are 48 bits: with a thousand projects
/// on one machine the chance of a collision is below one in 10^8.
const HASH_DIGITS: usize = 12;

/// File in the project's folder that holds its real path; tells two paths with one slug apart.
const PATH_FILE: &str = "project-path";

/// Folder of a session in which the transcripts of its sub-agents lie, as in Claude Code.
pub const SUB_AGENTS: &str = "subagents";

/// Upper bound in bytes when the path file is read, far above the 4 KiB that Linux allows a path: a
/// longer file is damaged, and must not fill the memory.
const LONGEST_PATH: u64 = 64 * 1024;

/// Reason that a project's folder or a session's file cannot be provided.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The session's id would not be a name of a file.
    #[error("`{session}` cannot be used as a session id: only letters, digits, `-` and `_`")]
    BadSessionId {
        /// The id as the caller gave it.
        session: SessionId,
    },
    /// The project's folder cannot be made or looked at.
    #[error("failed to prepare the folder `{}`", path.display())]
    Folder {
        /// The folder that was to be made or read.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
}

/// The slug of a path: readable, but not unique.
pub fn slug(real_path: &Path) -> String {
    let text = real_path.to_string_lossy();
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let full: String = text.chars().map(plain).collect();
    if full.len() <= LONGEST_SLUG {
        return full;
    }
    // Cut between two characters: slicing inside one would panic.
    let mut end = LONGEST_SLUG;
    while !full.is_char_boundary(end) {
        end -= 1;
    }
    hashed(&full[..end], real_path)
}

/// The slug with a hash: unique, for a project whose slug is taken.
pub fn unique_slug(real_path: &Path) -> String {
    let slug = slug(real_path);
    let mut end = slug.len().min(LONGEST_SLUG);
    while !slug.is_char_boundary(end) {
        end -= 1;
    }
    hashed(&slug[..end], real_path)
}

fn hashed(slug: &str, real_path: &Path) -> String {
    let hash = Hash::of(identity(real_path)).to_string();
    format!("{slug}-{}", &hash[..HASH_DIGITS])
}

/// Bytes that identify a path: exact, because the lossy text of two paths can be the same.
fn identity(real_path: &Path) -> &[u8] {
    real_path.as_os_str().as_encoded_bytes()
}

/// The log of a session in a project's folder.
pub fn log_in(folder: &Path, session: &SessionId) -> Result<PathBuf, LayoutError> {
    Ok(folder.join(format!("{}.jsonl", safe(session)?)))
}

/// Logs in which a session in `folder` may have its beginning: one beside it, or for a sub-agent the log
/// of the session whose folder holds it.
pub fn logs_of_origin(folder: &Path, session: &SessionId) -> Result<Vec<PathBuf>, LayoutError> {
    let mut logs = vec![log_in(folder, session)?];
    if folder.ends_with(SUB_AGENTS)
        && let Some(project) = folder.parent().and_then(Path::parent)
    {
        logs.push(log_in(project, session)?);
    }
    Ok(logs)
}

/// The id, if it cannot lead out of the folder nor to another file in it (`..`, `/`, `a.b`).
fn safe(session: &SessionId) -> Result<&str, LayoutError> {
    let text = session.as_str();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.is_empty() || text.len() > LONGEST_SLUG || !text.chars().all(plain) {
        let session = session.clone();
        return Err(LayoutError::BadSessionId { session });
    }
    Ok(text)
}

/// The folder of one project below Dormouse's home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    path: PathBuf,
}

impl ProjectFolder {
    /// Finds the project's folder and makes it if need be.
    pub fn prepare(files: &dyn Files, home: &Path, real_path: &Path) -> Result<Self, LayoutError> {
        let projects = home.join("projects");
        for name in [slug(real_path), unique_slug(real_path)] {
            let path = projects.join(name);
            let refused = |source| LayoutError::Folder {
                path: path.clone(),
                source,
            };
            if claim(files, &path, real_path).map_err(refused)? {
                return Ok(Self { path });
            }
        }
        // Two paths with the same hash: the second shares the folder of the first.
        Ok(Self {
            path: projects.join(unique_slug(real_path)),
        })
    }

    /// The project's folder if it exists; nothing is made.
    pub fn find(
        files: &dyn Files,
        home: &Path,
        real_path: &Path,
    ) -> Result<Option<Self>, LayoutError> {
        // The hashed name first: it is this project's own if it exists, the plain one may be
        // another's.
        for name in [unique_slug(real_path), slug(real_path)] {
            let path = home.join("projects").join(name);
            let owner = owner(files, &path).map_err(|source| LayoutError::Folder {
                path: path.clone(),
                source,
            })?;
            // A folder without the file, or of another path, is not this project's.
            if owner.is_some_and(|owner| owner == identity(real_path)) {
                return Ok(Some(Self { path }));
            }
        }
        Ok(None)
    }

    /// True if a project has claimed this folder already.
    pub fn is_claimed(files: &dyn Files, folder: &Path) -> Result<bool, LayoutError> {
        let owner = owner(files, folder).map_err(|source| LayoutError::Folder {
            path: folder.to_owned(),
            source,
        })?;
        Ok(owner.is_some())
    }

    /// Absolute if the home given to [`Self::prepare`] was.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Path of a session's log; the file may not exist yet.
    pub fn log(&self, session: &SessionId) -> Result<PathBuf, LayoutError> {
        log_in(&self.path, session)
    }

    /// The directory of a session; it may not exist.
    pub fn session_dir(&self, session: &SessionId) -> Result<PathBuf, LayoutError> {
        Ok(self.path.join(safe(session)?))
    }
}

/// Real path of the project that claimed the folder, if one has.
fn owner(files: &dyn Files, folder: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let content = files
        .read(&folder.join(PATH_FILE), LONGEST_PATH)
        .optional()?;
    Ok(content.map(|content| content.strip_suffix(b"\n").unwrap_or(&content).to_vec()))
}

/// Makes the folder this project's, unless it is another's.
fn claim(files: &dyn Files, folder: &Path, real_path: &Path) -> Result<bool, FileError> {
    if let Some(owner) = owner(files, folder)? {
        return Ok(owner == identity(real_path));
    }
    files.create_dir_all(folder, Access::Private)?;
    let mut content = identity(real_path).to_vec();
    content.push(b'\n');
    files.replace(&folder.join(PATH_FILE), &content, Access::Private)?;
    // Another process may have claimed it in the same moment; the last one has it.
    Ok(owner(files, folder)?.is_some_and(|owner| owner == identity(real_path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemoryFiles;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_slug_is_the_path_with_dashes() {
        assert_eq!(slug("/home/a.b/my_app".as_ref()), "-home-a-b-my-app");
        let long = format!("/{}", "é".repeat(300));
        let slug = slug(long.as_ref());
        assert!(slug.len() <= LONGEST_SLUG + 1 + HASH_DIGITS);
        assert_ne!(slug, super::slug(format!("{long}x").as_ref()));
    }

    #[test]
    fn two_paths_with_one_slug_get_two_folders_that_stay_theirs() {
        let files = MemoryFiles::default();
        let prepare =
            |path: &str| ProjectFolder::prepare(&files, "/home".as_ref(), path.as_ref()).unwrap();
        let first = prepare("/a/b-c");
        let second = prepare("/a/b/c");
        assert_eq!(first.path(), Path::new("/home/projects/-a-b-c"));
        assert!(
            second
                .path()
                .to_string_lossy()
                .starts_with("/home/projects/-a-b-c-")
        );
        assert_eq!(prepare("/a/b-c"), first);
        assert_eq!(prepare("/a/b/c"), second);
        let find =
            |path: &str| ProjectFolder::find(&files, "/home".as_ref(), path.as_ref()).unwrap();
        assert_eq!(
            (find("/a/b-c"), find("/a/b/c")),
            (Some(first), Some(second))
        );
        assert_eq!(find("/a-b-c"), None);
        let mode = files
            .metadata("/home/projects/-a-b-c".as_ref())
            .unwrap()
            .mode;
        assert_eq!(mode, Some(0o700));
    }

    #[test]
    fn a_sub_agent_may_have_begun_in_the_log_of_its_session() {
        let logs = |folder: &str| logs_of_origin(Path::new(folder), &"a-1".into()).unwrap();
        assert_eq!(logs("/p"), [Path::new("/p/a-1.jsonl")]);
        assert_eq!(
            logs("/p/a-1/subagents"),
            [
                Path::new("/p/a-1/subagents/a-1.jsonl"),
                Path::new("/p/a-1.jsonl")
            ]
        );
    }

    #[test]
    fn a_session_id_cannot_lead_elsewhere() {
        let folder = Path::new("/p");
        assert_eq!(
            log_in(folder, &"a-1".into()).unwrap(),
            Path::new("/p/a-1.jsonl")
        );
        for bad in ["", "..", "a/b", "a\\b", "a.b", ".", "é", "a\0"] {
            assert!(log_in(folder, &bad.into()).is_err(), "{bad:?}");
        }
    }
}
