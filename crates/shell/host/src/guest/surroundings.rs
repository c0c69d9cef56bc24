//! Settings of the process that handed a task over.
//!
//! # Model
//! One detached process works off the tasks of all projects, and its own variables are those of the
//! shell that happened to start it. A task therefore carries what its shell and command line say about
//! memory, and hides what the worker's own say. Addresses and keys of providers are not carried: a
//! spool is no place for keys, and a key without its address would go elsewhere.

use crate::host::Host;
use dormouse_core::settings::all_settings;
use dormouse_system::{Environment, EnvironmentError, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Families of settings that decide about memory.
const FAMILIES: [&str; 5] = ["memory", "recall", "extract", "dream", "team"];

/// Settings of a task beside those of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Surroundings {
    /// Environment variables about memory, by name.
    variables: BTreeMap<String, String>,
    /// Settings of the command line, as `key=value`.
    flags: Vec<String>,
}

/// True for a key of one of the families.
fn is_about_memory(key: &str) -> bool {
    let family = key.split('.').next().unwrap_or(key);
    FAMILIES.contains(&family)
}

/// Names of the variables about memory.
fn variables() -> impl Iterator<Item = &'static str> {
    let settings = all_settings().filter(|setting| is_about_memory(setting.key));
    settings.flat_map(|setting| setting.env.iter().map(|variable| variable.name))
}

impl Surroundings {
    /// Those of a process.
    pub(super) fn of(host: &Host) -> Self {
        let env = &host.system().env;
        let said = variables().filter_map(|name| Some((name.to_owned(), env.text(name)?)));
        let flags = host.flags().iter();
        let flags = flags.filter(|flag| is_about_memory(flag.split('=').next().unwrap_or(flag)));
        Self {
            variables: said.collect(),
            flags: flags.cloned().collect(),
        }
    }

    /// The machine as the task's own process saw it, in its folder.
    pub(super) fn system(&self, system: &System, folder: &Path) -> System {
        let env = TaskEnvironment {
            env: Arc::clone(&system.env),
            folder: folder.to_owned(),
            variables: self.variables.clone(),
        };
        System {
            env: Arc::new(env),
            ..system.clone()
        }
    }

    /// Settings of the command line for the task, in place of the worker's own about memory.
    pub(super) fn flags(&self, own: &[String]) -> Vec<String> {
        let others = own
            .iter()
            .filter(|flag| !is_about_memory(flag.split('=').next().unwrap_or(flag)));
        others.chain(&self.flags).cloned().collect()
    }
}

/// The worker's environment, with the task's folder and variables about memory.
#[derive(Debug)]
struct TaskEnvironment {
    env: Arc<dyn Environment>,
    folder: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Environment for TaskEnvironment {
    fn var(&self, name: &str) -> Option<OsString> {
        if variables().any(|known| known == name) {
            return self.variables.get(name).map(OsString::from);
        }
        self.env.var(name)
    }

    fn home_dir(&self) -> Option<PathBuf> {
        self.env.home_dir()
    }

    fn current_dir(&self) -> Result<PathBuf, EnvironmentError> {
        Ok(self.folder.clone())
    }
}
