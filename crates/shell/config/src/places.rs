//! Paths of settings: the managed file, Dormouse's home, the project.
//!
//! # Not here
//! Reading the files ([`crate::load`]) and paths of sessions (`dormouse-store`).

use dormouse_core::settings::FileLayer;
use dormouse_core::show::expand_home;
use dormouse_system::Files;
use std::path::{Path, PathBuf};

/// The administrator's settings file.
pub const MANAGED_FILE: &str = "/etc/dormouse/settings.toml";

/// Name of our home under the user's, and of our folder in a project.
const FOLDER: &str = ".dormouse";
/// Name of the settings file in the home and in a project, meant to be committed there.
const SETTINGS: &str = "settings.toml";
/// Name of a project's settings file for one person, meant to stay out of version control.
const LOCAL_SETTINGS: &str = "settings.local.toml";

/// The places settings come from. Fixed for the life of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The administrator's file; its locks bind every other layer.
    pub managed: PathBuf,
    /// Directory of everything Dormouse keeps.
    pub home: PathBuf,
    /// Working directory of the command; relative paths it was given start here.
    pub current_dir: PathBuf,
    /// The project around it.
    pub project: Project,
}

/// A folder that settings can belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The nearest folder upwards that has a `.git` or `.dormouse`, else the starting folder
    /// itself.
    pub root: PathBuf,
    /// The same without links: the path a folder is trusted by.
    pub real_root: PathBuf,
    /// Its folder for settings; `None` where that is our own home, whose settings are the user's.
    pub folder: Option<PathBuf>,
}

impl Project {
    /// The project that a folder belongs to.
    pub fn around(files: &dyn Files, start: &Path, home: &Path) -> Self {
        let real = |path: &Path| {
            files
                .real_path(path)
                .unwrap_or_else(|_| path.components().collect())
        };
        let real_home = real(home);
        // The home is named like a project's folder; its settings are the user's, not a project's.
        let folder = |root: &Path| Some(root.join(FOLDER)).filter(|path| real(path) != real_home);
        let is_root = |root: &&Path| {
            // `.git` is a file in a worktree, so only its presence counts.
            files.metadata(&root.join(".git")).is_ok()
                || folder(root).is_some_and(|path| files.metadata(&path).is_ok())
        };
        // Without any marker the folder is its own project, so that its settings have a place.
        let root = start.ancestors().find(is_root).unwrap_or(start);
        Self {
            root: root.to_owned(),
            real_root: real(root),
            folder: folder(root),
        }
    }
}

impl Places {
    /// The settings files, weakest first. Reading shows which of them exist.
    pub fn settings_files(&self) -> Vec<(FileLayer, PathBuf)> {
        let mut files = vec![
            (FileLayer::Managed, self.managed.clone()),
            (FileLayer::User, self.home.join(SETTINGS)),
        ];
        if let Some(folder) = &self.project.folder {
            files.push((FileLayer::Project, folder.join(SETTINGS)));
            files.push((FileLayer::ProjectLocal, folder.join(LOCAL_SETTINGS)));
        }
        files
    }

    /// Path of the list of trusted folders; in the home, where no project can write it.
    pub fn trust_file(&self) -> PathBuf {
        self.home.join("trust.toml")
    }

    /// Path of the user's models, unless a setting names another file.
    pub fn default_models_file(&self) -> PathBuf {
        self.home.join("models.toml")
    }
}

/// Home of Dormouse where no setting names another.
pub(crate) fn default_home(user_home: &Path) -> PathBuf {
    user_home.join(FOLDER)
}

/// A path as a person writes it: `~/` is the user's home, anything relative starts at `base`.
pub(crate) fn expand(text: &str, user_home: Option<&Path>, base: &Path) -> PathBuf {
    base.join(expand_home(text, user_home))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemoryFiles;
    use pretty_assertions::assert_eq;

    fn around(present: &[&str], start: &str) -> (String, Option<String>) {
        let files = MemoryFiles::default();
        for path in present {
            files.put(path, "");
        }
        let project = Project::around(&files, start.as_ref(), "/home/u/.dormouse".as_ref());
        let text = |path: &Path| path.to_string_lossy().into_owned();
        (text(&project.root), project.folder.as_deref().map(text))
    }

    fn found(root: &str, folder: Option<&str>) -> (String, Option<String>) {
        (root.to_owned(), folder.map(str::to_owned))
    }

    #[test]
    fn the_nearest_folder_with_a_marker_is_the_project() {
        let files = ["/home/u/a/.git/HEAD", "/home/u/a/b/.dormouse/settings.toml"];
        let at = |start: &str| around(&files, start);
        assert_eq!(
            at("/home/u/a"),
            found("/home/u/a", Some("/home/u/a/.dormouse"))
        );
        assert_eq!(at("/home/u/a/x/y").0, "/home/u/a");
        assert_eq!(at("/home/u/a/b/c").0, "/home/u/a/b");
        assert_eq!(at("/elsewhere/x").0, "/elsewhere/x");
    }

    #[test]
    fn our_own_home_makes_no_project_of_the_user_s_home() {
        let files = ["/home/u/.dormouse/settings.toml"];
        assert_eq!(around(&files, "/home/u/notes").0, "/home/u/notes");
        assert_eq!(around(&files, "/home/u"), found("/home/u", None));
        let with_git = ["/home/u/.dormouse/settings.toml", "/home/u/.git/HEAD"];
        assert_eq!(around(&with_git, "/home/u/notes"), found("/home/u", None));
    }

    #[test]
    fn paths_are_read_as_people_write_them() {
        let home = Some(Path::new("/home/u"));
        let cases = [
            ("~", "/home/u"),
            ("~/d", "/home/u/d"),
            ("~//d", "/home/u/d"),
            ("~d", "/base/~d"),
            ("d/e", "/base/d/e"),
            ("/d", "/d"),
        ];
        for (text, expected) in cases {
            assert_eq!(
                expand(text, home, "/base".as_ref()),
                Path::new(expected),
                "{text}"
            );
        }
    }
}
