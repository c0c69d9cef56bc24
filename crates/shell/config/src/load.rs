//! Reading every source of settings, and merging them.
//!
//! The first load starts from nothing. A later one gets the one before, and takes from it whatever
//! has become unusable since: a whole layer if its file is no longer TOML or cannot be read, a
//! single value if only that is wrong, the model table, the list of trusted folders.
//!
//! # Not here
//! Paths of the files ([`crate::places`]), the trust list ([`crate::trust`]), following changes
//! ([`crate::watch`]).

use crate::issue::ConfigIssue;
use crate::places::{Places, Project, default_home, expand};
use crate::trust::TrustList;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::{
    FileLayer, Layer, LayerKind, Settings, SettingsIssue, Trust, all_settings, env_layer,
    flags_layer, keys, parse_layer, resolve,
};
use dormouse_system::{EnvironmentError, FileResult, OptionalFile as _, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest settings file in bytes (1 MiB): a longer one was not meant to be one, and must not fill
/// the memory.
const LIMIT: u64 = 1 << 20;

/// Reason that nothing can be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoaderError {
    /// A flag that cannot be used. Unlike a line in a file it was just typed, so it is refused and
    /// not passed over.
    #[error(transparent)]
    Flag(SettingsIssue),
    /// Neither a setting nor the environment names a home.
    #[error("there is no home directory")]
    NoHome,
    /// The folder the command was started in is gone.
    #[error(transparent)]
    CurrentDir(#[from] EnvironmentError),
}

/// Everything that was loaded. Compares equal if no user of it could tell a difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The merged settings, each with its origin.
    pub settings: Arc<Settings>,
    /// The model table, with the user's models.
    pub models: Arc<ModelTable>,
    /// Trust in the project's folder; untrusted ones may not set everything.
    pub trust: Trust,
    /// Files that were looked at, weakest layer first; then the models and the trusted folders.
    pub sources: Vec<Source>,
    /// Faults of files, values and variables, for the user.
    pub issues: Vec<ConfigIssue>,
    layers: Vec<Layer>,
    trusted: TrustList,
}

/// A file that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Purpose: `managed`, `user`, `project`, `project local`, `models`, `trust`.
    pub name: String,
    /// Path of the file, also of one that is missing.
    pub path: PathBuf,
    /// Result of reading it.
    pub state: SourceState,
}

/// Result of reading a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// It is not there, which is fine.
    Missing,
    /// It was read; single values may still be wrong.
    Read,
    /// It cannot be used as a whole. Its last good values stay in force.
    Unusable,
}

/// Loads, as often as wanted, from places found once.
#[derive(Clone, Debug)]
pub struct Loader {
    system: System,
    places: Arc<Places>,
    flags: Vec<String>,
}

impl Loader {
    /// The same loader for work in another folder of the project, such as a worktree of it: files and
    /// trust stay those of the project.
    #[must_use]
    pub fn working_in(&self, folder: &Path) -> Self {
        let places = Places {
            current_dir: folder.to_owned(),
            ..(*self.places).clone()
        };
        Self {
            places: Arc::new(places),
            ..self.clone()
        }
    }

    /// Finds the places. `managed` is the administrator's file, outside of tests always
    /// [`MANAGED_FILE`](crate::MANAGED_FILE); `flags` are settings as `key=value`.
    ///
    /// The home itself can be set by the managed file, the environment and flags.
    pub fn new(
        system: &System,
        managed: impl Into<PathBuf>,
        flags: Vec<String>,
    ) -> Result<Self, LoaderError> {
        let managed = managed.into();
        let (flag_layer, flag_issues) = flags_layer(flags.iter().map(String::as_str));
        if let Some(issue) = flag_issues.into_iter().next() {
            return Err(LoaderError::Flag(issue));
        }
        let current_dir = system.env.current_dir()?;
        // Issues are left to the load that follows, or they would be told twice.
        let (env, _) = env_layer(|name| system.env.text(name));
        // Only the home is wanted yet: faults of the file are reported by the load that follows.
        let text = read_text(system, &managed).ok().flatten();
        let text = text.and_then(Result::ok).unwrap_or_default();
        let (managed_layer, _) = parse_layer(FileLayer::Managed, "", &text);
        // Untrusted: a project must not choose the home from which its trust is read.
        let early = resolve(&[managed_layer, env, flag_layer], Trust::Untrusted);

        let user_home = system.env.home_dir();
        let home = match (early.get(keys::HOME), &user_home) {
            (Some(home), _) => expand(&home, user_home.as_deref(), &current_dir),
            (None, Some(user_home)) => default_home(user_home),
            (None, None) => return Err(LoaderError::NoHome),
        };
        let project = Project::around(&*system.files, &current_dir, &home);
        let places = Arc::new(Places {
            managed,
            home,
            current_dir,
            project,
        });
        Ok(Self {
            system: system.clone(),
            places,
            flags,
        })
    }

    /// Paths of home, project and managed file, fixed since [`Self::new`].
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Loads everything, for the first time.
    pub fn load(&self) -> Loaded {
        self.load_after(None)
    }

    /// Loads everything again. Values that were good in `last` and are unusable now stay.
    pub fn reload(&self, last: &Loaded) -> Loaded {
        self.load_after(Some(last))
    }

    pub(crate) fn system(&self) -> &System {
        &self.system
    }

    fn load_after(&self, last: Option<&Loaded>) -> Loaded {
        let mut run = Run {
            loader: self,
            last,
            sources: Vec::new(),
            issues: Vec::new(),
        };
        let mut layers: Vec<Layer> = self
            .places
            .settings_files()
            .into_iter()
            .filter_map(|(file, path)| run.file_layer(file, path))
            .collect();
        layers.push(run.environment());
        // Its issues made `new` fail, so none is lost here.
        layers.push(flags_layer(self.flags.iter().map(String::as_str)).0);
        let trusted = run.trusted();
        let trust = trusted.trust_in(&self.places.project.real_root);
        let settings = Arc::new(resolve(&layers, trust));
        let models = run.models(&settings);
        Loaded {
            settings,
            models,
            trust,
            sources: run.sources,
            issues: run.issues,
            layers,
            trusted,
        }
    }

    /// The model file in force, and whether a setting names it.
    fn models_file(&self, settings: &Settings) -> (PathBuf, Asked) {
        let Some(name) = settings.get(keys::MODELS_FILE) else {
            return (self.places.default_models_file(), Asked::No);
        };
        let origin = settings.entry(keys::MODELS_FILE.name());
        let base = match origin.map(|entry| entry.origin.kind()) {
            // A relative path that was typed is meant from the working directory; one in a file
            // from home.
            Some(LayerKind::Environment | LayerKind::Flags) => &self.places.current_dir,
            _ => &self.places.home,
        };
        let user_home = self.system.env.home_dir();
        (expand(&name, user_home.as_deref(), base), Asked::ByName)
    }
}

/// Difference between a default file, whose absence is normal, and one that a setting names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    No,
    ByName,
}

/// One load, with the sources and issues found so far.
struct Run<'a> {
    loader: &'a Loader,
    last: Option<&'a Loaded>,
    sources: Vec<Source>,
    issues: Vec<ConfigIssue>,
}

impl Run<'_> {
    fn file_layer(&mut self, file: FileLayer, path: PathBuf) -> Option<Layer> {
        let kind = LayerKind::from(file);
        let last = self
            .last
            .and_then(|last| last.layers.iter().find(|layer| layer.kind == kind))
            .cloned();
        let (layer, state) = match read_text(&self.loader.system, &path) {
            Ok(None) => (None, SourceState::Missing),
            Ok(Some(Ok(text))) => self.parse(file, &path, &text, last),
            Ok(Some(Err(NotText))) => {
                self.issues
                    .push(ConfigIssue::NotText { path: path.clone() });
                (last, SourceState::Unusable)
            }
            Err(source) => {
                let (path, source) = (path.clone(), Arc::new(source));
                self.issues.push(ConfigIssue::Unreadable { path, source });
                (last, SourceState::Unusable)
            }
        };
        self.source(kind.to_string(), path, state);
        layer
    }

    fn parse(
        &mut self,
        file: FileLayer,
        path: &Path,
        text: &str,
        last: Option<Layer>,
    ) -> (Option<Layer>, SourceState) {
        let (mut layer, issues) = parse_layer(file, &path.to_string_lossy(), text);
        let broken = issues
            .iter()
            .any(|issue| matches!(issue, SettingsIssue::Syntax { .. }));
        if let Some(last) = &last {
            keep_last_good(&mut layer, &issues, last);
        }
        self.issues
            .extend(issues.into_iter().map(ConfigIssue::from));
        // A syntax error gives no values at all; without this every setting would fall back at
        // once.
        if broken {
            (last, SourceState::Unusable)
        } else {
            (Some(layer), SourceState::Read)
        }
    }

    fn environment(&mut self) -> Layer {
        let env = &self.loader.system.env;
        let names = all_settings().flat_map(|setting| setting.env);
        let unreadable = names
            .map(|variable| variable.name)
            .filter(|name| env.var(name).is_some() && env.text(name).is_none());
        self.issues
            .extend(unreadable.map(|name| ConfigIssue::NotUnicode { name }));
        let (layer, issues) = env_layer(|name| env.text(name));
        self.issues
            .extend(issues.into_iter().map(ConfigIssue::from));
        layer
    }

    fn models(&mut self, settings: &Settings) -> Arc<ModelTable> {
        let (path, asked) = self.loader.models_file(settings);
        let mut state = SourceState::Unusable;
        let mut good = None;
        match read_text(&self.loader.system, &path) {
            Ok(None) if asked == Asked::No => {
                state = SourceState::Missing;
                good = Some(ModelTable::builtin().clone());
            }
            Ok(None) => self
                .issues
                .push(ConfigIssue::ModelsMissing { path: path.clone() }),
            Ok(Some(Err(NotText))) => self
                .issues
                .push(ConfigIssue::NotText { path: path.clone() }),
            Ok(Some(Ok(text))) => match ModelTable::with_overrides(&text) {
                Ok(table) => {
                    state = SourceState::Read;
                    good = Some(table);
                }
                Err(source) => {
                    let path = path.clone();
                    self.issues.push(ConfigIssue::Models { path, source });
                }
            },
            Err(source) => {
                let (path, source) = (path.clone(), Arc::new(source));
                self.issues
                    .push(ConfigIssue::ModelsUnreadable { path, source });
            }
        }
        self.source("models".to_owned(), path, state);
        // A broken edit must not take models away from a running session.
        match (good, self.last) {
            (Some(table), _) => Arc::new(table),
            (None, Some(last)) => Arc::clone(&last.models),
            // A first start with a broken file: the built-in table is better than no start.
            (None, None) => Arc::new(ModelTable::builtin().clone()),
        }
    }

    fn trusted(&mut self) -> TrustList {
        let path = self.loader.places.trust_file();
        let files = &*self.loader.system.files;
        let (list, state) = match TrustList::read(files, &path) {
            Ok(Some(list)) => (list, SourceState::Read),
            Ok(None) => (TrustList::default(), SourceState::Missing),
            Err(error) => {
                self.issues.push(ConfigIssue::Trust(Arc::new(error)));
                // A damaged list keeps the trust of this process; a fresh start trusts no folder.
                let last = self.last.map(|last| last.trusted.clone());
                (last.unwrap_or_default(), SourceState::Unusable)
            }
        };
        self.source("trust".to_owned(), path, state);
        list
    }

    fn source(&mut self, name: String, path: PathBuf, state: SourceState) {
        self.sources.push(Source { name, path, state });
    }
}

/// Puts the last good value back where the new text has one that cannot be used.
fn keep_last_good(layer: &mut Layer, issues: &[SettingsIssue], last: &Layer) {
    for issue in issues {
        let SettingsIssue::WrongValue { key, .. } = issue else {
            continue;
        };
        // A typing error in the list must not unlock what the administrator locked.
        if key == "locked" {
            layer.locks.clone_from(&last.locks);
        } else if let Some(given) = last.values.get(key) {
            layer.values.insert(key.clone(), given.clone());
        }
    }
}

/// Bytes that are not UTF-8.
struct NotText;

/// The text of a file; `None` if there is none.
fn read_text(system: &System, path: &Path) -> FileResult<Option<Result<String, NotText>>> {
    let bytes = system.files.read(path, LIMIT).optional()?;
    Ok(bytes.map(|bytes| String::from_utf8(bytes.into()).map_err(|_| NotText)))
}
